package script

import "github.com/divandb/divan/layer/script/internal/turns"

// Stats are the sandbox's metrics at one moment.
type Stats struct {
	Runtimes int `json:"runtimes"` // existing runtimes
	Idle     int `json:"idle"`     // of those, unused ones
	Most     int `json:"most"`     // maximum number of runtimes
	CallStats
}

// CallStats are the metrics of function calls.
type CallStats = turns.Stats

// DatabaseStats are the metrics of one database. They decay, with a half-life of five seconds.
type DatabaseStats = turns.DatabaseStats

// Stats returns the current metrics. It does not block, and costs little.
func (s *Sandbox) Stats() Stats {
	out := Stats{CallStats: s.turns.Stats()}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Runtimes, out.Most = len(s.mu.all), s.limits.Runtimes
	for _, p := range s.mu.programs {
		out.Idle += len(p.idle)
	}
	return out
}

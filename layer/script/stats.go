package script

import "github.com/divandb/divan/layer/script/internal/turns"

// Stats are the sandbox's figures at one moment.
type Stats struct {
	Runtimes int `json:"runtimes"` // that exist
	Idle     int `json:"idle"`     // those of them that nobody uses
	Most     int `json:"most"`     // that may exist
	CallStats
}

// CallStats are the figures of calls of functions.
type CallStats = turns.Stats

// DatabaseStats are the figures of one database. What is longer ago counts less and less: half after five seconds.
type DatabaseStats = turns.DatabaseStats

// Stats does not block, and costs little.
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

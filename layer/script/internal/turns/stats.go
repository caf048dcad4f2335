package turns

import (
	"cmp"
	"maps"
	"slices"
)

// Stats are the metrics of calls at one moment.
type Stats struct {
	Running int `json:"running"` // running calls
	Paused  int `json:"paused"`  // long calls that wait to continue
	Waiting int `json:"waiting"` // calls that wait to begin
	// Limits, Stopped, Refused and Seconds count since the start: calls stopped at a limit, by limit; calls stopped
	// to be restarted later; calls that waited too long; and the total running time of calls.
	Limits  map[string]int64 `json:"limits"`
	Stopped int64            `json:"stopped"`
	Refused int64            `json:"refused"`
	Seconds float64          `json:"seconds"`
	// Databases are those that used most recently, at most shownDatabases.
	Databases []DatabaseStats `json:"databases"`
}

// DatabaseStats are the metrics of one database. They decay, with a half-life of five seconds.
type DatabaseStats struct {
	Database string  `json:"database"`
	Seconds  float64 `json:"seconds"`
	Waiting  int     `json:"waiting"` // calls that wait, to begin or to continue
}

const shownDatabases = 20

// Stats returns the current metrics. It blocks only for a short time.
func (s *Turns) Stats() Stats {
	n := Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.mu.counts
	out := Stats{Running: s.mu.running, Limits: maps.Clone(c.limits), Stopped: c.stopped, Refused: c.refused,
		Seconds: c.used}
	for _, a := range s.mu.waiting {
		out.Paused += len(a.resumed)
		out.Waiting += a.waiting - len(a.resumed)
	}
	for _, a := range s.mu.accounts {
		d := DatabaseStats{a.name, a.used.value(n), a.waiting}
		if d.Seconds > 0 || d.Waiting > 0 {
			out.Databases = append(out.Databases, d)
		}
	}
	slices.SortFunc(out.Databases, func(a, b DatabaseStats) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Database, b.Database))
	})
	out.Databases = out.Databases[:min(len(out.Databases), shownDatabases)]
	return out
}

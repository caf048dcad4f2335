package turns

import (
	"cmp"
	"maps"
	"slices"
)

// Stats are the figures of calls at one moment.
type Stats struct {
	Running int `json:"running"` // calls that run
	Paused  int `json:"paused"`  // calls that have run for long, and wait to go on
	Waiting int `json:"waiting"` // calls that wait to begin
	// Limits, Stopped, Refused and Seconds count since the start: calls that were stopped at a limit, by limit; calls
	// that were stopped to begin again later; calls that waited too long; and for how long all calls ran.
	Limits  map[string]int64 `json:"limits"`
	Stopped int64            `json:"stopped"`
	Refused int64            `json:"refused"`
	Seconds float64          `json:"seconds"`
	// Databases are those that used most of late, at most shownDatabases.
	Databases []DatabaseStats `json:"databases"`
}

// DatabaseStats are the figures of one database. What is longer ago counts less and less: half after five seconds.
type DatabaseStats struct {
	Database string  `json:"database"`
	Seconds  float64 `json:"seconds"`
	Waiting  int     `json:"waiting"` // calls that wait, to begin or to go on
}

const shownDatabases = 20

// Stats does not block for long.
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

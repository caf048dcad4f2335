package query

import (
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/explain"
)

// shownPlan is what EXPLAIN (ANALYZE) shows of a statement, once it has taken long.
type shownPlan struct {
	text     string
	examined int64
}

func show(plan exec.Plan, st *exec.State) (s shownPlan) {
	s.text, s.examined = explain.Shown(plan, st)
	return s
}

// reportEvery is how often a statement that runs for long is described for divan.sessions.
var reportEvery = time.Second

// from returns what describes a query that begins now, if it takes longer than least. It returns nil if least is 0.
func (s *shownPlan) from(least time.Duration, st *exec.State) func(exec.Plan) {
	if least == 0 {
		return nil
	}
	began := time.Now()
	return func(plan exec.Plan) {
		if time.Since(began) >= least {
			*s = show(plan, st)
		}
	}
}

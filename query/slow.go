package query

import (
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/explain"
)

// slowPlan is the plan of the current statement, once it has taken long.
type slowPlan struct {
	text     string
	examined int64
}

// from returns what describes a query that begins now, if it takes longer than least. It returns nil if least is 0.
func (s *slowPlan) from(least time.Duration, st *exec.State) func(exec.Plan) {
	if least == 0 {
		return nil
	}
	began := time.Now()
	return func(plan exec.Plan) {
		if took := time.Since(began); took >= least {
			s.text, s.examined = explain.Ended(plan, st, took)
		}
	}
}

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

// running is how a statement that has not ended stands.
type running struct {
	plan     string
	examined int64
}

// reportEvery is how often a statement that runs for long is described for divan.sessions.
var reportEvery = time.Second

// report passes to set how a statement stands, again and again while it runs.
func report(plan exec.Plan, st *exec.State, set func(running)) {
	began := time.Now()
	st.Report(reportEvery, func() {
		var now running
		now.plan, now.examined = explain.Ended(plan, st, time.Since(began))
		set(now)
	})
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

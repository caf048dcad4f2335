package query

import (
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/explain"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// maxPlan bounds the text of the plan of a slow query.
const maxPlan = 4 << 10

// slowPlan is the plan of the current statement, once it has taken long.
type slowPlan struct {
	text     string
	examined int64
}

// from returns what describes a query that begins now, if it takes longer than least. It returns nil if least is 0.
func (s *slowPlan) from(least time.Duration) func(exec.Plan) {
	if least == 0 {
		return nil
	}
	began := time.Now()
	return func(plan exec.Plan) {
		took := time.Since(began)
		if took < least {
			return
		}
		// The number of documents is not read, since the statement has ended.
		explained := explain.New(plan, &ast.Explain{Analyze: true, Format: "text"}, -1, plan.Describe().Rows, took)
		s.text = types.Truncate(strings.Join(explained.Text(), "\n"), maxPlan)
		s.examined = examined(plan.Describe())
	}
}

// examined returns how many rows the reads of a plan have examined.
func examined(d *exec.Description) int64 {
	n := max(0, d.Examined)
	for _, c := range d.Children {
		n += examined(c)
	}
	return n
}

package plan

import (
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/sets"
	"github.com/divandb/divan/query/sqlstate"
)

// counts evaluates LIMIT and OFFSET. A limit of -1 means none.
func counts(q *bind.Query, env *exec.Env) (limit, skip int64, err error) {
	if limit, err = count(q.Limit, env, -1, sqlstate.InvalidRowCountInLimit, "LIMIT"); err == nil {
		skip, err = count(q.Skip, env, 0, sqlstate.InvalidRowCountInOffset, "OFFSET")
	}
	return limit, skip, err
}

// count evaluates LIMIT or OFFSET. none is the value for NULL.
func count(e exec.Expr, env *exec.Env, none int64, code sqlstate.Code, what string) (int64, error) {
	if e == nil {
		return none, nil
	}
	d, err := e.Eval(env)
	if err != nil || d.IsNull() {
		return none, err
	}
	if d.I < 0 {
		return 0, sqlstate.New(code, "%s must not be negative", what)
	}
	return d.I, nil
}

func bound(limit, skip int64) int64 {
	if limit < 0 || limit+skip < 0 {
		return -1
	}
	return limit + skip
}

func limited(plan exec.Plan, limit, skip int64) exec.Plan {
	if limit < 0 && skip == 0 {
		return plan
	}
	return &sets.Limit{Input: plan, Count: limit, Skip: skip}
}

// knownLater reports whether a LIMIT or OFFSET cannot be evaluated before the plan runs: it has columns, which are
// those of a query around it, or a query or volatile function, which EXPLAIN must not run.
func knownLater(e exec.Expr) (later bool) {
	if e == nil {
		return false
	}
	exec.Walk(e, func(e exec.Expr) {
		switch e := e.(type) {
		case *exec.Col, *exec.Subquery:
			later = true
		case *exec.Call:
			later = later || e.Func.Volatility == exec.Volatile
		}
	})
	return later
}

// limitedLater plans a query whose LIMIT or OFFSET is only known when the plan runs.
func (p *planning) limitedLater(q *bind.Query) (exec.Plan, error) {
	return p.ties(q, &sets.Limit{Of: func(env *exec.Env) (limit, skip int64, err error) { return counts(q, env) }})
}

// ties plans FETCH FIRST ... WITH TIES, and other limits that other steps do not know: all rows in their order, with
// the keys, up to the limit.
func (p *planning) ties(q *bind.Query, limit *sets.Limit) (exec.Plan, error) {
	all := *q
	all.Limit, all.Skip, all.WithTies = nil, nil, false
	if q.WithTies {
		all.Keep, limit.Ties = max(q.Keep, len(q.Targets)), q.Order
	}
	plan, err := p.body(&all)
	if err != nil {
		return nil, err
	}
	limit.Input = plan
	if q.Keep < all.Keep {
		return &sets.Strip{Plan: limit, Keep: q.Keep}, nil
	}
	return limit, nil
}

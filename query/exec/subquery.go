package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Subquery is a query inside an expression.
type Subquery struct {
	Kind string // "scalar", "exists", "array", "any", "all"
	// Plan makes the plan for one execution.
	Plan func(*State) (Plan, error)
	// Correlated says that the query looks at rows of the queries around it; others run once per execution.
	Correlated bool
	Typ        types.OID
	// X and Op are of "any" and "all": X op ANY (query).
	X    Expr
	Any  *Any
	Off  int
	Text string // for EXPLAIN
	// Collation of the value, where it is not the default.
	Collation *types.Collation
}

// subState is a Subquery's part of a State.
type subState struct {
	plan   Plan
	rows   []types.Datum
	result types.Datum
	done   bool
}

func (q *Subquery) Type() types.OID { return q.Typ }
func (q *Subquery) String() string  { return q.Text }

func (q *Subquery) Eval(env *Env) (types.Datum, error) {
	st := env.subs[q]
	if st == nil {
		plan, err := q.Plan(env.State)
		if err != nil {
			return types.Null, err
		}
		st = &subState{plan: plan}
		if env.subs == nil {
			env.subs = map[*Subquery]*subState{}
		}
		env.subs[q] = st
	}
	if q.Correlated || !st.done {
		if err := q.run(env, st); err != nil {
			return types.Null, err
		}
		st.done = true
	}
	if q.Any == nil {
		return st.result, nil
	}
	x, err := q.X.Eval(env)
	if err != nil {
		return x, err
	}
	return q.Any.over(env, x, st.rows)
}

// run executes the query and keeps what the kind needs of it.
func (q *Subquery) run(env *Env, st *subState) error {
	if err := st.plan.Open(env); err != nil {
		return err
	}
	defer st.plan.Close()
	st.rows, st.result = nil, types.Null
	var held int64
	for {
		row, err := st.plan.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch q.Kind {
		case "exists":
			st.result = types.NewBool(true)
			return nil
		case "scalar":
			if len(st.rows) > 0 {
				return sqlstate.New(sqlstate.CardinalityViolation,
					"more than one row returned by a subquery used as an expression").At(q.Off)
			}
		}
		n := row[0].Size()
		if err := env.Hold(n); err != nil {
			return err
		}
		held += n
		st.rows = append(st.rows, row[0])
	}
	if q.Correlated {
		env.Release(held)
	}
	switch q.Kind {
	case "exists":
		st.result = types.NewBool(false)
	case "scalar":
		if len(st.rows) > 0 {
			st.result = st.rows[0]
		}
	case "array":
		st.result = types.NewArray(types.ElemOf(q.Typ), st.rows)
	}
	return nil
}

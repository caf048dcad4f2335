package exec

import (
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Subquery is a query inside an expression.
type Subquery struct {
	Kind string // "scalar", "row", "exists", "array", "any"
	// Plan makes the plan of Query, a bound query, for one execution.
	Plan  func(*State) (Plan, error)
	Query any
	// Correlated is set if the query refers to rows of the enclosing queries. Other queries run once per execution.
	Correlated bool
	Typ        types.OID
	Mod        int32 // the type modifier and one; 0 for none
	// X and Any belong to "any": X op ANY (query). Match replaces X when rows are compared: it refers by It to the
	// record of the query's row. A "row" returns such a record, or NULL if the query returns no row.
	X     Expr
	Any   *Any
	Match Expr
	// Lookup is set if Any compares by "= ANY" or "<> ALL", and equal values have equal hashes.
	Lookup bool
	Off    int
	Text   string // for EXPLAIN
	// Collation is the collation of the value, unless it is the default.
	Collation *types.Collation
}

// subState is the part of a State that belongs to a Subquery.
type subState struct {
	plan   Plan
	rows   []types.Datum
	result types.Datum
	done   bool
	// found holds the hashes of rows, and null whether one of them is NULL, after the first look-up.
	found map[string]struct{}
	null  bool
}

func (q *Subquery) Type() types.OID { return q.Typ }
func (q *Subquery) String() string  { return q.Text }

// state returns the state of the query in this execution, which it makes the first time.
func (q *Subquery) state(env *Env) (*subState, error) {
	st := env.subs[q]
	if st == nil {
		plan, err := q.Plan(env.State)
		if err != nil {
			return nil, err
		}
		st = &subState{plan: plan}
		if env.subs == nil {
			env.subs = map[*Subquery]*subState{}
		}
		env.subs[q] = st
	}
	if q.Correlated || !st.done {
		if err := q.run(env, st); err != nil {
			return nil, err
		}
		st.done = true
	}
	return st, nil
}

// Values returns the rows of a query that is not correlated and has one column.
func (q *Subquery) Values(env *Env) ([]types.Datum, error) {
	st, err := q.state(env)
	if err != nil {
		return nil, err
	}
	return st.rows, nil
}

func (q *Subquery) Eval(env *Env) (types.Datum, error) {
	st, err := q.state(env)
	if err != nil {
		return types.Null, err
	}
	if q.Any == nil {
		return st.result, nil
	}
	if q.Match != nil {
		return q.match(env, st.rows)
	}
	x, err := q.X.Eval(env)
	if err != nil {
		return x, err
	}
	if q.Lookup && !q.Correlated && len(st.rows) > fewRows {
		return q.lookUp(env, st, x)
	}
	return q.Any.over(env, x, st.rows)
}

// fewRows are compared one by one.
const fewRows = 8

// lookUp is "x = ANY" or "x <> ALL" of many rows, by their hashes.
func (q *Subquery) lookUp(env *Env, st *subState, x types.Datum) (types.Datum, error) {
	if st.found == nil {
		found := make(map[string]struct{}, len(st.rows))
		for _, d := range st.rows {
			if d.IsNull() {
				st.null = true
				continue
			}
			h, err := env.Hash(nil, d)
			if err == nil {
				err = env.Hold(int64(len(h)) + 64)
			}
			if err == nil {
				err = env.Step(1)
			}
			if err != nil {
				return types.Null, err
			}
			found[string(h)] = struct{}{}
		}
		st.found = found
	}
	if x.IsNull() {
		return types.Null, nil
	}
	h, err := env.Hash(nil, x)
	if err != nil {
		return types.Null, err
	}
	if _, ok := st.found[string(h)]; ok {
		return types.NewBool(!q.Any.All), nil
	}
	if st.null {
		return types.Null, nil
	}
	return types.NewBool(q.Any.All), nil
}

// match combines the comparisons with all rows by ANY or ALL.
func (q *Subquery) match(env *Env, rows []types.Datum) (types.Datum, error) {
	around := env.let
	defer func() { env.let = around }()
	out := types.NewBool(q.Any.All)
	for _, row := range rows {
		if err := env.Step(1); err != nil {
			return types.Null, err
		}
		env.let = &letValue{row, around}
		d, err := q.Match.Eval(env)
		switch {
		case err != nil:
			return d, err
		case d.IsNull():
			out = d
		case d.True() != q.Any.All:
			return d, nil
		}
	}
	return out, nil
}

// run executes the query and keeps the part of the result that its kind needs.
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
		case "scalar", "row":
			if len(st.rows) > 0 {
				return sqlstate.New(sqlstate.CardinalityViolation,
					"more than one row returned by a subquery used as an expression").At(q.Off)
			}
		}
		d := row[0]
		if q.Kind == "row" || q.Match != nil {
			d = types.NewRecord(nil, nil, slices.Clone(row))
		}
		n := d.Size()
		if err := env.Hold(n); err != nil {
			return err
		}
		held += n
		st.rows = append(st.rows, d.Own())
	}
	if q.Correlated {
		env.Release(held)
	}
	switch q.Kind {
	case "exists":
		st.result = types.NewBool(false)
	case "scalar", "row":
		if len(st.rows) > 0 {
			st.result = st.rows[0]
		}
	case "array":
		st.result = types.NewArray(types.ElemOf(q.Typ), st.rows)
	}
	return nil
}

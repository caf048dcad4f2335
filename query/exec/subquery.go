package exec

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Subquery is a query inside an expression.
type Subquery struct {
	Kind string // "scalar", "row", "exists", "array", "any"
	// Plan makes the plan of Query, a bound query, for one execution.
	Plan  func(*State) (Plan, error)
	Query any
	// Identity returns a text that is the same for sub-queries that compute the same value; nil if only this one does.
	Identity func() string
	// Correlated is set if the query refers to rows of the enclosing queries. Other queries run once per execution.
	Correlated bool
	Typ        types.OID
	Mod        int32 // the type modifier and one; 0 for none
	// X and Any belong to "any": X op ANY (query). Match replaces X when rows are compared: it refers by It to the
	// record of the query's row. A "row" returns such a record, or NULL if the query returns no row.
	X     Expr
	Any   *Any
	Match Expr
	// Lookup is set if Any compares by "= ANY" or, without Match, "<> ALL", and equal values have equal hashes.
	Lookup bool
	Off    int
	// Text is the expression for EXPLAIN, in which the last "SubPlan" stands for the query.
	Text string
	// name is the name of the plan in EXPLAIN, and param stands for its value, if it is run once for one.
	name, param string
	// Collation is the collation of the value, unless it is the default.
	Collation *types.Collation
}

// subState is the part of a State that belongs to a Subquery.
type subState struct {
	plan   Plan
	rows   *spill.List // of "any", in one column
	result types.Datum
	done   bool
	// found holds the hashes of rows of one column, and null whether one of them is NULL, after the first look-up.
	found *spill.Set
	null  bool
	// sides are the equalities of a Match: empty, if its rows are compared one by one. kinds are the sets in which they
	// are looked up, by the columns that are NULL on the left side.
	sides  []*Call
	kinds  map[uint64]*rowKinds
	hashes [2][][]byte // of the values of both sides, see hashSide
	runs   int64
	disk   int64
	best   types.Datum // see keep
}

// next returns the values of a scan of rows, one after the other, and io.EOF at the end.
func (st *subState) next(scan *spill.Scan) func() (types.Datum, error) {
	return func() (types.Datum, error) {
		row, err := scan.Next()
		if err != nil {
			return types.Null, err
		}
		return row[0], nil
	}
}

func (st *subState) free() {
	st.disk += st.onDisk()
	st.rows.Free()
	st.found.Free()
	for _, k := range st.kinds {
		k.set.Free()
	}
	st.rows, st.found, st.kinds = nil, nil, nil
}

// onDisk is the size of the temporary files.
func (st *subState) onDisk() int64 {
	n := st.rows.Disk() + st.found.Disk()
	for _, k := range st.kinds {
		n += k.set.Disk()
	}
	return n
}

func (q *Subquery) Type() types.OID { return q.Typ }

func (q *Subquery) String() string {
	if q.param != "" {
		return q.param
	}
	if i := strings.LastIndex(q.Text, subPlan); i >= 0 {
		return q.Text[:i] + q.Label() + q.Text[i+len(subPlan):]
	}
	return q.Text
}

// subPlan stands for a query in the text of an expression.
const subPlan = "SubPlan"

// Number gives the query the number of a plan in EXPLAIN, and that of a parameter if it is run once for one value, as
// it reports.
func (q *Subquery) Number(plan, param int) (once bool) {
	if once = !q.Correlated && q.Any == nil; once {
		q.param = "$" + strconv.Itoa(param)
		q.name = "InitPlan " + strconv.Itoa(plan) + " (returns " + q.param + ")"
	} else {
		q.name = subPlan + " " + strconv.Itoa(plan)
	}
	return once
}

// Label is how the text of an expression names the query: by its number, and whether hashes of its rows are looked up.
func (q *Subquery) Label() string {
	switch {
	case q.name == "":
		return subPlan
	case q.Lookup && !q.Correlated:
		return "hashed " + q.name
	}
	return q.name
}

// Subplan describes the query of a plan that has run, or, if plan is set, one that may not have.
func (q *Subquery) Subplan(st *State, plan bool) (Subplan, bool) {
	s := st.subs[q]
	if s == nil {
		if !plan {
			return Subplan{}, false
		}
		p, err := q.Plan(st)
		if err != nil {
			return Subplan{}, false // running the statement reports it
		}
		s = &subState{plan: p}
		if st.subs == nil {
			st.subs = map[*Subquery]*subState{}
		}
		st.subs[q] = s
	}
	d := s.plan.Describe()
	d.Loops = s.runs
	if s.runs == 0 {
		d.Loops = -1
	}
	return Subplan{Name: q.name, Plan: d, Disk: s.disk + s.onDisk()}, true
}

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

// Values returns the rows of an "any" that is not correlated and has one column. The caller must close the scan.
func (q *Subquery) Values(env *Env) (*spill.Scan, error) {
	st, err := q.state(env)
	if err != nil {
		return nil, err
	}
	return st.rows.Scan(), nil
}

func (q *Subquery) Eval(env *Env) (types.Datum, error) {
	st, err := q.state(env)
	if err != nil {
		return types.Null, err
	}
	if q.Any == nil {
		return st.result, nil
	}
	if q.Match != nil && q.Lookup && !q.Correlated && st.rows.Len() > fewRows {
		if d, ok, err := q.lookUpRow(env, st); ok || err != nil {
			return d, err
		}
	}
	scan := st.rows.Scan()
	defer scan.Close()
	if q.Match != nil {
		return q.match(env, st.next(scan))
	}
	x, err := q.X.Eval(env)
	if err != nil {
		return x, err
	}
	if q.Lookup && !q.Correlated && st.rows.Len() > fewRows {
		return q.lookUp(env, st, x)
	}
	return q.Any.over(env, x, st.next(scan))
}

// fewRows are compared one by one.
const fewRows = 8

// lookUp is "x = ANY" or "x <> ALL" of many rows, by their hashes.
func (q *Subquery) lookUp(env *Env, st *subState, x types.Datum) (types.Datum, error) {
	if st.found == nil {
		if err := q.fill(env, st); err != nil {
			return types.Null, err
		}
	}
	if x.IsNull() {
		return types.Null, nil
	}
	h, err := env.Hash(nil, x)
	if err != nil {
		return types.Null, err
	}
	found, err := st.found.Has(h)
	switch {
	case err != nil || !found && st.null:
		return types.Null, err
	case found:
		return types.NewBool(!q.Any.All), nil
	}
	return types.NewBool(q.Any.All), nil
}

// fill makes the set of the hashes of the rows.
func (q *Subquery) fill(env *Env, st *subState) error {
	st.found = env.Spill.NewSet()
	var h []byte
	return st.each(env, func(row []types.Datum) (err error) {
		if row[0].IsNull() {
			st.null = true
			return nil
		}
		if h, err = env.Hash(h[:0], row[0]); err == nil {
			_, err = st.found.Add(h)
		}
		return err
	})
}

// each calls f for each of the rows.
func (st *subState) each(env *Env, f func(row []types.Datum) error) error {
	scan := st.rows.Scan()
	defer scan.Close()
	for {
		row, err := scan.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(row)
		}
		if err == nil {
			err = env.Step(1)
		}
		if err != nil {
			return err
		}
	}
}

// match combines the comparisons with all rows by ANY or ALL.
func (q *Subquery) match(env *Env, next func() (types.Datum, error)) (types.Datum, error) {
	around := env.let
	defer func() { env.let = around }()
	out := types.NewBool(q.Any.All)
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			err = env.Step(1)
		}
		if err != nil {
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
}

// keep keeps a row of "any". Of rows that are not NULL, the least or greatest alone decides x < ANY, x >= ALL and the
// like.
func (q *Subquery) keep(env *Env, st *subState, d types.Datum) error {
	if st.rows == nil {
		st.rows = env.Spill.NewList(1)
	}
	if d.IsNull() || d.K == types.KRecord || q.Correlated || !q.Any.Same ||
		!strings.Contains(" < <= > >= ", " "+q.Any.Symbol+" ") {
		return st.rows.Append([]types.Datum{d})
	}
	if !st.best.IsNull() {
		args := []types.Datum{st.best, d}
		not, err := (&CallEnv{Env: env, Call: &Call{Func: q.Any.Op}}).Apply(args)
		if err != nil || not.True() == q.Any.All {
			return err
		}
	}
	st.best = d.Own()
	return nil
}

// run executes the query and keeps the part of the result that its kind needs.
func (q *Subquery) run(env *Env, st *subState) error {
	if err := st.plan.Open(env); err != nil {
		return err
	}
	defer st.plan.Close()
	st.free()
	st.runs++
	st.result, st.best, st.null = types.Null, types.Null, false
	var items []types.Datum // of a scalar, a row or an array
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
			if len(items) > 0 {
				return sqlstate.New(sqlstate.CardinalityViolation,
					"more than one row returned by a subquery used as an expression").At(q.Off)
			}
		}
		d := row[0]
		if q.Kind == "row" || q.Match != nil {
			d = types.NewRecord(nil, nil, slices.Clone(row))
		}
		if q.Kind == "any" {
			if err := q.keep(env, st, d); err != nil {
				return err
			}
			continue
		}
		n := d.Size()
		if err := env.Hold(n); err != nil {
			return err
		}
		held += n
		items = append(items, d.Own())
	}
	if q.Correlated {
		env.Release(held)
	}
	if !st.best.IsNull() {
		return st.rows.Append([]types.Datum{st.best})
	}
	switch q.Kind {
	case "exists":
		st.result = types.NewBool(false)
	case "scalar", "row":
		if len(items) > 0 {
			st.result = items[0]
		}
	case "array":
		st.result = types.NewArray(types.ElemOf(q.Typ), items)
	}
	return nil
}

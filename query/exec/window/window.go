// Package window computes window functions over the rows of a plan: partitions, frames, and the functions of PostgreSQL
// 15, section 9.22. The rest of a plan, and the aggregates that can be called over a window, are in package exec.
package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Call is one f() OVER (...).
type Call struct {
	Func      *Func         // nil for an aggregate
	Agg       *exec.AggCall // nil for one of Funcs
	Args      []exec.Expr
	Partition []exec.Expr
	Order     []exec.Expr
	Keys      []exec.SortKey // one for each of Order; Window fills in Index
	Frame     *Frame         // nil for the default: up to the last peer of the row
	Text      string         // for EXPLAIN
}

// Window computes window functions. It holds all rows of its input and returns them in the order of the first window,
// with the results after the input's columns.
type Window struct {
	Input exec.Source
	Width int // columns of the input in env.Row
	Calls []Call
	env   *exec.Env
	rows  [][]types.Datum
	held  int64
	at    int
	done  bool
	// results is the memory held by the results of the call being computed.
	results int64

	scratch work.Scratch
}

// Open implements Source.
func (w *Window) Open(env *exec.Env) error {
	w.free()
	w.env, w.at, w.done = env, 0, false
	return w.Input.Open(env)
}

// Next implements Source.
func (w *Window) Next() (bool, error) {
	if !w.done {
		w.done = true
		if err := w.fill(); err != nil {
			return false, err
		}
	}
	if w.at >= len(w.rows) {
		return false, nil
	}
	copy(w.env.Row, w.rows[w.at])
	w.at++
	return true, nil
}

func (w *Window) fill() error {
	for {
		ok, err := w.Input.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		row := append(types.Own(w.env.Row[:w.Width]), make([]types.Datum, len(w.Calls))...)
		n := exec.RowSize(row)
		if err := w.env.Hold(n); err != nil {
			return err
		}
		w.held += n
		w.rows = append(w.rows, row)
	}
	// Calls over the same rows in the same order share a sort. The first order is sorted last, so that the rows are
	// returned in it.
	var orders []string
	byOrder := map[string][]int{}
	for i := range w.Calls {
		key := w.Calls[i].orderKey()
		if byOrder[key] == nil {
			orders = append(orders, key)
		}
		byOrder[key] = append(byOrder[key], i)
	}
	for i := len(orders) - 1; i >= 0; i-- {
		if err := w.compute(byOrder[orders[i]]); err != nil {
			return err
		}
	}
	return nil
}

// orderKey is the same for two calls with the same partition and sort order.
func (c *Call) orderKey() string {
	var b strings.Builder
	for _, e := range c.Partition {
		b.WriteString(exec.Key(e) + "|")
	}
	for i, e := range c.Order {
		k := c.Keys[i]
		fmt.Fprintf(&b, "^%s %t %t %p", exec.Key(e), k.Desc, k.NullsFirst, k.Collation)
	}
	return b.String()
}

// placed is a row with its partition and sort values.
type placed struct {
	row  []types.Datum
	keys []types.Datum // partition, then order
}

// compute sorts the rows by a partition and order that some calls share, and evaluates each of these calls over each
// partition.
func (w *Window) compute(calls []int) error {
	c := &w.Calls[calls[0]]
	// Release the memory of the sort keys and the aggregates at the end.
	before := w.env.Used()
	defer func() { w.env.Release(w.env.Used() - before - w.results) }()
	w.results = 0
	saved := slices.Clone(w.env.Row)
	defer copy(w.env.Row, saved)
	all := make([]placed, len(w.rows))
	if err := w.keys(c, all); err != nil {
		return err
	}
	var keys []exec.SortKey
	for i := range c.Partition {
		keys = append(keys, exec.SortKey{Index: i})
	}
	partition := len(keys)
	for i, k := range c.Keys {
		k.Index = partition + i
		keys = append(keys, k)
	}
	var fail error
	if len(keys) > 0 {
		slices.SortStableFunc(all, func(a, b placed) int { return w.env.CompareRows(a.keys, b.keys, keys, &fail) })
		if fail != nil {
			return fail
		}
		for i := range all {
			w.rows[i] = all[i].row
		}
	}
	bounds := make([]frameOffsets, len(calls))
	for i, at := range calls {
		var err error
		if bounds[i], err = w.Calls[at].Frame.offsets(w.env); err != nil && len(all) > 0 {
			return err
		}
	}
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && exec.CompareRows(all[start].keys, all[end].keys, keys[:partition], &fail) == 0 {
			end++
		}
		p := &partitionRows{w: w, rows: all[start:end]}
		if err := p.group(keys[partition:]); err != nil {
			return err
		}
		for i, at := range calls {
			p.c, p.offsets, p.at = &w.Calls[at], bounds[i], w.Width+at
			if err := p.walk(); err != nil {
				return err
			}
		}
		start = end
	}
	w.held += w.results
	return fail
}

// keys fills all with the rows and their partition and sort values.
func (w *Window) keys(c *Call, all []placed) error {
	exprs := append(slices.Clone(c.Partition), c.Order...)
	for i, row := range w.rows {
		copy(w.env.Row, row)
		values, err := exec.EvalAll(w.env, exprs)
		if err == nil {
			err = w.env.Hold(exec.RowSize(values) + 64)
		}
		if err == nil {
			err = w.env.Step(1)
		}
		if err != nil {
			return err
		}
		all[i] = placed{row, values}
	}
	return nil
}

func (w *Window) free() {
	if w.env != nil {
		w.env.Release(w.held)
		w.env.Drop(&w.scratch)
	}
	w.held, w.rows = 0, nil
}

// Close implements Source.
func (w *Window) Close() {
	w.Input.Close()
	w.free()
}

// Describe implements Source.
func (w *Window) Describe() *exec.Description {
	d := &exec.Description{Node: "WindowAgg", Rows: int64(w.at), Examined: -1,
		Children: []*exec.Description{w.Input.Describe()}}
	names := make([]string, len(w.Calls))
	for i, c := range w.Calls {
		names[i] = c.Text
	}
	d.Add("Functions", strings.Join(names, ", "))
	return d
}

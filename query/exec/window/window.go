// Package window computes window functions over the rows of a plan: partitions, frames, and the functions of PostgreSQL
// 15, section 9.22. The rest of a plan, and the aggregates that can be called over a window, are in package exec.
package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/tally"
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

// Window computes window functions. It reads all rows of its input and returns them in the order of the first window,
// with the results after the input's columns. Rows are sorted, and kept as long as their partition needs them, in
// temporary files if memory is short.
type Window struct {
	Input exec.Source
	Width int // columns of the input in env.Row
	Calls []Call

	env    *exec.Env
	stages []*stage // in the order in which they are computed
	at     int64
	runs   tally.Runs
	disk   int64

	scratch, values work.Scratch
}

// Open implements Source.
func (w *Window) Open(env *exec.Env) error {
	w.free()
	w.env, w.disk = env, 0
	w.runs.Begin(&w.at)
	return w.Input.Open(env)
}

// Next implements Source.
func (w *Window) Next() (bool, error) {
	if w.stages == nil {
		if err := w.fill(); err != nil {
			return false, err
		}
	}
	last := w.stages[len(w.stages)-1]
	row, err := last.next()
	if row == nil || err != nil {
		return false, err
	}
	copy(w.env.Row, row)
	w.at++
	return true, nil
}

// fill reads the input and computes all stages but the last one, whose rows are computed when they are needed.
func (w *Window) fill() error {
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
	next := func() ([]types.Datum, error) {
		ok, err := w.Input.Next()
		if !ok || err != nil {
			return nil, err
		}
		return append(slices.Clone(w.env.Row[:w.Width]), make([]types.Datum, len(w.Calls))...), nil
	}
	for i := len(orders) - 1; i >= 0; i-- {
		s := newStage(w, byOrder[orders[i]])
		w.stages = append(w.stages, s)
		if err := s.fill(next); err != nil {
			return err
		}
		if n := len(w.stages); n > 1 {
			w.disk += w.stages[n-2].diskUsed()
			w.stages[n-2].free()
		}
		next = s.next
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

func (w *Window) free() {
	for _, s := range w.stages {
		s.free()
	}
	if w.env != nil {
		w.env.Drop(&w.scratch)
		w.env.Drop(&w.values)
	}
	w.stages = nil
}

// Close implements Source.
func (w *Window) Close() {
	w.Input.Close()
	for _, s := range w.stages {
		w.disk += s.diskUsed()
	}
	w.free()
}

// Describe implements Source.
func (w *Window) Describe() *exec.Description {
	d := &exec.Description{Node: "WindowAgg", Examined: -1, Children: []*exec.Description{w.Input.Describe()}}
	d.Rows, d.Loops = w.runs.Total(w.at)
	names := make([]string, len(w.Calls))
	for i, c := range w.Calls {
		names[i] = c.Text
		d.Exprs = append(append(append(d.Exprs, c.Args...), c.Partition...), c.Order...)
	}
	d.Add("Functions", strings.Join(names, ", "))
	disk := w.disk
	for _, s := range w.stages {
		disk += s.diskUsed()
	}
	d.Disk(disk)
	return d
}

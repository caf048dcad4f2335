package exec

import (
	"slices"

	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// WindowFuncs are the window functions that are not aggregates, with their types.
var WindowFuncs = map[string]types.OID{"row_number": types.Int8, "rank": types.Int8, "dense_rank": types.Int8}

// WindowCall is one f() OVER (...).
type WindowCall struct {
	Name      string
	Agg       *AggCall // nil for one of WindowFuncs
	Args      []Expr
	Partition []Expr
	Order     []Expr
	Keys      []SortKey // one per Order; Index is filled in by Window
}

// Window computes window functions: it holds all rows of its input, and gives them back in the order they came, with the results
// behind the input's columns.
type Window struct {
	Input Source
	Width int // columns of the input in env.Row
	Calls []WindowCall
	env   *Env
	rows  [][]types.Datum
	held  int64
	at    int
	done  bool
	// results is what the results of the call being computed hold.
	results int64

	scratch work.Scratch
}

func (w *Window) Open(env *Env) error {
	w.free()
	w.env, w.at, w.done = env, 0, false
	return w.Input.Open(env)
}

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
		row := append(slices.Clone(w.env.Row[:w.Width]), make([]types.Datum, len(w.Calls))...)
		n := rowSize(row)
		if err := w.env.Hold(n); err != nil {
			return err
		}
		w.held += n
		w.rows = append(w.rows, row)
	}
	for i := range w.Calls {
		if err := w.compute(&w.Calls[i], w.Width+i); err != nil {
			return err
		}
	}
	return nil
}

// placed is a row with its partition and sort values.
type placed struct {
	row  []types.Datum
	keys []types.Datum // partition, then order
}

// compute sorts the rows by partition and order, and walks each partition.
func (w *Window) compute(c *WindowCall, at int) error {
	// The sort keys and the aggregate live as long as this call.
	before := w.env.Used()
	defer func() { w.env.Release(w.env.Used() - before - w.results) }()
	w.results = 0
	all := make([]placed, len(w.rows))
	var keys []SortKey
	for i := range c.Partition {
		keys = append(keys, SortKey{Index: i})
	}
	partition := len(keys)
	for i, k := range c.Keys {
		k.Index = partition + i
		keys = append(keys, k)
	}
	saved := slices.Clone(w.env.Row)
	defer copy(w.env.Row, saved)
	for i, row := range w.rows {
		copy(w.env.Row, row)
		values, err := evalAll(w.env, append(slices.Clone(c.Partition), c.Order...))
		if err == nil {
			err = w.env.Hold(rowSize(values) + 48)
		}
		if err == nil {
			err = w.env.Step(1)
		}
		if err != nil {
			return err
		}
		all[i] = placed{row, values}
	}
	var fail error
	slices.SortStableFunc(all, func(a, b placed) int { return w.env.compareRows(a.keys, b.keys, keys, &fail) })
	if fail != nil {
		return fail
	}
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && compareRows(all[start].keys, all[end].keys, keys[:partition], &fail) == 0 {
			end++
		}
		if err := w.walk(c, at, all[start:end], keys, &fail); err != nil {
			return err
		}
		start = end
	}
	w.held += w.results
	return fail
}

// walk gives the rows of one partition their results. An aggregate with ORDER BY runs up to the last peer of the row, as the
// default frame says.
func (w *Window) walk(c *WindowCall, at int, rows []placed, keys []SortKey, fail *error) error {
	var acc Accumulator
	if c.Agg != nil {
		oids := make([]types.OID, len(c.Args))
		for i, a := range c.Args {
			oids[i] = a.Type()
		}
		acc = c.Agg.Agg.New(oids)
	}
	dense := int64(0)
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && compareRows(rows[start].keys, rows[end].keys, keys, fail) == 0 {
			end++
		}
		if len(c.Order) == 0 {
			end = len(rows)
		}
		dense++
		for i := start; i < end && acc != nil; i++ {
			if err := w.feed(c, acc, rows[i].row); err != nil {
				return err
			}
		}
		for i := start; i < end; i++ {
			var d types.Datum
			switch c.Name {
			case "row_number":
				d = types.NewInt(int64(i) + 1)
			case "rank":
				d = types.NewInt(int64(start) + 1)
			case "dense_rank":
				d = types.NewInt(dense)
			default:
				var err error
				if d, err = acc.Result(w.env); err != nil {
					return err
				}
				n := 64 + int64(len(d.S)) // arrays share their items
				if err := w.env.Hold(n); err != nil {
					return err
				}
				w.results += n
			}
			if err := w.env.Step(1); err != nil {
				return err
			}
			rows[i].row[at] = d
		}
		start = end
	}
	return *fail
}

func (w *Window) feed(c *WindowCall, acc Accumulator, row []types.Datum) error {
	copy(w.env.Row, row)
	around := w.env.Enter(&w.scratch)
	defer w.env.Leave(around)
	if c.Agg.Filter != nil {
		d, err := c.Agg.Filter.Eval(w.env)
		if err != nil || !d.True() {
			return err
		}
	}
	args, err := evalAll(w.env, c.Args)
	if err != nil {
		return err
	}
	for _, a := range args {
		if a.IsNull() && !c.Agg.Agg.NullArgs {
			return nil
		}
	}
	return acc.Add(w.env, args)
}

func (w *Window) free() {
	if w.env != nil {
		w.env.Release(w.held)
		w.env.Drop(&w.scratch)
	}
	w.held, w.rows = 0, nil
}

func (w *Window) Close() {
	w.Input.Close()
	w.free()
}

func (w *Window) Describe() *Description {
	return &Description{Node: "WindowAgg", Rows: int64(w.at), Examined: -1, Children: []*Description{w.Input.Describe()}}
}

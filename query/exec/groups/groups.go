// Package groups computes GROUP BY with aggregates, in memory and in temporary files. What an aggregate computes is in
// query/funcs/aggregates, and the groups that a view has already are found in query/plan.
package groups

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Grouping is GROUP BY with aggregates: a source whose columns are the keys of a group followed by the results of the
// aggregates. If memory is short, first the rows that aggregates collect to sort or compare them go to temporary files,
// and then the rows of groups that have not been seen yet, in parts by the hashes of their keys. The groups of a part
// are computed after those before it have been returned.
type Grouping struct {
	Input exec.Source
	Width int // of the input's row buffer
	Keys  []exec.Expr
	// Sets are the grouping sets as indexes of Keys; nil for one set of all keys. With Sets, the last column of the
	// output is the number of the set.
	Sets  [][]int
	Calls []exec.AggCall

	env    *exec.Env // of the output
	in     exec.Env
	groups []*group
	index  map[string]*group
	held   int64
	at     int // index into groups
	got    int64
	runs   tally.Runs
	space  tally.Space
	done   bool
	buf    []byte
	values []types.Datum // the keys of the current row
	spills groupSpills

	scratch work.Scratch
}

type group struct {
	set  int
	at   int // index into groups
	keys []types.Datum
	accs []aggState
}

// aggState is the state of one aggregate in one group.
type aggState struct {
	acc  exec.Accumulator
	seen map[string]struct{} // for DISTINCT
	rows [][]types.Datum     // collected for ORDER BY: arguments, then sort expressions
}

func (g *Grouping) Open(env *exec.Env) error {
	g.free()
	g.env = env
	g.runs.Begin(&g.got)
	g.in = exec.Env{Row: make([]types.Datum, g.Width), Outer: env.Outer, State: env.State}
	g.groups, g.index, g.at, g.done = nil, map[string]*group{}, 0, false
	return g.Input.Open(&g.in)
}

func (g *Grouping) Next() (bool, error) {
	for g.at >= len(g.groups) {
		if g.done {
			if more, err := g.nextPart(); !more || err != nil {
				return false, err
			}
		}
		g.done = true
		if err := g.fill(); err != nil {
			return false, err
		}
	}
	grp := g.groups[g.at]
	g.at++
	g.got++
	copy(g.env.Row, grp.keys)
	around := g.env.Enter(&g.scratch)
	defer g.env.Leave(around)
	before := g.held
	for i := range grp.accs {
		d, err := g.result(grp, i)
		if err == nil {
			err = g.env.Count(d)
		}
		if err != nil {
			return false, err
		}
		g.env.Row[len(grp.keys)+i] = d
	}
	// What was added for the result is not needed any more.
	grp.accs = nil
	g.env.Release(g.held - before)
	g.held = before
	if g.Sets != nil {
		g.env.Row[len(grp.keys)+len(g.Calls)] = types.NewInt(int64(grp.set))
	}
	return true, g.env.Step(1)
}

func (g *Grouping) result(grp *group, call int) (types.Datum, error) {
	c, a := &g.Calls[call], &grp.accs[call]
	if err := g.spills.replay(g, grp, call); err != nil {
		return types.Null, err
	}
	if len(a.rows) > 0 {
		var fail error
		slices.SortStableFunc(a.rows, func(x, y []types.Datum) int {
			return g.env.CompareRows(x, y, c.OrderKeys,
				&fail)
		})
		if fail != nil {
			return types.Null, fail
		}
		for _, row := range a.rows {
			if err := g.accumulate(a, row[:len(c.Args)]); err != nil {
				return types.Null, err
			}
		}
		a.rows = nil
	}
	if acc, ok := a.acc.(exec.OrderedAccumulator); ok {
		direct, err := exec.EvalAll(g.env, c.Direct)
		if err != nil {
			return types.Null, err
		}
		return acc.Finish(&g.in, c, direct)
	}
	return a.acc.Result(&g.in)
}

func (g *Grouping) fill() error {
	if g.spills.now == nil {
		g.empty()
	}
	for {
		ok, err := g.next()
		if err != nil {
			return err
		}
		if !ok {
			return g.spills.sort()
		}
		if err := g.env.Step(1); err != nil {
			return err
		}
	}
}

// next adds the next row of the input or of the current part to its groups.
func (g *Grouping) next() (bool, error) {
	if g.spills.now != nil {
		return g.nextOfPart()
	}
	ok, err := g.Input.Next()
	if !ok || err != nil {
		return false, err
	}
	around := g.env.Enter(&g.scratch)
	err = g.row()
	g.env.Leave(around)
	return true, err
}

// row adds the current input row to its group in each grouping set.
func (g *Grouping) row() error {
	g.values = g.values[:0]
	for _, k := range g.Keys {
		d, err := k.Eval(&g.in)
		if err != nil {
			return err
		}
		g.values = append(g.values, d)
	}
	if g.Sets == nil {
		return g.into(0, nil)
	}
	for i, set := range g.Sets {
		if err := g.into(i, set); err != nil {
			return err
		}
		if err := g.env.Step(1); err != nil {
			return err
		}
	}
	return nil
}

// into adds the current input row to its group in one set.
func (g *Grouping) into(number int, set []int) error {
	grp, err := g.find(number, set)
	if grp == nil || err != nil {
		return err
	}
	for i := range g.Calls {
		if err := g.feed(grp, i); err != nil {
			return err
		}
	}
	return nil
}

// accumulate adds a row to an aggregate. The memory that the aggregate keeps is counted until the grouping is closed.
func (g *Grouping) accumulate(a *aggState, args []types.Datum) error {
	before := g.env.Used()
	err := a.acc.Add(&g.in, args)
	g.held += g.env.Used() - before
	g.space.Hold(g.held)
	return err
}

// find returns the group of the current input row in a set, or nil if the row has been written to a part.
func (g *Grouping) find(number int, set []int) (*group, error) {
	if len(g.Keys) == 0 && g.Sets == nil {
		return g.groups[0], nil
	}
	var err error
	g.buf = g.buf[:0]
	if g.Sets != nil {
		g.buf = binary.AppendUvarint(g.buf, uint64(number))
		for _, k := range set {
			if g.buf, err = g.env.Hash(g.buf, g.values[k]); err != nil {
				return nil, err
			}
		}
	} else {
		for _, d := range g.values {
			if g.buf, err = g.env.Hash(g.buf, d); err != nil {
				return nil, err
			}
		}
	}
	if grp := g.index[string(g.buf)]; grp != nil {
		return grp, nil
	}
	if g.spills.parts != nil {
		return nil, g.spills.put(g, number)
	}
	keys := g.values
	if g.Sets != nil {
		keys = make([]types.Datum, len(g.values))
		for _, k := range set {
			keys[k] = g.values[k]
		}
	}
	n := exec.RowSize(keys) + int64(len(g.buf)) + 128*int64(1+len(g.Calls))
	if err := g.hold(n); err != nil {
		return nil, err
	}
	if g.spills.parts != nil {
		g.env.Release(n)
		g.held -= n
		return nil, g.spills.put(g, number)
	}
	return g.add(number, types.Own(keys), string(g.buf)), nil
}

// empty creates the groups that exist even without rows: one for each set without keys.
func (g *Grouping) empty() {
	if len(g.Keys) == 0 && g.Sets == nil {
		g.add(0, nil, "")
	}
	for i, set := range g.Sets {
		if len(set) == 0 {
			g.add(i, make([]types.Datum, len(g.Keys)), string(binary.AppendUvarint(nil, uint64(i))))
		}
	}
}

func (g *Grouping) add(set int, keys []types.Datum, hash string) *group {
	grp := &group{set: set, at: len(g.groups), keys: keys, accs: make([]aggState, len(g.Calls))}
	for i := range g.Calls {
		c := &g.Calls[i]
		oids := make([]types.OID, len(c.Args))
		for j, a := range c.Args {
			oids[j] = a.Type()
		}
		grp.accs[i].acc = c.Agg.New(oids)
	}
	g.groups = append(g.groups, grp)
	g.index[hash] = grp
	return grp
}

// hold reserves n bytes for the groups.
func (g *Grouping) hold(n int64) error {
	err := g.env.Spill.Hold(n, g.held, func() error { return g.spills.relieve(g) })
	if err == nil {
		g.held += n
		g.space.Hold(g.held)
	}
	return err
}

// feed passes the current input row to one aggregate of a group.
func (g *Grouping) feed(grp *group, call int) error {
	c, a := &g.Calls[call], &grp.accs[call]
	if c.Filter != nil {
		d, err := c.Filter.Eval(&g.in)
		if err != nil || !d.True() {
			return err
		}
	}
	var few [4]types.Datum
	args := few[:0]
	for _, e := range c.Args {
		d, err := e.Eval(&g.in)
		if err != nil {
			return err
		}
		if d.IsNull() && !c.Agg.NullArgs {
			return nil
		}
		args = append(args, d)
	}
	if g.spills.collects(call) {
		return g.spills.collect(g, grp.at, call, args, nil)
	}
	if c.Distinct {
		dup, err := g.duplicate(a, call, args)
		if dup || err != nil {
			return err
		}
		if g.spills.collects(call) {
			return g.spills.collect(g, grp.at, call, args, nil)
		}
	}
	if len(c.Order) > 0 {
		row, err := g.ordered(c, args)
		if err != nil {
			return err
		}
		n := exec.RowSize(row)
		if err := g.hold(n); err != nil {
			return err
		}
		if g.spills.collects(call) {
			g.env.Release(n)
			g.held -= n
			return g.spills.collect(g, grp.at, call, row[:len(c.Args)], row[len(c.Args):])
		}
		g.spills.loose += n
		a.rows = append(a.rows, row)
		return nil
	}
	before := g.held
	err := g.accumulate(a, args)
	// The only group keeps its result in memory whatever is written to files.
	if g.held > before && err == nil && len(g.Keys) > 0 && g.env.Spill.Crowded(g.held) {
		err = g.spills.grown(g, call)
	}
	return err
}

// ordered returns the arguments of an aggregate with ORDER BY, followed by what they are sorted by.
func (g *Grouping) ordered(c *exec.AggCall, args []types.Datum) ([]types.Datum, error) {
	row := slices.Clone(args)
	for _, e := range c.Order {
		d, err := e.Eval(&g.in)
		if err != nil {
			return nil, err
		}
		row = append(row, d)
	}
	return types.Own(row), nil
}

// duplicate reports whether an aggregate with DISTINCT has had these arguments. If it is collected in a file from now
// on, the arguments are not recorded, and are to be collected.
func (g *Grouping) duplicate(a *aggState, call int, args []types.Datum) (bool, error) {
	h, err := g.hash(args)
	if err != nil {
		return false, err
	}
	if _, dup := a.seen[string(h)]; dup {
		return true, nil
	}
	n := int64(len(h)) + 48
	if err := g.hold(n); err != nil {
		return false, err
	}
	if g.spills.collects(call) { // since memory was short
		g.env.Release(n)
		g.held -= n
		return false, nil
	}
	g.spills.loose += n
	if a.seen == nil {
		a.seen = map[string]struct{}{}
	}
	a.seen[string(h)] = struct{}{}
	return false, nil
}

func (g *Grouping) hash(args []types.Datum) (h []byte, err error) {
	for _, d := range args {
		if h, err = g.env.Hash(h, d); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (g *Grouping) free() {
	if g.env != nil {
		g.env.Release(g.held)
		g.env.Drop(&g.scratch)
		g.spills.free()
	}
	g.held, g.groups, g.index = 0, nil, nil
}

func (g *Grouping) Close() {
	g.Input.Close()
	g.free()
}

func (g *Grouping) Describe() *exec.Description {
	d := &exec.Description{Node: "Aggregate", Examined: -1, Children: []*exec.Description{g.Input.Describe()}}
	d.Rows, d.Loops = g.runs.Total(g.got)
	g.space.Disk = g.spills.disk
	if d.Space = &g.space; len(g.Keys) > 0 {
		d.Node, g.space.Batches = "HashAggregate", 1+g.spills.read
		names := make([]string, len(g.Keys))
		for i, k := range g.Keys {
			names[i] = k.String()
		}
		d.Add("Group Key", names)
	}
	if g.Sets != nil {
		d.Add("Grouping Sets", int64(len(g.Sets)))
	}
	if len(g.Calls) > 0 {
		names := make([]string, len(g.Calls))
		for i, c := range g.Calls {
			names[i] = c.Text
		}
		d.Add("Aggregates", strings.Join(names, ", "))
	}
	d.Exprs = append(d.Exprs, g.Keys...)
	for _, c := range g.Calls {
		d.Exprs = append(append(append(d.Exprs, c.Args...), c.Order...), c.Filter)
	}
	return d
}

package exec

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Aggregate is an aggregate function.
type Aggregate struct {
	Name  string
	Args  []types.OID
	Ret   types.OID
	RetOf func(args []types.OID) types.OID
	// NullArgs reports whether rows with a NULL argument count too.
	NullArgs bool
	// Sorted reports whether the result depends on the order of the input. DISTINCT then sorts it.
	Sorted bool
	// Ordered aggregates have WITHIN GROUP: Args are the direct arguments followed by the sorted ones. Hypothetical
	// ones have as many direct as sorted arguments. The accumulators of both are OrderedAccumulators.
	Ordered, Hypothetical bool
	New                   func(args []types.OID) Accumulator
}

// Accumulator is the state of an aggregate over one group.
type Accumulator interface {
	Add(env *Env, args []types.Datum) error
	Result(env *Env) (types.Datum, error)
}

// OrderedAccumulator is the state of an ordered-set aggregate. Its rows are added in sort order.
type OrderedAccumulator interface {
	Accumulator
	// Finish is Result with the direct arguments.
	Finish(env *Env, call *AggCall, direct []types.Datum) (types.Datum, error)
}

// AggCall is one aggregate of a query.
type AggCall struct {
	Agg  *Aggregate
	Args []Expr
	// Direct are the direct arguments of an ordered-set aggregate, as expressions over the output of the grouping.
	Direct   []Expr
	Distinct bool
	Filter   Expr // may be nil
	// Order lists the expressions by which the rows are sorted before they are added.
	Order     []Expr
	OrderKeys []SortKey
	Text      string // for EXPLAIN
}

// Grouping is GROUP BY with aggregates: a source whose columns are the keys of a group followed by the results of the
// aggregates.
type Grouping struct {
	Input Source
	Width int // of the input's row buffer
	Keys  []Expr
	// Sets are the grouping sets as indexes of Keys; nil for one set of all keys. With Sets, the last column of the
	// output is the number of the set.
	Sets  [][]int
	Calls []AggCall

	env    *Env // of the output
	in     Env
	groups []*group
	index  map[string]*group
	held   int64
	at     int
	done   bool
	buf    []byte
	values []types.Datum // the keys of the current row

	scratch work.Scratch
}

type group struct {
	set  int
	keys []types.Datum
	accs []aggState
}

// aggState is the state of one aggregate in one group.
type aggState struct {
	acc  Accumulator
	seen map[string]struct{} // for DISTINCT
	rows [][]types.Datum     // collected for ORDER BY: arguments, then sort expressions
}

func (g *Grouping) Open(env *Env) error {
	g.free()
	g.env = env
	g.in = Env{Row: make([]types.Datum, g.Width), Outer: env.Outer, State: env.State}
	g.groups, g.index, g.at, g.done = nil, map[string]*group{}, 0, false
	return g.Input.Open(&g.in)
}

func (g *Grouping) Next() (bool, error) {
	if !g.done {
		g.done = true
		if err := g.fill(); err != nil {
			return false, err
		}
	}
	if g.at >= len(g.groups) {
		return false, nil
	}
	grp := g.groups[g.at]
	g.at++
	copy(g.env.Row, grp.keys)
	around := g.env.Enter(&g.scratch)
	defer g.env.Leave(around)
	for i := range grp.accs {
		d, err := g.result(&g.Calls[i], &grp.accs[i])
		if err == nil {
			err = g.env.count(d)
		}
		if err != nil {
			return false, err
		}
		g.env.Row[len(grp.keys)+i] = d
	}
	if g.Sets != nil {
		g.env.Row[len(grp.keys)+len(grp.accs)] = types.NewInt(int64(grp.set))
	}
	return true, g.env.Step(1)
}

func (g *Grouping) result(c *AggCall, a *aggState) (types.Datum, error) {
	if len(c.Order) > 0 {
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
	if acc, ok := a.acc.(OrderedAccumulator); ok {
		direct, err := EvalAll(g.env, c.Direct)
		if err != nil {
			return types.Null, err
		}
		return acc.Finish(&g.in, c, direct)
	}
	return a.acc.Result(&g.in)
}

func (g *Grouping) fill() error {
	g.empty()
	for {
		ok, err := g.Input.Next()
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		around := g.env.Enter(&g.scratch)
		err = g.row()
		g.env.Leave(around)
		if err != nil {
			return err
		}
		if err := g.env.Step(1); err != nil {
			return err
		}
	}
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
	if err != nil {
		return err
	}
	for i := range g.Calls {
		if err := g.feed(&g.Calls[i], &grp.accs[i]); err != nil {
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
	return err
}

// find returns the group of the current input row in a set.
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
	keys := slices.Clone(g.values)
	if g.Sets != nil {
		keys = make([]types.Datum, len(g.values))
		for _, k := range set {
			keys[k] = g.values[k]
		}
	}
	n := RowSize(keys) + int64(len(g.buf)) + 128*int64(1+len(g.Calls))
	if err := g.env.Hold(n); err != nil {
		return nil, err
	}
	g.held += n
	return g.add(number, keys, string(g.buf)), nil
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
	grp := &group{set: set, keys: keys, accs: make([]aggState, len(g.Calls))}
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

// feed passes the current input row to one aggregate.
func (g *Grouping) feed(c *AggCall, a *aggState) error {
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
	if c.Distinct {
		dup, err := g.duplicate(a, args)
		if dup || err != nil {
			return err
		}
	}
	if len(c.Order) > 0 {
		row := slices.Clone(args)
		for _, e := range c.Order {
			d, err := e.Eval(&g.in)
			if err != nil {
				return err
			}
			row = append(row, d)
		}
		n := RowSize(row)
		if err := g.env.Hold(n); err != nil {
			return err
		}
		g.held += n
		a.rows = append(a.rows, row)
		return nil
	}
	return g.accumulate(a, args)
}

func (g *Grouping) duplicate(a *aggState, args []types.Datum) (bool, error) {
	var h []byte
	for _, d := range args {
		var err error
		if h, err = g.env.Hash(h, d); err != nil {
			return false, err
		}
	}
	if _, dup := a.seen[string(h)]; dup {
		return true, nil
	}
	if a.seen == nil {
		a.seen = map[string]struct{}{}
	}
	n := int64(len(h)) + 48
	if err := g.env.Hold(n); err != nil {
		return false, err
	}
	g.held += n
	a.seen[string(h)] = struct{}{}
	return false, nil
}

func (g *Grouping) free() {
	if g.env != nil {
		g.env.Release(g.held)
		g.env.Drop(&g.scratch)
	}
	g.held, g.groups, g.index = 0, nil, nil
}

func (g *Grouping) Close() {
	g.Input.Close()
	g.free()
}

func (g *Grouping) Describe() *Description {
	d := &Description{Node: "Aggregate", Rows: int64(g.at), Examined: -1, Children: []*Description{g.Input.Describe()}}
	if len(g.Keys) > 0 {
		d.Node = "Group Aggregate"
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
	return d
}

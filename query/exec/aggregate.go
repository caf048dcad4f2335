package exec

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Aggregate is an aggregate function.
type Aggregate struct {
	Name  string
	Args  []types.OID
	Ret   types.OID
	RetOf func(args []types.OID) types.OID
	// NullArgs says that rows with a NULL argument count too.
	NullArgs bool
	New      func(args []types.OID) Accumulator
}

// Accumulator is the state of an aggregate over one group.
type Accumulator interface {
	Add(env *Env, args []types.Datum) error
	Result(env *Env) (types.Datum, error)
}

// AggCall is one aggregate of a query.
type AggCall struct {
	Agg      *Aggregate
	Args     []Expr
	Distinct bool
	Filter   Expr // or nil
	// Order sorts the rows before they are added: expressions and how.
	Order     []Expr
	OrderKeys []SortKey
	Text      string // for EXPLAIN
}

// Grouping is GROUP BY with aggregates: a source whose columns are the group's keys and then the aggregates' results.
type Grouping struct {
	Input Source
	Width int // of the input's row buffer
	Keys  []Expr
	Calls []AggCall

	env    *Env // of the output
	in     Env
	groups []*group
	index  map[string]*group
	held   int64
	at     int
	done   bool
	buf    []byte

	scratch work.Scratch
}

type group struct {
	keys []types.Datum
	accs []aggState
}

// aggState is one aggregate's state in one group.
type aggState struct {
	acc  Accumulator
	seen map[string]struct{} // of DISTINCT
	rows [][]types.Datum     // waiting for ORDER BY: arguments, then sort expressions
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
	return true, g.env.Step(1)
}

func (g *Grouping) result(c *AggCall, a *aggState) (types.Datum, error) {
	if len(c.Order) > 0 {
		var fail error
		slices.SortStableFunc(a.rows, func(x, y []types.Datum) int { return g.env.compareRows(x, y, c.OrderKeys, &fail) })
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
	return a.acc.Result(&g.in)
}

func (g *Grouping) fill() error {
	if len(g.Keys) == 0 {
		g.add(nil, "") // one group, also of no rows
	}
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

// row adds the current input row to its group.
func (g *Grouping) row() error {
	grp, err := g.find()
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

// accumulate adds a row to an aggregate. What the aggregate keeps counts until the grouping is closed.
func (g *Grouping) accumulate(a *aggState, args []types.Datum) error {
	before := g.env.Used()
	err := a.acc.Add(&g.in, args)
	g.held += g.env.Used() - before
	return err
}

// find returns the group of the current input row.
func (g *Grouping) find() (*group, error) {
	if len(g.Keys) == 0 {
		return g.groups[0], nil
	}
	keys := make([]types.Datum, len(g.Keys))
	g.buf = g.buf[:0]
	for i, k := range g.Keys {
		d, err := k.Eval(&g.in)
		if err != nil {
			return nil, err
		}
		keys[i] = d
		if g.buf, err = types.AppendHash(g.buf, d); err != nil {
			return nil, err
		}
	}
	if grp := g.index[string(g.buf)]; grp != nil {
		return grp, nil
	}
	n := rowSize(keys) + int64(len(g.buf)) + 128*int64(1+len(g.Calls))
	if err := g.env.Hold(n); err != nil {
		return nil, err
	}
	g.held += n
	return g.add(keys, string(g.buf)), nil
}

func (g *Grouping) add(keys []types.Datum, hash string) *group {
	grp := &group{keys: keys, accs: make([]aggState, len(g.Calls))}
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

// feed gives the current input row to one aggregate.
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
		n := rowSize(row)
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
		if h, err = types.AppendHash(h, d); err != nil {
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
		d.add("Group Key", names)
	}
	if len(g.Calls) > 0 {
		names := make([]string, len(g.Calls))
		for i, c := range g.Calls {
			names[i] = c.Text
		}
		d.add("Aggregates", strings.Join(names, ", "))
	}
	return d
}

// The aggregates.

type counter struct{ n int64 }

func (c *counter) Add(*Env, []types.Datum) error    { c.n++; return nil }
func (c *counter) Result(*Env) (types.Datum, error) { return types.NewInt(c.n), nil }

// summer adds numbers: integers exactly, numerics exactly, floats as floats. avg divides at the end.
type summer struct {
	avg bool
	typ types.OID
	n   int64
	i   int64 // of integers, until it would overflow
	f   float64
	d   *types.Decimal
}

func (s *summer) Add(_ *Env, args []types.Datum) error {
	x := args[0]
	if x.K == types.KJSON {
		if types.JSONKindOf(x.S) == types.JSONNull {
			return nil
		}
		var err error
		if x, err = types.Cast(x, types.JSONB, types.Numeric, -1, nil); err != nil {
			return sqlstate.New(sqlstate.InvalidParameterValue, "cannot add a jsonb %s", types.JSONKindOf(args[0].S)).
				WithHint("Filter with jsonb_typeof(value) = 'number'.")
		}
	}
	s.n++
	switch x.K {
	case types.KFloat:
		s.f += x.Float()
	case types.KInt:
		if sum := s.i + x.I; (sum > s.i) == (x.I > 0) {
			s.i = sum
			return nil
		}
		s.addDecimal(types.DecimalFromInt(s.i))
		s.i = x.I
	case types.KNumeric:
		s.addDecimal(x.Decimal())
	}
	return nil
}

func (s *summer) addDecimal(d *types.Decimal) {
	if s.d == nil {
		s.d = d
		return
	}
	s.d = s.d.Add(d)
}

func (s *summer) Result(*Env) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	switch s.typ {
	case types.Float4, types.Float8:
		if s.avg {
			return types.NewFloat(s.f / float64(s.n)), nil
		}
		return types.NewFloat(s.f), nil
	case types.Int2, types.Int4:
		if !s.avg {
			if s.d != nil {
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "bigint out of range")
			}
			return types.NewInt(s.i), nil
		}
	}
	total := types.DecimalFromInt(s.i)
	if s.d != nil {
		if s.i == 0 {
			total = s.d
		} else {
			total = s.d.Add(total)
		}
	}
	if !s.avg {
		return types.NewNumeric(total), nil
	}
	q, err := total.Div(types.DecimalFromInt(s.n))
	return types.NewNumeric(q), err
}

type extreme struct {
	max       bool
	collation *types.Collation // of texts; nil for their bytes
	best      types.Datum
}

func (e *extreme) Add(env *Env, args []types.Datum) error {
	if !e.best.IsNull() {
		c, err := types.CompareCollated(args[0], e.best, e.collation)
		if err != nil || c == 0 || (c > 0) != e.max {
			return err
		}
	}
	env.Release(e.best.Large())
	e.best = types.Null
	if err := env.Hold(args[0].Large()); err != nil {
		return err
	}
	e.best = args[0]
	return nil
}

func (e *extreme) Result(*Env) (types.Datum, error) { return e.best, nil }

// booler is bool_and and bool_or.
type booler struct {
	or    bool
	value types.Datum
}

func (b *booler) Add(_ *Env, args []types.Datum) error {
	if b.value.IsNull() || args[0].True() == b.or {
		b.value = args[0]
	}
	return nil
}

func (b *booler) Result(*Env) (types.Datum, error) { return b.value, nil }

// collector keeps what it is given, within the statement's memory: array_agg, string_agg, jsonb_agg, jsonb_object_agg.
type collector struct {
	kind  string
	types []types.OID
	items []types.Datum
	// The text is full and then buf: a long one is kept in pieces, since growing a slice needs more than twice its room.
	full  [][]byte
	total int // bytes of full
	buf   []byte
	held  int // bytes of both that are counted
	any   bool
}

// piece is how long the pieces of a text are.
const piece = 256 << 10

func (c *collector) Add(env *Env, args []types.Datum) error {
	switch c.kind {
	case "array":
		if err := env.Hold(args[0].Size()); err != nil {
			return err
		}
		c.items = append(c.items, args[0])
		return nil
	case "string":
		if args[0].IsNull() {
			return nil
		}
		n := len(args[0].S)
		if c.any && len(args) > 1 {
			n += len(args[1].S)
		}
		if err := c.grow(env, n); err != nil {
			return err
		}
		if c.any && len(args) > 1 {
			c.buf = append(c.buf, args[1].S...)
		}
		c.any = true
		c.buf = append(c.buf, args[0].S...)
		c.cut()
		return nil
	}
	// A value in JSON is about as long as it is in memory.
	if err := c.grow(env, len(args[0].S)+len(args[len(args)-1].S)); err != nil {
		return err
	}
	if c.any {
		c.buf = append(c.buf, ", "...)
	}
	c.any = true
	var err error
	if c.kind == "object" {
		if args[0].IsNull() {
			return sqlstate.New(sqlstate.InvalidParameterValue, "field name must not be null")
		}
		c.buf = types.AppendJSONString(c.buf, types.TextOf(args[0], c.types[0], env.Types))
		c.buf = append(c.buf, ": "...)
	}
	c.buf, err = types.ToJSON(c.buf, args[len(args)-1], c.types[len(args)-1], env.Types)
	if err == nil {
		err = c.grow(env, 0)
	}
	c.cut()
	return err
}

// cut begins a new piece when one is full.
func (c *collector) cut() {
	if len(c.buf) >= piece {
		c.full, c.total = append(c.full, c.buf), c.total+len(c.buf)
		c.buf = make([]byte, 0, piece)
	}
}

// text puts the pieces together.
func (c *collector) text(env *Env, open, shut string) (string, error) {
	n := len(open) + c.total + len(c.buf) + len(shut)
	if err := env.fits(int64(n)); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(open)
	for _, p := range c.full {
		b.Write(p)
	}
	b.Write(c.buf)
	b.WriteString(shut)
	return b.String(), nil
}

// grow counts the text as it will be with n more bytes.
func (c *collector) grow(env *Env, n int) error {
	want := c.total + len(c.buf) + n
	if want <= c.held {
		return nil
	}
	// Slices grow by a quarter at least.
	want += min(want/4, piece)
	if err := env.Hold(int64(want - c.held)); err != nil {
		return err
	}
	c.held = want
	return nil
}

func (c *collector) Result(env *Env) (types.Datum, error) {
	switch c.kind {
	case "array":
		if len(c.items) == 0 {
			return types.Null, nil
		}
		return types.NewArray(c.types[0], c.items), nil
	case "string":
		if !c.any {
			return types.Null, nil
		}
		s, err := c.text(env, "", "")
		return types.NewText(s), err
	}
	if !c.any {
		return types.Null, nil
	}
	open, shut := "[", "]"
	if c.kind == "object" {
		open, shut = "{", "}"
	}
	s, err := c.text(env, open, shut)
	return types.NewJSONText(s), err
}

func init() {
	add := func(a *Aggregate) { Aggregates[a.Name] = append(Aggregates[a.Name], a) }
	add(&Aggregate{Name: "count", Ret: types.Int8, New: func([]types.OID) Accumulator { return &counter{} }})
	add(&Aggregate{Name: "count", Args: []types.OID{AnyValue}, Ret: types.Int8, New: func([]types.OID) Accumulator { return &counter{} }})
	sums := []struct{ arg, sum, avg types.OID }{{types.Int2, types.Int8, types.Numeric}, {types.Int4, types.Int8, types.Numeric},
		{types.Int8, types.Numeric, types.Numeric}, {types.Numeric, types.Numeric, types.Numeric}, {types.Float4, types.Float4, types.Float8},
		{types.Float8, types.Float8, types.Float8}, {types.JSONB, types.Numeric, types.Numeric}}
	for _, s := range sums {
		arg := s.arg
		add(&Aggregate{Name: "sum", Args: []types.OID{arg}, Ret: s.sum, New: func([]types.OID) Accumulator { return &summer{typ: arg} }})
		add(&Aggregate{Name: "avg", Args: []types.OID{arg}, Ret: s.avg, New: func([]types.OID) Accumulator { return &summer{typ: arg, avg: true} }})
	}
	same := func(args []types.OID) types.OID { return args[0] }
	for _, name := range []string{"min", "max"} {
		add(&Aggregate{Name: name, Args: []types.OID{AnyElement}, RetOf: same,
			New: func([]types.OID) Accumulator { return &extreme{max: name == "max"} }})
	}
	for _, name := range []string{"bool_and", "every", "bool_or"} {
		add(&Aggregate{Name: name, Args: []types.OID{types.Bool}, Ret: types.Bool,
			New: func([]types.OID) Accumulator { return &booler{or: name == "bool_or"} }})
	}
	add(&Aggregate{Name: "array_agg", Args: []types.OID{AnyElement}, NullArgs: true,
		RetOf: func(args []types.OID) types.OID { return types.ArrayOf(args[0]) },
		New:   func(a []types.OID) Accumulator { return &collector{kind: "array", types: a} }})
	add(&Aggregate{Name: "string_agg", Args: []types.OID{types.Text, types.Text}, Ret: types.Text, NullArgs: true,
		New: func(a []types.OID) Accumulator { return &collector{kind: "string", types: a} }})
	for name, typ := range map[string]types.OID{"json_agg": types.JSON, "jsonb_agg": types.JSONB} {
		add(&Aggregate{Name: name, Args: []types.OID{AnyValue}, Ret: typ, NullArgs: true,
			New: func(a []types.OID) Accumulator { return &collector{kind: "list", types: a} }})
	}
	for name, typ := range map[string]types.OID{"json_object_agg": types.JSON, "jsonb_object_agg": types.JSONB} {
		add(&Aggregate{Name: name, Args: []types.OID{AnyValue, AnyValue}, Ret: typ, NullArgs: true,
			New: func(a []types.OID) Accumulator { return &collector{kind: "object", types: a} }})
	}
}

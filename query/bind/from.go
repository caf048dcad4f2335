package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// From is a bound item of FROM: *UserScan, *VirtualScan, *DerivedScan, *WorkScan, *FuncScan or *Join.
type From interface {
	// Span is the columns in the row buffer, from and to.
	Span() (from, to int)
}

type UserScan struct {
	Rel          *UserRelation
	Design, View string // of a view
	Reduce       string // its built-in reduce function, if it has one
	Raw          bool   // options.collation is raw: no order to rely on
	Name         string // for EXPLAIN
	Base         int
	Used         []bool // columns that the query looks at
	Off          int
}

type VirtualScan struct {
	Rel   exec.Relation
	Base  int
	width int
}

type DerivedScan struct {
	Query   *Query
	Cte     *CTE // where it is a WITH query
	Name    string
	Base    int
	Lateral bool
}

// WorkScan reads a recursive query's rows of the last round.
type WorkScan struct {
	Work        *exec.WorkTable
	Base, Width int
}

type FuncScan struct {
	Fn         *exec.TableFunc
	Args       []exec.Expr
	Scalar     exec.Expr
	Name       string
	Base       int
	Width      int
	Ordinality bool
}

type Join struct {
	Kind        string
	Left, Right From
	On          []exec.Expr
	Lateral     bool
}

func (s *UserScan) Span() (int, int)    { return s.Base, s.Base + len(s.Rel.Columns) }
func (s *VirtualScan) Span() (int, int) { return s.Base, s.Base + s.width }
func (s *DerivedScan) Span() (int, int) { return s.Base, s.Base + len(s.Query.Columns) }
func (s *WorkScan) Span() (int, int)    { return s.Base, s.Base + s.Width }
func (s *FuncScan) Span() (int, int) {
	to := s.Base + s.Width
	if s.Ordinality {
		to++
	}
	return s.Base, to
}
func (j *Join) Span() (int, int) {
	from, _ := j.Left.Span()
	_, to := j.Right.Span()
	return from, to
}

// from binds the FROM list; items with commas between them are inner joins.
func (b *binder) from(items []ast.FromItem, sc *scope) error {
	q := sc.query
	for _, it := range items {
		f, err := b.fromItem(it, sc)
		if err != nil {
			return err
		}
		if q.From == nil {
			q.From = f
		} else {
			q.From = &Join{Kind: "inner", Left: q.From, Right: f, Lateral: isLateral(f)}
		}
	}
	if q.From != nil {
		return b.noUserJoins(q, items[0].Pos())
	}
	return nil
}

// noUserJoins refuses joins with relations of the store, until there is a good way to do them.
func (b *binder) noUserJoins(q *Query, off int) error {
	users, total := 0, 0
	var count func(From)
	count = func(f From) {
		switch n := f.(type) {
		case *Join:
			count(n.Left)
			count(n.Right)
			return
		case *UserScan:
			users++
		case *DerivedScan:
			if n.Query.user {
				users++
			}
		case *FuncScan:
			// A function over a document's own values, like jsonb_array_elements(doc->'tags'), unfolds each row.
			return
		}
		total++
	}
	count(q.From)
	q.user = users > 0
	if users > 0 && total > 1 {
		return sqlstate.Unsupported(off, "Query one relation at a time, or emit what belongs together under one key in a view.",
			"joins with documents, views and changes are not supported")
	}
	return nil
}

func isLateral(f From) bool {
	switch n := f.(type) {
	case *DerivedScan:
		return n.Lateral
	case *FuncScan:
		return true
	}
	return false
}

func (b *binder) fromItem(it ast.FromItem, sc *scope) (From, error) {
	if err := b.enter(it.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	if err := refuseTable(it); err != nil {
		return nil, err
	}
	switch n := it.(type) {
	case *ast.Table:
		return b.table(n, sc)
	case *ast.Derived:
		return b.derived(n.Query, n.Alias.Name, n.Columns, n.Lateral, n.Pos(), sc)
	case *ast.FuncTable:
		return b.funcTable(n, sc)
	case *ast.Join:
		return b.join(n, sc)
	}
	return nil, syntaxError(it.Pos(), "syntax error")
}

// addRelation gives a relation its columns in the row buffer.
func (b *binder) addRelation(sc *scope, rel *relation, cols []exec.Column, names []string, off int) error {
	if len(names) > len(cols) {
		return sqlstate.New(sqlstate.InvalidColumnReference, "table %q has %d columns available but %d columns specified", rel.alias, len(cols), len(names)).At(off)
	}
	for _, r := range sc.rels {
		if r.alias == rel.alias && rel.alias != "" && (r.schema == rel.schema || r.schema == "" || rel.schema == "") {
			return sqlstate.New(sqlstate.DuplicateAlias, "table name %q specified more than once", rel.alias).At(off)
		}
	}
	// Names are compared with all before them, and every column has a place in the row.
	if err := b.work.Spend(len(sc.rels) + len(cols)); err != nil {
		return err
	}
	if err := b.work.Hold(int64(len(cols)) * nodeSize); err != nil {
		return err
	}
	for i, c := range cols {
		if i < len(names) {
			c.Name = names[i]
		}
		rel.cols = append(rel.cols, relColumn{name: c.Name, typ: c.Type, mod: c.Mod, index: sc.width + i, fields: c.Fields, collation: c.Collation})
	}
	sc.width += len(cols)
	sc.rels = append(sc.rels, rel)
	return nil
}

func (b *binder) table(n *ast.Table, sc *scope) (From, error) {
	name := n.Name[len(n.Name)-1]
	schema := ""
	switch len(n.Name) {
	case 1:
		c, in, err := b.findCTE(sc, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			return b.cteRef(n, c, in, sc)
		}
	case 2:
		schema = n.Name[0]
	case 3:
		if n.Name[0] != b.r.DatabaseName() {
			return nil, sqlstate.Unsupported(n.Pos(), "Connect to that database.",
				"cross-database references are not implemented: %q", strings.Join(n.Name, "."))
		}
		schema = n.Name[1]
	default:
		return nil, syntaxError(n.Pos(), "improper relation name (too many dotted names): %s", strings.Join(n.Name, "."))
	}
	alias, shown := n.Alias.Name, ""
	if alias == "" {
		alias, shown = name, schema
	}
	rel := &relation{alias: alias, schema: shown}
	if v := b.virtual(schema, name); v != nil {
		if o, ok := v.(interface{ OID() int64 }); ok {
			rel.oid = o.OID()
		}
		s := &VirtualScan{Rel: v, Base: sc.width, width: len(v.Columns())}
		return s, b.addRelation(sc, rel, v.Columns(), n.Columns, n.Pos())
	}
	u, err := b.userRelation(schema, name, n.Pos())
	if err != nil {
		return nil, err
	}
	b.lookups = append(b.lookups, lookup{schema: schema, name: name, off: n.Pos(), found: *u})
	u.Base, u.Off, u.Used, rel.user = sc.width, n.Pos(), make([]bool, len(u.Rel.Columns)), u
	cols := make([]exec.Column, len(u.Rel.Columns))
	for i, c := range u.Rel.Columns {
		cols[i] = exec.Column{Name: c.Name, Type: c.Type, Mod: -1}
	}
	return u, b.addRelation(sc, rel, cols, n.Columns, n.Pos())
}

// virtual finds a made-up relation: pg_catalog before the search path, as PostgreSQL does.
func (b *binder) virtual(schema, name string) exec.Relation {
	if schema != "" {
		return b.r.Relation(schema, name)
	}
	if v := b.r.Relation("pg_catalog", name); v != nil {
		return v
	}
	for _, s := range b.r.SearchPath() {
		if v := b.r.Relation(s, name); v != nil {
			return v
		}
	}
	return nil
}

// userRelation finds a relation of the store.
func (b *binder) userRelation(schema, name string, off int) (*UserScan, error) {
	path := []string{schema}
	if schema == "" {
		path = b.r.SearchPath()
	}
	if !b.opened {
		b.opened = true
		db, err := b.r.Database(b.work.Ctx)
		if err != nil {
			return nil, err
		}
		b.db = db
	}
	missing := name
	if schema != "" {
		missing = schema + "." + name
	}
	notFound := sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", missing).At(off)
	if b.db == nil {
		return nil, notFound.WithHint("The database %q has only the system schemas. Connect to another one to read documents.", b.r.DatabaseName())
	}
	for _, s := range path {
		if s == "public" {
			if rel := publicRelation(name); rel != nil {
				return &UserScan{Rel: rel, Name: rel.Name}, nil
			}
			continue
		}
		if b.r.HasSchema(s) {
			continue
		}
		d, err := b.db.Design(b.work.Ctx, s)
		if err != nil {
			if exec.KindOf(err) == exec.NotFound {
				continue
			}
			return nil, exec.StoreError(err)
		}
		for _, v := range d.Views {
			if v.Name == name {
				return viewScan(s, v), nil
			}
		}
	}
	if schema == "" {
		u, err := b.anyView(name, off)
		if u != nil || err != nil {
			return u, err
		}
	}
	if schema != "" && schema != "public" && !b.r.HasSchema(schema) {
		if _, err := b.db.Design(b.work.Ctx, schema); exec.KindOf(err) == exec.NotFound {
			return nil, notFound.WithHint("There is no design document %q with views in this database.", "_design/"+schema)
		}
	}
	return nil, notFound
}

// anyView finds a view by its bare name behind the search path, when only one design document has it.
func (b *binder) anyView(name string, off int) (*UserScan, error) {
	designs, err := b.db.Designs(b.work.Ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	var found *UserScan
	for _, d := range designs {
		for _, v := range d.Views {
			if v.Name != name || b.r.HasSchema(d.Name) {
				continue
			}
			if found != nil {
				return nil, sqlstate.New(sqlstate.AmbiguousAlias, "view name %q is ambiguous", name).At(off).
					WithHint("Design documents %q and %q both have it: write schema.%s.", found.Design, d.Name, name)
			}
			found = viewScan(d.Name, v)
		}
	}
	return found, nil
}

func viewScan(design string, v exec.View) *UserScan {
	rel := &UserRelation{Name: v.Name, Kind: exec.ReadView, Columns: ViewColumns}
	return &UserScan{Rel: rel, Design: design, View: v.Name, Raw: v.RawCollation, Reduce: v.Reduce,
		Name: design + "." + v.Name}
}

func (b *binder) findCTE(sc *scope, name string) (*CTE, *scope, error) {
	for s := sc; s != nil; s = s.parent {
		if c := s.ctes[name]; c != nil {
			return c, s, nil
		}
		if err := b.work.Spend(1); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, nil
}

// cteRef names a common table expression. Inside of itself a recursive one is the rows of its last round.
func (b *binder) cteRef(n *ast.Table, c *CTE, in, sc *scope) (From, error) {
	alias := n.Alias.Name
	if alias == "" {
		alias = n.Name[0]
	}
	names := n.Columns
	if len(names) == 0 {
		names = c.columns
	}
	if c.work != nil {
		w := &WorkScan{Work: c.work, Base: sc.width, Width: len(c.result)}
		return w, b.addRelation(sc, &relation{alias: alias}, c.result, names, n.Pos())
	}
	c.refs++
	if in != sc {
		c.deep++
	}
	if c.Query.Correlated || c.InStep {
		// What looks at its rows looks at the rows around its WITH.
		for s := sc; s != nil && s != in; s = s.parent {
			if s.query != nil {
				s.query.Correlated = true
			}
		}
	}
	d := &DerivedScan{Query: c.Query, Cte: c, Name: alias, Base: sc.width}
	return d, b.addRelation(sc, &relation{alias: alias}, c.Query.Columns, names, n.Pos())
}

// cteQuery binds the query of a common table expression; of a recursive one first the part that does not name itself.
func (b *binder) cteQuery(c *CTE) (*Query, error) {
	if !c.recursive {
		return b.query(c.sel, c.scope)
	}
	s := c.sel
	if len(s.OrderBy) > 0 || s.Limit != nil || s.Offset != nil || len(s.With) > 0 {
		return nil, sqlstate.Unsupported(s.Pos(), "Put it around the WITH query.",
			"ORDER BY, LIMIT and WITH in a recursive query are not supported")
	}
	first, err := b.query(s.Left, c.scope)
	if err != nil {
		return nil, err
	}
	self := *c
	self.work, self.result = &exec.WorkTable{Name: c.name}, first.Columns
	inner := &scope{parent: c.scope, ctes: map[string]*CTE{c.name: &self}}
	b.steps++
	step, err := b.query(s.Right, inner)
	b.steps--
	if err != nil {
		return nil, err
	}
	if len(first.Columns) != len(step.Columns) {
		return nil, syntaxError(s.Right.Pos(), "each UNION query must have the same number of columns")
	}
	for i, col := range first.Columns {
		if commonType(col.Type, step.Columns[i].Type) == 0 {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch, "recursive query %q column %d has type %s in non-recursive term but type %s overall",
				c.name, i+1, types.NameOf(col.Type), types.NameOf(step.Columns[i].Type)).At(s.Right.Pos())
		}
		if c := step.Columns[i].Collation; c != col.Collation {
			return nil, unsupportedCollation(s.Right.Pos(), "a column of a recursive query that changes it")
		}
		if err := b.retype(step, i, col.Type, s.Right.Pos()); err != nil {
			return nil, err
		}
	}
	return &Query{Left: first, Right: step, UnionAll: s.All, Work: self.work, Columns: first.Columns,
		Keep: len(first.Columns), user: first.user || step.user, Correlated: first.Correlated || step.Correlated}, nil
}

func (b *binder) derived(sel *ast.Select, alias string, names []string, lateral bool, off int,
	sc *scope) (From, error) {
	// A scope without a query only passes names on: it is no level of its own at run time.
	parent := &scope{parent: sc.parent, ctes: sc.ctes}
	if lateral {
		// The items before this one are visible.
		sc.seen = len(sc.rels)
		parent = sc
	}
	q, err := b.query(sel, parent)
	if err != nil {
		return nil, err
	}
	if q.Correlated && !lateral {
		sc.query.Correlated = true // what it looks at is around this query too
	}
	d := &DerivedScan{Query: q, Name: alias, Base: sc.width, Lateral: lateral}
	return d, b.addRelation(sc, &relation{alias: alias}, q.Columns, names, off)
}

func (b *binder) funcTable(n *ast.FuncTable, sc *scope) (From, error) {
	if n.RowsFrom && len(n.Calls) > 1 {
		return nil, sqlstate.Unsupported(n.Calls[1].Expr.Pos(), "Call one function.",
			"ROWS FROM of several functions is not supported")
	}
	c, ok := n.Calls[0].Expr.(*ast.Call)
	if !ok {
		return nil, sqlstate.Unsupported(n.Pos(), "Call a function.", "this expression in FROM is not supported")
	}
	name := c.Name[len(c.Name)-1]
	alias := n.Alias.Name
	if alias == "" {
		alias = name
	}
	// The arguments are bound one level inside, where the items before are the level around.
	sc.seen = len(sc.rels)
	inner := &scope{parent: sc, query: &Query{}, noAggregates: "functions in FROM"}
	f := &FuncScan{Name: name, Base: sc.width, Ordinality: n.Ordinality}
	args, err := b.args(c, inner)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(args, hasLocale) {
		return nil, unsupportedCollation(n.Pos(), "an argument of a function in FROM")
	}
	var cols []exec.Column
	if fn := b.tableFunc(c, args); fn != nil {
		f.Fn = fn
		if f.Args, err = b.coerceArgs(args, fn.Args, fn.Variadic, c.Pos()); err != nil {
			return nil, err
		}
		oids := make([]types.OID, len(f.Args))
		for i, a := range f.Args {
			oids[i] = a.Type()
		}
		cols = append(cols, fn.Columns(oids)...)
		// A function of one column calls it after its alias.
		if len(cols) == 1 && n.Alias.Name != "" {
			cols[0].Name = n.Alias.Name
		}
	} else {
		if f.Scalar, err = b.callWith(c, args, inner); err != nil {
			return nil, err
		}
		cols = []exec.Column{{Name: alias, Type: f.Scalar.Type(), Mod: -1}}
	}
	if n.Types != nil || n.Calls[0].Types != nil {
		return nil, sqlstate.Unsupported(n.Pos(), "Leave out the column definition list.",
			"functions returning \"record\" are not supported")
	}
	f.Width = len(cols)
	if n.Ordinality {
		cols = append(cols, exec.Column{Name: "ordinality", Type: types.Int8, Mod: -1})
	}
	return f, b.addRelation(sc, &relation{alias: alias}, cols, n.Columns, n.Pos())
}

func (b *binder) join(n *ast.Join, sc *scope) (From, error) {
	first := len(sc.rels)
	left, err := b.fromItem(n.Left, sc)
	if err != nil {
		return nil, err
	}
	middle := len(sc.rels)
	right, err := b.fromItem(n.Right, sc)
	if err != nil {
		return nil, err
	}
	j := &Join{Kind: string(n.Kind), Left: left, Right: right, Lateral: isLateral(right)}
	if j.Kind == "cross" {
		j.Kind = "inner"
	}
	if j.Lateral && (j.Kind == "right" || j.Kind == "full") {
		return nil, sqlstate.New(sqlstate.InvalidColumnReference,
			"the combining JOIN type must be INNER or LEFT for a LATERAL reference").At(n.Pos())
	}
	using := n.Using
	if n.Natural {
		using = commonColumns(sc.rels[first:middle], sc.rels[middle:])
	}
	for _, name := range using {
		cond, err := b.usingColumn(name, j.Kind, sc.rels[first:middle], sc.rels[middle:], n.Pos())
		if err != nil {
			return nil, err
		}
		j.On = append(j.On, cond)
	}
	if n.On != nil {
		// Only the two sides of this join are visible.
		inner := &scope{parent: sc.parent, rels: sc.rels[first:], ctes: sc.ctes, query: sc.query, seen: len(sc.rels) - first, noAggregates: "JOIN conditions"}
		cond, err := b.condition(n.On, inner, "JOIN/ON")
		if err != nil {
			return nil, err
		}
		j.On = append(j.On, conjuncts(cond)...)
	}
	return j, nil
}

func commonColumns(left, right []*relation) []string {
	var names []string
	have := map[string]bool{}
	for _, r := range right {
		for _, c := range r.cols {
			have[c.name] = have[c.name] || !c.hidden
		}
	}
	for _, r := range left {
		for _, c := range r.cols {
			if !c.hidden && have[c.name] {
				names = append(names, c.name)
				have[c.name] = false
			}
		}
	}
	return names
}

// usingColumn makes the equality of a USING column and hides one of the two.
func (b *binder) usingColumn(name, kind string, left, right []*relation, off int) (exec.Expr, error) {
	find := func(rels []*relation, side string) (*relColumn, error) {
		var found *relColumn
		for _, r := range rels {
			for i := range r.cols {
				if c := &r.cols[i]; c.name == name && !c.hidden {
					if found != nil {
						return nil, sqlstate.New(sqlstate.AmbiguousColumn, "common column name %q appears more than once in %s table", name, side).At(off)
					}
					found = c
				}
			}
		}
		if found == nil {
			return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q specified in USING clause does not exist in %s table", name, side).At(off)
		}
		return found, nil
	}
	l, err := find(left, "left")
	if err != nil {
		return nil, err
	}
	r, err := find(right, "right")
	if err != nil {
		return nil, err
	}
	lx := &exec.Col{Index: l.index, Typ: l.typ, Name: name, Collation: l.collation}
	rx := &exec.Col{Index: r.index, Typ: r.typ, Name: name, Collation: r.collation}
	switch kind {
	case "right":
		l.hidden = true
	case "full":
		both, typ, err := b.unify([]exec.Expr{lx, rx}, "JOIN/USING", off)
		if err != nil {
			return nil, err
		}
		l.merged = &exec.Coalesce{Op: "coalesce", Args: both, Typ: typ}
		r.hidden = true
	default:
		r.hidden = true
	}
	return b.compare("=", lx, rx, off)
}

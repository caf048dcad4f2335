package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

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
		return sqlstate.Unsupported(off,
			"Query one relation at a time, or emit what belongs together under one key in a view.",
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
	if err := refuse.Table(it); err != nil {
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
	return nil, refuse.Syntax(it.Pos(), "syntax error")
}

// addRelation gives a relation its columns in the row buffer.
func (b *binder) addRelation(sc *scope, rel *relation, cols []exec.Column, names []string, off int) error {
	if len(names) > len(cols) {
		return sqlstate.New(sqlstate.InvalidColumnReference,
			"table %q has %d columns available but %d columns specified", rel.alias, len(cols), len(names)).At(off)
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
		rel.cols = append(rel.cols, relColumn{name: c.Name, typ: c.Type, mod: c.Mod, index: sc.width + i,
			fields: c.Fields, collation: c.Collation, origin: c.Origin})
	}
	sc.width += len(cols)
	sc.rels = append(sc.rels, rel)
	return nil
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
	if slices.ContainsFunc(args, collation.HasLocale) {
		return nil, collation.Unsupported(n.Pos(), "an argument of a function in FROM")
	}
	var cols []exec.Column
	scalar := false
	fn, err := b.record(n, c, args)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		fn = b.tableFunc(c, args)
	}
	if fn != nil {
		f.Fn = fn
		if f.Args, err = b.CoerceArgs(args, fn.Args, fn.Variadic, c.Pos()); err != nil {
			return nil, err
		}
		oids := make([]types.OID, len(f.Args))
		for i, a := range f.Args {
			oids[i] = a.Type()
		}
		cols = append(cols, fn.Columns(oids)...)
		// A function whose one column has no name of its own calls it after its alias.
		if len(cols) == 1 && n.Alias.Name != "" && cols[0].Name == fn.Name {
			cols[0].Name = n.Alias.Name
		}
		scalar = len(cols) == 1 && !n.Ordinality
	} else {
		if f.Scalar, err = b.callWith(c, args, inner); err != nil {
			return nil, err
		}
		cols = []exec.Column{{Name: alias, Type: f.Scalar.Type(), Mod: -1}}
	}
	if list := definitions(n); list != nil && f.Fn != nil && !recordFunction(name) {
		return nil, refuse.Syntax(list[0].Pos(),
			"a column definition list is only allowed for functions returning \"record\"")
	}
	f.Width = len(cols)
	if n.Ordinality {
		cols = append(cols, exec.Column{Name: "ordinality", Type: types.Int8, Mod: -1})
	}
	return f, b.addRelation(sc, &relation{alias: alias, scalar: scalar}, cols, n.Columns, n.Pos())
}

// definitions are the types of a column definition list.
func definitions(n *ast.FuncTable) []ast.TypeName {
	if n.Types != nil {
		return n.Types
	}
	return n.Calls[0].Types
}

func recordFunction(name string) bool { return jsons.Records[name] != nil }

// record makes a function that returns records one that returns the columns of its definition list.
func (b *binder) record(n *ast.FuncTable, c *ast.Call, args []exec.Expr) (*exec.TableFunc, error) {
	fn := jsons.Records[c.Name[len(c.Name)-1]]
	if fn == nil {
		return nil, nil
	}
	if _, ok := typing.Score(fn.Args, false, args); !ok {
		return nil, nil
	}
	if len(args) == 2 && typing.Untyped(args[0]) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch,
			"could not determine polymorphic type because input has type unknown").At(c.Pos())
	}
	list, names := definitions(n), n.Columns
	if list == nil {
		return nil, refuse.Syntax(c.Pos(), "a column definition list is required for functions returning \"record\"")
	}
	if n.Types == nil {
		names = n.Calls[0].Columns
	}
	cols := make([]exec.Column, len(list))
	for i, t := range list {
		oid, mod, err := typing.ResolveType(t)
		if err != nil {
			return nil, err
		}
		cols[i] = exec.Column{Name: names[i], Type: oid, Mod: mod}
	}
	out := fn.Of(cols)
	return out, nil
}

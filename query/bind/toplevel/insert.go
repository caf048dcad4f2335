package toplevel

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *writer) insert(n *ast.Insert) error {
	b.out.Kind = "insert"
	l, err := b.Level(n.With, n.Recursive, n.At)
	if err == nil {
		err = b.relation(n.Table)
	}
	if err != nil {
		return err
	}
	at, err := b.targets(n)
	if err != nil {
		return err
	}
	if err := b.source(l, n, at); err != nil {
		return err
	}
	alias, schema := called(n.Table)
	if err := b.conflict(n, alias, schema); err != nil {
		return err
	}
	rows, err := b.Level(nil, false, 0)
	if err == nil {
		err = rows.Relation(b.rel.Name, alias, schema, b.columns(), n.Table.Pos())
	}
	if err == nil {
		err = b.returning(rows, n.Returning)
	}
	return err
}

// places are those of the columns among the values of a row, -1 for none. If parts of doc are written, doc is the place
// of the first of them.
type places struct {
	id, rev, doc int
	parts        bool
}

// targets returns the places of the columns. Without a list of columns, values are those of id and doc, in this order,
// because rev is computed. It can be named in a list for DEFAULT and NULL.
func (b *writer) targets(n *ast.Insert) (at places, err error) {
	if n.Overriding != "" {
		return at, sqlstate.Unsupported(n.Pos(), "Leave it out.", "OVERRIDING is not supported")
	}
	if len(n.Columns) == 0 {
		return places{id: 0, rev: -1, doc: 1}, nil
	}
	at = places{id: -1, rev: -1, doc: -1}
	for i := range n.Columns {
		t := &n.Columns[i]
		same := func(c ast.SetTarget) bool {
			return c.Name == t.Name && (len(t.Path) == 0 || len(c.Path) == 0)
		}
		if slices.ContainsFunc(n.Columns[:i], same) {
			return at, sqlstate.New(sqlstate.DuplicateColumn, `column "%s" specified more than once`,
				t.Name).At(t.Pos())
		}
		if err := b.column(t); err != nil {
			return at, err
		}
		switch t.Name {
		case colID:
			at.id = i
		case colRev:
			at.rev = i
		case colDoc:
			if at.doc < 0 {
				at.doc, at.parts = i, len(t.Path) > 0
			}
		}
	}
	return at, nil
}

// source binds the rows to be inserted.
func (b *writer) source(l *bind.Level, n *ast.Insert, at places) error {
	s := n.Source
	if s == nil {
		b.out.ID, b.out.Rev, b.out.Doc, b.out.Choose = -1, -1, -1, -1
		b.out.Source = &bind.Query{Values: [][]exec.Expr{{exec.NullOf(types.Text)}}, Keep: 1,
			Columns: []exec.Column{{Type: types.Text, Mod: -1}}}
		return nil
	}
	if s.Values != nil && len(s.OrderBy) == 0 && s.Limit == nil && s.Offset == nil && len(s.With) == 0 {
		return b.values(l, n, at)
	}
	given := len(n.Columns)
	want := make([]types.OID, max(given, 2))
	for _, i := range []int{at.id, at.rev} {
		if i >= 0 {
			want[i] = types.Text
		}
	}
	for i := range want {
		if i == at.doc || i < given && len(n.Columns[i].Path) > 0 {
			want[i] = types.JSONB
		}
	}
	q, err := l.Select(s, want)
	if err != nil {
		return err
	}
	if len(q.Columns) > len(want) || given > 0 && len(q.Columns) > given {
		return refuse.Syntax(naming.SetOpPlace(s, max(given, 2)), "INSERT has more expressions than target columns")
	}
	if len(q.Columns) < given {
		return refuse.Syntax(n.Columns[len(q.Columns)].Pos(), "INSERT has more target columns than expressions")
	}
	if at.parts {
		if q, err = b.assemble(l, q, n, at); err != nil {
			return err
		}
	}
	for i, to := range []struct {
		name string
		at   *int
	}{{colID, &at.id}, {colDoc, &at.doc}, {colRev, &at.rev}} {
		if *to.at >= len(q.Columns) {
			*to.at = -1
		}
		at := *to.at
		if at < 0 {
			continue
		}
		typ := q.Columns[at].Type
		if types.CastContext(typ, want[at]) > types.Assignment {
			return misfit(to.name, want[at], typ).At(naming.SetOpPlace(s, at))
		}
		if typ != want[at] && to.name != colRev { // of which only NULL can be inserted
			b.out.Casts[i] = typ
		}
	}
	b.out.ID, b.out.Rev, b.out.Doc, b.out.Choose = at.id, at.rev, at.doc, -1
	b.out.Source = q
	return nil
}

// values binds VALUES whose items may be DEFAULT. Each item is cast to the type of its column.
func (b *writer) values(l *bind.Level, n *ast.Insert, at places) error {
	q := &bind.Query{Keep: 4}
	for _, row := range n.Source.Values {
		given := len(n.Columns)
		if len(row) > max(given, 2) || given > 0 && len(row) > given {
			return refuse.Syntax(ast.Start(row[cmp.Or(given, 2)]), "INSERT has more expressions than target columns")
		}
		if len(row) < given {
			return refuse.Syntax(n.Columns[len(row)].Pos(), "INSERT has more target columns than expressions")
		}
		if first := n.Source.Values[0]; len(row) != len(first) {
			return refuse.Syntax(ast.Start(row[min(len(row), len(first))-1]),
				"VALUES lists must all be the same length")
		}
		var id, rev, doc exec.Expr = exec.NullOf(types.Text), exec.NullOf(types.Text), emptyDocument()
		choose := at.id < 0
		var err error
		for i, e := range row {
			_, isDefault := e.(*ast.Default)
			if i == at.doc && at.parts {
				doc = exec.NullOf(types.JSONB)
			}
			switch {
			case i < given && len(n.Columns[i].Path) > 0:
				doc, err = part{&n.Columns[i], e}.bind(l, doc, "VALUES")
			case i == at.doc:
				doc, err = document(l, e, "VALUES")
			case i == at.id && isDefault:
				choose = true
			case i == at.id:
				id, err = value(l, e, colID, types.Text, "VALUES")
			case i == at.rev && !isDefault:
				rev, err = value(l, e, colRev, types.Text, "VALUES")
			}
			if err != nil {
				return err
			}
		}
		q.Values = append(q.Values, []exec.Expr{id, doc, &exec.Const{D: types.NewBool(choose), Typ: types.Bool}, rev})
	}
	for _, typ := range []types.OID{types.Text, types.JSONB, types.Bool, types.Text} {
		q.Columns = append(q.Columns, exec.Column{Type: typ, Mod: -1})
	}
	l.Attach(q)
	b.out.Source, b.out.ID, b.out.Doc, b.out.Choose, b.out.Rev = q, 0, 1, 2, 3
	return nil
}

// conflict binds ON CONFLICT.
func (b *writer) conflict(n *ast.Insert, alias, schema string) error {
	c := n.Conflict
	if c == nil {
		return nil
	}
	b.out.OnConflict = true
	if err := b.arbiter(c); err != nil || len(c.Set) == 0 {
		return err
	}
	b.out.ConflictWork = &exec.WorkTable{Name: b.rel.Name}
	l, err := b.Level(nil, false, 0)
	if err == nil {
		err = l.Relation(b.rel.Name, alias, schema, b.columns(), n.Table.Pos())
	}
	if err == nil {
		err = l.Relation("", "excluded", "", b.columns(), c.Pos())
	}
	if err != nil {
		return err
	}
	l = l.Over(b.out.ConflictWork)
	to, err := b.assigned(c.Set, alias)
	if err != nil {
		return err
	}
	doc, more, err := to.bind(l)
	if err != nil {
		return err
	}
	when := exec.Expr(&exec.Const{D: types.NewBool(true), Typ: types.Bool})
	if c.SetWhere != nil {
		if when, err = l.Condition(c.SetWhere, "WHERE"); err != nil {
			return err
		}
	}
	b.out.Conflict = l.Query(append([]exec.Expr{doc, when}, more...)...)
	return nil
}

// arbiter checks the conflict target, which can only be the primary key.
func (b *writer) arbiter(c *ast.Conflict) error {
	key := b.rel.Name + "_pkey"
	switch {
	case c.Constraint != "" && c.Constraint != key:
		return sqlstate.New(sqlstate.UndefinedObject, `constraint "%s" for table "%s" does not exist`, c.Constraint,
			b.rel.Name)
	case c.Constraint != "":
	case len(c.Columns) == 0 && len(c.Set) > 0:
		return refuse.Syntax(c.Pos(), "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).")
	case len(c.Columns) > 0:
		for _, e := range c.Columns {
			col, ok := e.(*ast.Column)
			switch {
			case ok && len(col.Parts) == 1 && col.Parts[0] == colID && len(c.Columns) == 1:
			case ok && !b.has(col.Parts[len(col.Parts)-1]):
				return sqlstate.New(sqlstate.UndefinedColumn, `column "%s" does not exist`,
					col.Parts[len(col.Parts)-1]).At(c.Target.Pos())
			default:
				return sqlstate.New(sqlstate.InvalidColumnReference,
					"there is no unique or exclusion constraint matching the ON CONFLICT specification")
			}
		}
	}
	return nil
}

func (b *writer) has(column string) bool {
	for _, c := range b.rel.Columns {
		if c.Name == column {
			return true
		}
	}
	return false
}

// copy binds COPY FROM.
func (b *writer) copy(n *ast.Copy) error {
	b.out.Kind = "insert"
	if err := b.relation(n.Table); err != nil {
		return err
	}
	names := n.Columns
	if len(names) == 0 {
		names = []string{colID, colDoc}
	}
	b.out.ID, b.out.Rev, b.out.Doc, b.out.Choose = -1, -1, -1, -1
	for i, name := range names {
		typ := types.Text
		switch {
		case !b.has(name):
			return sqlstate.New(sqlstate.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name,
				b.rel.Name)
		case slices.Contains(names[:i], name):
			return sqlstate.New(sqlstate.DuplicateColumn, `column "%s" specified more than once`, name)
		case name == colID:
			b.out.ID = i
		case name == colDoc:
			b.out.Doc, typ = i, types.JSONB
		default:
			return sqlstate.New(sqlstate.InvalidColumnReference, `column "%s" is a generated column`, name).
				WithDetail("Generated columns cannot be used in COPY.")
		}
		b.cols = append(b.cols, exec.Column{Name: name, Type: typ, Mod: -1})
	}
	for option, list := range map[string][]string{"FORCE_NOT_NULL": n.ForceNotNull, "FORCE_NULL": n.ForceNull} {
		for _, name := range list {
			switch {
			case !b.has(name):
				return sqlstate.New(sqlstate.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name,
					b.rel.Name)
			case !slices.Contains(names, name):
				return sqlstate.New(sqlstate.InvalidColumnReference, `%s column "%s" not referenced by COPY`, option,
					name)
			}
		}
	}
	b.out.Source = &bind.Query{Values: [][]exec.Expr{{exec.NullOf(types.Text)}}, Keep: 1,
		Columns: []exec.Column{{Type: types.Text, Mod: -1}}}
	return nil
}

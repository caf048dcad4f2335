package toplevel

import (
	"cmp"
	"github.com/divandb/divan/query/bind/naming"
	"slices"

	"github.com/divandb/divan/query/bind"
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
	places, err := b.targets(n)
	if err != nil {
		return err
	}
	if err := b.source(l, n, places); err != nil {
		return err
	}
	alias, schema := called(n.Table)
	if err := b.conflict(n, alias, schema); err != nil {
		return err
	}
	rows, err := b.Level(nil, false, 0)
	if err == nil {
		err = rows.Relation(alias, schema, b.columns(), n.Table.Pos())
	}
	if err == nil {
		err = b.returning(rows, n.Returning)
	}
	return err
}

// targets returns the places of id and doc among the values of a row, -1 for none. Without a list of columns, values
// are those of id and doc, in this order, because rev cannot be written. It can be named in a list for DEFAULT.
func (b *writer) targets(n *ast.Insert) (places [2]int, err error) {
	if n.Overriding != "" {
		return places, sqlstate.Unsupported(n.Pos(), "Leave it out.", "OVERRIDING is not supported")
	}
	if len(n.Columns) == 0 {
		places[1] = 1
		return places, nil
	}
	places = [2]int{-1, -1}
	for i := range n.Columns {
		t := &n.Columns[i]
		if err := b.column(t); err != nil {
			return places, err
		}
		same := func(c ast.SetTarget) bool { return c.Name == t.Name }
		if slices.ContainsFunc(n.Columns[:i], same) {
			return places, sqlstate.New(sqlstate.DuplicateColumn, `column "%s" specified more than once`,
				t.Name).At(t.Pos())
		}
		switch t.Name {
		case colID:
			places[0] = i
		case colDoc:
			places[1] = i
		}
	}
	return places, nil
}

// source binds the rows to be inserted.
func (b *writer) source(l *bind.Level, n *ast.Insert, places [2]int) error {
	s := n.Source
	if s == nil {
		b.out.ID, b.out.Doc, b.out.Choose = -1, -1, -1
		b.out.Source = &bind.Query{Values: [][]exec.Expr{{exec.NullOf(types.Text)}}, Keep: 1,
			Columns: []exec.Column{{Type: types.Text, Mod: -1}}}
		return nil
	}
	if s.Values != nil && len(s.OrderBy) == 0 && s.Limit == nil && s.Offset == nil && len(s.With) == 0 {
		return b.values(l, n, places)
	}
	given := len(n.Columns)
	want := make([]types.OID, max(given, 2))
	for i, typ := range []types.OID{types.Text, types.JSONB} {
		if places[i] >= 0 {
			want[places[i]] = typ
		}
	}
	for i := range n.Columns {
		if t := &n.Columns[i]; t.Name != colID && t.Name != colDoc {
			return generated(notDefault, t)
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
	for i, name := range []string{colID, colDoc} {
		if places[i] >= len(q.Columns) {
			places[i] = -1
		}
		at := places[i]
		if at < 0 {
			continue
		}
		typ := q.Columns[at].Type
		if types.CastContext(typ, want[at]) > types.Assignment {
			return misfit(name, want[at], typ).At(naming.SetOpPlace(s, at))
		}
		if typ != want[at] {
			b.out.Casts[i] = typ
		}
	}
	b.out.ID, b.out.Doc, b.out.Choose = places[0], places[1], -1
	b.out.Source = q
	return nil
}

const notDefault = `cannot insert a non-DEFAULT value into column "%s"`

// values binds VALUES whose items may be DEFAULT. Each item is cast to the type of its column.
func (b *writer) values(l *bind.Level, n *ast.Insert, places [2]int) error {
	q := &bind.Query{Keep: 3}
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
		var id, doc exec.Expr = exec.NullOf(types.Text), emptyDocument()
		choose := places[0] < 0
		var err error
		for i, e := range row {
			switch i {
			case places[0]:
				if _, choose = e.(*ast.Default); !choose {
					id, err = value(l, e, colID, types.Text, "VALUES")
				}
			case places[1]:
				doc, err = document(l, e, "VALUES")
			default:
				if _, isDefault := e.(*ast.Default); !isDefault && given > 0 {
					err = generated(notDefault, &n.Columns[i])
				}
			}
			if err != nil {
				return err
			}
		}
		q.Values = append(q.Values, []exec.Expr{id, doc, &exec.Const{D: types.NewBool(choose), Typ: types.Bool}})
	}
	for _, typ := range []types.OID{types.Text, types.JSONB, types.Bool} {
		q.Columns = append(q.Columns, exec.Column{Type: typ, Mod: -1})
	}
	l.Attach(q)
	b.out.Source, b.out.Doc, b.out.Choose = q, 1, 2
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
		err = l.Relation(alias, schema, b.columns(), n.Table.Pos())
	}
	if err == nil {
		err = l.Relation("excluded", "", b.columns(), c.Pos())
	}
	if err != nil {
		return err
	}
	l = l.Over(b.out.ConflictWork)
	to, err := b.assigned(c.Set, alias)
	if err != nil {
		return err
	}
	doc, id, err := to.bind(l)
	if err != nil {
		return err
	}
	when := exec.Expr(&exec.Const{D: types.NewBool(true), Typ: types.Bool})
	if c.SetWhere != nil {
		if when, err = l.Condition(c.SetWhere, "WHERE"); err != nil {
			return err
		}
	}
	b.out.Conflict = l.Query(append([]exec.Expr{doc, when}, id...)...)
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
	b.out.ID, b.out.Doc, b.out.Choose = -1, -1, -1
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

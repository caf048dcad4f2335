package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// column resolves a name from the innermost scope outwards. The number of scopes passed is its depth at run time.
func (b *binder) column(n *ast.Column, sc *scope) (exec.Expr, error) {
	if n.Star && len(n.Parts) == 0 {
		return nil, refuse.Syntax(n.Pos(), "* is not allowed here")
	}
	depth := 0
	for s := sc; s != nil; s = s.parent {
		if s.query == nil {
			continue // only passes names on; not a level at run time
		}
		find := b.columnIn
		if n.Star {
			find = wholeRow
		}
		x, err := find(n, s)
		if err != nil {
			return nil, err
		}
		if x != nil {
			if depth == 0 {
				return x, nil
			}
			return b.outer(x, sc, s, depth, n.Pos()), nil
		}
		depth++
	}
	return nil, b.noColumn(n, sc)
}

// wholeRow binds relation.* in an expression, the relation's row.
func wholeRow(n *ast.Column, sc *scope) (exec.Expr, error) {
	for _, r := range sc.rels {
		if r.alias == n.Parts[len(n.Parts)-1] && (len(n.Parts) == 1 || r.schema == n.Parts[len(n.Parts)-2]) {
			return r.row(), nil
		}
	}
	return nil, nil
}

// columnIn looks up a column in the relations of one scope. It returns nil if there is none.
func (b *binder) columnIn(n *ast.Column, s *scope) (exec.Expr, error) {
	name := n.Parts[len(n.Parts)-1]
	var found *relColumn
	var rel *relation
	visible := s.rels
	if s.seen > 0 && s.seen < len(visible) {
		visible = visible[:s.seen]
	}
	for _, r := range visible {
		if err := b.work.Spend(1); err != nil {
			return nil, err
		}
		if len(n.Parts) > 1 && !r.matches(n.Parts[:len(n.Parts)-1], b.r.DatabaseName()) {
			continue
		}
		if err := b.work.Spend(len(r.cols) / 4); err != nil {
			return nil, err
		}
		for i := range r.cols {
			c := &r.cols[i]
			if c.name != name || c.hidden && len(n.Parts) == 1 {
				continue
			}
			if found != nil {
				return nil, sqlstate.New(sqlstate.AmbiguousColumn, `column reference "%s" is ambiguous`,
					name).At(n.Pos())
			}
			found, rel = c, r
		}
	}
	if found == nil {
		if x := systemColumn(n, visible, b.r.DatabaseName()); x != nil {
			return x, nil
		}
		// A relation's name alone refers to its whole row.
		if len(n.Parts) == 1 {
			for _, r := range visible {
				if r.alias != name {
					continue
				}
				if r.scalar {
					c := r.cols[0]
					return &exec.Col{Index: c.index, Typ: c.typ, Name: name, Collation: c.collation}, nil
				}
				return r.row(), nil
			}
		}
		return nil, nil
	}
	if found.merged != nil && len(n.Parts) == 1 {
		return found.merged, nil
	}
	rel.use(found.index)
	shown := name
	if len(s.rels) > 1 {
		shown = rel.alias + "." + name
	}
	c := &exec.Col{Index: found.index, Typ: found.typ, Name: shown, Collation: found.collation}
	b.columns[c] = n.Pos()
	return c, nil
}

// systemColumn returns tableoid, xmin or ctid of a catalogue relation. They are constants, because catalogue rows are
// never updated.
func systemColumn(n *ast.Column, rels []*relation, database string) exec.Expr {
	for _, r := range rels {
		if r.oid == 0 || len(n.Parts) > 1 && !r.matches(n.Parts[:len(n.Parts)-1], database) {
			continue
		}
		switch n.Parts[len(n.Parts)-1] {
		case "tableoid":
			return &exec.Const{D: types.NewInt(r.oid), Typ: types.Oid}
		case "xmin":
			return &exec.Const{D: types.NewInt(1), Typ: types.Xid}
		case "ctid":
			return &exec.Const{D: types.NewTid(0, 1), Typ: types.Tid}
		}
	}
	return nil
}

// matches reports whether the qualifier of a column refers to r.
func (r *relation) matches(qualifier []string, database string) bool {
	last := qualifier[len(qualifier)-1]
	if r.alias != last {
		return false
	}
	switch len(qualifier) {
	case 1:
		return true
	case 2:
		return r.schema == qualifier[0]
	}
	return r.schema == qualifier[1] && qualifier[0] == database
}

// use marks a column of a relation of the store as used.
func (r *relation) use(index int) {
	if r.user != nil {
		r.user.Used[index-r.user.Base] = true
	}
	if r.declared != nil {
		r.declared.Used[index-r.declared.Base] = true
	}
}

// row returns the record of all columns.
func (r *relation) row() exec.Expr {
	e := &exec.RowExpr{Outer: r.outer}
	for _, c := range r.cols {
		r.use(c.index)
		e.Items = append(e.Items, &exec.Col{Index: c.index, Typ: c.typ, Name: c.name, Collation: c.collation})
		e.Names = append(e.Names, c.name)
	}
	return e
}

// noRelation returns PostgreSQL's error for a column of a relation that is not in FROM, with a hint if it has an alias
// there or cannot be seen.
func noRelation(name string, sc *scope) *sqlstate.Error {
	e := sqlstate.New(sqlstate.UndefinedTable, `invalid reference to FROM-clause entry for table "%s"`, name)
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			if r.table == name {
				return e.WithHint(`Perhaps you meant to reference the table alias "%s".`, r.alias)
			}
		}
		for b := s.beside; b != nil; b = b.beside {
			if slices.ContainsFunc(b.rels, func(r *relation) bool { return r.alias == name }) {
				return e.WithHint(`There is an entry for table "%s", but it cannot be referenced from this part of `+
					"the query.", name)
			}
		}
	}
	return sqlstate.New(sqlstate.UndefinedTable, `missing FROM-clause entry for table "%s"`, name)
}

// noColumn returns PostgreSQL's error for an unknown column, with a hint for common mistakes.
func (b *binder) noColumn(n *ast.Column, sc *scope) error {
	name := strings.Join(n.Parts, ".")
	if n.Star {
		return noRelation(n.Parts[len(n.Parts)-1], sc).At(n.Pos())
	}
	if len(n.Parts) > 1 {
		qualifier := n.Parts[len(n.Parts)-2]
		known := false
		for s := sc; s != nil; s = s.parent {
			for _, r := range s.rels {
				known = known || r.alias == qualifier
			}
		}
		if !known {
			return noRelation(qualifier, sc).At(n.Pos())
		}
		return sqlstate.New(sqlstate.UndefinedColumn, "column %s does not exist", name).At(n.Pos())
	}
	e := sqlstate.New(sqlstate.UndefinedColumn, `column "%s" does not exist`, name).At(n.Pos())
	for _, r := range sc.rels {
		if r.user == nil {
			continue
		}
		for _, c := range r.cols {
			if slices.Contains([]string{"ctid", "cmin", "cmax", "tableoid", "xmin", "xmax"}, name) {
				return e.WithHint("Documents and rows of views have no system columns. " +
					"id and rev tell a document's revision.")
			}
			if c.name == "doc" {
				return e.WithHint("Members of a document are read with doc->>'%s'.", name)
			}
		}
	}
	return e
}

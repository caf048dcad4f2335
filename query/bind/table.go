package bind

import (
	"errors"
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

func (b *binder) table(n *ast.Table, sc *scope) (From, error) {
	name := n.Name[len(n.Name)-1]
	if len(n.Name) == 1 {
		c, in, err := b.findCTE(sc, name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			return b.cteRef(n, c, in, sc)
		}
	}
	schema, err := b.schema(n)
	if err != nil {
		return nil, err
	}
	alias, shown := n.Alias.Name, ""
	if alias == "" {
		alias, shown = name, schema
	}
	rel := &relation{alias: alias, schema: shown}
	if v := b.find.Virtual(schema, name); v != nil {
		if b.find.Virtual("", name) == v {
			rel.table = name
		}
		if o, ok := v.(interface{ OID() int64 }); ok {
			rel.oid = o.OID()
		}
		s := &VirtualScan{Rel: v, Alias: alias, Base: sc.width, width: len(v.Columns())}
		return s, b.addRelation(sc, rel, naming.Originate(v.Columns(), rel.oid), n.Columns, n.Pos())
	}
	found, err := b.find.User(schema, name, n.Pos())
	if err != nil {
		var e *sqlstate.Error
		if len(n.Name) == 1 && b.cte != nil && errors.As(err, &e) && e.Code == sqlstate.UndefinedTable &&
			slices.ContainsFunc(b.cte.owner.with, func(c ast.CTE) bool { return c.Name == name }) {
			err = e.WithDetail(`There is a WITH item named "%s", but it cannot be referenced from this part of the `+
				"query.", name).
				WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
		}
		return nil, err
	}
	b.lookups = append(b.lookups, lookup{schema: schema, name: name, off: n.Pos(), found: found})
	if found.Declared != nil {
		return b.declared(n, &found, rel, sc)
	}
	u := &UserScan{Found: found, Alias: alias, Base: sc.width, Off: n.Pos(),
		Used: make([]bool, len(found.Rel.Columns))}
	rel.user = u
	cols := make([]exec.Column, len(u.Rel.Columns))
	for i, c := range u.Rel.Columns {
		cols[i] = exec.Column{Name: c.Name, Type: c.Type, Mod: -1}
	}
	in, called := "public", u.Rel.Name
	if u.Design == "" {
		rel.table = called
	}
	if u.Design != "" {
		in, called = u.Design, u.View
	}
	return u, b.addRelation(sc, rel, naming.Originate(cols, b.r.RelationOID(in, called)), n.Columns, n.Pos())
}

// schema returns the schema in the name of a relation, "" if there is none. A database in it must be the session's.
func (b *binder) schema(n *ast.Table) (string, error) {
	switch len(n.Name) {
	case 1:
		return "", nil
	case 2:
		return n.Name[0], nil
	case 3:
		if n.Name[0] != b.r.DatabaseName() {
			return "", sqlstate.Unsupported(n.Pos(), "Connect to that database.",
				`cross-database references are not implemented: "%s"`, strings.Join(n.Name, "."))
		}
		return n.Name[1], nil
	default:
		return "", refuse.Syntax(n.Pos(), "improper relation name (too many dotted names): %s",
			strings.Join(n.Name, "."))
	}
}

// declared binds a relation that a design document declares as a query in FROM.
func (b *binder) declared(n *ast.Table, u *naming.Found, rel *relation, sc *scope) (From, error) {
	key := [2]string{u.Design, u.View}
	if slices.Contains(b.declaring, key) {
		return nil, errors.New("it refers to itself") // for the declaration around it
	}
	if u.Declared.Err != nil {
		return nil, u.Declared.Wrong(u.Declared.Err, u.Design, n.Pos())
	}
	b.declaring = append(b.declaring, key)
	q, err := b.query(u.Declared.Query, nil)
	b.declaring = b.declaring[:len(b.declaring)-1]
	if err != nil {
		return nil, u.Declared.Wrong(err, u.Design, n.Pos())
	}
	rel.declared = &DerivedScan{Query: q, Name: rel.alias, Base: sc.width, Used: make([]bool, len(q.Columns))}
	cols := naming.Originate(q.Columns, b.r.RelationOID(u.Design, u.View))
	return rel.declared, b.addRelation(sc, rel, cols, n.Columns, n.Pos())
}

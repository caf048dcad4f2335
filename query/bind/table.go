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
		return nil, refuse.Syntax(n.Pos(), "improper relation name (too many dotted names): %s",
			strings.Join(n.Name, "."))
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
		return s, b.addRelation(sc, rel, naming.Originate(v.Columns(), rel.oid), n.Columns, n.Pos())
	}
	u, err := b.userRelation(schema, name, n.Pos())
	if err != nil {
		var e *sqlstate.Error
		if len(n.Name) == 1 && b.cte != nil && errors.As(err, &e) && e.Code == sqlstate.UndefinedTable &&
			slices.ContainsFunc(b.cte.owner.with, func(c ast.CTE) bool { return c.Name == name }) {
			err = e.WithDetail("There is a WITH item named %q, but it cannot be referenced from this part of the "+
				"query.", name).
				WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
		}
		return nil, err
	}
	b.lookups = append(b.lookups, lookup{schema: schema, name: name, off: n.Pos(), found: *u})
	u.Base, u.Off, u.Used, rel.user = sc.width, n.Pos(), make([]bool, len(u.Rel.Columns)), u
	cols := make([]exec.Column, len(u.Rel.Columns))
	for i, c := range u.Rel.Columns {
		cols[i] = exec.Column{Name: c.Name, Type: c.Type, Mod: -1}
	}
	in, called := "public", u.Rel.Name
	if u.Design != "" {
		in, called = u.Design, u.View
	}
	return u, b.addRelation(sc, rel, naming.Originate(cols, b.r.RelationOID(in, called)), n.Columns, n.Pos())
}

// virtual finds a virtual relation. Like PostgreSQL it looks in pg_catalog before the search path.
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

// open opens the session's database, once.
func (b *binder) open() (err error) {
	if !b.opened {
		b.opened = true
		b.db, err = b.r.Database(b.work.Ctx)
	}
	return err
}

// userRelation finds a relation of the store.
func (b *binder) userRelation(schema, name string, off int) (*UserScan, error) {
	path := []string{schema}
	if schema == "" {
		path = b.r.SearchPath()
	}
	if err := b.open(); err != nil {
		return nil, err
	}
	missing := name
	if schema != "" {
		missing = schema + "." + name
	}
	notFound := sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", missing).At(off)
	if b.db == nil {
		return nil, notFound.WithHint("The database %q has only the system schemas. Connect to another one to read "+
			"documents.", b.r.DatabaseName())
	}
	for _, s := range path {
		if s == "public" {
			if rel := naming.PublicRelation(name); rel != nil {
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
				return viewScan(d, v), nil
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
			return nil, notFound.WithHint("There is no design document %q with views in this database.",
				"_design/"+schema)
		}
	}
	return nil, notFound
}

// anyView finds a view by its unqualified name if only one design document has it. It comes after the search path.
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
			found = viewScan(d, v)
		}
	}
	return found, nil
}

func viewScan(d exec.Design, v exec.View) *UserScan {
	rel := &naming.UserRelation{Name: v.Name, Kind: exec.ReadView, Columns: naming.ViewColumns}
	return &UserScan{Rel: rel, Design: d.Name, View: v.Name, Raw: v.RawCollation, Reduce: v.Reduce,
		Partitioned: d.Partitioned, Name: d.Name + "." + v.Name}
}

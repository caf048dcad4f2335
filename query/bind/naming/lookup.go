package naming

import (
	"context"
	"github.com/divandb/divan/query/bind/declare"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
)

// Resolver answers the questions of binding and planning about names. It belongs to one session at one moment.
type Resolver interface {
	// Database returns the session's database; nil for the virtual database "divan".
	Database(ctx context.Context) (exec.Database, error)
	// DatabaseName returns the name of the session's database.
	DatabaseName() string
	// Relation finds a virtual relation (pg_catalog, information_schema, divan); nil if there is none.
	Relation(schema, name string) exec.Relation
	// HasSchema reports whether a schema of virtual relations exists.
	HasSchema(schema string) bool
	// SearchPath lists the schemas that unqualified names are looked up in, without pg_catalog.
	SearchPath() []string
	// RelationOID returns the catalogue's OID of a relation of the database.
	RelationOID(schema, name string) int64
	// UpdateMode returns how fresh views must be in this session.
	UpdateMode() exec.UpdateMode
}

// Finder finds the relations that the names of one statement refer to.
type Finder struct {
	Resolver
	Ctx context.Context
	// DB is the session's database, set when a relation of the store has been looked for.
	DB     exec.Database
	opened bool
}

// Found is a relation of the store.
type Found struct {
	Rel          *UserRelation
	Design, View string // set for a view
	Reduce       string // the view's built-in reduce function, if it has one
	Raw          bool   // options.collation is raw: the order cannot be used
	Partitioned  bool   // ordered by key only within each partition
	Name         string // for EXPLAIN
	// Declared is set for a relation that a design document declares. It is a query over docs.
	Declared *declare.Relation
}

// Same reports whether two lookups have found the same relation, defined in the same way.
func (r *Found) Same(s *Found) bool {
	return r.Rel.Name == s.Rel.Name && r.Rel.Kind == s.Rel.Kind && r.Design == s.Design && r.View == s.View &&
		r.Reduce == s.Reduce && r.Raw == s.Raw && r.Partitioned == s.Partitioned &&
		r.Declared.Same(s.Declared)
}

// Virtual finds a virtual relation. Like PostgreSQL it looks in pg_catalog before the search path.
func (f *Finder) Virtual(schema, name string) exec.Relation {
	if schema != "" {
		return f.Relation(schema, name)
	}
	if v := f.Relation("pg_catalog", name); v != nil {
		return v
	}
	for _, s := range f.SearchPath() {
		if v := f.Relation(s, name); v != nil {
			return v
		}
	}
	return nil
}

// Open opens the session's database, once.
func (f *Finder) Open() (err error) {
	if !f.opened {
		f.opened = true
		f.DB, err = f.Database(f.Ctx)
	}
	return err
}

// User finds a relation of the store.
func (f *Finder) User(schema, name string, off int) (Found, error) {
	path := []string{schema}
	if schema == "" {
		path = f.SearchPath()
	}
	if err := f.Open(); err != nil {
		return Found{}, err
	}
	notFound := func() *sqlstate.Error {
		missing := name
		if schema != "" {
			missing = schema + "." + name
		}
		return sqlstate.New(sqlstate.UndefinedTable, `relation "%s" does not exist`, missing).At(off)
	}
	if f.DB == nil {
		return Found{}, notFound().WithHint(`The database "%s" has only the system schemas. Connect to another one `+
			"to read documents.", f.DatabaseName())
	}
	for _, s := range path {
		if s == "public" {
			if rel := PublicRelation(name); rel != nil {
				return Found{Rel: rel, Name: rel.Name}, nil
			}
		}
		if f.HasSchema(s) {
			continue
		}
		d, err := f.DB.Design(f.Ctx, s)
		if err != nil {
			if exec.KindOf(err) == exec.NotFound {
				continue
			}
			return Found{}, exec.StoreError(err)
		}
		for _, v := range d.Views {
			if v.Name == name {
				return *foundView(d, v), nil
			}
		}
		if r := declare.Find(f.Ctx, d.SQL, name); r != nil {
			return Found{Rel: &UserRelation{Name: name, Kind: exec.ReadAllDocs}, Design: s, View: name,
				Name: s + "." + name, Declared: r}, nil
		}
	}
	if schema == "" {
		u, err := f.anyView(name, off)
		if err != nil {
			return Found{}, err
		}
		if u != nil {
			return *u, nil
		}
	}
	if schema != "" && schema != "public" {
		_, err := f.DB.Design(f.Ctx, schema)
		switch {
		case err == nil && f.HasSchema(schema):
			return Found{}, notFound().WithHint(`SQL does not see the views of "%s", which has the name of a system `+
				"schema. Give the design document another name.", "_design/"+schema)
		case exec.KindOf(err) == exec.NotFound && !f.HasSchema(schema):
			return Found{}, notFound().WithHint(`There is no design document "%s" with views in this database.`,
				"_design/"+schema)
		}
	}
	return Found{}, notFound()
}

// anyView finds a view by its unqualified name if only one design document has it. It comes after the search path.
func (f *Finder) anyView(name string, off int) (*Found, error) {
	designs, err := f.DB.Designs(f.Ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	var found *Found
	for _, d := range designs {
		for _, v := range d.Views {
			if v.Name != name || f.HasSchema(d.Name) {
				continue
			}
			if found != nil {
				return nil, sqlstate.New(sqlstate.AmbiguousAlias, `view name "%s" is ambiguous`, name).At(off).
					WithHint(`Design documents "%s" and "%s" both have it: write schema.%s.`, found.Design, d.Name,
						name)
			}
			found = foundView(d, v)
		}
	}
	return found, nil
}

func foundView(d exec.Design, v exec.View) *Found {
	rel := &UserRelation{Name: v.Name, Kind: exec.ReadView, Columns: ViewColumns}
	return &Found{Rel: rel, Design: d.Name, View: v.Name, Raw: v.RawCollation, Reduce: v.Reduce,
		Partitioned: d.Partitioned, Name: d.Name + "." + v.Name}
}

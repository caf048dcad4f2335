package catalog

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/divandb/divan/query/bind/declare"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// OIDs that are fixed in PostgreSQL.
const (
	oidPgCatalog    = 11
	oidPgToast      = 99
	oidPublic       = 2200
	oidOwner        = 10
	oidHeap         = 2 // pg_am: heap
	oidBtree        = 403
	oidDefaultSpace = 1663
	oidGlobalSpace  = 1664
	oidInternal     = 12 // pg_language
	oidSQL          = 14
	firstOID        = 16384 // user objects begin here
	classPgClass    = 1259
)

// ownerName is the role that owns everything.
const ownerName = "divan"

// Input is what a snapshot is built from.
type Input struct {
	Database  string
	Databases []string
	// Maintenance lists databases that exist for tools and have only the system schemas.
	Maintenance []string
	User        string
	Superuser   bool
	// Designs are those of the session's database; empty in the virtual database.
	Designs []exec.Design
	// Wrong says what is wrong with declared relations, by the names of the design document and the relation. What is
	// found when a declaration is read need not be in it.
	Wrong        map[[2]string]error
	HasDatabase  bool // false in the virtual database, where public is empty
	SystemTables []exec.SystemTable
	// ViewsAsTables shows views as tables, so that pg_dump dumps their rows.
	ViewsAsTables bool
	// QuoteAll reports whether all names are quoted (quote_all_identifiers).
	QuoteAll   func() bool
	SearchPath []string
	Sessions   []Activity
	// ReadOnly is set if SQL cannot write documents of the database.
	ReadOnly bool
	// Open opens a database that the user may read. nil means that all sizes are zero.
	Open func(ctx context.Context, database string) (exec.Database, error)
	// The current state of the session, which the statements of one message can change. nil means empty.
	Settings func() []Setting
	Prepared func() []PreparedStatement
	Cursors  func() []Cursor
	Locks    func() []Lock
}

// now returns the current list.
func now[T any](list func() []T) []T {
	if list == nil {
		return nil
	}
	return list()
}

// Setting is a row of pg_settings. Value, Default and Initial are in Unit.
type Setting struct {
	Name, Value, Default, Initial, Comment string
	Type, Unit, Low, High, Context         string
	Values                                 []string
}

// PreparedStatement is a row of pg_prepared_statements.
type PreparedStatement struct {
	Name, Text      string
	At              int64 // microseconds since 1970
	Parameters      []types.OID
	FromSQL         bool
	Generic, Custom int64 // number of executions without parameters, and with
}

// Cursor is a row of pg_cursors.
type Cursor struct {
	Name, Text           string
	At                   int64 // microseconds since 1970
	Hold, Binary, Scroll bool
}

// Lock is a row of pg_locks: an advisory lock on one number, or on a pair of numbers.
type Lock struct {
	PID                   int64
	Database              string
	Number                int64
	Pair, Shared, Granted bool
}

// Activity is a row of pg_stat_activity.
type Activity struct {
	PID                                                   int64
	User, Database, Application, Client, State, Statement string
	Since, StatementSince                                 int64 // microseconds since 1970
	TLS                                                   bool
	// Hidden is set if the session belongs to another user and the current user is not an admin.
	Hidden bool
}

// Schema is a namespace.
type Schema struct {
	OID     int64
	Name    string
	Comment string
	Owner   int64
}

// Class is a relation, as in pg_class.
type Class struct {
	OID     int64
	Schema  *Schema
	Name    string
	Kind    string // relkind
	Comment string
	Columns []Attribute
	// Definition is the text of a view, as closely as SQL can express it.
	Definition string
	// Key is the primary key, or nil.
	Key     *Key
	builtin bool
	view    bool   // of a design document
	keyOf   *Class // of an index
}

// Key is a primary key of one column, with its index.
type Key struct {
	Name       string
	Index      int64 // OID of the index
	Constraint int64 // OID of the constraint
	Column     int   // attnum
	Table      *Class
}

// Attribute is a column of a Class.
type Attribute struct {
	Name    string
	Type    types.OID
	Mod     int32
	NotNull bool
	Comment string
}

// Database is a row of pg_database.
type Database struct {
	OID      int64
	Name     string
	Template bool
}

// Snapshot is the catalogue during one statement. It is immutable, apart from what it remembers.
type Snapshot struct {
	Input
	Schemas []*Schema
	Classes []*Class
	Keys    []*Key
	DBs     []Database
	Roles   []Role

	schemaByName map[string]*Schema
	schemaByOID  map[int64]*Schema
	classByOID   map[int64]*Class
	classByName  map[string]*Class // "schema\x00name"
	viewsByName  map[string][]*Class
	memo         memo
}

// assigner assigns OIDs to names: a hash, so that they are the same in all sessions, incremented if two collide.
type assigner map[int64]bool

func (a assigner) oid(kind, schema, name string) int64 {
	n := hashOID(kind, schema, name)
	for a[n] {
		n = (n+1)&0x7fffffff | firstOID
	}
	a[n] = true
	return n
}

func hashOID(kind, schema, name string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(kind + "\x00" + schema + "\x00" + name))
	// Positive as a signed int, because some clients read OIDs as such.
	return int64(h.Sum32()&0x7fffffff) | firstOID
}

// ClassOID returns the OID of a relation of a database without looking at other relations. It is wrong if two have the
// same hash.
func ClassOID(schema, name string) int64 { return hashOID("class", schema, name) }

// builtins are the schemas and relations of the catalogue itself, which are the same in every snapshot.
var builtins = sync.OnceValues(func() ([]*Schema, []*Class) {
	schemas := []*Schema{
		{oidPgCatalog, "pg_catalog", "system catalog schema", oidOwner},
		{oidPgToast, "pg_toast", "reserved schema for TOAST tables", oidOwner},
		{load()["information_schema.tables"].oid - 1, "information_schema", "", oidOwner},
	}
	byName := map[string]*Schema{}
	for _, s := range schemas {
		byName[s.Name] = s
	}
	var classes []*Class
	for _, r := range load() {
		c := &Class{OID: r.oid, Schema: byName[r.schema], Name: r.name, Kind: r.kind, builtin: true}
		for i, col := range r.cols {
			c.Columns = append(c.Columns, Attribute{col.Name, col.Type, -1, r.notNull[i], ""})
		}
		classes = append(classes, c)
	}
	slices.SortFunc(classes, func(a, b *Class) int { return cmp.Compare(a.OID, b.OID) })
	return schemas, classes
})

// NewSnapshot returns a snapshot.
func NewSnapshot(in Input) *Snapshot {
	s := &Snapshot{Input: in, schemaByName: map[string]*Schema{}, schemaByOID: map[int64]*Schema{},
		classByOID:  map[int64]*Class{},
		classByName: map[string]*Class{}, viewsByName: map[string][]*Class{}}
	ids := assigner{}
	schemas, classes := builtins()
	for _, n := range schemas {
		s.addSchema(n)
	}
	public := s.addSchema(&Schema{oidPublic, "public", "documents, changes and conflicts of the database", oidOwner})
	system := s.addSchema(&Schema{ids.oid("schema", "", "divan"), "divan", "the node and the cluster", oidOwner})
	for _, c := range classes {
		s.addClass(c)
	}
	if in.HasDatabase {
		for _, r := range naming.PublicRelations {
			if r.Follow {
				continue // a tool that shows the first rows of every relation would wait for ever
			}
			c := &Class{OID: ids.oid("class", "public", r.Name), Schema: public, Name: r.Name, Kind: "r",
				Comment: r.Comment}
			for i, col := range r.Columns {
				c.Columns = append(c.Columns, Attribute{col.Name, col.Type, -1, i == 0 || r.Always(col.Field), ""})
			}
			s.addClass(c)
			if r.Keyed() {
				// The first column identifies the row. Drivers and dashboards look for a primary key.
				s.addKey(ids, c)
			}
		}
	}
	for _, t := range in.SystemTables {
		c := &Class{OID: ids.oid("class", "divan", t.Name), Schema: system, Name: t.Name, Kind: "v", Comment: t.Comment}
		for _, col := range t.Columns {
			typ, ok := types.ByName(col.Type)
			if !ok {
				typ = types.Text
			}
			c.Columns = append(c.Columns, Attribute{col.Name, typ, -1, false, col.Comment})
		}
		s.addClass(c)
	}
	for _, d := range in.Designs {
		n := public
		if d.Name != "public" {
			if s.schemaByName[d.Name] != nil {
				continue // SQL cannot refer to a design document with the name of a system schema
			}
			n = s.addSchema(&Schema{ids.oid("schema", "", d.Name), d.Name, "views of _design/" + d.Name, oidOwner})
		}
		for _, w := range d.Views {
			if d.Name == "public" && naming.PublicRelation(w.Name) != nil {
				continue // hidden by a relation of the database
			}
			c := viewClass(ids, n, w)
			if in.ViewsAsTables {
				c.Kind, c.Definition = "r", ""
			}
			s.addClass(c)
		}
		for _, r := range declare.Relations(context.Background(), d.SQL) {
			s.addDeclared(ids, n, r)
		}
	}
	for _, name := range slices.Concat(in.Databases, []string{"divan"}, in.Maintenance) {
		if !slices.ContainsFunc(s.DBs, func(d Database) bool { return d.Name == name }) {
			template := name == "template1" && !slices.Contains(in.Databases, name)
			s.DBs = append(s.DBs, Database{ids.oid("database", "", name), name, template})
		}
	}
	s.Roles = []Role{{OID: oidOwner, Name: ownerName, Super: true}}
	s.Roles = append(s.Roles, predefinedRoles...)
	if roleOID(s, in.User) == 0 {
		s.Roles = append(s.Roles, Role{OID: ids.oid("role", "", in.User), Name: in.User, Super: in.Superuser})
	}
	return s
}

// addKey makes the first column of a relation its primary key.
func (s *Snapshot) addKey(ids assigner, c *Class) {
	k := &Key{Name: c.Name + "_pkey", Column: 1, Table: c}
	k.Index, k.Constraint = ids.oid("index", c.Schema.Name, k.Name), ids.oid("constraint", c.Schema.Name, k.Name)
	c.Key = k
	s.Keys = append(s.Keys, k)
	s.addClass(&Class{OID: k.Index, Schema: c.Schema, Name: k.Name, Kind: "i", Columns: c.Columns[:1], keyOf: c})
}

// addDeclared adds a relation that a design document declares. A wrong one is a view without columns whose comment says
// why: pg_dump does not read the rows of views, so that it does not fail.
func (s *Snapshot) addDeclared(ids assigner, n *Schema, r *declare.Relation) {
	if s.classByName[n.Name+"\x00"+r.Name] != nil {
		return // a view has the name
	}
	c := &Class{OID: ids.oid("class", n.Name, r.Name), Schema: n, Name: r.Name, Kind: "r", Comment: r.Comment}
	if err := cmp.Or(r.Err, s.Wrong[[2]string{n.Name, r.Name}]); err != nil {
		c.Kind, c.Definition = "v", " SELECT\n  WHERE false;"
		c.Comment = "the declaration is wrong: " + declare.Message(err)
		s.addClass(c)
		return
	}
	for i, col := range r.Columns {
		c.Columns = append(c.Columns, Attribute{col.Name, col.Type, col.Mod, i == 0, ""})
	}
	s.addClass(c)
	s.addKey(ids, c)
}

func viewClass(ids assigner, n *Schema, w exec.View) *Class {
	c := &Class{OID: ids.oid("class", n.Name, w.Name), Schema: n, Name: w.Name, Kind: "v", Comment: "map view",
		view: true}
	if w.Reduce != "" {
		c.Comment = "map view with reduce " + w.Reduce
	}
	for _, col := range naming.ViewColumns {
		c.Columns = append(c.Columns, Attribute{col.Name, col.Type, -1, false, ""})
	}
	c.Definition = " SELECT /* the rows that the map function of _design/" + strings.ReplaceAll(n.Name, "*/", "* /") +
		" emits */\n    NULL::text AS id,\n    NULL::jsonb AS key,\n    NULL::jsonb AS value,\n    NULL::jsonb AS " +
		"doc\n  WHERE false;"
	return c
}

func (s *Snapshot) addSchema(n *Schema) *Schema {
	s.Schemas = append(s.Schemas, n)
	s.schemaByName[n.Name], s.schemaByOID[n.OID] = n, n
	return n
}

func (s *Snapshot) addClass(c *Class) {
	s.Classes = append(s.Classes, c)
	s.classByOID[c.OID] = c
	s.classByName[c.Schema.Name+"\x00"+c.Name] = c
	if c.view {
		s.viewsByName[c.Name] = append(s.viewsByName[c.Name], c)
	}
}

// lookup finds a relation as a statement would: with its schema, or along the search path after pg_catalog, or a view
// by its unqualified name if only one design document has it.
func (s *Snapshot) lookup(schema, name string) *Class {
	if schema != "" {
		return s.classByName[schema+"\x00"+name]
	}
	if c := s.onPath(name); c != nil {
		return c
	}
	if views := s.viewsByName[name]; len(views) == 1 {
		return views[0]
	}
	return nil
}

func (s *Snapshot) onPath(name string) *Class {
	for _, n := range s.path() {
		if c := s.classByName[n+"\x00"+name]; c != nil {
			return c
		}
	}
	return nil
}

// path returns the search path with pg_catalog first.
func (s *Snapshot) path() []string {
	if slices.Contains(s.SearchPath, "pg_catalog") {
		return s.SearchPath
	}
	return append([]string{"pg_catalog"}, s.SearchPath...)
}

// visible reports whether the unqualified name of a relation refers to it.
func (s *Snapshot) visible(c *Class) bool { return s.lookup("", c.Name) == c }

// listed is pg_table_is_visible. Besides visible relations it includes the views of all design documents, even if
// several share a name, so that \dv shows them.
func (s *Snapshot) listed(c *Class) bool {
	return s.visible(c) || c.view && s.onPath(c.Name) == nil
}

// role returns a role's name.
func (s *Snapshot) role(oid int64) (string, bool) {
	for _, r := range s.Roles {
		if r.OID == oid {
			return r.Name, true
		}
	}
	return "", false
}

// databaseOID returns the OID of a database by name, or 0.
func (s *Snapshot) databaseOID(name string) int64 {
	for _, d := range s.DBs {
		if d.Name == name {
			return d.OID
		}
	}
	return 0
}

// Package bind resolves the names and operators of a parsed statement: relations, columns, functions, types and
// collations. It refuses what it cannot resolve, with a position and a hint. Its result, Bound, is immutable and may be
// planned many times.
package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	_ "github.com/divandb/divan/query/funcs/times" // registers its functions, as do the other families
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Resolver answers the questions of binding and planning about names.
type Resolver = naming.Resolver

// Bound is a query whose names and types are resolved. It is immutable; Plan makes runnable plans of it.
type Bound struct {
	Query *Query
	// Write is set for a statement that writes; Query is then its Source.
	Write *Write
	// Locks is the strength of a locking clause, such as "UPDATE", if there is one.
	Locks  string
	Params []types.OID
	// loose marks the parameters that are compared with jsonb and may be texts that are not JSON.
	loose []bool
	// Columns are the columns of the result.
	Columns []exec.Column
	Db      exec.Database
	Update  exec.UpdateMode
	// Nested is set if a query of an expression reads the store. Such a query is planned when it is first run.
	Nested bool
	// path is the search path that names were resolved with, lookups what they were resolved to.
	path    []string
	lookups []lookup
}

// Loose reports whether a parameter is compared with jsonb. A value that is not valid JSON is then the JSON string of
// its characters.
func (b *Bound) Loose(i int) bool { return i < len(b.loose) && b.loose[i] }

// lookup is a name that was resolved to a relation of the store.
type lookup struct {
	schema, name string
	off          int
	found        naming.Found
}

// UsesStore reports whether the query reads a database.
func (b *Bound) UsesStore() bool { return b.Query.user || len(b.lookups) > 0 }

// Relation returns the columns of the relation that the query reads. It is nil unless FROM has only one relation.
func (b *Bound) Relation() []string {
	var out []string
	switch n := b.Query.From.(type) {
	case *UserScan:
		for _, c := range n.Rel.Columns {
			out = append(out, c.Name)
		}
	case *VirtualScan:
		for _, c := range n.Rel.Columns() {
			out = append(out, c.Name)
		}
	}
	return out
}

// Views returns the views that the statement refers to.
func (b *Bound) Views() []exec.ViewUse {
	var out []exec.ViewUse
	for _, l := range b.lookups {
		if l.found.Rel.Kind == exec.ReadView {
			out = append(out, exec.ViewUse{Design: l.found.Design, Update: b.Update})
		}
	}
	return out
}

// Refreshed returns b for another execution, with the current update mode and with the database opened again. That
// fails if the database is gone or the user may no longer read it. Refreshed returns nil if a name resolves differently
// now; the statement must then be bound again.
func (b *Bound) Refreshed(w *work.Work, r Resolver) (*Bound, error) {
	if !slices.Equal(b.path, r.SearchPath()) {
		return nil, nil
	}
	again := *b
	again.Update = r.UpdateMode()
	if len(b.lookups) == 0 {
		return &again, nil
	}
	look := newBinder(w, r, nil, nil)
	for _, l := range b.lookups {
		if l.schema == "" && look.find.Virtual("", l.name) != nil {
			return nil, nil
		}
		now, err := look.find.User(l.schema, l.name, l.off)
		if err != nil {
			return nil, err
		}
		if !now.Same(&l.found) {
			return nil, nil
		}
	}
	again.Db = look.find.DB
	return &again, nil
}

// Query is a bound SELECT or VALUES, or a set operation on two queries.
type Query struct {
	From  From
	Width int // of the row buffer
	Where []exec.Expr
	Keys  []exec.Expr // GROUP BY
	// Sets are the grouping sets as indexes of Keys; nil for one set of all keys.
	Sets [][]int
	Aggs []exec.AggCall
	// aggKeys finds an equal aggregate.
	aggKeys map[string]int
	// firstAgg is the position of the first aggregate, if there are aggregates.
	firstAgg int
	Group    bool
	// grouping is a GROUPING() call of this query.
	grouping *ast.Call
	Having   []exec.Expr
	// Windows are computed after grouping. Their results follow its columns.
	Windows []window.Call
	// windowKeys finds an equal window function.
	windowKeys map[string]int
	// Targets are the select list followed by expressions that only ORDER BY needs. keep is the length of the select
	// list.
	Targets []exec.Expr
	// SetFuncs are the functions that return rows in the select list and ORDER BY; their values follow the columns of
	// the windows. GroupFuncs are those of GROUP BY; their values follow the columns of FROM.
	SetFuncs, GroupFuncs []*SetFunc
	// setKeys finds an equal function that returns rows.
	setKeys    map[string]int
	Keep       int
	Columns    []exec.Column
	Distinct   bool
	DistinctOn []int
	Order      []exec.SortKey
	OrderNames []string
	Limit      exec.Expr
	Skip       exec.Expr
	// WithTies returns the rows that equal the last one of Limit by Order too.
	WithTies bool

	Ctes        []*CTE        // the WITH list
	Values      [][]exec.Expr // rows of VALUES
	Left, Right *Query        // of a set operation
	Op          ast.SetOp
	UnionAll    bool            // with ALL
	Work        *exec.WorkTable // of a recursive query

	Correlated bool
	// outers are what a query of an expression, and those inside of it, refer to in the queries around.
	outers []outer
	// user is set if this query or one below it reads the store.
	user bool
	// follow is set if it, or a query in its FROM, reads the feed without end.
	follow bool
}

// Follows reports whether q, or a query in its FROM, reads the feed without end.
func (q *Query) Follows() bool { return q.follow }

// binder resolves one statement.
type binder struct {
	typing.Open
	work    *work.Work
	r       Resolver
	plan    Planner
	columns map[*exec.Col]int // and their positions
	lookups []lookup
	find    naming.Finder
	depth   int
	// volatile counts the calls of volatile functions, steps the recursive steps around the current query.
	volatile, steps int
	cte             *CTE // the one being bound
	sublinks        int  // sub-queries of expressions around the current one
	nested          bool // one of them reads the store
	side            bool // the next query is a side of a set operation
	locks           string
	outers          []outer     // in the order in which they were bound
	declaring       [][2]string // the declared relations being bound, by design document and name
}

// Planner plans a bound query. Package plan, which imports this one, implements it.
type Planner func(q *Query, st *exec.State) (exec.Plan, error)

func newBinder(w *work.Work, r Resolver, plan Planner, given []types.OID) *binder {
	b := &binder{work: w, r: r, plan: plan, columns: map[*exec.Col]int{}, Open: typing.NewOpen(given),
		find: naming.Finder{Resolver: r, Ctx: w.Ctx}}
	for i, t := range b.Params {
		if t == types.Unknown {
			b.Params[i] = 0
		}
	}
	return b
}

// Bind resolves a query. given are the parameter types that the client declared, 0 for open ones.
func Bind(w *work.Work, q *ast.Query, r Resolver, plan Planner, given []types.OID) (*Bound, error) {
	b := newBinder(w, r, plan, given)
	bq, err := b.query(q.Select, nil)
	if err != nil {
		return nil, err
	}
	return b.bound(bq, nil, bq.Columns)
}

// bound returns the statement with its query, or with the source of what it writes.
func (b *binder) bound(q *Query, w *Write, columns []exec.Column) (*Bound, error) {
	for i, t := range b.Params {
		if t == 0 {
			// A parameter whose type nothing determines is text.
			if err := b.SetParam(&exec.Param{Index: i}, types.Text); err != nil {
				return nil, err
			}
		}
	}
	out := &Bound{Query: q, Write: w, Locks: b.locks, Params: b.Params, loose: b.Loose, Columns: columns, Db: b.find.DB,
		Update: b.r.UpdateMode(), path: b.r.SearchPath(), lookups: b.lookups,
		Nested: b.nested}
	return out, nil
}

// scope is the scope of the names of one query.
type scope struct {
	parent *scope
	rels   []*relation
	// star are the columns of *, in their order: those of USING come first.
	star  []starColumn
	width int
	ctes  map[string]*CTE
	with  []ast.CTE // the whole WITH list; ctes has those that have been bound
	query *Query
	// windows are the windows of the WINDOW clause by name.
	windows map[string]*ast.Window
	// The following fields say what is forbidden at this place.
	noAggregates string // the name of the clause that forbids aggregates and window functions
	noWindows    string // the name of the clause that forbids window functions only
	sets         bool   // functions that return rows are allowed: in the select list, GROUP BY and ORDER BY,
	noSets       string // but not in this part of them
	inAggregate  bool
	inWindow     bool
	// side is set for a side of a set operation, whose parameters take their types from the other side.
	side bool
	// beside is the query whose FROM holds this one. Its relations are not visible, which an error may say.
	beside *scope
	// seen limits the visible relations: a LATERAL item sees those before it, other items none.
	seen int
}

// CTE is an item of WITH. It is bound once, before the query it belongs to.
type CTE struct {
	sel     *ast.Select
	columns []string
	scope   *scope // where it was written
	name    string
	// recursive CTEs may refer to themselves. While that part is bound, work and result describe the rows of the last
	// round.
	recursive bool
	work      *exec.WorkTable
	result    []exec.Column

	Query  *Query
	Handle *exec.CTE
	// materialize is the [NOT] MATERIALIZED option. volatile is set if the query calls a volatile function. InStep is
	// set if it is part of the step of a recursive query, so that its rows are valid for one round.
	materialize      string
	volatile, InStep bool
	// refs counts the references, deep those in levels below its WITH.
	refs, deep int

	// at is the position of the name, owner the scope of its WITH, steps the number of recursive steps around that.
	// binding is set while it is being bound.
	at      int
	owner   *scope
	steps   int
	binding bool

	sublinks int // around the part that may refer to it
}

// ComputedOnce reports whether the rows of c are computed once and kept. Otherwise c is a sub-query at each reference.
// The rules are PostgreSQL's (inline_cte in subselect.c), except that a recursive query with one reference, on the
// level of its WITH, does not keep its rows. A query that refers to rows around its WITH can be computed only there.
func (c *CTE) ComputedOnce() bool {
	switch {
	case c.refs == 0:
		return false
	case c.materialize == "always", c.volatile, (c.recursive || c.Query.Correlated) && c.deep > 0:
		return true
	}
	return c.refs > 1 && (c.materialize != "never" || c.recursive)
}

// relation is an item of FROM with its columns.
type relation struct {
	alias  string
	schema string // "" for derived tables and anything with an alias
	// table is the name that it would have without an alias, if that can be used without a schema, else "".
	table string
	cols  []relColumn
	// outer reports whether an outer join may have no row of it.
	outer bool
	// scalar reports whether it is a function of one column; its name then refers to that column too.
	scalar bool
	// user is set for relations of the store, declared for those of design documents, oid for those of the catalogue.
	user     *UserScan
	declared *DerivedScan
	oid      int64
}

// starColumn is a column of a relation.
type starColumn struct {
	rel *relation
	at  int // in its cols
}

func (c starColumn) column() *relColumn { return &c.rel.cols[c.at] }

type relColumn struct {
	name   string
	typ    types.OID
	mod    int32
	index  int
	hidden bool // one of the two columns of USING: visible only by its qualified name
	// merged is the value of a column of USING that is not the one of its side: COALESCE of both for a FULL JOIN.
	merged exec.Expr
	fields []exec.Column // of a record
	origin exec.Origin
	// collation is the collation that the column got in a sub-query; nil for the default.
	collation *types.Collation
}

// nodeSize is the approximate memory of a bound node and its source in bytes.
const nodeSize = 160

// enter begins a node: it counts the depth, the memory and the time. The caller must decrement depth at the end.
func (b *binder) enter(off int) error {
	if err := b.work.Spend(1); err != nil {
		return sqlstate.Locate(err, off)
	}
	if err := b.work.Hold(nodeSize); err != nil {
		return err
	}
	if b.depth++; b.depth > refuse.MaxDepth {
		return parse.TooDeep(off)
	}
	return nil
}

// query binds a SELECT, VALUES or set operation in the scope around it.
func (b *binder) query(s *ast.Select, parent *scope) (*Query, error) {
	if err := b.enter(s.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	if err := refuse.Clauses(s); err != nil {
		return nil, err
	}
	sc := &scope{parent: parent, query: &Query{}, side: b.side}
	b.side = false
	if len(s.With) > 0 {
		if err := b.with(s, sc); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Op != "":
		return b.union(s, sc)
	case s.Values != nil:
		return b.values(s, sc)
	}
	return b.sel(s, sc)
}

func (b *binder) sel(s *ast.Select, sc *scope) (*Query, error) {
	q := sc.query
	if err := b.from(s.From, sc); err != nil {
		return nil, err
	}
	sc.seen = len(sc.rels)
	if s.Where != nil {
		sc.noAggregates = "WHERE"
		cond, err := b.condition(s.Where, sc, "WHERE")
		if err != nil {
			return nil, err
		}
		q.Where = append(q.Where, exec.Conjuncts(cond)...)
		sc.noAggregates = ""
	}
	q.Width = sc.width
	if err := b.windows(s.Windows, sc); err != nil {
		return nil, err
	}
	targets, names, err := b.targets(s, sc)
	if err != nil {
		return nil, err
	}
	q.Group = len(s.GroupBy) > 0 || len(q.Aggs) > 0
	g := &grouper{b: b, sc: sc, q: q}
	if err := g.keys(s, targets, names); err != nil {
		return nil, err
	}
	var having exec.Expr
	if s.Having != nil {
		sc.noWindows = "HAVING"
		if having, err = b.condition(s.Having, sc, "HAVING"); err != nil {
			return nil, err
		}
		sc.noWindows = ""
		q.Group = true
	}
	order, err := b.orderBy(s, sc, targets, names)
	if err != nil {
		return nil, err
	}
	if g.windowKeys, err = b.unusedWindows(s.Windows, sc); err != nil {
		return nil, err
	}
	q.Group = q.Group || len(q.Aggs) > 0
	if q.grouping != nil && !q.Group {
		return nil, sqlstate.Locate(errGrouping, q.grouping.Args[0].Pos())
	}
	if err := b.finish(s, sc, g, targets, names, having, order); err != nil {
		return nil, err
	}
	if err = b.limits(s, q, sc); err != nil {
		return nil, err
	}
	if err := b.allPlaced(q, s.Pos()); err != nil || len(s.Locks) == 0 {
		return q, err
	}
	b.locks = s.Locks[0].Strength
	return q, refuse.Locked(s, len(q.Aggs) > 0, len(q.Windows) > 0, q.SetFuncs != nil, func(name string) bool {
		return slices.ContainsFunc(sc.rels, func(r *relation) bool { return r.alias == name })
	})
}

// finish rewrites the expressions for the output of the grouping and the windows, and resolves DISTINCT and ORDER BY.
func (b *binder) finish(s *ast.Select, sc *scope, g *grouper, targets []exec.Expr, names []exec.Column,
	having exec.Expr, order []boundOrder) error {
	q := sc.query
	var err error
	if q.Group {
		g.dependent(targets, order, having)
		for i := range targets {
			if targets[i], err = g.after(targets[i]); err != nil {
				return err
			}
		}
		for i, o := range order {
			if o.index >= 0 {
				continue
			}
			if order[i].expr, err = g.after(o.expr); err != nil {
				return err
			}
		}
		if having != nil {
			if having, err = g.after(having); err != nil {
				return err
			}
			q.Having = exec.Conjuncts(having)
		}
		for _, x := range g.windowKeys {
			if _, err := g.after(x); err != nil {
				return err
			}
		}
		for i := range q.Windows {
			if err := g.window(&q.Windows[i]); err != nil {
				return err
			}
		}
		if err := g.direct(); err != nil {
			return err
		}
	}
	if err := g.moveSets(targets, order); err != nil {
		return err
	}
	for i := range targets {
		targets[i] = g.place(targets[i])
	}
	q.Targets, q.Keep, q.Columns = targets, len(targets), names
	q.Distinct = s.Distinct
	for _, o := range order {
		i := o.index
		if i < 0 {
			if q.Distinct {
				return sqlstate.New(sqlstate.InvalidColumnReference,
					"for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(ast.Start(o.item.Expr))
			}
			i = len(q.Targets)
			q.Targets = append(q.Targets, g.place(o.expr))
		}
		if t := q.Targets[i].Type(); !typing.Sortable(t) {
			return typing.NoOrder(t, ast.Start(o.item.Expr))
		}
		k := exec.SortKey{Index: i, Desc: o.item.Desc, NullsFirst: o.item.NullsFirst, Collation: o.collation}
		q.Order, q.OrderNames = append(q.Order, k), append(q.OrderNames, k.Text(q.Targets[i]))
	}
	return b.distinctOn(s, sc, g)
}

// Package bind gives the names and operators of a parsed statement their meaning: relations, columns, functions, types
// and collations. What it cannot do it refuses, with the place and a hint. Its result, Bound, is immutable and may be
// planned many times.
package bind

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	_ "github.com/divandb/divan/query/funcs/times" // registers its functions, as the other families do
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Resolver is what binding and planning ask about names. It is one session's, at one moment.
type Resolver interface {
	// Database is the session's database, opened; nil for the virtual database "divan".
	Database(ctx context.Context) (exec.Database, error)
	// DatabaseName is its name.
	DatabaseName() string
	// Relation finds a made-up relation (pg_catalog, information_schema, divan); nil for none.
	Relation(schema, name string) exec.Relation
	// HasSchema says that a schema of made-up relations exists.
	HasSchema(schema string) bool
	// SearchPath is where unqualified names are looked for, pg_catalog aside.
	SearchPath() []string
	// RelationOID is that of a relation of the database, in the catalogue.
	RelationOID(schema, name string) int64
	// UpdateMode is how fresh views must be in this session.
	UpdateMode() exec.UpdateMode
}

// Bound is a query whose names and types are resolved. It is immutable; Plan makes runnable plans of it.
type Bound struct {
	Query  *Query
	Params []types.OID
	// loose are the parameters that are compared with jsonb, which may be texts that are no JSON.
	loose []bool
	// Columns of the result.
	Columns []exec.Column
	Db      exec.Database
	Update  exec.UpdateMode
	// path and lookups are what names were resolved by, and to.
	path    []string
	lookups []lookup
}

// Loose says that a parameter is compared with jsonb: a value that is not valid JSON is the string that it spells.
func (b *Bound) Loose(i int) bool { return i < len(b.loose) && b.loose[i] }

// lookup is a relation of the store that a name was resolved to.
type lookup struct {
	schema, name string
	off          int
	found        UserScan
}

// UsesStore says that the query reads a database.
func (b *Bound) UsesStore() bool { return b.Query.user || len(b.lookups) > 0 }

// Refreshed is b for another execution: with the database opened again, which fails where the user may not read it any
// more or it is gone, and the update mode of now. It answers nil where a name means something else by now, so that the
// statement has to be bound again.
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
		if l.schema == "" && look.virtual("", l.name) != nil {
			return nil, nil
		}
		now, err := look.userRelation(l.schema, l.name, l.off)
		if err != nil {
			return nil, err
		}
		if now.Rel.Name != l.found.Rel.Name || now.Rel.Kind != l.found.Rel.Kind || now.Design != l.found.Design ||
			now.View != l.found.View || now.Reduce != l.found.Reduce || now.Raw != l.found.Raw ||
			now.Partitioned != l.found.Partitioned {
			return nil, nil
		}
	}
	again.Db = look.db
	return &again, nil
}

// Query is one SELECT, or a UNION of two.
type Query struct {
	From  From
	Width int // of the row buffer
	Where []exec.Expr
	Keys  []exec.Expr // GROUP BY
	// Sets are its grouping sets, as indexes of Keys; nil for one set of all keys.
	Sets [][]int
	Aggs []exec.AggCall
	// aggKeys finds an aggregate that computes the same.
	aggKeys map[string]int
	Group   bool
	// grouping is a GROUPING() of this query.
	grouping *ast.Call
	Having   []exec.Expr
	// windows come after grouping: their results stand behind its columns.
	Windows []window.Call
	// windowKeys finds a window function that computes the same.
	windowKeys map[string]int
	// targets are the select list and behind it what only ORDER BY needs; keep is how many are the select list.
	Targets []exec.Expr
	// SetFuncs are the functions that return rows in the select list and ORDER BY, whose values stand behind the
	// columns of the windows; GroupFuncs those of GROUP BY, whose values stand behind the columns of FROM.
	SetFuncs, GroupFuncs []*SetFunc
	// setKeys finds a function that gives the same rows.
	setKeys    map[string]int
	Keep       int
	Columns    []exec.Column
	Distinct   bool
	DistinctOn []int
	Order      []exec.SortKey
	OrderNames []string
	Limit      exec.Expr
	Skip       exec.Expr

	Ctes        []*CTE        // of its WITH list
	Values      [][]exec.Expr // of VALUES, by row
	Left, Right *Query        // of an operation on sets
	Op          ast.SetOp
	UnionAll    bool            // ALL of any of them
	Work        *exec.WorkTable // of a recursive one

	Correlated bool
	// user says that the store is read below here.
	user bool
}

// binder resolves one statement.
type binder struct {
	typing.Open
	work    *work.Work
	r       Resolver
	plan    Planner
	columns map[*exec.Col]int // where they stand
	lookups []lookup
	db      exec.Database
	opened  bool
	depth   int
	// volatile counts calls of volatile functions, steps the steps of recursive queries around.
	volatile, steps int
	cte             *CTE // that is being bound
	sublinks        int  // sub-queries of expressions around
}

// Planner makes the plan of a bound query: package plan, which stands above this one.
type Planner func(q *Query, db exec.Database, st *exec.State) (exec.Plan, error)

func newBinder(w *work.Work, r Resolver, plan Planner, given []types.OID) *binder {
	return &binder{work: w, r: r, plan: plan, columns: map[*exec.Col]int{},
		Open: typing.NewOpen(given)}
}

// Bind resolves a query. given are the parameter types that the client declared, 0 for open ones.
func Bind(w *work.Work, q *ast.Query, r Resolver, plan Planner, given []types.OID) (*Bound, error) {
	b := newBinder(w, r, plan, given)
	for i, t := range b.Params {
		if t == types.Unknown {
			b.Params[i] = 0
		}
	}
	bq, err := b.query(q.Select, nil)
	if err != nil {
		return nil, err
	}
	for i, t := range b.Params {
		if t == 0 {
			// What nothing says a word about is text.
			if err := b.SetParam(&exec.Param{Index: i}, types.Text); err != nil {
				return nil, err
			}
		}
	}
	out := &Bound{Query: bq, Params: b.Params, loose: b.Loose, Columns: bq.Columns, Db: b.db,
		Update: r.UpdateMode(), path: r.SearchPath(), lookups: b.lookups}
	return out, nil
}

// scope is where names of one query are looked up.
type scope struct {
	parent *scope
	rels   []*relation
	width  int
	ctes   map[string]*CTE
	query  *Query
	// windows are those of the WINDOW clause, by name.
	windows map[string]*ast.Window
	// inAggregate and the like forbid what may not nest.
	noAggregates string // the clause's name where aggregates and window functions are forbidden
	noWindows    string // where window functions alone are
	sets         bool   // where functions that return rows may be called: the select list, GROUP BY and ORDER BY,
	noSets       string // but not here
	inAggregate  bool
	inWindow     bool
	// limit restricts which relations are seen: a LATERAL item sees those before it, others none.
	seen int
}

// CTE is a WITH query. It is bound once, before what it stands in.
type CTE struct {
	sel     *ast.Select
	columns []string
	scope   *scope // where it was written
	name    string
	// recursive ones may name themselves; while that part is bound, work and result describe the rows of the last
	// round.
	recursive bool
	work      *exec.WorkTable
	result    []exec.Column

	Query  *Query
	Handle *exec.CTE
	// materialize is what was asked for, volatile that it calls a function that gives something else every time, and
	// inStep that it is a part of a recursive query's step, so that its rows are good for one round.
	materialize      string
	volatile, InStep bool
	// refs counts where it is named, deep those below the level of its WITH.
	refs, deep int

	// at is where the name stands, owner the scope whose WITH has it, steps how many steps of recursive queries are
	// around that, and binding is set while it is bound.
	at      int
	owner   *scope
	steps   int
	binding bool

	sublinks int // around the part that may name it
}

// computedOnce says whether the rows of c are kept, or c is a sub-query wherever it is named. The rules are
// PostgreSQL's (inline_cte in subselect.c), but that a recursive query that is named once, on the level of its WITH,
// needs no memory for its rows. A query that looks at rows around its WITH can be computed there only.
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
	schema string // "" for anything with an alias or derived
	cols   []relColumn
	// outer says that an outer join may find no row of it.
	outer bool
	// scalar says that it is a function of one column, for which its name stands too.
	scalar bool
	// user is set for relations of the store; oid for those of the catalogue.
	user *UserScan
	oid  int64
}

type relColumn struct {
	name   string
	typ    types.OID
	mod    int32
	index  int
	hidden bool // one of the two columns of a USING: only by its qualified name
	// merged is the COALESCE of a FULL JOIN USING.
	merged exec.Expr
	fields []exec.Column // of a record
	origin exec.Origin
	// collation that the column was made with in a sub-query; nil for the default.
	collation *types.Collation
}

// nodeSize is about what a bound node and what was written for it take of memory, in bytes.
const nodeSize = 160

// enter begins a node: it counts the depth, the memory and the time. Whoever enters leaves by taking one from depth.
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

// query binds a SELECT or UNION in the scope around it.
func (b *binder) query(s *ast.Select, parent *scope) (*Query, error) {
	if err := b.enter(s.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	if err := refuse.Clauses(s); err != nil {
		return nil, err
	}
	sc := &scope{parent: parent, query: &Query{}}
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
		q.Where = append(q.Where, conjuncts(cond)...)
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
	q.Group = q.Group || len(q.Aggs) > 0
	if q.grouping != nil && !q.Group {
		return nil, sqlstate.Locate(errGrouping, q.grouping.Args[0].Pos())
	}
	if err := b.finish(s, sc, g, targets, names, having, order); err != nil {
		return nil, err
	}
	if q.Limit, q.Skip, err = b.limits(s, sc); err != nil {
		return nil, err
	}
	return q, nil
}

// finish moves the expressions behind the grouping and the windows, and settles DISTINCT and ORDER BY.
func (b *binder) finish(s *ast.Select, sc *scope, g *grouper, targets []exec.Expr, names []exec.Column,
	having exec.Expr, order []boundOrder) error {
	q := sc.query
	var err error
	if q.Group {
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
			q.Having = conjuncts(having)
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
					"for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(o.item.Expr.Pos())
			}
			i = len(q.Targets)
			q.Targets = append(q.Targets, g.place(o.expr))
		}
		if t := q.Targets[i].Type(); t == types.JSON || t == types.Void {
			return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an ordering operator for type %s",
				types.NameOf(t)).At(o.item.Expr.Pos())
		}
		q.Order = append(q.Order,
			exec.SortKey{Index: i, Desc: o.item.Desc, NullsFirst: o.item.NullsFirst, Collation: o.collation})
		name := exec.SortName(q.Targets[i], o.collation)
		if o.item.Desc {
			name += " DESC"
		}
		q.OrderNames = append(q.OrderNames, name)
	}
	return b.distinctOn(s, sc, g)
}

// conjuncts cuts a condition at its ANDs.
func conjuncts(e exec.Expr) []exec.Expr {
	if l, ok := e.(*exec.Logic); ok && l.Op == "and" {
		var out []exec.Expr
		for _, a := range l.Args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []exec.Expr{e}
}

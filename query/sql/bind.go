package sql

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/exec"
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
	// UpdateMode is how fresh views must be in this session.
	UpdateMode() exec.UpdateMode
}

// Bound is a query whose names and types are resolved. It is immutable; Plan makes runnable plans of it.
type Bound struct {
	query  *boundQuery
	Params []types.OID
	// Columns of the result.
	Columns []exec.Column
	db      exec.Database
	update  exec.UpdateMode
	// path and lookups are what names were resolved by, and to.
	path    []string
	lookups []lookup
}

// lookup is a relation of the store that a name was resolved to.
type lookup struct {
	schema, name string
	off          int
	found        userScan
}

// UsesStore says that the query reads a database.
func (b *Bound) UsesStore() bool { return b.query.user || len(b.lookups) > 0 }

// Refreshed is b for another execution: with the database opened again, which fails where the user may not read it any more or it is gone, and
// the update mode of now. It answers nil where a name means something else by now, so that the statement has to be bound again.
func (b *Bound) Refreshed(w *work.Work, r Resolver) (*Bound, error) {
	if !slices.Equal(b.path, r.SearchPath()) {
		return nil, nil
	}
	again := *b
	again.update = r.UpdateMode()
	if len(b.lookups) == 0 {
		return &again, nil
	}
	look := newBinder(w, r, nil)
	for _, l := range b.lookups {
		if l.schema == "" && look.virtual("", l.name) != nil {
			return nil, nil
		}
		now, err := look.userRelation(l.schema, l.name, l.off)
		if err != nil {
			return nil, err
		}
		if now.rel.Name != l.found.rel.Name || now.rel.Kind != l.found.rel.Kind || now.design != l.found.design || now.view != l.found.view ||
			now.reduce != l.found.reduce || now.raw != l.found.raw {
			return nil, nil
		}
	}
	again.db = look.db
	return &again, nil
}

// boundQuery is one SELECT, or a UNION of two.
type boundQuery struct {
	from  boundFrom
	width int // of the row buffer
	where []exec.Expr
	keys  []exec.Expr // GROUP BY
	aggs  []exec.AggCall
	// aggKeys finds an aggregate that computes the same.
	aggKeys map[string]int
	group   bool
	having  []exec.Expr
	// windows come after grouping: their results stand behind its columns.
	windows []exec.WindowCall
	// targets are the select list and behind it what only ORDER BY needs; keep is how many are the select list.
	targets    []exec.Expr
	setReturn  []*boundSetFunc // by target, nil entries for plain ones; nil when there are none
	keep       int
	columns    []exec.Column
	distinct   bool
	distinctOn []int
	order      []exec.SortKey
	orderNames []string
	limit      exec.Expr
	skip       exec.Expr

	ctes        []*boundCTE   // of its WITH list
	values      [][]exec.Expr // of VALUES, by row
	left, right *boundQuery   // of an operation on sets
	op          ast.SetOp
	unionAll    bool            // ALL of any of them
	work        *exec.WorkTable // of a recursive one

	correlated bool
	// user says that the store is read below here.
	user bool
}

// binder resolves one statement.
type binder struct {
	work       *work.Work
	r          Resolver
	params     []types.OID           // 0 while unknown
	paramNodes map[int][]*exec.Param // by index
	literals   map[*exec.Const]int   // where they stand
	columns    map[*exec.Col]int
	lookups    []lookup
	db         exec.Database
	opened     bool
	depth      int
	// volatile counts calls of volatile functions, steps the steps of recursive queries around.
	volatile, steps int
}

func newBinder(w *work.Work, r Resolver, given []types.OID) *binder {
	return &binder{work: w, r: r, params: slices.Clone(given), paramNodes: map[int][]*exec.Param{}, literals: map[*exec.Const]int{},
		columns: map[*exec.Col]int{}}
}

// Bind resolves a query. given are the parameter types that the client declared, 0 for open ones.
func Bind(w *work.Work, q *ast.Query, r Resolver, given []types.OID) (*Bound, error) {
	b := newBinder(w, r, given)
	for i, t := range b.params {
		if t == types.Unknown {
			b.params[i] = 0
		}
	}
	bq, err := b.query(q.Select, nil)
	if err != nil {
		return nil, err
	}
	for i, t := range b.params {
		if t == 0 {
			// What nothing says a word about is text.
			if err := b.setParam(&exec.Param{Index: i}, types.Text); err != nil {
				return nil, err
			}
		}
	}
	out := &Bound{query: bq, Params: b.params, Columns: bq.columns, db: b.db, update: r.UpdateMode(), path: r.SearchPath(), lookups: b.lookups}
	return out, nil
}

// scope is where names of one query are looked up.
type scope struct {
	parent *scope
	rels   []*relation
	width  int
	ctes   map[string]*boundCTE
	query  *boundQuery
	// windows are those of the WINDOW clause, by name.
	windows map[string]*ast.Window
	// inAggregate and the like forbid what may not nest.
	noAggregates string // the clause's name where aggregates are forbidden
	inAggregate  bool
	// limit restricts which relations are seen: a LATERAL item sees those before it, others none.
	seen int
}

// boundCTE is a WITH query. It is bound once, before what it stands in.
type boundCTE struct {
	sel     *ast.Select
	columns []string
	scope   *scope // where it was written
	name    string
	// recursive ones may name themselves; while that part is bound, work and result describe the rows of the last round.
	recursive bool
	work      *exec.WorkTable
	result    []exec.Column

	query  *boundQuery
	handle *exec.CTE
	// materialize is what was asked for, volatile that it calls a function that gives something else every time, and inStep that it is a part
	// of a recursive query's step, so that its rows are good for one round.
	materialize      string
	volatile, inStep bool
	// refs counts where it is named, deep those below the level of its WITH.
	refs, deep int
}

// computedOnce says whether the rows of c are kept, or c is a sub-query wherever it is named. The rules are PostgreSQL's (inline_cte in
// subselect.c), but that a recursive query that is named once, on the level of its WITH, needs no memory for its rows. A query that looks at
// rows around its WITH can be computed there only.
func (c *boundCTE) computedOnce() bool {
	switch {
	case c.refs == 0:
		return false
	case c.materialize == "always", c.volatile, (c.recursive || c.query.correlated) && c.deep > 0:
		return true
	}
	return c.refs > 1 && (c.materialize != "never" || c.recursive)
}

// relation is an item of FROM with its columns.
type relation struct {
	alias  string
	schema string // "" for anything with an alias or derived
	cols   []relColumn
	// user is set for relations of the store; oid for those of the catalogue.
	user *userScan
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
	if b.depth++; b.depth > maxDepth {
		return parse.TooDeep(off)
	}
	return nil
}

// query binds a SELECT or UNION in the scope around it.
func (b *binder) query(s *ast.Select, parent *scope) (*boundQuery, error) {
	if err := b.enter(s.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	if err := refuseClauses(s); err != nil {
		return nil, err
	}
	sc := &scope{parent: parent, query: &boundQuery{}}
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

// with binds the WITH list of a query. Each item sees those before it: their scopes are a chain, as a map for each would take quadratic room.
func (b *binder) with(s *ast.Select, sc *scope) error {
	sc.ctes = make(map[string]*boundCTE, len(s.With))
	before := &scope{parent: sc.parent}
	for i := range s.With {
		c := &s.With[i]
		if sc.ctes[c.Name] != nil {
			return sqlstate.New(sqlstate.DuplicateAlias, "WITH query name %q specified more than once", c.Name).At(c.Pos())
		}
		q, err := cteSelect(c)
		if err != nil {
			return err
		}
		bound := &boundCTE{sel: q, columns: c.Columns, scope: before, name: c.Name, recursive: s.Recursive && q.Op == ast.Union,
			materialize: c.Materialize, handle: &exec.CTE{Name: c.Name}, inStep: b.steps > 0}
		volatile := b.volatile
		if bound.query, err = b.cteQuery(bound); err != nil {
			return err
		}
		bound.volatile = b.volatile > volatile
		sc.query.correlated = sc.query.correlated || bound.query.correlated || bound.inStep
		sc.ctes[c.Name] = bound
		before = &scope{parent: before, ctes: map[string]*boundCTE{c.Name: bound}}
		sc.query.ctes = append(sc.query.ctes, bound)
	}
	return nil
}

func (b *binder) sel(s *ast.Select, sc *scope) (*boundQuery, error) {
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
		q.where = append(q.where, conjuncts(cond)...)
		sc.noAggregates = ""
	}
	q.width = sc.width
	if err := b.windows(s.Windows, sc); err != nil {
		return nil, err
	}
	targets, names, err := b.targets(s, sc)
	if err != nil {
		return nil, err
	}
	q.group = len(s.GroupBy) > 0 || len(q.aggs) > 0
	g := &grouper{b: b, sc: sc, q: q}
	if err := g.keys(s, targets, names); err != nil {
		return nil, err
	}
	var having exec.Expr
	if s.Having != nil {
		if having, err = b.condition(s.Having, sc, "HAVING"); err != nil {
			return nil, err
		}
		q.group = true
	}
	order, err := b.orderBy(s, sc, targets, names)
	if err != nil {
		return nil, err
	}
	q.group = q.group || len(q.aggs) > 0
	if err := b.finish(s, sc, g, targets, names, having, order); err != nil {
		return nil, err
	}
	if q.limit, q.skip, err = b.limits(s, sc); err != nil {
		return nil, err
	}
	return q, nil
}

// finish moves the expressions behind the grouping and the windows, and settles DISTINCT and ORDER BY.
func (b *binder) finish(s *ast.Select, sc *scope, g *grouper, targets []exec.Expr, names []exec.Column, having exec.Expr, order []boundOrder) error {
	q := sc.query
	var err error
	if q.group {
		if q.setReturn != nil {
			return sqlstate.Unsupported(s.Pos(), "Call it in FROM.", "functions that return rows together with GROUP BY are not supported")
		}
		for i := range targets {
			if targets[i], err = g.after(targets[i]); err != nil {
				return err
			}
		}
		if having != nil {
			if having, err = g.after(having); err != nil {
				return err
			}
			q.having = conjuncts(having)
		}
		for i := range q.windows {
			if err := g.window(&q.windows[i]); err != nil {
				return err
			}
		}
	}
	if err := g.placeWindows(targets, order); err != nil {
		return err
	}
	q.targets, q.keep, q.columns = targets, len(targets), names
	q.distinct = s.Distinct
	for _, o := range order {
		i := o.index
		if i < 0 {
			if q.distinct {
				return sqlstate.New(sqlstate.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(o.item.Expr.Pos())
			}
			e := o.expr
			if q.group {
				if e, err = g.after(e); err != nil {
					return err
				}
			}
			i = len(q.targets)
			q.targets = append(q.targets, e)
		}
		if t := q.targets[i].Type(); t == types.JSON || t == types.Void {
			return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an ordering operator for type %s", types.NameOf(t)).At(o.item.Expr.Pos())
		}
		q.order = append(q.order, exec.SortKey{Index: i, Desc: o.item.Desc, NullsFirst: o.item.NullsFirst, Collation: o.collation})
		name := exec.SortName(q.targets[i], o.collation)
		if o.item.Desc {
			name += " DESC"
		}
		q.orderNames = append(q.orderNames, name)
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

func smallInt(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1e6 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

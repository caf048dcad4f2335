package sql

import (
	"context"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
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
}

// boundQuery is one SELECT, or a UNION of two.
type boundQuery struct {
	from   boundFrom
	width  int // of the row buffer
	where  []exec.Expr
	keys   []exec.Expr // GROUP BY
	aggs   []exec.AggCall
	group  bool
	having []exec.Expr
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

	values      [][]exec.Expr // of VALUES, by row
	left, right *boundQuery   // of a UNION
	unionAll    bool
	work        *exec.WorkTable // of a recursive one

	correlated bool
	// user says that the store is read below here.
	user bool
}

// binder resolves one statement.
type binder struct {
	ctx        context.Context
	r          Resolver
	params     []types.OID // 0 while unknown
	paramNodes []*exec.Param
	literals   map[*exec.Const]int // where they stand
	columns    map[*exec.Col]int
	db         exec.Database
	opened     bool
	depth      int
}

// Bind resolves a query. given are the parameter types that the client declared, 0 for open ones.
func (q *Query) Bind(ctx context.Context, r Resolver, given []types.OID) (*Bound, error) {
	b := &binder{ctx: ctx, r: r, params: slices.Clone(given), literals: map[*exec.Const]int{}, columns: map[*exec.Col]int{}}
	for i, t := range b.params {
		if t == types.Unknown {
			b.params[i] = 0
		}
	}
	bq, err := b.query(q.sel, nil)
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
	out := &Bound{query: bq, Params: b.params, Columns: bq.columns, db: b.db, update: r.UpdateMode()}
	return out, nil
}

// scope is where names of one query are looked up.
type scope struct {
	parent *scope
	rels   []*relation
	width  int
	ctes   map[string]*boundCTE
	query  *boundQuery
	// inAggregate and the like forbid what may not nest.
	noAggregates string // the clause's name where aggregates are forbidden
	inAggregate  bool
	// limit restricts which relations are seen: a LATERAL item sees those before it, others none.
	seen int
}

type boundCTE struct {
	sel     *selectStmt
	columns []string
	scope   *scope // where it was written
	name    string
	// recursive ones may name themselves; while that part is bound, work and result describe the rows of the last round.
	recursive bool
	work      *exec.WorkTable
	result    []exec.Column
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

func (b *binder) enter(off int) error {
	if b.depth++; b.depth > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is nested too deeply").At(off)
	}
	return nil
}

// query binds a SELECT or UNION in the scope around it.
func (b *binder) query(s *selectStmt, parent *scope) (*boundQuery, error) {
	if err := b.enter(s.offset()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	sc := &scope{parent: parent, query: &boundQuery{}}
	if len(s.with) > 0 {
		sc.ctes = map[string]*boundCTE{}
		for i := range s.with {
			c := &s.with[i]
			inner := &scope{parent: parent, ctes: map[string]*boundCTE{}}
			for k, v := range sc.ctes {
				inner.ctes[k] = v
			}
			sc.ctes[c.name] = &boundCTE{sel: c.sel, columns: c.columns, scope: inner, name: c.name, recursive: s.recursive && c.sel.left != nil}
		}
	}
	switch {
	case s.left != nil:
		return b.union(s, sc)
	case s.values != nil:
		return b.values(s, sc)
	}
	return b.sel(s, sc)
}

func (b *binder) sel(s *selectStmt, sc *scope) (*boundQuery, error) {
	q := sc.query
	if err := b.from(s.from, sc); err != nil {
		return nil, err
	}
	sc.seen = len(sc.rels)
	if s.where != nil {
		sc.noAggregates = "WHERE"
		cond, err := b.condition(s.where, sc, "WHERE")
		if err != nil {
			return nil, err
		}
		q.where = append(q.where, conjuncts(cond)...)
		sc.noAggregates = ""
	}
	q.width = sc.width
	targets, names, err := b.targets(s, sc)
	if err != nil {
		return nil, err
	}
	q.group = len(s.groupBy) > 0 || len(q.aggs) > 0
	g := &grouper{b: b, sc: sc, q: q}
	if err := g.keys(s, targets, names); err != nil {
		return nil, err
	}
	var having exec.Expr
	if s.having != nil {
		if having, err = b.condition(s.having, sc, "HAVING"); err != nil {
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
func (b *binder) finish(s *selectStmt, sc *scope, g *grouper, targets []exec.Expr, names []exec.Column, having exec.Expr, order []boundOrder) error {
	q := sc.query
	var err error
	if q.group {
		if q.setReturn != nil {
			return sqlstate.Unsupported(s.offset(), "Call it in FROM.", "functions that return rows together with GROUP BY are not supported")
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
	q.distinct = s.distinct
	for _, o := range order {
		i := o.index
		if i < 0 {
			if q.distinct {
				return sqlstate.New(sqlstate.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(o.item.expr.offset())
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
			return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an ordering operator for type %s", types.NameOf(t)).At(o.item.expr.offset())
		}
		q.order = append(q.order, exec.SortKey{Index: i, Desc: o.item.desc, NullsFirst: o.item.nullsFirst, Collation: o.collation})
		name := exec.SortName(q.targets[i], o.collation)
		if o.item.desc {
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
		if !digit(s[i]) || n > 1e6 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

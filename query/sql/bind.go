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

// values binds VALUES: every column has the type that its items agree on.
func (b *binder) values(s *selectStmt, sc *scope) (*boundQuery, error) {
	q := sc.query
	sc.noAggregates = "VALUES"
	for _, row := range s.values {
		items, err := b.exprs(row, sc)
		if err != nil {
			return nil, err
		}
		q.values = append(q.values, items)
	}
	q.keep = len(q.values[0])
	for i := range q.values[0] {
		column := make([]exec.Expr, len(q.values))
		for j, row := range q.values {
			column[j] = row[i]
		}
		column, typ, err := b.unify(column, "VALUES", s.offset())
		if err != nil {
			return nil, err
		}
		for j := range q.values {
			q.values[j][i] = column[j]
		}
		coll, err := mergeCollations(s.offset(), column...)
		if err != nil {
			return nil, err
		}
		q.columns = append(q.columns, exec.Column{Name: "column" + itoa(i+1), Type: typ, Mod: -1, Collation: coll.column()})
	}
	if err := b.orderByColumns(s, q); err != nil {
		return nil, err
	}
	var err error
	q.limit, q.skip, err = b.limits(s, sc)
	return q, err
}

// boundOrder is an item of ORDER BY: an index into the select list, or an expression.
type boundOrder struct {
	index     int
	expr      exec.Expr
	item      orderItem
	collation *types.Collation
}

// orderBy binds ORDER BY: a number or an alias means a column of the result, anything else is an expression over FROM.
func (b *binder) orderBy(s *selectStmt, sc *scope, targets []exec.Expr, names []exec.Column) ([]boundOrder, error) {
	var out []boundOrder
	for _, it := range s.orderBy {
		i, err := outputColumn(it.expr, targets, names, "ORDER BY")
		if err != nil {
			return nil, err
		}
		o := boundOrder{index: i, item: it}
		if i < 0 {
			if o.expr, err = b.expr(it.expr, sc); err != nil {
				return nil, err
			}
			if untyped(o.expr) {
				if o.expr, err = b.coerce(o.expr, types.Text, types.Implicit, it.expr.offset()); err != nil {
					return nil, err
				}
			}
			if o.collation, err = sortCollation(o.expr, it.expr.offset()); err != nil {
				return nil, err
			}
			o.expr = withoutBytes(o.expr)
			key := exec.Key(o.expr)
			for j, t := range targets {
				if exec.Key(t) == key {
					o.index = j
					break
				}
			}
		} else if o.collation, err = sortCollation(targets[i], it.expr.offset()); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// outputColumn resolves a position or an alias of the result; -1 when e is neither.
func outputColumn(e expr, targets []exec.Expr, names []exec.Column, clause string) (int, error) {
	switch n := e.(type) {
	case *literal:
		if n.kind == tInteger {
			i, ok := smallInt(n.text)
			if !ok || i < 1 || i > len(targets) {
				return 0, sqlstate.New(sqlstate.InvalidColumnReference, "%s position %s is not in select list", clause, n.text).At(n.offset())
			}
			return i - 1, nil
		}
		if n.kind != tIdent {
			return 0, syntaxError(n.offset(), "non-integer constant in %s", clause)
		}
	case *column:
		if len(n.parts) != 1 || n.star {
			return -1, nil
		}
		found := -1
		for i := range names {
			if names[i].Name == n.parts[0] {
				if found >= 0 && exec.Key(targets[i]) != exec.Key(targets[found]) {
					return 0, sqlstate.New(sqlstate.AmbiguousColumn, "%s %q is ambiguous", clause, n.parts[0]).At(n.offset())
				}
				if found < 0 {
					found = i
				}
			}
		}
		return found, nil
	}
	return -1, nil
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

// distinctOn binds DISTINCT ON: its expressions must lead ORDER BY.
func (b *binder) distinctOn(s *selectStmt, sc *scope, g *grouper) error {
	q := sc.query
	for _, e := range s.distinctOn {
		i, err := outputColumn(e, q.targets[:q.keep], q.columns, "DISTINCT ON")
		if err != nil {
			return err
		}
		if i < 0 {
			x, err := b.expr(e, sc)
			if err != nil {
				return err
			}
			if q.group {
				if x, err = g.after(x); err != nil {
					return err
				}
			}
			key := exec.Key(x)
			for j, t := range q.targets {
				if exec.Key(t) == key {
					i = j
					break
				}
			}
			if i < 0 {
				i = len(q.targets)
				q.targets = append(q.targets, x)
			}
		}
		q.distinctOn = append(q.distinctOn, i)
	}
	for i := range min(len(q.order), len(q.distinctOn)) {
		if !slices.Contains(q.distinctOn, q.order[i].Index) {
			return sqlstate.New(sqlstate.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(s.distinctOn[0].offset())
		}
	}
	return nil
}

// limits binds LIMIT and OFFSET, which may not look at rows.
func (b *binder) limits(s *selectStmt, sc *scope) (limit, skip exec.Expr, err error) {
	bindOne := func(e expr, what string) (exec.Expr, error) {
		if e == nil {
			return nil, nil
		}
		x, err := b.expr(e, &scope{parent: sc.parent, query: &boundQuery{}, noAggregates: what})
		if err != nil {
			return nil, err
		}
		variables := false
		exec.Walk(x, func(x exec.Expr) {
			switch x.(type) {
			case *exec.Col, *exec.Subquery:
				variables = true
			}
		})
		if variables {
			return nil, sqlstate.New(sqlstate.InvalidColumnReference, "argument of %s must not contain variables", what).At(e.offset())
		}
		return b.coerce(x, types.Int8, types.Assignment, e.offset())
	}
	if limit, err = bindOne(s.limit, "LIMIT"); err == nil {
		skip, err = bindOne(s.skip, "OFFSET")
	}
	return limit, skip, err
}

// union binds both sides and brings their columns to common types.
func (b *binder) union(s *selectStmt, sc *scope) (*boundQuery, error) {
	// The sides see the WITH list of the whole.
	left, err := b.query(s.left, sc)
	if err != nil {
		return nil, err
	}
	right, err := b.query(s.right, sc)
	if err != nil {
		return nil, err
	}
	q := sc.query
	q.left, q.right, q.unionAll = left, right, s.unionAll
	q.user, q.correlated = left.user || right.user, left.correlated || right.correlated
	if len(left.columns) != len(right.columns) {
		return nil, syntaxError(s.right.offset(), "each UNION query must have the same number of columns")
	}
	for i := range left.columns {
		l, r := left.columns[i], right.columns[i]
		// A column of literals alone has no type yet.
		lt, rt := l.Type, r.Type
		if left.open(i) {
			lt = types.Unknown
		}
		if right.open(i) {
			rt = types.Unknown
		}
		t := commonType(lt, rt)
		if t == 0 {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch, "UNION types %s and %s cannot be matched", types.NameOf(l.Type), types.NameOf(r.Type)).At(s.right.offset())
		}
		if t == types.Unknown {
			t = types.Text
		}
		if err := b.retype(left, i, t, s.left.offset()); err != nil {
			return nil, err
		}
		if err := b.retype(right, i, t, s.right.offset()); err != nil {
			return nil, err
		}
		q.columns = append(q.columns, exec.Column{Name: l.Name, Type: t, Mod: -1, Collation: unionCollation(l.Collation, r.Collation)})
	}
	q.keep = len(q.columns)
	if err := b.orderByColumns(s, q); err != nil {
		return nil, err
	}
	q.limit, q.skip, err = b.limits(s, sc)
	return q, err
}

// orderByColumns binds the ORDER BY of a UNION or VALUES, which may only name columns of the result.
func (b *binder) orderByColumns(s *selectStmt, q *boundQuery) error {
	for _, it := range s.orderBy {
		i, err := outputColumn(it.expr, make([]exec.Expr, q.keep), nil, "ORDER BY")
		if err != nil {
			return err
		}
		if c, ok := it.expr.(*column); ok && i < 0 && len(c.parts) == 1 {
			i = slices.IndexFunc(q.columns, func(col exec.Column) bool { return col.Name == c.parts[0] })
		}
		if i < 0 {
			return sqlstate.Unsupported(it.expr.offset(), "Order by a column's name or number.", "ORDER BY of an expression over UNION or VALUES")
		}
		col := &exec.Col{Index: i, Typ: q.columns[i].Type, Name: q.columns[i].Name, Collation: q.columns[i].Collation}
		coll, err := sortCollation(col, it.expr.offset())
		if err != nil {
			return err
		}
		q.order = append(q.order, exec.SortKey{Index: i, Desc: it.desc, NullsFirst: it.nullsFirst, Collation: coll})
		q.orderNames = append(q.orderNames, exec.SortName(col, coll))
	}
	return nil
}

// open says that a column has only literals that were made text for want of anything better.
func (q *boundQuery) open(i int) bool {
	all := func(e exec.Expr) bool {
		c, ok := e.(*exec.Const)
		return ok && (c.Typ == types.Unknown || c.Typ == types.Text)
	}
	switch {
	case q.left != nil:
		return false
	case q.values != nil:
		for _, row := range q.values {
			if !all(row[i]) {
				return false
			}
		}
		return true
	}
	return all(q.targets[i])
}

// retype casts a column of a union's side.
func (b *binder) retype(q *boundQuery, i int, t types.OID, off int) error {
	change := func(e exec.Expr) (exec.Expr, error) {
		if c, ok := e.(*exec.Const); ok && c.Typ == types.Text {
			e = &exec.Const{D: c.D, Typ: types.Unknown}
		}
		return b.coerce(e, t, types.Implicit, off)
	}
	var err error
	switch {
	case q.columns[i].Type == t && (q.left != nil || q.values != nil || q.targets[i].Type() == t):
		return nil
	case q.left != nil:
		if err = b.retype(q.left, i, t, off); err == nil {
			err = b.retype(q.right, i, t, off)
		}
	case q.values != nil:
		for _, row := range q.values {
			if row[i], err = change(row[i]); err != nil {
				break
			}
		}
	default:
		q.targets[i], err = change(q.targets[i])
	}
	q.columns[i].Type = t
	return err
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

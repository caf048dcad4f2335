package sql

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// condition binds an expression that must be boolean.
func (b *binder) condition(e expr, sc *scope, clause string) (exec.Expr, error) {
	x, err := b.expr(e, sc)
	if err != nil {
		return nil, err
	}
	if t := x.Type(); t != types.Bool && t != types.Unknown {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of %s must be type boolean, not type %s", clause, types.NameOf(t)).At(e.offset())
	}
	return b.coerce(x, types.Bool, types.Implicit, e.offset())
}

func (b *binder) exprs(list []expr, sc *scope) ([]exec.Expr, error) {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = b.expr(e, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *binder) expr(e expr, sc *scope) (exec.Expr, error) {
	if err := b.enter(e.offset()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	switch n := e.(type) {
	case *literal:
		return b.literal(n)
	case *param:
		return b.param(n)
	case *column:
		return b.column(n, sc)
	case *operator:
		return b.operator(n, sc)
	case *logic:
		args := make([]exec.Expr, len(n.args))
		for i, a := range n.args {
			var err error
			if args[i], err = b.condition(a, sc, strings.ToUpper(n.op)); err != nil {
				return nil, err
			}
		}
		return &exec.Logic{Op: n.op, Args: args}, nil
	case *isTest:
		return b.isTest(n, sc)
	case *inList:
		return b.inList(n, sc)
	case *between:
		return b.between(n, sc)
	case *like:
		return b.like(n, sc)
	case *quantified:
		return b.quantified(n, sc)
	case *caseExpr:
		return b.caseExpr(n, sc)
	case *cast:
		return b.cast(n, sc)
	case *collation:
		return b.collate(n, sc)
	case *call:
		return b.call(n, sc)
	case *arrayLit:
		return b.array(n, sc)
	case *rowLit:
		items, err := b.exprs(n.items, sc)
		for i := range items {
			if err == nil && untyped(items[i]) {
				items[i], err = b.coerce(items[i], types.Text, types.Implicit, n.offset())
			}
		}
		return &exec.RowExpr{Items: items}, err
	case *subscript:
		return b.subscript(n, sc)
	case *field:
		return b.field(n, sc)
	case *subquery:
		return b.subquery(n, sc)
	}
	return nil, syntaxError(e.offset(), "syntax error")
}

func (b *binder) literal(n *literal) (exec.Expr, error) {
	var c *exec.Const
	switch n.kind {
	case tIdent:
		switch n.text {
		case "null":
			c = exec.NullOf(types.Unknown)
		default:
			c = &exec.Const{D: types.NewBool(n.text == "true"), Typ: types.Bool}
		}
	case tInteger, tNumber:
		// The narrowest of integer, bigint and numeric.
		if n.kind == tInteger {
			for _, t := range []types.OID{types.Int4, types.Int8} {
				if d, err := types.ParseText(n.text, t, nil); err == nil {
					return &exec.Const{D: d, Typ: t}, nil
				}
			}
		}
		d, err := types.ParseText(n.text, types.Numeric, nil)
		if err != nil {
			return nil, sqlstate.Locate(err, n.offset())
		}
		c = &exec.Const{D: d, Typ: types.Numeric}
	case tBits:
		return nil, sqlstate.Unsupported(n.offset(), "Use a number or bytea.", "bit strings are not supported")
	default:
		c = &exec.Const{D: types.NewText(n.text), Typ: types.Unknown}
	}
	b.literals[c] = n.offset()
	return c, nil
}

func (b *binder) param(n *param) (exec.Expr, error) {
	for len(b.params) < n.number {
		b.params = append(b.params, 0)
	}
	p := &exec.Param{Index: n.number - 1, Typ: types.Unknown}
	if t := b.params[n.number-1]; t != 0 {
		p.Typ = t
	}
	b.paramNodes = append(b.paramNodes, p)
	return p, nil
}

// column resolves a name from the inside out. The level at which it is found is the depth at run time.
func (b *binder) column(n *column, sc *scope) (exec.Expr, error) {
	if n.star {
		return nil, syntaxError(n.offset(), "* is not allowed here")
	}
	depth := 0
	for s := sc; s != nil; s = s.parent {
		if s.query == nil {
			continue // passes names on, is no level of its own
		}
		x, err := b.columnIn(n, s)
		if err != nil {
			return nil, err
		}
		if x != nil {
			if depth == 0 {
				return x, nil
			}
			return b.outer(x, sc, s, depth, n.offset())
		}
		depth++
	}
	return nil, b.noColumn(n, sc)
}

// outer makes a reference to a level around, and marks the queries between as correlated.
func (b *binder) outer(x exec.Expr, sc, found *scope, depth int, off int) (exec.Expr, error) {
	for s := sc; s != found; s = s.parent {
		if s.query != nil {
			s.query.correlated = true
		}
	}
	c, ok := x.(*exec.Col)
	if !ok {
		return nil, sqlstate.Unsupported(off, "Name the column of one side.", "a merged column of FULL JOIN USING inside a sub-query is not supported")
	}
	return &exec.Col{Depth: depth, Index: c.Index, Typ: c.Typ, Name: c.Name, Collation: c.Collation}, nil
}

// columnIn looks for a column among the relations of one scope; nil for not found.
func (b *binder) columnIn(n *column, s *scope) (exec.Expr, error) {
	name := n.parts[len(n.parts)-1]
	var found *relColumn
	var rel *relation
	visible := s.rels
	if s.seen > 0 && s.seen < len(visible) {
		visible = visible[:s.seen]
	}
	for _, r := range visible {
		if len(n.parts) > 1 && !r.matches(n.parts[:len(n.parts)-1], b.r.DatabaseName()) {
			continue
		}
		for i := range r.cols {
			c := &r.cols[i]
			if c.name != name || c.hidden && len(n.parts) == 1 {
				continue
			}
			if found != nil {
				return nil, sqlstate.New(sqlstate.AmbiguousColumn, "column reference %q is ambiguous", name).At(n.offset())
			}
			found, rel = c, r
		}
	}
	if found == nil {
		if x := systemColumn(n, visible, b.r.DatabaseName()); x != nil {
			return x, nil
		}
		// A relation's name alone is its whole row.
		if len(n.parts) == 1 {
			for _, r := range visible {
				if r.alias == name {
					return r.row(), nil
				}
			}
		}
		return nil, nil
	}
	if found.merged != nil && len(n.parts) == 1 {
		return found.merged, nil
	}
	rel.use(found.index)
	shown := name
	if len(s.rels) > 1 {
		shown = rel.alias + "." + name
	}
	c := &exec.Col{Index: found.index, Typ: found.typ, Name: shown, Collation: found.collation}
	b.columns[c] = n.offset()
	return c, nil
}

// systemColumn is tableoid, xmin or ctid of a catalogue relation: constants, as nothing there is ever updated.
func systemColumn(n *column, rels []*relation, database string) exec.Expr {
	for _, r := range rels {
		if r.oid == 0 || len(n.parts) > 1 && !r.matches(n.parts[:len(n.parts)-1], database) {
			continue
		}
		switch n.parts[len(n.parts)-1] {
		case "tableoid":
			return &exec.Const{D: types.NewInt(r.oid), Typ: types.Oid}
		case "xmin":
			return &exec.Const{D: types.NewInt(1), Typ: types.Xid}
		case "ctid":
			return &exec.Const{D: types.NewText("(0,1)"), Typ: types.Tid}
		}
	}
	return nil
}

// matches says that the qualifier of a column names r.
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

// use marks a column of a relation of the store as wanted.
func (r *relation) use(index int) {
	if r.user != nil {
		r.user.used[index-r.user.base] = true
	}
}

// row is the record of all columns.
func (r *relation) row() exec.Expr {
	e := &exec.RowExpr{}
	for _, c := range r.cols {
		r.use(c.index)
		e.Items = append(e.Items, &exec.Col{Index: c.index, Typ: c.typ, Name: c.name, Collation: c.collation})
	}
	return e
}

// noColumn words the error as PostgreSQL does, with a hint for what people type.
func (b *binder) noColumn(n *column, sc *scope) error {
	name := strings.Join(n.parts, ".")
	if len(n.parts) > 1 {
		known := false
		for s := sc; s != nil; s = s.parent {
			for _, r := range s.rels {
				known = known || r.alias == n.parts[len(n.parts)-2]
			}
		}
		if !known {
			return sqlstate.New(sqlstate.UndefinedTable, "missing FROM-clause entry for table %q", n.parts[len(n.parts)-2]).At(n.offset())
		}
		return sqlstate.New(sqlstate.UndefinedColumn, "column %s does not exist", name).At(n.offset())
	}
	e := sqlstate.New(sqlstate.UndefinedColumn, "column %q does not exist", name).At(n.offset())
	for _, r := range sc.rels {
		if r.user == nil {
			continue
		}
		for _, c := range r.cols {
			if c.name == "doc" {
				return e.WithHint("Members of a document are read with doc->>'%s'.", name)
			}
		}
	}
	return e
}

func (b *binder) isTest(n *isTest, sc *scope) (exec.Expr, error) {
	if n.what != "distinct" {
		if n.what == "null" {
			x, err := b.expr(n.x, sc)
			if err == nil && untyped(x) {
				x, err = b.coerce(x, types.Text, types.Implicit, n.offset())
			}
			return &exec.Is{What: n.what, Not: n.not, X: x}, err
		}
		x, err := b.condition(n.x, sc, "IS "+strings.ToUpper(n.what))
		return &exec.Is{What: n.what, Not: n.not, X: x}, err
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	y, err := b.expr(n.y, sc)
	if err != nil {
		return nil, err
	}
	if x, y, err = b.comparable("IS DISTINCT FROM", x, y, n.offset()); err == nil {
		_, err = comparisonCollation("=", n.offset(), x, y)
	}
	return &exec.Distinct{Not: n.not, X: x, Y: y}, err
}

func (b *binder) inList(n *inList, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	list, err := b.exprs(n.list, sc)
	if err != nil {
		return nil, err
	}
	json := x.Type() == types.JSONB
	for _, e := range list {
		json = json || e.Type() == types.JSONB
	}
	if json {
		if x, err = b.asJSON(x, "=", types.JSONB, n.offset()); err != nil {
			return nil, err
		}
		for i := range list {
			if list[i], err = b.asJSON(list[i], "=", types.JSONB, n.list[i].offset()); err != nil {
				return nil, err
			}
		}
		return exec.NewIn(n.not, x, list)
	}
	typ := x.Type()
	for i, e := range list {
		t := commonType(typ, e.Type())
		if t == 0 {
			return nil, operandError("=", n.list[i].offset(), x.Type(), e.Type())
		}
		typ = t
	}
	all, _, err := b.unify(append([]exec.Expr{x}, list...), "IN", n.offset())
	if err != nil {
		return nil, err
	}
	if _, err := comparisonCollation("=", n.offset(), all...); err != nil {
		return nil, err
	}
	all = withoutCollates(all)
	return exec.NewIn(n.not, all[0], all[1:])
}

func (b *binder) between(n *between, sc *scope) (exec.Expr, error) {
	parts, err := b.exprs([]expr{n.x, n.low, n.high}, sc)
	if err != nil {
		return nil, err
	}
	within := func(low, high exec.Expr) (exec.Expr, error) {
		ge, err := b.compare(">=", parts[0], low, n.offset())
		if err != nil {
			return nil, err
		}
		le, err := b.compare("<=", parts[0], high, n.offset())
		return &exec.Logic{Op: "and", Args: []exec.Expr{ge, le}}, err
	}
	e, err := within(parts[1], parts[2])
	if err == nil && n.symmetric {
		var other exec.Expr
		other, err = within(parts[2], parts[1])
		e = &exec.Logic{Op: "or", Args: []exec.Expr{e, other}}
	}
	if err != nil {
		return nil, err
	}
	if n.not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	return e, nil
}

func (b *binder) like(n *like, sc *scope) (exec.Expr, error) {
	op := map[string]string{"like": "~~", "ilike": "~~*", "similar": "similar to"}[n.kind]
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	pattern, err := b.expr(n.pattern, sc)
	if err != nil {
		return nil, err
	}
	if x, err = b.textOperand(x, op, pattern.Type(), n.x.offset()); err != nil {
		return nil, err
	}
	if pattern, err = b.coerce(pattern, types.Text, types.Implicit, n.pattern.offset()); err != nil {
		return nil, err
	}
	args := []exec.Expr{x, pattern}
	if n.escape != nil {
		esc, err := b.expr(n.escape, sc)
		if err != nil {
			return nil, err
		}
		if esc, err = b.coerce(esc, types.Text, types.Implicit, n.escape.offset()); err != nil {
			return nil, err
		}
		args = append(args, esc)
	}
	if err := casingCollation(op, n.offset(), args...); err != nil {
		return nil, err
	}
	args = withoutCollates(args)
	var e exec.Expr = &exec.Call{Func: exec.LikeFunc(op), Args: args, Typ: types.Bool, Off: n.offset(), Op: op}
	if n.not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	return e, nil
}

// textOperand makes the left side of LIKE and ~ a text. A jsonb is taken for its string; other JSON values match nothing.
func (b *binder) textOperand(x exec.Expr, op string, other types.OID, off int) (exec.Expr, error) {
	switch t := x.Type(); {
	case t == types.JSONB:
		return &exec.Call{Func: exec.JSONStringText, Args: []exec.Expr{x}, Typ: types.Text, Off: off, Hidden: true}, nil
	case types.IsString(t), t == types.Unknown:
		return b.coerce(x, types.Text, types.Implicit, off)
	default:
		return nil, operandError(op, off, t, other)
	}
}

func (b *binder) caseExpr(n *caseExpr, sc *scope) (exec.Expr, error) {
	out := &exec.Case{}
	var operand exec.Expr
	var err error
	if n.operand != nil {
		if operand, err = b.expr(n.operand, sc); err != nil {
			return nil, err
		}
		if untyped(operand) {
			if operand, err = b.coerce(operand, types.Text, types.Implicit, n.offset()); err != nil {
				return nil, err
			}
		}
	}
	var results []exec.Expr
	for _, w := range n.whens {
		var cond exec.Expr
		if operand == nil {
			cond, err = b.condition(w.cond, sc, "CASE/WHEN")
		} else if cond, err = b.expr(w.cond, sc); err == nil {
			cond, err = b.compare("=", operand, cond, w.cond.offset())
		}
		if err != nil {
			return nil, err
		}
		r, err := b.expr(w.result, sc)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, exec.When{Cond: cond})
		results = append(results, r)
	}
	if n.other != nil {
		e, err := b.expr(n.other, sc)
		if err != nil {
			return nil, err
		}
		results = append(results, e)
	}
	if results, out.Typ, err = b.unify(results, "CASE", n.offset()); err != nil {
		return nil, err
	}
	for i := range out.Whens {
		out.Whens[i].Result = results[i]
	}
	if n.other != nil {
		out.Else = results[len(results)-1]
	}
	return out, nil
}

func (b *binder) cast(n *cast, sc *scope) (exec.Expr, error) {
	to, mod, err := resolveType(n.name)
	if err != nil {
		return nil, err
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	switch c := x.(type) {
	case *exec.Const:
		if c.Typ == types.Unknown {
			return b.constant(c, to, mod, n.offset())
		}
	case *exec.Param:
		if c.Typ == types.Unknown {
			if err := b.setParam(c, to); err != nil {
				return nil, sqlstate.Locate(err, n.offset())
			}
			return c, nil
		}
	case *exec.Array:
		if elem := types.ElemOf(to); elem != 0 && len(c.Items) == 0 {
			return &exec.Array{Elem: elem}, nil
		}
	}
	if types.CastContext(x.Type(), to) == types.NoCast {
		return nil, types.CannotCast(x.Type(), to).At(n.offset())
	}
	if x.Type() == to && mod < 0 {
		return x, nil
	}
	return &exec.CastExpr{X: x, To: to, Mod: mod, Off: n.offset()}, nil
}

func (b *binder) array(n *arrayLit, sc *scope) (exec.Expr, error) {
	if len(n.items) == 0 {
		return &exec.Array{Elem: types.Text}, nil
	}
	for _, it := range n.items {
		if _, nested := it.(*arrayLit); nested {
			return nil, sqlstate.Unsupported(it.offset(), "Use arrays of one dimension.", "arrays of several dimensions are not supported")
		}
	}
	items, err := b.exprs(n.items, sc)
	if err != nil {
		return nil, err
	}
	items, typ, err := b.unify(items, "ARRAY", n.offset())
	if err != nil {
		return nil, err
	}
	if types.ArrayOf(typ) == 0 {
		return nil, sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(typ)).At(n.offset())
	}
	return &exec.Array{Elem: typ, Items: items}, nil
}

func (b *binder) subscript(n *subscript, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if types.IsJSON(t) && !n.slice {
		idx, err := b.expr(n.idx, sc)
		if err != nil {
			return nil, err
		}
		return b.operatorWith("->", []exec.Expr{x, idx}, n.offset())
	}
	elem := types.ElemOf(t)
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", types.NameOf(t)).At(n.offset())
	}
	part := func(e expr) (exec.Expr, error) {
		if e == nil {
			return exec.NullOf(types.Int4), nil
		}
		i, err := b.expr(e, sc)
		if err != nil {
			return nil, err
		}
		return b.coerce(i, types.Int4, types.Assignment, e.offset())
	}
	idx, err := part(n.idx)
	if err != nil {
		return nil, err
	}
	if !n.slice {
		return &exec.Call{Func: exec.ArrayItem, Args: []exec.Expr{x, idx}, Typ: elem, Off: n.offset()}, nil
	}
	low, err := part(n.low)
	return &exec.Call{Func: exec.ArraySlice, Args: []exec.Expr{x, low, idx}, Typ: t, Off: n.offset()}, err
}

// field is (x).name: of a relation named in FROM, or of a record whose fields are known.
func (b *binder) field(n *field, sc *scope) (exec.Expr, error) {
	if c, ok := n.x.(*column); ok && len(c.parts) == 1 && n.name != "*" {
		for s := sc; s != nil; s = s.parent {
			for _, r := range s.rels {
				if r.alias == c.parts[0] {
					return b.column(&column{at: n.at, parts: []string{c.parts[0], n.name}}, sc)
				}
			}
		}
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	if hasLocale(x) {
		return nil, unsupportedCollation(n.offset(), "a field of a row")
	}
	for i, f := range fieldsOf(x, sc) {
		if f.Name == n.name {
			idx := &exec.Const{D: types.NewInt(int64(i)), Typ: types.Int4}
			return &exec.Call{Func: exec.RecordField, Args: []exec.Expr{x, idx}, Typ: f.Type, Off: n.offset()}, nil
		}
	}
	return nil, sqlstate.Unsupported(n.offset(), "Call the function in FROM, and name its columns.", "the field %q of this expression is not supported", n.name)
}

func (b *binder) subquery(n *subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(n, sc)
	if err != nil {
		return nil, err
	}
	out := &exec.Subquery{Kind: n.kind, Plan: planner(b, q), Correlated: q.correlated, Off: n.offset(), Text: "(SubPlan)"}
	if n.kind == "exists" {
		out.Typ, out.Text = types.Bool, "EXISTS (SubPlan)"
		return out, nil
	}
	if len(q.columns) != 1 {
		return nil, syntaxError(n.offset(), "subquery must return only one column")
	}
	out.Typ, out.Collation = q.columns[0].Type, q.columns[0].Collation
	if n.kind == "array" {
		if out.Typ = types.ArrayOf(out.Typ); out.Typ == 0 {
			return nil, sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(q.columns[0].Type)).At(n.offset())
		}
		out.Text = "ARRAY (SubPlan)"
	}
	return out, nil
}

// subplan binds the query of a sub-query; those over the store are refused until there is a good way.
func (b *binder) subplan(n *subquery, sc *scope) (*boundQuery, error) {
	q, err := b.query(n.sel, sc)
	if err != nil {
		return nil, err
	}
	if q.user {
		return nil, sqlstate.Unsupported(n.offset(), "Run it first and give its result as a parameter, or put it in FROM.",
			"sub-queries over documents, views and changes are not supported in expressions")
	}
	return q, nil
}

// quantified is x op ANY|ALL (array or query).
func (b *binder) quantified(n *quantified, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	if s, ok := n.y.(*subquery); ok && s.kind == "scalar" {
		return b.anyQuery(n, x, s, sc)
	}
	y, err := b.expr(n.y, sc)
	if err != nil {
		return nil, err
	}
	elem := types.ElemOf(y.Type())
	if untyped(y) {
		// An open array takes the type of the other side.
		elem = x.Type()
		if elem == types.Unknown || elem == types.JSONB {
			elem = types.Text
		}
		if elem == types.Name {
			elem = types.Text
		}
		if y, err = b.coerce(y, types.ArrayOf(elem), types.Implicit, n.y.offset()); err != nil {
			return nil, err
		}
	}
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "op ANY/ALL (array) requires array on right side").At(n.offset())
	}
	any, err := b.anyOp(n, x, elem)
	if err != nil {
		return nil, err
	}
	if err := any.collate(n, y); err != nil {
		return nil, err
	}
	if want := any.elem; want != elem {
		y = &exec.CastExpr{X: y, To: types.ArrayOf(want), Mod: -1, Off: n.offset(), Hidden: true}
	}
	return &exec.Any{X: any.x, Array: y, Op: any.fn, Symbol: n.op, All: n.all}, nil
}

// anyMatch is how x compares with the elements: after x and the elements have been brought to types.
type anyMatch struct {
	x    exec.Expr
	elem types.OID
	fn   *exec.Func
}

func (b *binder) anyOp(n *quantified, x exec.Expr, elem types.OID) (*anyMatch, error) {
	if f := exec.Comparison(n.op); f != nil {
		if x.Type() == types.JSONB && types.IsString(elem) {
			// Plain texts are JSON strings here too.
			return &anyMatch{x, elem, exec.JSONStringCompare(n.op)}, nil
		}
		t := commonType(x.Type(), elem)
		if t == 0 {
			return nil, operandError(n.op, n.offset(), x.Type(), elem)
		}
		y, err := b.coerce(x, t, types.Implicit, n.offset())
		return &anyMatch{y, t, f}, err
	}
	c, err := b.operatorWith(n.op, []exec.Expr{x, exec.NullOf(elem)}, n.offset())
	if err != nil {
		return nil, err
	}
	call, ok := c.(*exec.Call)
	if !ok || call.Typ != types.Bool {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "op ANY/ALL requires operator to yield boolean").At(n.offset())
	}
	return &anyMatch{call.Args[0], call.Args[1].Type(), call.Func}, nil
}

func (b *binder) anyQuery(n *quantified, x exec.Expr, s *subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(s, sc)
	if err != nil {
		return nil, err
	}
	if len(q.columns) != 1 {
		return nil, syntaxError(s.offset(), "subquery has too many columns")
	}
	any, err := b.anyOp(n, x, q.columns[0].Type)
	if err != nil {
		return nil, err
	}
	if err := any.collate(n, &exec.Col{Typ: q.columns[0].Type, Collation: q.columns[0].Collation}); err != nil {
		return nil, err
	}
	if any.elem != q.columns[0].Type {
		if err := b.retype(q, 0, any.elem, s.offset()); err != nil {
			return nil, err
		}
	}
	return &exec.Subquery{Kind: "any", Plan: planner(b, q), Correlated: q.correlated, Typ: types.Bool, X: any.x,
		Any: &exec.Any{Op: any.fn, Symbol: n.op, All: n.all}, Off: n.offset(), Text: "(" + any.x.String() + " " + n.op + " ANY (SubPlan))"}, nil
}

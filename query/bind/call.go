package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// call binds a function, an aggregate or a window function.
func (b *binder) call(n *ast.Call, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	if len(n.Name) > 1 && n.Name[0] != "pg_catalog" && n.Name[0] != "information_schema" &&
		!(n.Name[0] == "divan" && name == "reduce") {
		return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s does not exist",
			strings.Join(n.Name, ".")).At(n.Pos())
	}
	if err := refuseCall(n); err != nil {
		return nil, err
	}
	if n.Over != nil {
		return b.windowCall(n, sc)
	}
	if _, ok := funcs.Aggregates[name]; ok && (n.Within || !onlyWindow(name)) {
		return b.aggregate(n, sc)
	}
	switch {
	case n.Within:
		return nil, b.notOrderedSet(n, sc)
	case exec.WindowFuncs[name] != nil:
		args, err := b.args(n, sc)
		if err != nil {
			return nil, err
		}
		for _, f := range exec.WindowFuncs[name] {
			if _, ok := score(f.Args, false, args); ok {
				return nil, sqlstate.New(sqlstate.WrongObjectType, "window function %s requires an OVER clause", name).
					At(n.Pos())
			}
		}
		return nil, noFunction(name, args, n.Pos())
	case name == "grouping" && len(n.Name) == 1:
		return b.groupingCall(n, sc)
	}
	for clause, there := range map[string]bool{"DISTINCT": n.Distinct, "ORDER BY": len(n.Order) > 0,
		"FILTER": n.Filter != nil} {
		if there {
			return nil, sqlstate.New(sqlstate.WrongObjectType, "%s specified, but %s is not an aggregate function", clause,
				name).At(n.Pos())
		}
	}
	switch name {
	case "coalesce", "greatest", "least":
		args, err := b.exprs(n.Args, sc)
		if err != nil {
			return nil, err
		}
		if len(args) == 0 {
			return nil, syntaxError(n.Pos(), "syntax error: %s needs an argument", strings.ToUpper(name))
		}
		args, typ, err := b.unify(args, strings.ToUpper(name), n.Pos())
		if err != nil || name == "coalesce" {
			return &exec.Coalesce{Op: name, Args: args, Typ: typ}, err
		}
		coll, err := comparisonCollation("<", n.Pos(), args...)
		return &exec.Coalesce{Op: name, Args: args, Typ: typ, Collation: coll}, err
	case "nullif":
		return b.nullIf(n, sc)
	}
	args, err := b.args(n, sc)
	if err != nil {
		return nil, err
	}
	return b.callWith(n, args, sc)
}

// args binds the arguments of a function.
func (b *binder) args(n *ast.Call, sc *scope) ([]exec.Expr, error) {
	if n.Star {
		return nil, sqlstate.New(sqlstate.UndefinedFunction, "%s(*) specified, but %s is not an aggregate function",
			n.Name[len(n.Name)-1], n.Name[len(n.Name)-1]).At(n.Pos())
	}
	if len(n.Args) > 100 {
		return nil, sqlstate.New(sqlstate.TooManyArguments, "cannot pass more than 100 arguments to a function").At(n.Pos())
	}
	for _, a := range n.Args {
		if _, ok := a.(*ast.NamedArg); ok {
			return b.namedArgs(n, sc)
		}
	}
	return b.exprs(n.Args, sc)
}

// namedArgs puts arguments that are given by name where they belong, and defaults in the place of others.
func (b *binder) namedArgs(n *ast.Call, sc *scope) ([]exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	list := slices.Clone(funcs.Functions[name])
	for _, f := range funcs.TableFuncs[name] {
		list = append(list, &exec.Func{Args: f.Args, Names: f.Names, Defaults: f.Defaults})
	}
	i := slices.IndexFunc(list, func(f *exec.Func) bool { return f.Names != nil })
	if i < 0 {
		a := n.Args[len(n.Args)-1]
		return nil, sqlstate.Unsupported(a.Pos(), "Give the arguments by position.",
			"named arguments are not supported for function %s", name)
	}
	f := list[i]
	out := make([]exec.Expr, len(f.Args))
	for i, a := range n.Args {
		value := a
		if named, ok := a.(*ast.NamedArg); ok {
			value, i = named.Value, slices.Index(f.Names, named.Name)
		}
		if i < 0 || i >= len(out) || out[i] != nil {
			return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s with these argument names does not exist", name).
				At(n.Pos()).WithHint("Its arguments are %s.", strings.Join(f.Names, ", "))
		}
		x, err := b.expr(value, sc)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	without := len(f.Args) - len(f.Defaults)
	for i := range out {
		if out[i] != nil {
			continue
		}
		if i < without {
			return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s needs the argument %s", name, f.Names[i]).
				At(n.Pos())
		}
		out[i] = &exec.Const{D: f.Defaults[i-without], Typ: f.Args[i]}
	}
	return out, nil
}

func (b *binder) nullIf(n *ast.Call, sc *scope) (exec.Expr, error) {
	if len(n.Args) != 2 {
		return nil, syntaxError(n.Pos(), "syntax error: NULLIF needs two arguments")
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	if untyped(args[0]) {
		if args[0], err = b.coerce(args[0], types.Text, types.Implicit, n.Pos()); err != nil {
			return nil, err
		}
	}
	x, wrap, err := b.once(args[0], n.Pos())
	if err != nil {
		return nil, err
	}
	eq, err := b.compare("=", x, args[1], n.Pos())
	if err != nil {
		return nil, err
	}
	if hasLocale(args[1]) {
		return nil, unsupportedCollation(n.Pos(), "the second argument of NULLIF")
	}
	t := x.Type()
	return wrap(&exec.Case{Whens: []exec.When{{Cond: eq, Result: exec.NullOf(t)}}, Else: x, Typ: t}), nil
}

// callWith finds the function for bound arguments. A function that returns rows is allowed in a select list only.
func (b *binder) callWith(n *ast.Call, args []exec.Expr, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	candidates := funcs.Functions[name]
	if len(candidates) == 0 {
		if e, done, err := b.castCall(name, args, n.Pos()); done {
			return e, err
		}
		if fn := b.tableFunc(n, args); fn != nil {
			return nil, sqlstate.Unsupported(n.Pos(), "Call it in FROM, or alone in the select list.",
				"the set-returning function %s is not supported here", name)
		}
	}
	fn, err := choose(candidates, args)
	if err != nil || fn == nil {
		if err != nil {
			return nil, sqlstate.New(sqlstate.AmbiguousFunction, "function %s is not unique", signature(name, args)).
				At(n.Pos()).
				WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
		}
		return nil, noFunction(name, args, n.Pos())
	}
	if n.Variadic && fn.Variadic {
		return nil, sqlstate.Unsupported(n.Pos(), "Give the arguments one by one.", "VARIADIC is not supported")
	}
	if fn.Volatility == exec.Volatile {
		b.volatile++
	}
	if name != "pg_typeof" { // which wants to know what is still open
		if args, err = b.coerceArgs(args, fn.Args, fn.Variadic, n.Pos()); err != nil {
			return nil, err
		}
	}
	if err := casingCollation(name, n.Pos(), args...); err != nil {
		return nil, err
	}
	return &exec.Call{Func: fn, Args: args, Typ: returnType(fn, args), Off: n.Pos()}, nil
}

// signature is a function with the types of its arguments.
func signature(name string, args []exec.Expr) string {
	oids := make([]string, len(args))
	for i, a := range args {
		oids[i] = types.NameOf(a.Type())
	}
	return name + "(" + strings.Join(oids, ", ") + ")"
}

// noFunction is the error where no function fits.
func noFunction(name string, args []exec.Expr, off int) error {
	return sqlstate.New(sqlstate.UndefinedFunction, "function %s does not exist", signature(name, args)).At(off).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// castCall is a type's name in call syntax: int4('5'), text(x), date(ts).
func (b *binder) castCall(name string, args []exec.Expr, off int) (exec.Expr, bool, error) {
	to, ok := types.ByName(name)
	if !ok || len(args) != 1 {
		return nil, false, nil
	}
	if untyped(args[0]) {
		e, err := b.coerce(args[0], to, types.Explicit, off)
		return e, true, err
	}
	if types.CastContext(args[0].Type(), to) == types.NoCast {
		return nil, false, nil
	}
	return &exec.CastExpr{X: args[0], To: to, Mod: -1, Off: off}, true, nil
}

func returnType(fn *exec.Func, args []exec.Expr) types.OID {
	if fn.RetOf == nil {
		return fn.Ret
	}
	oids := make([]types.OID, len(args))
	for i, a := range args {
		oids[i] = a.Type()
	}
	return fn.RetOf(oids)
}

// coerceArgs brings arguments to the declared types.
func (b *binder) coerceArgs(args []exec.Expr, want []types.OID, variadic bool, off int) ([]exec.Expr, error) {
	out := make([]exec.Expr, len(args))
	elem, _ := polymorphic(args, want, variadic)
	for i, a := range args {
		w := argType(want, variadic, i)
		switch {
		case w == exec.AnyElement:
			w = elem
		case w == types.AnyArray && variadic && i >= len(want)-1 && !untyped(a):
			w = a.Type()
		case w == types.AnyArray:
			w = types.ArrayOf(elem)
		}
		var err error
		if out[i], err = b.coerce(a, w, types.Implicit, off); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// polymorphic is the one element type that the anyelement and anyarray arguments of a call agree on; false when they do not. The
// arrays of a variadic function each have their own.
func polymorphic(args []exec.Expr, want []types.OID, variadic bool) (types.OID, bool) {
	elem := types.Unknown
	for i, a := range args {
		w, t := argType(want, variadic, i), a.Type()
		switch {
		case untyped(a), variadic && i >= len(want)-1:
			continue
		case w == types.AnyArray:
			t = types.ElemOf(t)
		case w != exec.AnyElement:
			continue
		}
		if elem = commonType(elem, t); elem == 0 {
			return 0, false
		}
	}
	if elem == types.Unknown {
		elem = types.Text
	}
	return elem, true
}

func argType(want []types.OID, variadic bool, i int) types.OID {
	if i < len(want) {
		return want[i]
	}
	if variadic {
		return want[len(want)-1]
	}
	return 0
}

func (b *binder) tableFunc(n *ast.Call, args []exec.Expr) *exec.TableFunc {
	var best *exec.TableFunc
	bestScore := -1
	for _, f := range funcs.TableFuncs[n.Name[len(n.Name)-1]] {
		if s, ok := score(f.Args, f.Variadic, args); ok && s > bestScore {
			best, bestScore = f, s
		}
	}
	return best
}

// score says how well arguments fit declared types: more is better; false when they do not.
func score(want []types.OID, variadic bool, args []exec.Expr) (int, bool) {
	if len(args) != len(want) && !(variadic && len(args) >= len(want)) {
		return 0, false
	}
	if _, ok := polymorphic(args, want, variadic); !ok {
		return 0, false
	}
	total := 0
	for i, a := range args {
		w, t := argType(want, variadic, i), a.Type()
		switch {
		case untyped(a):
			// An open literal fits everywhere, best as a text, then as the type that its category prefers.
			switch info := types.Lookup(w); {
			case w == types.Text:
				total += 3
			case types.IsString(w):
				total += 2
			case info != nil && info.Prefer:
				total++
			}
			continue
		case w == t:
			total += 10
		case w == exec.AnyValue:
			total++
		case w == exec.AnyElement:
			total += 2
		case w == types.AnyArray:
			if types.ElemOf(t) == 0 {
				return 0, false
			}
			total += 2
		case types.CastContext(t, w) == types.Implicit:
			info := types.Lookup(w)
			if info != nil && info.Prefer {
				total += 3
			}
			// The nearer of two promotions wins.
			if a, c := numericRank[t], numericRank[w]; a > 0 && c > 0 {
				total += 6 - (c - a)
			}
		default:
			return 0, false
		}
	}
	return total, true
}

// choose picks the candidate that fits best; an error means that two fit equally well.
func choose(candidates []*exec.Func, args []exec.Expr) (*exec.Func, error) {
	var best *exec.Func
	bestScore, ties := -1, 0
	for _, f := range candidates {
		s, ok := score(f.Args, f.Variadic, args)
		switch {
		case !ok:
		case s > bestScore:
			best, bestScore, ties = f, s, 0
		case s == bestScore:
			ties++
		}
	}
	if ties > 0 {
		return best, sqlstate.New(sqlstate.AmbiguousFunction, "ambiguous")
	}
	return best, nil
}

// operator binds a prefix or infix operator.
func (b *binder) operator(n *ast.Operator, sc *scope) (exec.Expr, error) {
	if c, ok := n.Args[0].(*ast.Literal); ok && n.Op == "-" && len(n.Args) == 1 &&
		(c.Kind == ast.Integer || c.Kind == ast.Number) {
		// The sign is part of the constant, and decides its type.
		text, negative := strings.CutPrefix(c.Text, "-")
		if !negative {
			text = "-" + text
		}
		return b.literal(&ast.Literal{At: n.At, Kind: c.Kind, Text: text})
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	return b.operatorWith(n.Op, args, n.Pos())
}

func (b *binder) operatorWith(op string, args []exec.Expr, off int) (exec.Expr, error) {
	if len(args) == 2 {
		if funcs.Comparison(op) != nil {
			if l, ok := args[0].(*exec.RowExpr); ok {
				if r, ok := args[1].(*exec.RowExpr); ok {
					return b.compareRows(op, l, r, off)
				}
			}
			return b.compare(op, args[0], args[1], off)
		}
		if e, done, err := b.specialOperator(op, args, off); done || err != nil {
			return e, err
		}
		// An open operand takes the type of the other, if there is an operator for that.
		for i := range args {
			if t := args[1-i].Type(); untyped(args[i]) && !untyped(args[1-i]) {
				for _, f := range funcs.Operators[op] {
					if len(f.Args) == 2 && f.Args[0] == t && f.Args[1] == t {
						return b.applyOperator(f, op, args, off)
					}
				}
			}
		}
	}
	fn, err := choose(operatorsOf(op, len(args)), args)
	if err != nil {
		oids := []types.OID{args[0].Type()}
		if len(args) == 2 {
			oids = append(oids, args[1].Type())
		}
		e := operandError(op, off, oids...)
		e.Code = sqlstate.AmbiguousFunction
		e.Message = strings.Replace(e.Message, "does not exist", "is not unique", 1)
		return nil, e
	}
	if fn == nil {
		if len(args) == 1 {
			return nil, operandError(op, off, args[0].Type())
		}
		e := operandError(op, off, args[0].Type(), args[1].Type())
		if types.IsJSON(args[0].Type()) || args[0].Type() == types.Text {
			e.Hint = "A member of a document is used as a number by a cast: (doc->>'n')::numeric."
		}
		return nil, e
	}
	return b.applyOperator(fn, op, args, off)
}

func operatorsOf(op string, n int) []*exec.Func {
	var out []*exec.Func
	for _, f := range funcs.Operators[op] {
		if len(f.Args) == n {
			out = append(out, f)
		}
	}
	return out
}

func (b *binder) applyOperator(fn *exec.Func, op string, args []exec.Expr, off int) (exec.Expr, error) {
	args, err := b.coerceArgs(args, fn.Args, false, off)
	if err != nil {
		return nil, err
	}
	return &exec.Call{Func: fn, Args: args, Typ: returnType(fn, args), Off: off, Op: op}, nil
}

// specialOperator handles those whose operand types do not follow the general rule.
func (b *binder) specialOperator(op string, args []exec.Expr, off int) (exec.Expr, bool, error) {
	l, r := args[0].Type(), args[1].Type()
	switch op {
	case "~~", "~~*", "!~~", "!~~*", "~", "~*", "!~", "!~*":
		if types.ElemOf(l) != 0 || types.ElemOf(r) != 0 {
			return nil, false, nil
		}
		x, err := b.textOperand(args[0], op, r, off)
		if err != nil {
			return nil, true, err
		}
		y, err := b.coerce(args[1], types.Text, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		if err := casingCollation(op, off, x, y); err != nil {
			return nil, true, err
		}
		return &exec.Call{Func: funcs.LikeFunc(op), Args: []exec.Expr{x, y}, Typ: types.Bool, Off: off, Op: op}, true, nil
	case "->", "->>":
		// A small integer constant is an index, also when it is wider than int4.
		if types.IsJSON(l) && (r == types.Int8 || r == types.Int2) {
			idx := &exec.CastExpr{X: args[1], To: types.Int4, Mod: -1, Off: off, Hidden: true}
			e, err := b.operatorWith(op, []exec.Expr{args[0], idx}, off)
			return e, true, err
		}
		if types.IsJSON(l) && untyped(args[1]) {
			y, err := b.coerce(args[1], types.Text, types.Implicit, off)
			if err != nil {
				return nil, true, err
			}
			e, err := b.operatorWith(op, []exec.Expr{args[0], y}, off)
			return e, true, err
		}
	case "||":
		if e, done, err := b.concat(args, l, r, off); done {
			return e, true, err
		}
	}
	return nil, false, nil
}

// concat: arrays with arrays or elements, jsonb with jsonb, else texts, where one side may be anything that is not text.
func (b *binder) concat(args []exec.Expr, l, r types.OID, off int) (exec.Expr, bool, error) {
	le, re := types.ElemOf(l), types.ElemOf(r)
	text := func(e exec.Expr) (exec.Expr, error) {
		if types.IsString(e.Type()) {
			return b.coerce(e, types.Text, types.Implicit, off)
		}
		return &exec.CastExpr{X: e, To: types.Text, Mod: -1, Off: off, Hidden: true}, nil
	}
	array := func(fn *exec.Func, typ types.OID, x, y exec.Expr) (exec.Expr, bool, error) {
		return &exec.Call{Func: fn, Args: []exec.Expr{x, y}, Typ: typ, Off: off, Op: "||"}, true, nil
	}
	switch {
	case le != 0 && re != 0, le != 0 && untyped(args[1]), re != 0 && untyped(args[0]):
		both, typ, err := b.unify(args, "||", off)
		if err != nil {
			return nil, true, operandError("||", off, l, r)
		}
		return array(funcs.ArrayConcat, typ, both[0], both[1])
	case le != 0:
		typ, item, err := b.arrayAndItem(l, args[1], off)
		if err != nil {
			return nil, true, operandError("||", off, l, r)
		}
		arr, err := b.coerce(args[0], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayAppend, typ, arr, item)
	case re != 0:
		typ, item, err := b.arrayAndItem(r, args[0], off)
		if err != nil {
			return nil, true, operandError("||", off, l, r)
		}
		arr, err := b.coerce(args[1], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayPrepend, typ, item, arr)
	case l == types.JSONB && (r == types.JSONB || untyped(args[1])), r == types.JSONB && untyped(args[0]):
		return nil, false, nil
	case types.IsString(l) || types.IsString(r):
		x, err := text(args[0])
		if err != nil {
			return nil, true, err
		}
		y, err := text(args[1])
		return &exec.Call{Func: funcs.TextConcat, Args: []exec.Expr{x, y}, Typ: types.Text, Off: off, Op: "||"}, true, err
	}
	return nil, false, nil
}

// arrayAndItem brings an array's type and an item to one element type.
func (b *binder) arrayAndItem(arr types.OID, item exec.Expr, off int) (types.OID, exec.Expr, error) {
	t := commonType(types.ElemOf(arr), item.Type())
	if t == 0 || types.ArrayOf(t) == 0 {
		return 0, nil, operandError("||", off, arr, item.Type())
	}
	x, err := b.coerce(item, t, types.Implicit, off)
	return types.ArrayOf(t), x, err
}

// compareRows compares (a, b) with (c, d) field by field.
func (b *binder) compareRows(op string, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	if len(l.Items) != len(r.Items) {
		return nil, syntaxError(off, "unequal number of entries in row expressions")
	}
	var parts []exec.Expr
	word := "and"
	switch op {
	case "<>":
		word = "or"
		fallthrough
	case "=":
		for i := range l.Items {
			e, err := b.compare(op, l.Items[i], r.Items[i], off)
			if err != nil {
				return nil, err
			}
			parts = append(parts, e)
		}
		if len(parts) == 1 {
			return parts[0], nil
		}
		return &exec.Logic{Op: word, Args: parts}, nil
	}
	if !Repeatable(l) || !Repeatable(r) {
		return b.rowCompare(op, l, r, off)
	}
	// a < c or (a = c and (b < d or ...)), of which key ranges are made.
	last := len(l.Items) - 1
	e, err := b.compare(op, l.Items[last], r.Items[last], off)
	for i := last - 1; i >= 0 && err == nil; i-- {
		var strict, equal exec.Expr
		if strict, err = b.compare(op[:1], l.Items[i], r.Items[i], off); err != nil {
			break
		}
		if equal, err = b.compare("=", l.Items[i], r.Items[i], off); err != nil {
			break
		}
		e = &exec.Logic{Op: "or", Args: []exec.Expr{strict, &exec.Logic{Op: "and", Args: []exec.Expr{equal, e}}}}
	}
	return e, err
}

// rowCompare is compareRows for fields that are computed once.
func (b *binder) rowCompare(op string, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	out := &exec.RowCompare{Op: op}
	for i := range l.Items {
		x, y, err := b.comparable(op, l.Items[i], r.Items[i], off)
		if err != nil {
			return nil, err
		}
		coll, err := comparisonCollation(op[:1], off, x, y)
		if err != nil {
			return nil, err
		}
		out.X, out.Y = append(out.X, withoutCollate(x)), append(out.Y, withoutCollate(y))
		out.Decide, out.Equal = append(out.Decide, funcs.CollatedComparison(op[:1], coll)),
			append(out.Equal, funcs.CollatedComparison("=", nil))
		out.Last = funcs.CollatedComparison(op, coll)
	}
	return out, nil
}

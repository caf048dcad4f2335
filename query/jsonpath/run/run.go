// Package run evaluates SQL/JSON paths over JSON texts as PostgreSQL 15 does (jsonpath_exec.c). The SQL functions that
// take paths are in package funcs.
package run

import (
	"errors"
	"slices"

	"github.com/divandb/divan/query/jsonpath"
	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Run is one evaluation. It must not be used concurrently.
type Run struct {
	Path *jsonpath.Path
	// Root is the JSON text that $ refers to. Vars is the JSON object of the variables, or "".
	Root, Vars string
	// Zone allows comparing times with a zone to times without one.
	Zone bool
	Env  *types.Env
	// Step is called for every step with the number of bytes read.
	Step func(n int) error
	// Match reports whether a text matches a regular expression.
	Match func(pattern string, flags regex.Flags, text string) (bool, error)
	// Datetime reads a date or time by a template, or in one of the forms of ISO 8601. Errors in the text are
	// Suppressed.
	Datetime func(text string, template *string) (Moment, error)

	current    Item
	arraySize  int // length of the innermost array whose subscripts are being evaluated, or -1
	structural bool
	depth      int
}

// SQLSTATEs of paths (class 22).
const (
	errInvalidSubscript = sqlstate.InvalidJSONSubscript
	errArrayNotFound    = sqlstate.JSONArrayNotFound
	errMemberNotFound   = sqlstate.JSONMemberNotFound
	errNumberRequired   = sqlstate.JSONNumberNotFound
	errObjectNotFound   = sqlstate.JSONObjectNotFound
	errSingleton        = sqlstate.SingletonJSONItem
	errNonNumeric       = sqlstate.NonNumericJSONItem
	errDatetime         = sqlstate.InvalidJSONDatetime
)

// pathError is an error in applying the path to the value. Predicates and silent mode suppress it.
type pathError struct{ err *sqlstate.Error }

func (e pathError) Error() string { return e.err.Error() }
func (e pathError) Unwrap() error { return e.err }

// Suppressed returns an error that predicates and silent mode suppress.
func Suppressed(err *sqlstate.Error) error { return pathError{err} }

func fail(code sqlstate.Code, format string, args ...any) error {
	return pathError{sqlstate.New(code, format, args...)}
}

// Hidden reports whether silent mode suppresses an error.
func Hidden(err error) bool {
	var p pathError
	return errors.As(err, &p)
}

// errStop ends an evaluation whose result is known.
var errStop = errors.New("stop")

// maxDepth is how deeply an evaluation may nest: the nesting of the value times that of the path.
const maxDepth = 10_000

type emit func(Item) error

// Query calls f for every item of the result.
func (r *Run) Query(f func(Item) error) error {
	r.begin()
	return r.item(r.Path.Expr, Raw(r.Root), f)
}

func (r *Run) begin() {
	r.current, r.arraySize, r.structural, r.depth = Raw(r.Root), -1, !r.Path.Strict, 0
}

// Exists reports whether the result has an item. Strict mode evaluates all items, to find errors.
func (r *Run) Exists() (bool, error) {
	r.begin()
	return r.any(r.Path.Expr, Raw(r.Root), false)
}

// any reports whether n has a result for x, unwrapping arrays.
func (r *Run) any(n *jsonpath.Node, x Item, unwrap bool) (bool, error) {
	if n.Kind == jsonpath.Unary && n.Next == nil && !r.Path.Strict {
		// As long as no value is wanted, a sign before something that is no number is no error.
		list, err := r.sequence(n.Left, x, true)
		return slices.ContainsFunc(list, func(it Item) bool { return it.Kind == types.JSONNumber }), err
	}
	found := false
	err := r.unwrapped(n, x, unwrap, func(Item) error {
		found = true
		if !r.Path.Strict {
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return false, err
	}
	return found, nil
}

// unwrapped evaluates n and replaces arrays in the result by their elements.
func (r *Run) unwrapped(n *jsonpath.Node, x Item, unwrap bool, f emit) error {
	if !unwrap || r.Path.Strict {
		return r.item(n, x, f)
	}
	return r.item(n, x, func(it Item) error {
		if it.Kind != types.JSONList {
			return f(it)
		}
		return r.elements(it, f)
	})
}

// elements calls f for the elements of an array.
func (r *Run) elements(x Item, f emit) error {
	c := types.NewJSONCursor(x.Text)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if err := r.Step(1 + len(v)); err != nil {
			return err
		}
		if err := f(Raw(v)); err != nil {
			return err
		}
	}
	return nil
}

// members calls f for the values of an object or the elements of an array.
func (r *Run) members(x Item, f emit) error {
	if x.Kind == types.JSONList {
		return r.elements(x, f)
	}
	c := types.NewJSONBCursor(x.Text)
	for _, v, ok := c.Member(); ok; _, v, ok = c.Member() {
		if err := r.Step(1 + len(v)); err != nil {
			return err
		}
		if err := f(Raw(v)); err != nil {
			return err
		}
	}
	return nil
}

// item evaluates a node and the accessors after it over x.
func (r *Run) item(n *jsonpath.Node, x Item, f emit) error { return r.target(n, x, !r.Path.Strict, f) }

// next evaluates the accessors after a node over its result.
func (r *Run) next(n *jsonpath.Node, x Item, f emit) error {
	if n.Next == nil {
		return f(x)
	}
	return r.item(n.Next, x, f)
}

// each evaluates a node over the elements of an array without unwrapping them further.
func (r *Run) each(n *jsonpath.Node, x Item, f emit) error {
	return r.elements(x, func(it Item) error { return r.target(n, it, false, f) })
}

// target is item. If unwrap is set, an array stands for its elements.
func (r *Run) target(n *jsonpath.Node, x Item, unwrap bool, f emit) error {
	if r.depth++; r.depth > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "jsonpath nests too deep")
	}
	defer func() { r.depth-- }()
	if err := r.Step(1); err != nil {
		return err
	}
	list := x.Kind == types.JSONList
	switch n.Kind {
	case jsonpath.Null:
		return r.next(n, Item{Kind: types.JSONNull, Text: "null"}, f)
	case jsonpath.Bool:
		return r.next(n, Bool(n.Text == "true"), f)
	case jsonpath.String:
		return r.next(n, String(n.Text), f)
	case jsonpath.Number:
		d, err := types.ParseDecimal(n.Text)
		if err != nil {
			return err
		}
		return r.next(n, Number(d), f)
	case jsonpath.Variable:
		v, err := r.variable(n.Text)
		if err != nil {
			return err
		}
		return r.next(n, v, f)
	case jsonpath.Root:
		return r.next(n, Raw(r.Root), f)
	case jsonpath.Current:
		return r.next(n, r.current, f)
	case jsonpath.Last:
		if r.arraySize < 0 {
			return sqlstate.New(sqlstate.InternalError, "evaluating jsonpath LAST outside of array subscript")
		}
		return r.next(n, Number(types.DecimalFromInt(int64(r.arraySize-1))), f)
	case jsonpath.Arithmetic:
		return r.arithmetic(n, x, f)
	case jsonpath.Unary:
		return r.sign(n, x, f)
	case jsonpath.Key:
		return r.key(n, x, unwrap, f)
	case jsonpath.AnyKey:
		switch {
		case x.Kind == types.JSONObject:
			return r.members(x, func(it Item) error { return r.next(n, it, f) })
		case unwrap && list:
			return r.each(n, x, f)
		case !r.structural:
			return fail(errObjectNotFound, "jsonpath wildcard member accessor can only be applied to an object")
		}
		return nil
	case jsonpath.AnyItem:
		switch {
		case list:
			return r.elements(x, func(it Item) error { return r.next(n, it, f) })
		case !r.Path.Strict:
			return r.next(n, x, f)
		case !r.structural:
			return fail(errArrayNotFound, "jsonpath wildcard array accessor can only be applied to an array")
		}
		return nil
	case jsonpath.Index:
		return r.index(n, x, f)
	case jsonpath.Any:
		return r.levels(n, x, f)
	case jsonpath.Filter:
		if unwrap && list {
			return r.each(n, x, f)
		}
		saved := r.current
		r.current = x
		ok, err := r.predicate(n.Left, x)
		r.current = saved
		if err != nil || ok != yes {
			return err
		}
		return r.next(n, x, f)
	case jsonpath.Method, jsonpath.Datetime:
		return r.method(n, x, unwrap, f)
	}
	// A predicate used as a value.
	t, err := r.predicate(n, x)
	if err != nil {
		return err
	}
	switch t {
	case yes:
		return r.next(n, Bool(true), f)
	case no:
		return r.next(n, Bool(false), f)
	}
	return r.next(n, Item{Kind: types.JSONNull, Text: "null"}, f)
}

func (r *Run) variable(name string) (Item, error) {
	if r.Vars != "" {
		if v, ok := types.JSONField(r.Vars, name); ok {
			return Raw(v), nil
		}
	}
	return Item{}, sqlstate.New(sqlstate.UndefinedObject, "could not find jsonpath variable \"%s\"", name)
}

func (r *Run) key(n *jsonpath.Node, x Item, unwrap bool, f emit) error {
	switch {
	case x.Kind == types.JSONObject:
		if err := r.Step(len(x.Text)); err != nil {
			return err
		}
		if v, ok := types.JSONField(x.Text, n.Text); ok {
			return r.next(n, Raw(v), f)
		}
		if !r.structural {
			return fail(errMemberNotFound, "JSON object does not contain key \"%s\"", n.Text)
		}
	case unwrap && x.Kind == types.JSONList:
		return r.each(n, x, f)
	case !r.structural:
		return fail(errMemberNotFound, "jsonpath member accessor can only be applied to an object")
	}
	return nil
}

// index evaluates [subscripts].
func (r *Run) index(n *jsonpath.Node, x Item, f emit) error {
	list := x.Kind == types.JSONList
	if !list && r.Path.Strict {
		if !r.structural {
			return fail(errArrayNotFound, "jsonpath array accessor can only be applied to an array")
		}
		return nil
	}
	size := 1
	if list {
		size = types.JSONLen(x.Text)
	}
	saved := r.arraySize
	r.arraySize = size
	defer func() { r.arraySize = saved }()
	for _, s := range n.Subscripts {
		from, err := r.subscript(s.From, x)
		if err != nil {
			return err
		}
		to := from
		if s.To != nil {
			if to, err = r.subscript(s.To, x); err != nil {
				return err
			}
		}
		if !r.structural && (from < 0 || from > to || to >= size) {
			return fail(errInvalidSubscript, "jsonpath array subscript is out of bounds")
		}
		if err := r.slice(n, x, max(from, 0), min(to, size-1), f); err != nil {
			return err
		}
	}
	return nil
}

// slice calls f for the elements from one index to another.
func (r *Run) slice(n *jsonpath.Node, x Item, from, to int, f emit) error {
	// In the accessors after the subscripts, last does not refer to this array.
	if x.Kind != types.JSONList {
		if from > to {
			return nil
		}
		return r.next(n, x, f)
	}
	at := -1
	err := r.elements(x, func(it Item) error {
		if at++; at > to {
			return errDone
		}
		if at < from {
			return nil
		}
		return r.next(n, it, f)
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// errDone ends an iteration early.
var errDone = errors.New("done")

func (r *Run) subscript(n *jsonpath.Node, x Item) (int, error) {
	var list []Item
	if err := r.item(n, x, func(it Item) error {
		list = append(list, it)
		return r.few(list)
	}); err != nil {
		return 0, err
	}
	if len(list) != 1 || list[0].Kind != types.JSONNumber {
		return 0, fail(errInvalidSubscript, "jsonpath array subscript is not a single numeric value")
	}
	d, err := list[0].Decimal()
	if err != nil {
		return 0, err
	}
	i, ok := d.Trunc(0).Int64()
	if !ok || int64(int32(i)) != i {
		return 0, fail(errInvalidSubscript, "jsonpath array subscript is out of integer range")
	}
	return int(i), nil
}

// maxSequence is the most items that an operand may have.
const maxSequence = 1_000_000

func (r *Run) few(list []Item) error {
	if len(list) > maxSequence {
		return sqlstate.New(
			sqlstate.ProgramLimitExceeded,
			"an operand of the jsonpath has more than %d items",
			maxSequence,
		)
	}
	return nil
}

// levels evaluates .**.
func (r *Run) levels(n *jsonpath.Node, x Item, f emit) error {
	lenient := func(it Item) error {
		saved := r.structural
		r.structural = true
		err := r.next(n, it, f)
		r.structural = saved
		return err
	}
	if n.From == 0 {
		if err := lenient(x); err != nil {
			return err
		}
	}
	var walk func(x Item, level int) error
	walk = func(x Item, level int) error {
		if n.To != jsonpath.Unbounded && level > n.To || x.Kind != types.JSONList && x.Kind != types.JSONObject {
			return nil
		}
		if r.depth++; r.depth > maxDepth {
			return sqlstate.New(sqlstate.StatementTooComplex, "jsonpath nests too deep")
		}
		defer func() { r.depth-- }()
		return r.members(x, func(it Item) error {
			leaf := it.Kind != types.JSONList && it.Kind != types.JSONObject
			if n.From != jsonpath.Unbounded && level >= n.From ||
				n.From == jsonpath.Unbounded && n.To == jsonpath.Unbounded && leaf {
				if err := lenient(it); err != nil {
					return err
				}
			}
			return walk(it, level+1)
		})
	}
	return walk(x, 1)
}

// sequence returns the items of an operand, with arrays unwrapped.
func (r *Run) sequence(n *jsonpath.Node, x Item, unwrap bool) ([]Item, error) {
	var list []Item
	err := r.unwrapped(n, x, unwrap, func(it Item) error {
		list = append(list, it)
		return r.few(list)
	})
	return list, err
}

func (r *Run) arithmetic(n *jsonpath.Node, x Item, f emit) error {
	// Evaluate both operands before checking either.
	left, err := r.sequence(n.Left, x, true)
	if err != nil {
		return err
	}
	right, err := r.sequence(n.Right, x, true)
	if err != nil {
		return err
	}
	operand := func(list []Item, which string) (*types.Decimal, error) {
		if len(list) != 1 || list[0].Kind != types.JSONNumber {
			return nil, fail(
				errSingleton,
				"%s operand of jsonpath operator %s is not a single numeric value",
				which,
				n.Text,
			)
		}
		return list[0].Decimal()
	}
	a, err := operand(left, "left")
	if err != nil {
		return err
	}
	b, err := operand(right, "right")
	if err != nil {
		return err
	}
	var d *types.Decimal
	switch n.Text {
	case "+":
		d, err = a.Add(b).InRange()
	case "-":
		d, err = a.Sub(b).InRange()
	case "*":
		d, err = a.Mul(b)
	case "/":
		d, err = a.Div(b)
	default:
		d, err = a.Mod(b)
	}
	if err != nil {
		return pathError{sqlstate.From(err)}
	}
	return r.next(n, Number(d), f)
}

// sign evaluates unary + and -.
func (r *Run) sign(n *jsonpath.Node, x Item, f emit) error {
	list, err := r.sequence(n.Left, x, true)
	if err != nil {
		return err
	}
	for _, it := range list {
		if it.Kind != types.JSONNumber {
			return fail(errNumberRequired, "operand of unary jsonpath operator %s is not a numeric value", n.Text)
		}
		d, err := it.Decimal()
		if err != nil {
			return err
		}
		if n.Text == "-" {
			d = d.Neg()
		}
		if err := r.next(n, Number(d), f); err != nil {
			return err
		}
	}
	return nil
}

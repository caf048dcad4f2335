package run

import (
	"cmp"
	"math"
	"strings"

	"github.com/divandb/divan/query/jsonpath"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// truth is the value of a predicate.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// Truth evaluates the path as a predicate (@@). known is false if the result is not a single boolean.
func (r *Run) Truth() (value, known bool, err error) {
	r.begin()
	var list []Item
	if err := r.item(r.Path.Expr, Raw(r.Root), func(it Item) error {
		list = append(list, it)
		return r.few(list)
	}); err != nil {
		return false, false, err
	}
	if len(list) == 1 && list[0].Kind == types.JSONBool {
		return list[0].Text == "true", true, nil
	}
	if len(list) == 1 && list[0].Kind == types.JSONNull {
		return false, false, nil
	}
	return false, false, fail(errSingleton, "single boolean result is expected")
}

// predicate evaluates a condition. Errors of the path make it unknown.
func (r *Run) predicate(n *jsonpath.Node, x Item) (truth, error) {
	if r.depth++; r.depth > maxDepth {
		return no, sqlstate.New(sqlstate.StatementTooComplex, "jsonpath nests too deep")
	}
	defer func() { r.depth-- }()
	if err := r.Step(1); err != nil {
		return no, err
	}
	switch n.Kind {
	case jsonpath.And, jsonpath.Or:
		decides := truthOf(n.Kind == jsonpath.Or)
		a, err := r.predicate(n.Left, x)
		if a == decides || err != nil {
			return a, err
		}
		b, err := r.predicate(n.Right, x)
		if b == 1-decides {
			return a, err
		}
		return b, err
	case jsonpath.Not:
		a, err := r.predicate(n.Left, x)
		if a == unknown {
			return a, err
		}
		return 1 - a, err
	case jsonpath.IsUnknown:
		a, err := r.predicate(n.Left, x)
		return truthOf(a == unknown), err
	case jsonpath.Exists:
		found, err := r.any(n.Left, x, false)
		if Hidden(err) {
			return unknown, nil
		}
		return truthOf(found), err
	case jsonpath.Compare:
		return r.pairs(n, x, true, func(a, b Item) (truth, error) { return r.compare(n.Text, a, b) })
	case jsonpath.StartsWith:
		return r.pairs(n, x, false, func(a, b Item) (truth, error) {
			if a.Kind != types.JSONString || b.Kind != types.JSONString {
				return unknown, nil
			}
			return truthOf(strings.HasPrefix(a.str(), b.str())), nil
		})
	case jsonpath.LikeRegex:
		return r.pairs(n, x, false, func(a, _ Item) (truth, error) {
			if a.Kind != types.JSONString {
				return unknown, nil
			}
			pattern, flags := n.Regexp()
			ok, err := r.Match(pattern, flags, a.str())
			return truthOf(ok), err
		})
	}
	return unknown, sqlstate.New(sqlstate.InternalError, "jsonpath item is no predicate")
}

// pairs compares every item of the left operand with every item of the right one, if there is one.
func (r *Run) pairs(n *jsonpath.Node, x Item, unwrapRight bool, f func(a, b Item) (truth, error)) (truth, error) {
	left, err := r.sequence(n.Left, x, true)
	right := []Item{{}}
	if err == nil && n.Right != nil {
		right, err = r.sequence(n.Right, x, unwrapRight)
	}
	switch {
	case Hidden(err):
		return unknown, nil
	case err != nil:
		return unknown, err
	}
	found, failed := false, false
	for _, a := range left {
		for _, b := range right {
			if err := r.Step(1 + len(a.Text) + len(b.Text)); err != nil {
				return unknown, err
			}
			t, err := f(a, b)
			if err != nil {
				return unknown, err
			}
			switch {
			case t == unknown && r.Path.Strict:
				return unknown, nil
			case t == unknown:
				failed = true
			case t == yes && !r.Path.Strict:
				return yes, nil
			case t == yes:
				found = true
			}
		}
	}
	switch {
	case found:
		return yes, nil
	case failed:
		return unknown, nil
	}
	return no, nil
}

// compare compares two items. Arrays, objects and values of different types are not comparable, but null is comparable
// with any value.
func (r *Run) compare(op string, a, b Item) (truth, error) {
	if a.Kind != b.Kind {
		if a.Kind == types.JSONNull || b.Kind == types.JSONNull {
			return truthOf(op == "!="), nil
		}
		return unknown, nil
	}
	c := 0
	switch a.Kind {
	case types.JSONNull:
	case types.JSONBool:
		c = strings.Compare(a.Text, b.Text)
	case types.JSONNumber:
		x, err := a.Decimal()
		if err != nil {
			return unknown, err
		}
		y, err := b.Decimal()
		if err != nil {
			return unknown, err
		}
		c = x.Cmp(y)
	case types.JSONString:
		c = strings.Compare(a.str(), b.str())
	case JSONTime:
		var ok bool
		var err error
		if c, ok, err = r.compareTimes(a, b); err != nil || !ok {
			return unknown, err
		}
	default:
		return unknown, nil
	}
	switch op {
	case "==":
		return truthOf(c == 0), nil
	case "!=":
		return truthOf(c != 0), nil
	case "<":
		return truthOf(c < 0), nil
	case "<=":
		return truthOf(c <= 0), nil
	case ">":
		return truthOf(c > 0), nil
	}
	return truthOf(c >= 0), nil
}

// compareTimes compares dates and timestamps with each other, and times with times.
func (r *Run) compareTimes(a, b Item) (int, bool, error) {
	ofDay := func(t types.OID) bool { return t == types.Time || t == types.TimeTZ }
	if ofDay(a.Type) != ofDay(b.Type) {
		return 0, false, nil
	}
	if a.Type == b.Type {
		return cmp.Compare(a.Value.I, b.Value.I), true, nil
	}
	zoned := types.TimestampTZ
	if ofDay(a.Type) {
		zoned = types.TimeTZ
	}
	if (a.Type == zoned || b.Type == zoned) && !r.Zone {
		from := a.Type
		if from == zoned {
			from = b.Type
		}
		return 0, false, sqlstate.New(sqlstate.FeatureNotSupported,
			"cannot convert value from %s to %s without time zone usage", shortName(from), shortName(zoned)).
			WithHint("Use *_tz() function for time zone support.")
	}
	x, err := r.comparable(a, zoned)
	if err != nil {
		return 0, false, err
	}
	y, err := r.comparable(b, zoned)
	return cmp.Compare(x.I, y.I), true, err
}

// comparable converts a value to a type with more fields. Dates after the last timestamp are after all timestamps.
func (r *Run) comparable(a Item, to types.OID) (types.Datum, error) {
	d, err := types.Cast(a.Value, a.Type, to, -1, r.Env)
	if err != nil && a.Type == types.Date {
		d, err = types.NewTime(math.MaxInt64-1), nil
	}
	return d, err
}

func shortName(t types.OID) string { return types.Lookup(t).Name }

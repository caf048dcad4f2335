package ranges

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Conditions on the parts of compound keys, key->>0 = 'NO' AND key->1 > '5', become ranges of whole keys.

// maxParts is the number of leading parts that conditions are looked for.
const maxParts = 16

// partAt locates part i of a key: key->i, key->>i, key #> '{i}' and key #>> '{i}'.
func partAt(whole Locator, i int) Locator {
	return func(e exec.Expr) (found, text bool) {
		c, ok := e.(*exec.Call)
		if !ok || len(c.Args) != 2 {
			return false, false
		}
		k, ok := c.Args[1].(*exec.Const)
		if f, is := whole.FormOf(c.Args[0]); !ok || !is || f.Kind != AsJSON || k.D.IsNull() {
			return false, false
		}
		switch c.Op {
		case "->", "->>":
			return k.D.K == types.KInt && k.D.I == int64(i), c.Op == "->>"
		case "#>", "#>>":
			steps := k.D.Array().Items
			return len(steps) == 1 && !steps[0].IsNull() && steps[0].S == strconv.Itoa(i), c.Op == "#>>"
		}
		return false, false
	}
}

// Loose returns intervals of a view's keys outside of which the conditions are not true, although they are not
// conditions on the key itself but on its parts or on its text. They are bounds only: the conditions must be applied to
// the rows.
func Loose(conds []exec.Expr, key int) Intervals {
	whole := ColumnAt(key)
	set := whole.Allowed(conds, false)
	var parts []Intervals
	for i := range maxParts {
		allowed := partAt(whole, i).Allowed(conds, true)
		if allowed.Unbounded() {
			break
		}
		parts = append(parts, allowed)
	}
	if parts != nil {
		set = set.Intersect(Compound(parts, true))
	}
	if len(set) > MaxPoints {
		return set.Hull()
	}
	return set
}

// Compound returns the keys whose first parts lie in intervals. With scalars, a key may also be its own part.
func Compound(parts []Intervals, scalars bool) Intervals {
	var out []Interval
	if scalars && len(parts) == 1 {
		// As in PostgreSQL, a scalar is its own part 0.
		out = parts[0].Intersect(Intervals{{Limit{Inf: true}, Below(AtArrays)}})
	}
	prefixes := []string{""}
	for i, set := range parts {
		last := i == len(parts)-1 || len(prefixes)*len(set) > MaxPoints/10 ||
			slices.ContainsFunc(set, func(iv Interval) bool { return !iv.IsPoint() || LeastEqual(iv.Low.Val.S) != "" })
		if !last {
			var longer []string
			for _, p := range prefixes {
				for _, iv := range set {
					longer = append(longer, p+iv.Low.Val.S+",")
				}
			}
			prefixes = longer
			continue
		}
		if len(prefixes)*len(set) > MaxPoints {
			set = set.Hull()
		}
		for _, p := range prefixes {
			for _, iv := range set {
				out = append(out, within(p, iv))
			}
		}
		break
	}
	return Union(out)
}

// within returns an interval that contains the arrays that begin with the elements of prefix, each followed by a comma,
// and then an element of iv.
func within(prefix string, iv Interval) Interval {
	array := func(element string) types.Datum { return types.NewJSONText("[" + prefix + element + "]") }
	var out Interval
	if iv.Low.Inf {
		out.Low = Limit{Val: types.NewJSONText("[" + strings.TrimSuffix(prefix, ",") + "]")}
	} else {
		out.Low = Limit{Val: array(iv.Low.Val.S)}
	}
	switch next, ok := "", false; {
	case !iv.High.Inf && iv.High.Open:
		out.High = Limit{Val: array(iv.High.Val.S), Open: true}
		return out
	case !iv.High.Inf:
		if next, ok = above(iv.High.Val.S); ok {
			out.High = Limit{Val: array(next), Open: true}
			return out
		}
	}
	if prefix == "" {
		out.High = Limit{Val: types.NewJSONText(NoMembers), Open: true} // after all arrays
		return out
	}
	// Up to the arrays with a higher element before.
	elements := ElementsOf("[" + strings.TrimSuffix(prefix, ",") + "]")
	for n := len(elements); n > 0; n-- {
		if next, ok := above(elements[n-1]); ok {
			high := "[" + strings.Join(append(slices.Clone(elements[:n-1]), next), ",") + "]"
			out.High = Limit{Val: types.NewJSONText(high), Open: true}
			return out
		}
	}
	out.High = Limit{Val: types.NewJSONText(NoMembers), Open: true}
	return out
}

// ElementsOf returns the elements of an array.
func ElementsOf(array string) (list []string) {
	types.JSONElements(array, func(v string) bool {
		list = append(list, v)
		return true
	})
	return list
}

// above returns a JSON value that sorts after one and all that are equal to it in the order of views; false if it knows
// none.
func above(s string) (string, bool) {
	switch types.JSONKindOf(s) {
	case types.JSONNull:
		return "false", true
	case types.JSONBool:
		return map[bool]string{true: `""`, false: "true"}[strings.TrimSpace(s) == "true"], true
	case types.JSONNumber:
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if f = math.Nextafter(f, math.Inf(1)); err != nil || math.IsInf(f, 0) {
			return `""`, true
		}
		return strconv.FormatFloat(f, 'g', -1, 64), true
	case types.JSONString:
		// The tab has the lowest place of all characters that have one.
		return string(jsontext.AppendQuoted(nil, types.JSONUnquote(strings.TrimSpace(s))+"\t")), true
	case types.JSONList:
		return "[" + strings.Join(append(ElementsOf(s), "null"), ",") + "]", true
	}
	return "", false
}

// Closed returns the intervals with their ends included.
func (s Intervals) Closed() Intervals {
	out := slices.Clone(s)
	for i := range out {
		out[i].Low.Open, out[i].High.Open = false, false
	}
	return Union(out)
}

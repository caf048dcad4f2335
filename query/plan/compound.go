package plan

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
func partAt(whole locator, i int) locator {
	return func(e exec.Expr) (found, text bool) {
		c, ok := e.(*exec.Call)
		if !ok || len(c.Args) != 2 {
			return false, false
		}
		k, ok := c.Args[1].(*exec.Const)
		if f, is := whole.formOf(c.Args[0]); !ok || !is || f.kind != asJSON || k.D.IsNull() {
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

// loose returns intervals of a view's keys outside of which the conditions are not true, although they are not
// conditions on the key itself but on its parts or on its text. They are bounds only: the conditions must be applied to
// the rows.
func loose(conds []exec.Expr, key int) intervals {
	whole := columnAt(key)
	set := whole.allowed(conds, false)
	var parts []intervals
	for i := range maxParts {
		allowed := partAt(whole, i).allowed(conds, true)
		if allowed.unbounded() {
			break
		}
		parts = append(parts, allowed)
	}
	if parts != nil {
		set = set.intersect(compound(parts, true))
	}
	if len(set) > maxPoints {
		return set.hull()
	}
	return set
}

// compound returns the keys whose first parts lie in intervals. With scalars, a key may also be its own part.
func compound(parts []intervals, scalars bool) intervals {
	var out []interval
	if scalars && len(parts) == 1 {
		// As in PostgreSQL, a scalar is its own part 0.
		out = parts[0].intersect(intervals{{limit{inf: true}, below(atArrays)}})
	}
	prefixes := []string{""}
	for i, set := range parts {
		last := i == len(parts)-1 || len(prefixes)*len(set) > maxPoints/10 ||
			slices.ContainsFunc(set, func(iv interval) bool { return !iv.isPoint() || leastEqual(iv.low.val.S) != "" })
		if !last {
			var longer []string
			for _, p := range prefixes {
				for _, iv := range set {
					longer = append(longer, p+iv.low.val.S+",")
				}
			}
			prefixes = longer
			continue
		}
		if len(prefixes)*len(set) > maxPoints {
			set = set.hull()
		}
		for _, p := range prefixes {
			for _, iv := range set {
				out = append(out, within(p, iv))
			}
		}
		break
	}
	return union(out)
}

// within returns an interval that contains the arrays that begin with the elements of prefix, each followed by a comma,
// and then an element of iv.
func within(prefix string, iv interval) interval {
	array := func(element string) types.Datum { return types.NewJSONText("[" + prefix + element + "]") }
	var out interval
	if iv.low.inf {
		out.low = limit{val: types.NewJSONText("[" + strings.TrimSuffix(prefix, ",") + "]")}
	} else {
		out.low = limit{val: array(iv.low.val.S)}
	}
	switch next, ok := "", false; {
	case !iv.high.inf && iv.high.open:
		out.high = limit{val: array(iv.high.val.S), open: true}
		return out
	case !iv.high.inf:
		if next, ok = above(iv.high.val.S); ok {
			out.high = limit{val: array(next), open: true}
			return out
		}
	}
	if prefix == "" {
		out.high = limit{val: types.NewJSONText(noMembers), open: true} // after all arrays
		return out
	}
	// Up to the arrays with a higher element before.
	elements := elementsOf("[" + strings.TrimSuffix(prefix, ",") + "]")
	for n := len(elements); n > 0; n-- {
		if next, ok := above(elements[n-1]); ok {
			high := "[" + strings.Join(append(slices.Clone(elements[:n-1]), next), ",") + "]"
			out.high = limit{val: types.NewJSONText(high), open: true}
			return out
		}
	}
	out.high = limit{val: types.NewJSONText(noMembers), open: true}
	return out
}

func elementsOf(array string) (list []string) {
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
		return "[" + strings.Join(append(elementsOf(s), "null"), ",") + "]", true
	}
	return "", false
}

// closed returns the intervals with their ends included.
func (s intervals) closed() intervals {
	out := slices.Clone(s)
	for i := range out {
		out[i].low.open, out[i].high.open = false, false
	}
	return union(out)
}

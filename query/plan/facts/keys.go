package facts

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// Keys returns intervals that contain the keys of all documents that satisfy the conditions, and how narrow they are.
func (f *Known) Keys(s *rowshape.Shape) (set ranges.Intervals, score int) {
	var parts []ranges.Intervals
	for _, v := range s.Key {
		allowed := ranges.Intervals{ranges.PointOf(v.JSON)}
		if v.Path != nil {
			if allowed = f.Allowed(v.Path); s.AsJavaScript && !allowed.Unbounded() {
				allowed = inDoubles(allowed)
			}
			switch {
			case allowed.Unbounded():
			case allowed.AllPoints():
				score += 3
			default:
				score += 2
			}
		}
		if allowed.Unbounded() {
			break
		}
		if parts = append(parts, allowed); !s.Array {
			return allowed, score
		}
	}
	if score == 0 {
		return ranges.Everything(), 0 // constants do not narrow anything down
	}
	return ranges.Compound(parts, false), score
}

// Leading returns, for views of documents that satisfy the conditions, what is known of a member that is a part of the
// keys. Each part before must have one value, which is returned as well; ok is false if one has not, or if the member
// is no part of the keys.
func (f *Known) Leading(s *rowshape.Shape, path []string) (before []ranges.Intervals, member ranges.Intervals,
	ok bool) {
	for _, v := range s.Key {
		allowed := ranges.Intervals{ranges.PointOf(v.JSON)}
		if v.Path != nil {
			if allowed = f.Allowed(v.Path); s.AsJavaScript && !allowed.Unbounded() {
				allowed = inDoubles(allowed)
			}
		}
		if v.Path != nil && slices.Equal(v.Path, path) {
			return before, allowed, true
		}
		if len(allowed) != 1 || !allowed[0].IsPoint() || ranges.LeastEqual(allowed[0].Low.Val.S) != "" {
			return nil, nil, false
		}
		before = append(before, allowed)
	}
	return nil, nil, false
}

// inDoubles returns intervals that contain the values of a set as JavaScript writes them: numbers rounded to doubles,
// null for those beyond all doubles, and the members of objects in another order.
func inDoubles(set ranges.Intervals) ranges.Intervals {
	var out []ranges.Interval
	for _, iv := range set {
		if iv.IsPoint() && ranges.LeastEqual(iv.Low.Val.S) != "" {
			out = append(out, ranges.AllLists)
			continue
		}
		if !iv.IsPoint() {
			if (ranges.Intervals{iv}).Intersect(ranges.Intervals{ranges.AllLists}) != nil {
				out = append(out, ranges.AllLists) // numbers within lists are rounded too
			}
			scalars := ranges.Intervals{iv}.Intersect(
				ranges.Intervals{ranges.Between(ranges.None, ranges.Below(ranges.AtArrays))})
			if scalars == nil {
				continue
			}
			iv = scalars[0]
		}
		low, fits := rounded(iv.Low)
		high, fits2 := rounded(iv.High)
		out = append(out, ranges.Between(low, high))
		if !fits || !fits2 || (ranges.Intervals{iv}).Intersect(hugeNumbers) != nil {
			out = append(out, ranges.PointOf("null"))
		}
	}
	return ranges.Union(out)
}

// hugeNumbers are beyond the doubles.
var hugeNumbers = ranges.Intervals{
	ranges.Between(ranges.AfterBooleans, ranges.Limit{Val: float(-math.MaxFloat64)}),
	ranges.Between(ranges.Limit{Val: float(math.MaxFloat64)}, ranges.Below(ranges.AtStrings)),
}

func float(f float64) types.Datum { return types.NewJSONText(strconv.FormatFloat(f, 'g', -1, 64)) }

// rounded returns a bound for values as JavaScript writes them. fits is false if it is beyond the doubles.
func rounded(l ranges.Limit) (out ranges.Limit, fits bool) {
	if l.Inf || types.JSONKindOf(l.Val.S) != types.JSONNumber && types.JSONKindOf(l.Val.S) != types.JSONList {
		return l, true
	}
	text, fits := roundedText(l.Val.S)
	return ranges.Limit{Val: types.NewJSONText(text)}, fits
}

func roundedText(s string) (text string, fits bool) {
	switch types.JSONKindOf(s) {
	case types.JSONNumber:
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return map[bool]string{true: "-", false: ""}[f < 0] + "1.7976931348623157e308", false
		}
		if math.Abs(f) < 1e21 {
			return strconv.FormatFloat(f, 'f', -1, 64), true // all digits of an integer count
		}
		return strconv.FormatFloat(f, 'g', -1, 64), true
	case types.JSONList:
		var list []string
		for _, v := range ranges.ElementsOf(s) {
			text, ok := roundedText(v)
			if !ok {
				text = "null"
			}
			list = append(list, text)
		}
		return "[" + strings.Join(list, ",") + "]", true
	}
	return s, true
}

package ranges

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/types"
)

// equal returns the interval of the values equal to d. A view has equal strings that differ in SQL, rounds numbers with
// a fraction, and distinguishes objects by the order of their members, which SQL does not. exact is false if the rows
// read must be compared again.
func (o Ordered) equal(d types.Datum) (iv Interval, exact bool) {
	if d.K != types.KJSON {
		return Point(d), true
	}
	low, high := spellings(d.S)
	if least := LeastEqual(low); least == NoMembers {
		return Interval{Limit{Val: types.NewJSONText(least)}, None}, false
	} else if least != "" {
		return Interval{Limit{Val: types.NewJSONText(least)}, Below(Limit{Val: types.NewJSONText(NoMembers)})}, false
	}
	if low != high {
		return Interval{Limit{Val: types.NewJSONText(low)}, Limit{Val: types.NewJSONText(high)}}, false
	}
	return Point(d), !strings.ContainsAny(d.S, `"0123456789`) || o.groups && Plain(d.S)
}

// spellings returns the lowest and the highest in the order of views of the values that are equal to s in SQL and have
// no members. A view compares an integer by its exact value, and the same number with a fraction or an exponent by the
// nearest double.
func spellings(s string) (low, high string) {
	switch types.JSONKindOf(s) {
	case types.JSONNumber:
		return numberSpellings(strings.TrimSpace(s))
	case types.JSONList:
		if len(strings.Trim(s, " \t\r\n[]0123456789,")) == 0 && len(s) < 16 {
			break // short integers
		}
		var lows, highs []string
		for _, v := range ElementsOf(s) {
			l, h := spellings(v)
			lows, highs = append(lows, l), append(highs, h)
		}
		if slices.Equal(lows, highs) {
			break
		}
		return "[" + strings.Join(lows, ",") + "]", "[" + strings.Join(highs, ",") + "]"
	}
	return s, s
}

// maxSpelled is the length of the longest number that is looked at. A key is shorter.
const maxSpelled = 10000

func numberSpellings(s string) (low, high string) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) < 1<<53 || len(s) > maxSpelled {
		return s, s // beyond the doubles all spellings are exact
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok || !exact.IsInt() {
		return s, s
	}
	rounded := new(big.Rat)
	rounded.SetFloat64(f)
	low, high = exact.Num().String(), rounded.Num().String()
	switch exact.Cmp(rounded) {
	case 0:
		return s, s
	case 1:
		return high, low
	}
	return low, high
}

// NoMembers sorts after all arrays and before all other objects.
const NoMembers = "{}"

// LeastEqual returns a lower bound of the keys equal to s if s contains an object with members. Otherwise it returns
// "", because equal keys are adjacent.
func LeastEqual(s string) string {
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		c := types.NewJSONCursor(s)
		if _, _, some := c.Member(); some {
			return NoMembers
		}
	case types.JSONList:
		var before []string
		found := false
		types.JSONElements(s, func(v string) bool {
			found = LeastEqual(v) != ""
			before = append(before, v)
			return !found
		})
		if found {
			return "[" + strings.Join(before[:len(before)-1], ",") + "]"
		}
	}
	return ""
}

// Plain reports whether a JSON text consists of printable ASCII without escapes.
func Plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
}

package ranges

import (
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
	switch low := LeastEqual(d.S); low {
	case "":
		return Point(d), !strings.ContainsAny(d.S, `"0123456789`) || o.groups && Plain(d.S)
	case NoMembers:
		return Interval{Limit{Val: types.NewJSONText(low)}, Limit{Inf: true}}, false
	default:
		return Interval{Limit{Val: types.NewJSONText(low)}, Limit{Val: types.NewJSONText(NoMembers), Open: true}}, false
	}
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

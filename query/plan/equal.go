package plan

import (
	"strings"

	"github.com/divandb/divan/query/types"
)

// equal returns the interval of the values equal to d. A view has equal strings that differ in SQL, rounds numbers with
// a fraction, and distinguishes objects by the order of their members, which SQL does not. exact is false if the rows
// read must be compared again.
func (o ordered) equal(d types.Datum) (iv interval, exact bool) {
	if d.K != types.KJSON {
		return point(d), true
	}
	switch low := leastEqual(d.S); low {
	case "":
		return point(d), !strings.ContainsAny(d.S, `"0123456789`) || o.groups && plain(d.S)
	case noMembers:
		return interval{limit{val: types.NewJSONText(low)}, limit{inf: true}}, false
	default:
		return interval{limit{val: types.NewJSONText(low)}, limit{val: types.NewJSONText(noMembers), open: true}}, false
	}
}

// noMembers sorts after all arrays and before all other objects.
const noMembers = "{}"

// leastEqual returns a lower bound of the keys equal to s if s contains an object with members. Otherwise it returns
// "", because equal keys are adjacent.
func leastEqual(s string) string {
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		c := types.NewJSONCursor(s)
		if _, _, some := c.Member(); some {
			return noMembers
		}
	case types.JSONList:
		var before []string
		found := false
		types.JSONElements(s, func(v string) bool {
			found = leastEqual(v) != ""
			before = append(before, v)
			return !found
		})
		if found {
			return "[" + strings.Join(before[:len(before)-1], ",") + "]"
		}
	}
	return ""
}

// plain reports whether a JSON text consists of printable ASCII without escapes.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
}

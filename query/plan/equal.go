package plan

import (
	"strings"

	"github.com/divandb/divan/query/types"
)

// equal is where the values equal to d are. A view holds strings equal that SQL tells apart, and tells objects apart by
// the order of their members, which SQL does not: what is read has to be compared again.
func (o ordered) equal(d types.Datum) (iv interval, exact bool) {
	if d.K != types.KJSON {
		return point(d), true
	}
	switch low := leastEqual(d.S); low {
	case "":
		return point(d), !strings.Contains(d.S, `"`) || o.groups && plain(d.S)
	case noMembers:
		return interval{limit{val: types.NewJSONText(low)}, limit{inf: true}}, false
	default:
		return interval{limit{val: types.NewJSONText(low)}, limit{val: types.NewJSONText(noMembers), open: true}}, false
	}
}

// noMembers is above all arrays and below all other objects.
const noMembers = "{}"

// leastEqual is a key that is not above any key equal to s, where s has an object with members in it; "" where it has
// none, and equal keys stand together.
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

// plain says that a JSON text has no characters but those of ASCII that are shown.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
}

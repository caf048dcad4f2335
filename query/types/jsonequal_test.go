package types_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/query/types"
)

// TestEqual_JSON checks that sorting, hashing and equality of jsonb agree, and that a < b and b < a are never both
// true.
func TestEqual_JSON(t *testing.T) {
	groups := [][]string{
		{`null`, ` null`}, {`false`}, {`true`}, {`0`, `-0`, `0.0`, `0e5`}, {`-1`, `-1.0`, `-10e-1`},
		{`1`, `1.0`, `1e0`, `0.1e1`, `100E-2`},
		{`1e400`, `10e399`}, {`9007199254740992`}, {`9007199254740993`}, {`0.1`, `0.10`}, {`0.10000000000000000001`},
		{`""`}, {`"a"`, `"\u0061"`}, {`"a\u0001"`}, {`"é"`, `"\u00e9"`}, {`"e\u0301"`}, {`"1"`}, {`"]"`},
		{`[]`, `[ ]`}, {`[1]`, `[ 1.0 ]`}, {`[[1],2]`}, {`[1,[2]]`}, {`[1,2]`}, {`["1"]`}, {`["",""]`}, {`[""]`},
		{`{}`, `{ }`}, {`{"a":1}`, `{"a":2,"a":1}`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"b":3,"a":1.0, "b":2}`},
		{`{"a":1,"b":3}`},
		{`{"a":{"c":1,"d":[]}}`, `{"a":{"d":[ ],"c":1}}`}, {`[{"a":1,"b":2}]`, `[{"b":2,"a":1}]`}, {`{"":1}`},
		{`{"a":"b"}`}, {`{"a":["b"]}`},
	}
	var all []string
	group := map[string]int{}
	for i, g := range groups {
		for _, s := range g {
			all, group[s] = append(all, s), i
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sign := map[[2]string]int{}
	for _, a := range all {
		for _, b := range all {
			x, y := types.NewJSONText(a), types.NewJSONText(b)
			same := group[a] == group[b]
			equal, err := types.Equal(x, y, nil)
			must(err)
			order, err := types.Compare(x, y)
			must(err)
			collates, err := types.Collates(x, y, nil)
			must(err)
			back, err := types.Collates(y, x, nil)
			must(err)
			hx, err := types.AppendHash(nil, x, nil)
			must(err)
			hy, err := types.AppendHash(nil, y, nil)
			must(err)
			if equal != same || (order == 0) != same || (string(hx) == string(hy)) != same || same && collates != 0 {
				t.Errorf("%s and %s: equal %v, compare %d, collates %d, hash %x and %x", a, b, equal, order, collates,
					hx, hy)
			}
			if collates != -back || collates != 0 && order != collates {
				t.Errorf("%s and %s: collates %d and back %d, compare %d", a, b, collates, back, order)
			}
			if int64(len(hx)) > types.HashSize(x) {
				t.Errorf("%s: hash of %d bytes, above %d", a, len(hx), types.HashSize(x))
			}
			sign[[2]string{a, b}] = order
		}
	}
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				if sign[[2]string{a, b}] <= 0 && sign[[2]string{b, c}] <= 0 && sign[[2]string{a, c}] > 0 {
					t.Errorf("%s <= %s <= %s, but not the first and the last", a, b, c)
				}
			}
		}
	}
}

func TestEqual_JSONBounds(t *testing.T) {
	deep := types.NewJSONText(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	other := types.NewJSONText(strings.Repeat("[", 5000) + " " + strings.Repeat("]", 5000))
	if _, err := types.Equal(deep, other, nil); err == nil {
		t.Error("values nested 5,000 levels deep were compared")
	}
	huge := types.NewJSONText("1e99999999999999999999")
	if _, err := types.AppendHash(nil, huge, nil); err == nil {
		t.Error("a number with an absurd exponent was hashed")
	}
}

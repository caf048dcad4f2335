package revtree_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer/revtree"
)

func TestParseRev(t *testing.T) {
	hash := "0123456789abcdef0123456789abcdef"
	for in, want := range map[string]string{
		"1-" + hash:                   "1-" + hash,
		"12-" + strings.ToUpper(hash): "12-" + hash,
		"3-a":                         "3-a",
		"0-7":                         "0-7",
		"1-a-b":                       "1-a-b",
		"4-ABC":                       "4-ABC",
		"1-":                          "1-",
	} {
		r, err := revtree.ParseRev(in)
		if err != nil || r.String() != want {
			t.Errorf("%q: %v, %v", in, r, err)
		}
	}
	for _, in := range []string{"", "1", "-a", "0-", "a-b", "+1-a", "-1-a", "1.0-a", "1-" + strings.Repeat("z", 32),
		"1-" + strings.Repeat("z", 201),
		"1-\xff", "99999999999999999999-a"} {
		if r, err := revtree.ParseRev(in); err == nil {
			t.Errorf("%q is parsed as %v", in, r)
		}
	}
}

func TestRev_Compare(t *testing.T) {
	ordered := []string{"1-00000000000000000000000000000001", "1-ffffffffffffffffffffffffffffffff", "1-0", "1-a",
		"2-00000000000000000000000000000000", "10-a"}
	for i, a := range ordered {
		for j, b := range ordered {
			ra, _ := revtree.ParseRev(a)
			rb, _ := revtree.ParseRev(b)
			if got := ra.Compare(rb); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s and %s compare %d", a, b, got)
			}
		}
	}
}

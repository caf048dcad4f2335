package ranges

import (
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// TestEqual checks that values that are equal in SQL lie in the interval of each other, although views distinguish an
// integer from the same number with an exponent.
func TestEqual(t *testing.T) {
	for _, same := range [][]string{
		{"100000000000000000000000", "1e23", "1E+23", "100000000000000000000000.0", "10e22"},
		{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		{"-9007199254740993", "-9007199254740993.00"},
		{"[1, 100000000000000000000000]", "[1.0, 1e23]", "[1, 1e23]"},
		{`["a", [1e23, 9007199254740993], null]`, `["a", [1e23, 9007199254740993.0], null]`},
		{`[1e23, {"a": 1}]`, `[100000000000000000000000, {"a": 1}]`},
		{"12", "12.0", "1.2e1"},
		{"1e400", "10e399"},
	} {
		for _, a := range same {
			iv, _ := Ordered{form: Form{Kind: AsJSON, typ: types.JSONB}}.equal(types.NewJSONText(a))
			for _, b := range same {
				if (Intervals{iv}).Intersect(Intervals{PointOf(b)}) == nil {
					t.Errorf("%s is not in the interval of %s", b, a)
				}
			}
		}
	}
}

// TestNumbersOf checks the bounds of a cast integer for numbers with an exponent.
func TestNumbersOf(t *testing.T) {
	whole := ColumnAt(0)
	cond := &exec.Call{Op: "=", Func: &exec.Func{}, Typ: types.Bool, Args: []exec.Expr{
		&exec.CastExpr{X: &exec.Col{Typ: types.JSONB}, To: types.Int8, Mod: -1},
		&exec.Const{D: types.NewInt(1234567890123456789), Typ: types.Int8}}}
	set := whole.Allowed([]exec.Expr{cond}, true)
	for _, s := range []string{"1234567890123456789", "1234567890123456789.0", "1.234567890123456789e18"} {
		if set.Unbounded() || set.Intersect(Intervals{PointOf(s)}) == nil {
			t.Errorf("%s is not in %v", s, set)
		}
	}
}

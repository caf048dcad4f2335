package types_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/query/types"
)

// Values that PostgreSQL 15 can print are in testdata/corpus/jsonprint.sql. Here are those that it has no jsonb for.
func TestPrintJSONB(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"{\"b\" :1 ,\n\"a\":[ 1,2 ,{}, [] ]}", `{"a": [1, 2, {}, []], "b": 1}`},
		{`{"a":1,"b":2,"a":{"c":1,"c":2}}`, `{"a": {"c": 2}, "b": 2}`},
		{`{"\u0061":1,"a":2}`, `{"a": 2}`},
		{`{"bb":1,"c":2,"":3,"é":4}`, `{"": 3, "c": 2, "bb": 1, "é": 4}`},
		{`"\u0000"`, `"\u0000"`},
		{`"\ud800"`, `"\ud800"`},
		{`"\ud83d\ude00\/\u001f"`, `"😀/\u001f"`},
		{` 1e2 `, `100`},
		{`[-0, -0.00, 1E+2, 1.50e1, 5e-3, 0e9, 1e400000]`, `[0, 0.00, 100, 15.0, 0.005, 0, 1e400000]`},
		{`true`, `true`},
		{`[true,false,null]`, `[true, false, null]`},
	} {
		got, err := types.PrintJSONB(c.in, nil)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.in, got, err, c.want)
		}
		if again, err := types.PrintJSONB(got, nil); err != nil || again != got {
			t.Errorf("%s changes when it is printed again: %s, %v", got, again, err)
		}
	}
}

// A short text of many numbers with large exponents must not become a very long one.
func TestPrintJSONB_Bomb(t *testing.T) {
	in := "[" + strings.TrimSuffix(strings.Repeat("1e131071,", 10_000), ",") + "]"
	out, err := types.PrintJSONB(in, nil)
	if err != nil || len(out) > 2<<20 {
		t.Errorf("%d bytes of %d, %v", len(out), len(in), err)
	}
	if same, err := types.Equal(types.NewJSONText(in), types.NewJSONText(out), nil); err != nil || !same {
		t.Errorf("the values differ, %v", err)
	}
}

package reduce_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/reduce"
)

// TestAggregate compares with the results of CouchDB 3.5: "error" if that is an error, "wrong" before the value that a
// sum rejects. Beyond CouchDB's range (integers that JavaScript rounds, sums that overflow), results are exact, and
// infinity is null.
func TestAggregate(t *testing.T) {
	for _, test := range []struct{ values, sum, stats string }{
		{`1 2`, `3`, `{"sum":3,"count":2,"min":1,"max":2,"sumsqr":5}`},
		{`1.5 0.5`, `2.0`, `{"sum":2.0,"count":2,"min":0.5,"max":1.5,"sumsqr":2.5}`},
		{`1 2.5 3 4.5`, `11.0`, `{"sum":11.0,"count":4,"min":1,"max":4.5,"sumsqr":36.5}`},
		{`[1,2] [3]`, `[4,2]`, `error`},
		{`[1,2] 5`, `[6,2]`, `error`},
		{`5 [1,2]`, `[6,2]`, `error`},
		{`{"a":1,"b":{"c":2}} {"a":2,"d":3}`, `{"a":3,"b":{"c":2},"d":3}`, `error`},
		{`{"b":1,"a":2}`, `{"b":1,"a":2}`, `error`},
		{`{"b":{"d":1,"c":1},"a":2} {"a":1,"b":{"e":1}}`, `{"a":3,"b":{"c":1,"d":1,"e":1}}`, `error`},
		{`"x"`, `wrong "x"`, `error`},
		{`1 "x" "y"`, `wrong "x"`, `error`},
		{`null`, `wrong null`, `error`},
		{`true`, `wrong true`, `error`},
		{`{"a":"x"}`, `wrong {"a":"x"}`, `error`},
		{`{"a":1} 1`, `wrong 1`, `error`},
		{`9007199254740993 1`, `9007199254740994`,
			`{"sum":9007199254740994,"count":2,"min":1,"max":9007199254740993,"sumsqr":81129638414606699710187514626050}`},
		{`9223372036854775807 1 -2`, `9223372036854775806`,
			`{"sum":9223372036854775806,"count":3,"min":-2,"max":9223372036854775807,"sumsqr":85070591730234615847396907784232501254}`},
		{`1e300 1e300`, `2e+300`, `{"sum":2e+300,"count":2,"min":1e+300,"max":1e+300,"sumsqr":null}`},
		{`{"sum":1,"count":2,"min":0,"max":1,"sumsqr":3} 4`, `wrong 4`,
			`{"sum":5,"count":3,"min":0,"max":4,"sumsqr":19}`},
		{`[1,[2]]`, `wrong [1,[2]]`,
			`[{"sum":1,"count":1,"min":1,"max":1,"sumsqr":1},[{"sum":2,"count":1,"min":2,"max":2,"sumsqr":4}]]`},
		{`1.2345678901234568e+22 1`, `1.2345678901234568e+22`,
			`{"sum":1.2345678901234568e+22,"count":2,"min":1,"max":1.2345678901234568e+22,"sumsqr":1.5241578753238837e+44}`},
		{`1 {"error":"builtin_reduce_error","mine":1} 2`, `{"error":"builtin_reduce_error","mine":1}`, `error`},
		{`0.0000001`, `1e-7`, `{"sum":1e-7,"count":1,"min":1e-7,"max":1e-7,"sumsqr":9.999999999999998e-15}`},
	} {
		values := strings.Fields(test.values)
		for name, want := range map[string]string{"_sum": test.sum, "_stats": test.stats,
			"_count": fmt.Sprint(len(values))} {
			a := reduce.New(name)
			for range 2 { // the second time after Reset
				a.Reset()
				got := ""
				for _, v := range values {
					if err := a.Add([]byte(`"k"`), []byte(v)); err != nil {
						got = "error"
						break
					}
				}
				if got == "" {
					got = string(a.AppendJSON(nil))
				}
				if cause, ok := strings.CutPrefix(want, "wrong "); ok {
					want = `{"error":"builtin_reduce_error","reason":"The _sum function requires that map values be numbers, arrays of numbers, or objects. ` +
						`Objects cannot be mixed with other data structures. Objects can be arbitrarily nested, provided that the values for all fields are themselves ` +
						`numbers, arrays of numbers, or objects.","caused_by":` + cause + `}`
				}
				if got != want {
					t.Errorf("%s of %s: got %s, want %s", name, test.values, got, want)
				}
			}
		}
	}
}

const tooLarge = `{"error":"builtin_reduce_error","reason":"Reduce output must shrink more rapidly: the sum has more than 30000 bytes"}`

// TestAggregate_sumOverflow sums values without common members, arrays and numbers whose sums grow. A sum and its state
// stay limited in size, however many values there are, and the result reports that the sum is too large, however it was
// computed.
func TestAggregate_sumOverflow(t *testing.T) {
	for name, value := range map[string]func(i int) string{
		"members":        func(i int) string { return fmt.Sprintf(`{"document-%07d":1}`, i) },
		"nested members": func(i int) string { return fmt.Sprintf(`{"a":{"b":{"document-%07d":1}}}`, i) },
		"one large":      func(int) string { return "[" + strings.Repeat("1234567890,", 5000) + "0]" },
		"longer numbers": func(int) string { return "[" + strings.Repeat("9,", 14_000) + "9]" },
	} {
		t.Run(name, func(t *testing.T) {
			rows := 60_000
			if strings.HasPrefix(value(0), "[") {
				rows = 20
			}
			whole, part, merged := reduce.New("_sum"), reduce.New("_sum"), reduce.New("_sum")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range rows {
				v := []byte(value(i))
				_ = whole.Add(nil, v)
				_ = part.Add(nil, v)
				if i%100 != 99 && rows > 100 {
					continue
				}
				state, ok := part.AppendState(nil)
				if !ok || len(state) > 30_000 {
					t.Fatalf("a state of %d bytes, %v", len(state), ok)
				}
				if err := merged.Merge(state); err != nil {
					t.Fatal(err)
				}
				part.Reset()
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
				t.Errorf("the sums hold %d bytes", grown)
			}
			for how, a := range map[string]reduce.Aggregate{"rows": whole, "states": merged} {
				if got := string(a.AppendJSON(nil)); got != tooLarge {
					t.Errorf("the sum of %s is %.200s (%d bytes)", how, got, len(got))
				}
				runtime.KeepAlive(a)
			}
		})
	}
}

// TestAggregate_sumLarge checks that large values are summed if the sum does not grow, also in several parts, and so
// are objects with many members.
func TestAggregate_sumLarge(t *testing.T) {
	value, want := []byte("{"), []byte("{")
	for i := range 2000 {
		value = fmt.Appendf(value, `"m%04d":1,`, 1999-i)
		want = fmt.Appendf(want, `"m%04d":600,`, i)
	}
	value[len(value)-1], want[len(want)-1] = '}', '}'
	whole, part, merged := reduce.New("_sum"), reduce.New("_sum"), reduce.New("_sum")
	for i := range 600 {
		_, _ = whole.Add(nil, value), part.Add(nil, value)
		if i%100 == 99 {
			state, ok := part.AppendState(nil)
			if err := merged.Merge(state); err != nil || !ok {
				t.Fatal(err, ok)
			}
			part.Reset()
		}
	}
	for how, a := range map[string]reduce.Aggregate{"rows": whole, "states": merged} {
		if got := string(a.AppendJSON(nil)); got != string(want) {
			t.Errorf("the sum of %s is %.200s (%d bytes)", how, got, len(got))
		}
	}
}

func TestAggregate_distinct(t *testing.T) {
	a := reduce.New("_approx_count_distinct")
	for i := range 30_000 {
		_ = a.Add(fmt.Appendf(nil, "%d", i%10_000), nil)
	}
	var n int
	if _, err := fmt.Sscan(string(a.AppendJSON(nil)), &n); err != nil || n < 9_700 || n > 10_300 {
		t.Errorf("estimated %d of 10,000", n)
	}
	a.Reset()
	for _, key := range []string{`1`, `2`, `1`} {
		_ = a.Add([]byte(key), nil)
	}
	if got := string(a.AppendJSON(nil)); got != "2" {
		t.Errorf("counted %s of 2", got)
	}
}

func TestNew_unknown(t *testing.T) {
	if reduce.New("_foo") != nil {
		t.Error("New accepts _foo")
	}
}

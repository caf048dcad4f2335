package reduce_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer/reduce"
)

// TestRanked has the results of CouchDB 3.5.
func TestRanked(t *testing.T) {
	values := strings.Fields(`5 3 "b" "a" null [1] {"x":1} true 10 "B" 2 2 7 [0,5] "é"`)
	for name, want := range map[string]string{
		"_top_3":      `[{"x":1},[1],[0,5]]`,
		"_top_100":    `[{"x":1},[1],[0,5],"é","B","b","a",10,7,5,3,2,true,null]`,
		"_bottom_3":   `[null,true,2]`,
		"_bottom_100": `[null,true,2,3,5,7,10,"a","b","B","é",[0,5],[1],{"x":1}]`,
		"_first":      `5`, "_firstly": `5`, "_last": `"é"`,
	} {
		whole := reduce.New(name)
		merged := reduce.New(name)
		part := reduce.New(name)
		for i, v := range values {
			if err := whole.Add(nil, []byte(v)); err != nil {
				t.Fatal(name, err)
			}
			if err := part.Add(nil, []byte(v)); err != nil {
				t.Fatal(name, err)
			}
			if i%4 != 3 && i != len(values)-1 {
				continue
			}
			state, ok := part.AppendState(nil)
			if !ok {
				t.Fatal(name, "has no state")
			}
			if err := merged.Merge(state); err != nil {
				t.Fatal(name, err)
			}
			part.Reset()
		}
		if got := string(whole.AppendJSON(nil)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := string(merged.AppendJSON(nil)); got != want {
			t.Errorf("%s of parts: %s, want %s", name, got, want)
		}
	}
	if state, ok := reduce.New("_first").AppendState(nil); ok {
		t.Errorf("_first of no rows has the state %s", state)
	}
}

func TestCheckName(t *testing.T) {
	const rank, invalid = "rank value must be between 1 and 100", "invalid rank reducer"
	for name, want := range map[string]string{
		"_top_0": rank, "_top_-1": rank, "_bottom_101": rank, "_top_": invalid, "_top_x": invalid, "_top_1.5": invalid,
		"_bottom_5x": invalid, "_top": "`_top` is not a supported reduce function.",
	} {
		if reduce.New(name) != nil {
			t.Errorf("%s is a function", name)
		}
		if got := reduce.CheckName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

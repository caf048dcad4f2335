package layer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// groups returns the groups of a query as "key value".
func groups(tb testing.TB, ix *layer.Index, q layer.ReduceQuery) ([]string, error) {
	tb.Helper()
	if q.Limit == 0 {
		q.Limit = -1
	}
	result, err := ix.Reduce(tb.Context(), q)
	if err != nil {
		return nil, err
	}
	var out []string
	for row, err := range result.Rows {
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%s %s", row.Key, row.Value))
	}
	return out, nil
}

// CouchDB 3.5's answers to the same documents and queries. It divides the rows for the JavaScript function into batches
// of its own.
func TestIndex_Reduce(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/g","views":{
		"sum":{"map":"function(d){emit(d.k,d.v)}","reduce":"_sum"},
		"js":{"map":"function(d){emit(d.k,d.v)}","reduce":"function(k,v,r){return r ? sum(v) : k.length + 0.5}"},
		"bad":{"map":"function(d){emit(d.k,d.v)}","reduce":"function(k,v,r){throw new Error('no')}"},
		"slow":{"map":"function(d){emit(d.k,d.v)}","reduce":"function(k,v,r){var s = 'x'; for (;;) s += s}"},
		"text":{"map":"function(d){emit(d.k,'x')}","reduce":"_sum"},
		"map":{"map":"function(d){emit(d.k,d.v)}"}}}`)
	ix := db.Index(mustDesign(t, db, "g"))
	build(t, ix, 1, 10)
	if got, err := groups(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "sum"}}); len(got) > 0 ||
		err != nil {
		t.Errorf("of nothing: %q %v", got, err)
	}
	for _, doc := range []string{`{"_id":"a","k":["x",1],"v":1}`, `{"_id":"b","k":["x",2],"v":2.5}`,
		`{"_id":"c","k":["y"],"v":3}`, `{"_id":"d","k":"z","v":4.5}`} {
		save(t, db, doc)
	}
	build(t, ix, 2, 10)
	key := func(s string) []byte { return []byte(s) }
	for name, test := range map[string]struct {
		q    layer.ReduceQuery
		want string
	}{
		"all": {layer.ReduceQuery{}, `null 11.0`},
		"exact": {layer.ReduceQuery{GroupLevel: layer.GroupExact},
			`"z" 4.5; ["x",1] 1; ["x",2] 2.5; ["y"] 3`},
		"level 1": {layer.ReduceQuery{GroupLevel: 1}, `"z" 4.5; ["x"] 3.5; ["y"] 3`},
		"level 2": {layer.ReduceQuery{GroupLevel: 2}, `"z" 4.5; ["x",1] 1; ["x",2] 2.5; ["y"] 3`},
		"limit and skip": {layer.ReduceQuery{GroupLevel: 1, ViewQuery: layer.ViewQuery{Limit: 1, Skip: 1}},
			`["x"] 3.5`},
		"descending": {layer.ReduceQuery{GroupLevel: 1, ViewQuery: layer.ViewQuery{Descending: true}},
			`["y"] 3; ["x"] 3.5; "z" 4.5`},
		"range": {layer.ReduceQuery{ViewQuery: layer.ViewQuery{StartKey: key(`["x"]`),
			EndKey: key(`["x",{}]`)}}, `null 3.5`},
		"keys": {layer.ReduceQuery{GroupLevel: layer.GroupExact,
			ViewQuery: layer.ViewQuery{Keys: [][]byte{key(`"z"`), key(`["x",1]`), key(`"q"`)}}}, `"z" 4.5; ["x",1] 1`},
		"none":               {layer.ReduceQuery{ViewQuery: layer.ViewQuery{Key: key(`"q"`)}}, ``},
		"skip more than all": {layer.ReduceQuery{GroupLevel: 1, ViewQuery: layer.ViewQuery{Skip: 3}}, ``},
		"script":             {layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "js"}}, `null 4.5`},
		"script that throws": {layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "bad"}}, `null null`},
		"script by level": {layer.ReduceQuery{GroupLevel: 1, ViewQuery: layer.ViewQuery{View: "js"}},
			`"z" 1.5; ["x"] 2.5; ["y"] 1.5`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.q.View == "" {
				test.q.View = "sum"
			}
			got, err := groups(t, ix, test.q)
			if err != nil || strings.Join(got, "; ") != test.want {
				t.Errorf("got  %s %v\nwant %s", strings.Join(got, "; "), err, test.want)
			}
		})
	}
	got, err := groups(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "text"}})
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], `null {"error":"builtin_reduce_error"`) ||
		!strings.HasSuffix(got[0], `"caused_by":"x"}`) {
		t.Errorf("sum of texts: %q %v", got, err)
	}
	for view, want := range map[string]layer.Kind{"slow": layer.Invalid, "map": layer.NotFound,
		"none": layer.NotFound} {
		_, err := groups(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: view}})
		if err == nil || layer.KindOf(err) != want {
			t.Errorf("%s: %v", view, err)
		}
	}
}

// Rows of several ranges are reduced together, by the stored partials as by a function, also if a group continues in
// the next range.
func TestIndex_Reduce_ranges(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/g","views":{
		"sum":{"map":"function(d){emit([d.n % 3, d.n], d.n)}","reduce":"_sum"},
		"js":{"map":"function(d){emit([d.n % 3, d.n], d.n)}","reduce":"function(k,v,r){return sum(v)}"},
		"distinct":{"map":"function(d){emit(d.n % 5)}","reduce":"_approx_count_distinct"}}}`)
	for n := range 60 {
		save(t, db, fmt.Sprintf(`{"_id":"d%02d","n":%d}`, n, n))
	}
	ix := db.Index(mustDesign(t, db, "g"))
	build(t, ix, 61, 100)
	between := func(pairs ...string) (ranges []layer.KeyRange) {
		for i := 0; i < len(pairs); i += 2 {
			r := layer.KeyRange{StartKey: []byte(pairs[i]), EndKey: []byte(pairs[i+1])}
			if pairs[i+1] == "" {
				r.EndKey = nil
			}
			ranges = append(ranges, r)
		}
		return ranges
	}
	parts := between(`[0,3]`, `[0,6]`, `[0,57]`, `[1,1]`, `[2,50]`, ``) // 3, 6 and 57, 1 and 50, 53, 56, 59
	for _, c := range []struct {
		view   string
		level  int
		ranges []layer.KeyRange
		want   string
	}{
		{"sum", 0, parts, `null 285`},
		{"js", 0, parts, `null 285`},
		{"sum", 1, parts, `[0] 66; [1] 1; [2] 218`},
		{"js", 1, parts, `[0] 66; [1] 1; [2] 218`},
		{"js", layer.GroupExact, parts[:2], `[0,3] 3; [0,6] 6; [0,57] 57; [1,1] 1`},
		{"distinct", 0, between(`0`, `1`, `3`, `3`), `null 3`},
		{"distinct", 0, between(`7`, `8`, `9`, `9`), ``},
		{"sum", 0, []layer.KeyRange{}, ``},
	} {
		got, err := groups(t, ix, layer.ReduceQuery{GroupLevel: c.level,
			ViewQuery: layer.ViewQuery{View: c.view, Ranges: c.ranges}})
		if err != nil || strings.Join(got, "; ") != c.want {
			t.Errorf("%s by level %d: %s %v, want %s", c.view, c.level, strings.Join(got, "; "), err, c.want)
		}
	}
	for _, c := range []struct {
		q    layer.ViewQuery
		want string
	}{
		{layer.ViewQuery{Ranges: parts}, "d03 d06 d57 d01 d50 d53 d56 d59"},
		{layer.ViewQuery{Ranges: parts, Skip: 2, Limit: 3}, "d57 d01 d50"},
		{layer.ViewQuery{Ranges: between(`[2,59]`, `[2,56]`, `[0,9]`, `[0,20]`, `[0,6]`, `[0,3]`), Descending: true},
			"d59 d56 d06 d03"},
		{layer.ViewQuery{Ranges: []layer.KeyRange{}}, ""},
	} {
		c.q.View = "sum"
		got := rows(t, ix, c.q)
		for i := range got {
			got[i] = got[i][:3]
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("rows %s, want %s", got, c.want)
		}
	}
	got, err := groups(t, ix, layer.ReduceQuery{GroupLevel: 1,
		ViewQuery: layer.ViewQuery{View: "js", Ranges: parts, Skip: 1, Limit: 1}})
	if err != nil || !slices.Equal(got, []string{`[1] 1`}) {
		t.Errorf("the second group: %q %v", got, err)
	}
}

// An array that ends at the level is in the group of the longer ones that begin with it.
func TestIndex_Reduce_level(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/g","views":{"v":{"map":"function(d){for (var i in d.k) emit(d.k[i])}","reduce":"_count"}}}`)
	save(t, db, `{"_id":"a","k":[["x"],["x",1],["x",[2,3]],[["x"]],[],["x","y"],{"x":1},"x"]}`)
	ix := db.Index(mustDesign(t, db, "g"))
	build(t, ix, 1, 10)
	got, err := groups(t, ix, layer.ReduceQuery{GroupLevel: 1, ViewQuery: layer.ViewQuery{View: "v"}})
	if want := []string{`"x" 1`, `[] 1`, `["x"] 4`, `[["x"]] 1`, `{"x":1} 1`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q %v, want %q", got, err, want)
	}
}

// A sum over objects with more and more members is an error of its group, both from the rows and from stored partials.
// The view's other groups and ranges have their sums.
func TestIndex_Reduce_sumOverflow(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/g","views":{"v":{"map":"function(d){for (var i = 0; i < 2000; i++) { var v = {same: 1}; v[d._id + i] = 1; emit(i, v) }}","reduce":"_sum"}}}`)
	const doc = "0123456789abcdef0123456789abcdef"
	ix := db.Index(mustDesign(t, db, "g"))
	check := func() {
		t.Helper()
		const tooLarge = `{"error":"builtin_reduce_error","reason":"Reduce output must shrink more rapidly: the sum has more than 30000 bytes"}`
		for want, q := range map[string]layer.ReduceQuery{
			`null ` + tooLarge: {},
			fmt.Sprintf(`null {"%[1]sa0":1,"%[1]sa1":1,"%[1]sb0":1,"%[1]sb1":1,"same":4}`,
				doc): {ViewQuery: layer.ViewQuery{StartKey: []byte("0"), EndKey: []byte("1")}},
			fmt.Sprintf(`1999 {"%[1]sa1999":1,"%[1]sb1999":1,"same":2}`, doc): {GroupLevel: layer.GroupExact,
				ViewQuery: layer.ViewQuery{Skip: 1999}},
		} {
			q.View = "v"
			if got, err := groups(t, ix, q); err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("got %.300q %v\nwant %.300s", got, err, want)
			}
		}
	}
	save(t, db, `{"_id":"`+doc+`a"}`)
	save(t, db, `{"_id":"`+doc+`b"}`)
	build(t, ix, 1, 10)
	check()
	if err := ix.Aggregate(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
}

// With many rows the function gets them in batches, and then its results for those.
func TestIndex_Reduce_batches(t *testing.T) {
	oneGoroutine(t)
	db := openViews(t, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/g","views":{"v":{"map":"function(d){for (var i = 0; i < 10000; i++) emit(i)}",
		"reduce":"function(keys, values, again) { return again ? sum(values) : keys.length; }"}}}`)
	for i := range 7 {
		save(t, db, fmt.Sprintf(`{"_id":"%d"}`, i))
	}
	ix := db.Index(mustDesign(t, db, "g"))
	build(t, ix, 1, 10)
	got, err := groups(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "v"}})
	if err != nil || len(got) != 1 || got[0] != "null 70000" {
		t.Errorf("got %q %v", got, err)
	}
}

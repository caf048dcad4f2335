package sqlreads_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

func TestDatabase_View(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db", viewsOf, `{"_id":"none"}`, `{"_id":"_design/other"}`)
	for i := 1; i <= 9; i++ {
		put(t, d, fmt.Sprintf(`{"_id":"d%d","n":%d}`, i, i), false)
	}
	put(t, d, `{"_id":"text","n":"x"}`, false)
	db := open(t, s, "db")
	key := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, c := range []struct {
		name string
		read exec.ViewRead
		want string
	}{
		{"all", exec.ViewRead{}, "d1 d2 d3 d4 d5 d6 d7 d8 d9 text"},
		{"backwards", exec.ViewRead{Descending: true, Limit: 2}, "text d9"},
		{"range", exec.ViewRead{Low: key("3"), High: key("5")}, "d3 d4 d5"},
		{"range backwards", exec.ViewRead{Low: key("3"), High: key("5"), Descending: true}, "d5 d4 d3"},
		{"open range", exec.ViewRead{Low: key("9")}, "d9 text"},
		{"empty range", exec.ViewRead{Low: key("5"), High: key("3")}, ""},
		{"keys", exec.ViewRead{Keys: []json.RawMessage{key("2"), key(`"x"`), key("77")}}, "d2 text"},
		{"no keys", exec.ViewRead{Keys: []json.RawMessage{}}, ""},
		{"skip and limit", exec.ViewRead{Skip: 2, Limit: 2}, "d3 d4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.read.Design, c.read.View = "by", "n"
			rows, err := db.View(t.Context(), c.read)
			if got := drain(t, rows, err, id); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	rows, err := db.View(t.Context(), exec.ViewRead{Design: "by", View: "n", Limit: 1, WithDoc: true})
	got := drain(t, rows, err, func(r exec.Row) string { return fmt.Sprintf("%s %s %s", r.Key, r.Value, r.Doc) })
	if !strings.HasPrefix(got, `1 "d1" {"_id":"d1","_rev":"1-`) {
		t.Errorf("row %s", got)
	}
	for _, missing := range []exec.ViewRead{{Design: "nope", View: "n"}, {Design: "by", View: "nope"}} {
		if _, err := db.View(t.Context(), missing); exec.KindOf(err) != exec.NotFound {
			t.Errorf("%+v: %v", missing, err)
		}
	}

	designs, err := db.Designs(t.Context())
	for i := range designs {
		for j := range designs[i].Views {
			if v := &designs[i].Views[j]; v.Shape == nil {
				t.Errorf("the rows of view %s are not described", v.Name)
			} else {
				v.Shape = nil
			}
		}
	}
	if err != nil || len(designs) != 1 ||
		fmt.Sprint(designs[0]) != "{by [{j javascript false <nil>} {n  false <nil>} {r _count false <nil>}] false }" {
		t.Errorf("designs %v, %v", designs, err)
	}
	if one, err := db.Design(t.Context(), "by"); err != nil || one.Name != "by" || len(one.Views) != 3 {
		t.Errorf("design %v, %v", one, err)
	}
	if _, err := db.Design(t.Context(), "nope"); exec.KindOf(err) != exec.NotFound {
		t.Errorf("an unknown design: %v", err)
	}
}

func TestDatabase_View_ranges(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db",
		`{"_id":"_design/by","views":{"k":{"map":"function (doc) { if (doc.k) emit(doc.k, 1) }"}}}`)
	for i := 1; i < 10; i++ {
		put(t, d, fmt.Sprintf(`{"_id":"d%d","k":%d}`, i, i), false)
	}
	db := open(t, s, "db")
	for _, c := range []struct {
		read exec.ViewRead
		want string
	}{
		{exec.ViewRead{Ranges: []exec.KeyRange{{High: []byte("2")}, {Low: []byte("5"), High: []byte("6")}}}, "1 2 5 6"},
		{exec.ViewRead{Ranges: []exec.KeyRange{{Low: []byte("8")}, {Low: []byte("3"), High: []byte("4")}},
			Descending: true, Limit: 3}, "9 8 4"},
		{exec.ViewRead{Ranges: []exec.KeyRange{{Low: []byte("8"), High: []byte("7")}, {Low: []byte("9")}}}, "9"},
	} {
		c.read.Design, c.read.View, c.read.Update = "by", "k", exec.UpdateTrue
		rows, err := db.View(t.Context(), c.read)
		if got := drain(t, rows, err, func(r exec.Row) string { return string(r.Key) }); got != c.want {
			t.Errorf("%v: %s, want %s", c.read.Ranges, got, c.want)
		}
	}
}

func TestDatabase_Reduce(t *testing.T) {
	s := newSource(t)
	d := create(t, s, "db",
		`{"_id":"_design/by","views":{"k":{"map":"function (doc) { if (doc.k) emit(doc.k, 1) }","reduce":"_count"},
			"s":{"map":"function (doc) { if (doc.k) emit(doc.k, 'x') }","reduce":"_stats"},
			"n":{"map":"function (doc) { if (doc.k) emit(doc.k) }"}}}`)
	for i, k := range []string{`["a",1]`, `["a",2]`, `["a",2]`, `["b",1]`, `["c",1]`} {
		put(t, d, fmt.Sprintf(`{"_id":"d%d","k":%s}`, i, k), false)
	}
	db, ok := open(t, s, "db").(exec.Reducer)
	if !ok {
		t.Fatal("no Reducer")
	}
	show := func(r exec.Row) string { return fmt.Sprintf("%s=%s", r.Key, r.Value) }
	for _, c := range []struct {
		name string
		read exec.ReduceRead
		want string
	}{
		{"all", exec.ReduceRead{}, "=5"},
		{"level 1", exec.ReduceRead{GroupLevel: 1}, `["a"]=3 ["b"]=1 ["c"]=1`},
		{"level 1, backwards", exec.ReduceRead{GroupLevel: 1, Descending: true, Limit: 2}, `["c"]=1 ["b"]=1`},
		{"whole keys", exec.ReduceRead{GroupLevel: -1, Skip: 1, Limit: 2}, `["a",2]=2 ["b",1]=1`},
		{"range", exec.ReduceRead{Low: []byte(`["a",2]`), High: []byte(`["b",{}]`)}, "=3"},
		{"range, backwards", exec.ReduceRead{Low: []byte(`["a",2]`), High: []byte(`["b",{}]`), Descending: true}, "=3"},
		{"range from end to start", exec.ReduceRead{Low: []byte(`["b"]`), High: []byte(`["a"]`)}, ""},
		{"ranges", exec.ReduceRead{Ranges: []exec.KeyRange{{High: []byte(`["a",1]`)}, {Low: []byte(`["c"]`)}}}, "=2"},
		{"ranges, level 1", exec.ReduceRead{GroupLevel: 1,
			Ranges: []exec.KeyRange{{High: []byte(`["a",1]`)}, {Low: []byte(`["a",2]`), High: []byte(`["b",{}]`)}}},
			`["a"]=3 ["b"]=1`},
		{"keys", exec.ReduceRead{Keys: []json.RawMessage{[]byte(`["a",2]`), []byte(`["x"]`)}, GroupLevel: -1},
			`["a",2]=2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.read.Design, c.read.View = "by", "k"
			rows, err := db.Reduce(t.Context(), c.read)
			if got := drain(t, rows, err, show); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	// Rows are counted whatever the reduce function says, but reduced only if it can.
	counted := func(r exec.Row) string { return fmt.Sprintf("%s=%d", r.Key, r.Count) }
	for _, view := range []string{"k", "s", "n"} {
		rows, err := db.Reduce(t.Context(), exec.ReduceRead{Design: "by", View: view, GroupLevel: 1, Count: true})
		if got := drain(t, rows, err, counted); got != `["a"]=3 ["b"]=1 ["c"]=1` {
			t.Errorf("counts of %s: %s", view, got)
		}
	}
	for _, level := range []int{0, 1} {
		rows, err := db.Reduce(t.Context(), exec.ReduceRead{Design: "by", View: "s", GroupLevel: level})
		if err == nil {
			var row exec.Row
			err = rows.Next(t.Context(), &row)
			rows.Close()
		}
		if exec.KindOf(err) != exec.Irreducible {
			t.Errorf("_stats of texts by level %d: %v", level, err)
		}
	}
	if _, err := db.Reduce(t.Context(),
		exec.ReduceRead{Design: "by", View: "k", Keys: []json.RawMessage{}}); exec.KindOf(err) != exec.Unsupported {
		t.Errorf("several keys without groups: %v", err)
	}
}

// A partitioned view is read in the named partition, or in all of them one after the other. Its rows are ordered within
// each partition.
func TestView_partitioned(t *testing.T) {
	s := newSource(t)
	db, err := s.Store.Create(t.Context(), "parts", layer.CreateOptions{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{
		`{"_id":"p:1","n":1}`, `{"_id":"q:1","n":1}`, `{"_id":"q:2","n":0}`, `{"_id":"q-:3","n":2}`,
		`{"_id":"Z:4","n":1}`,
		`{"_id":"_design/own","views":{"n":{"map":"function (doc) { emit(doc.n) }","reduce":"_count"}}}`,
		`{"_id":"_design/whole","options":{"partitioned":false},"views":{"n":{"map":"function (doc) { emit(doc.n) }","reduce":"_count"}}}`,
	} {
		put(t, db, doc, false)
	}
	put(t, db, `{"_id":"gone:1","_rev":"1-0123456789abcdef0123456789abcdef","_deleted":true}`, true)
	opened := open(t, s, "parts")
	for _, c := range []struct {
		read exec.ViewRead
		want string
	}{
		{exec.ViewRead{}, "Z:4 p:1 q-:3 q:2 q:1"},
		{exec.ViewRead{Limit: 2}, "Z:4 p:1"},
		{exec.ViewRead{Limit: 2, Skip: 2}, "q-:3 q:2"},
		{exec.ViewRead{Skip: 4}, "q:1"},
		{exec.ViewRead{Descending: true, Low: []byte("1")}, "Z:4 p:1 q-:3 q:1"},
		{exec.ViewRead{Keys: []json.RawMessage{[]byte("0"), []byte("2")}}, "q-:3 q:2"},
		{exec.ViewRead{Low: []byte("3")}, ""},
		{exec.ViewRead{Partition: "q", Limit: 1}, "q:2"},
	} {
		c.read.Design, c.read.View = "own", "n"
		rows, err := opened.View(t.Context(), c.read)
		if got := drain(t, rows, err, id); got != c.want {
			t.Errorf("%+v: %s, not %s", c.read, got, c.want)
		}
	}
	counts, err := opened.(exec.Reducer).Reduce(t.Context(), exec.ReduceRead{Design: "own", View: "n"})
	if got := drain(t, counts, err, func(r exec.Row) string { return string(r.Value) }); got != "1 1 1 2" {
		t.Errorf("reductions of all partitions: %s", got)
	}
	rows, err := opened.View(t.Context(), exec.ViewRead{Design: "own", View: "n", Partition: "p"})
	if got := drain(t, rows, err, id); got != "p:1" {
		t.Errorf("partition p of a view has %s", got)
	}
	reduced, err := opened.(exec.Reducer).Reduce(t.Context(), exec.ReduceRead{Design: "own", View: "n", Partition: "q"})
	if got := drain(t, reduced, err, func(r exec.Row) string { return string(r.Value) }); got != "2" {
		t.Errorf("partition q of a view has the reduction %s", got)
	}
	rows, err = opened.View(t.Context(), exec.ViewRead{Design: "whole", View: "n", Partition: "p"})
	if got := drain(t, rows, err, id); !strings.Contains(got, "p:1") || !strings.Contains(got, "q:1") {
		t.Errorf("a view of the whole database has %s", got)
	}
}

package layer_test

import (
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
)

// TestIndex_EqualKeys checks the order of rows of one document with equal keys: CouchDB's, by the raw key and value,
// whatever the order in which they were emitted. It also checks that an update removes all of them.
func TestIndex_EqualKeys(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/d","views":{"v":{"map":"function(doc) { doc.emits.forEach(function(e) { emit(e[0], e[1]); }); }"}}}`)
	save(t, db,
		`{"_id":"a","emits":[[1,"b"],["x",2],[1,"a"],[1,{}],[1,3],[1,[]],["\u0000x",3],[1,null],[1,2.5],[1,[1]],[1,{"a":1}],[1,true],["x",1],[1,"a"]]}`)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	want := []string{
		"a 1 2.5", "a 1 3", "a 1 null", "a 1 true", "a 1 {}", `a 1 {"a":1}`, "a 1 []", "a 1 [1]", `a 1 "a"`, `a 1 "a"`,
		`a 1 "b"`,
		`a "\u0000x" 3`, `a "x" 1`, `a "x" 2`,
	}
	if got := rows(t, ix, layer.ViewQuery{View: "v"}); !slices.Equal(got, want) {
		t.Errorf("rows %q\nwant %q", got, want)
	}
	save(t, db, `{"_id":"a","emits":[[1,"z"],[1,"y"]]}`)
	build(t, ix, 2, 10)
	if got, want := rows(t, ix, layer.ViewQuery{View: "v"}), []string{`a 1 "y"`, `a 1 "z"`}; !slices.Equal(got, want) {
		t.Errorf("rows after an update %q, want %q", got, want)
	}
	state, err := ix.State(t.Context())
	if err != nil || state.Views[0].Rows != 2 {
		t.Errorf("state %+v, %v; want 2 rows", state, err)
	}
}

// TestIndex_RawCollation checks that options.collation of a view, which is where CouchDB has it, and of the design
// document select the raw order.
func TestIndex_RawCollation(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/one","views":{
		"raw":{"map":"function(doc) { emit(doc.k) }","options":{"collation":"raw"},"reduce":"_count"},
		"usual":{"map":"function(doc) { emit(doc.k) }","reduce":"_count"}}}`)
	save(t, db,
		`{"_id":"_design/all","views":{"raw":{"map":"function(doc) { emit(doc.k) }"}},"options":{"collation":"raw"}}`)
	for i, k := range []string{`"a"`, `"B"`, `null`, `1`, `{}`, `[]`, `false`} {
		save(t, db, `{"_id":"`+string(rune('a'+i))+`","k":`+k+`}`)
	}
	raw := []string{"d 1 null", "g false null", "c null null", "e {} null", "f [] null", `b "B" null`, `a "a" null`}
	usual := []string{"c null null", "g false null", "d 1 null", `a "a" null`, `b "B" null`, "f [] null", "e {} null"}
	one, all := db.Index(mustDesign(t, db, "one")), db.Index(mustDesign(t, db, "all"))
	build(t, one, 1, 10)
	build(t, all, 1, 10)
	for _, tc := range []struct {
		ix   *layer.Index
		view string
		want []string
	}{{one, "raw", raw}, {one, "usual", usual}, {all, "raw", raw}} {
		if got := rows(t, tc.ix, layer.ViewQuery{View: tc.view}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.view, got, tc.want)
		}
	}
	if got, want := rows(t, one, layer.ViewQuery{View: "raw", StartKey: []byte("null"), EndKey: []byte(`"B"`)}),
		raw[2:6]; !slices.Equal(got, want) {
		t.Errorf("a raw range: %q, want %q", got, want)
	}
}

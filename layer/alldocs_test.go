package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

func allDocs(tb testing.TB, d *layer.Database, o layer.AllDocsOptions) (string, *layer.AllDocsResult) {
	tb.Helper()
	if o.Limit == 0 {
		o.Limit = -1
	}
	res, err := d.AllDocs(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for row, err := range res.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		s := row.ID
		switch {
		case row.Err != nil:
			s += "?"
		case row.Deleted:
			s += "!"
		}
		if row.Doc != nil {
			s += string(row.Doc.Body)
			for _, c := range row.Doc.Conflicts {
				s += "^" + c.String()
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " "), res
}

func TestAllDocs(t *testing.T) {
	d := mustDatabase(t)
	for _, id := range []string{"a", "b", "c", "_design/x", "é", "B"} {
		put(t, d, `{"_id":"`+id+`","v":"`+id+`"}`)
	}
	r := put(t, d, `{"_id":"gone"}`)
	put(t, d, `{"_id":"gone","_deleted":true,"_rev":"`+r.String()+`"}`)
	push(t, d, `{"_id":"c","_revisions":{"start":1,"ids":["0"]}}`)
	for _, id := range []string{"l1", "l2"} {
		if _, err := d.PutLocal(t.Context(), edit(t, `{"_id":"_local/`+id+`","v":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name, want string
		o          layer.AllDocsOptions
	}{
		{"all", "B _design/x a b c é", layer.AllDocsOptions{}},
		{"descending", "é c b a _design/x B", layer.AllDocsOptions{Descending: true}},
		{"range", "a b c", layer.AllDocsOptions{Start: text("a"), End: text("c")}},
		{"exclusive end", "a b", layer.AllDocsOptions{Start: text("a"), End: text("c"), ExcludeEnd: true}},
		{"descending range", "c b a", layer.AllDocsOptions{Start: text("c"), End: text("a"), Descending: true}},
		{"descending, exclusive", "c b",
			layer.AllDocsOptions{Start: text("c"), End: text("a"), Descending: true, ExcludeEnd: true}},
		{"empty range", "", layer.AllDocsOptions{Start: text("c"), End: text("a")}},
		{"skip and limit", "a b", layer.AllDocsOptions{Skip: 2, Limit: 2}},
		{"skip too far", "", layer.AllDocsOptions{Skip: 20}},
		{"keys", "b nope? gone! a b", layer.AllDocsOptions{Keys: []string{"b", "nope", "gone", "a", "b"}}},
		{"keys, skip, limit", "gone! a",
			layer.AllDocsOptions{Keys: []string{"b", "nope", "gone", "a", "b"}, Skip: 2, Limit: 2}},
		{"keys, descending", "a b", layer.AllDocsOptions{Keys: []string{"b", "a"}, Descending: true}},
		{"no keys", "", layer.AllDocsOptions{Keys: []string{}}},
		{"docs", `a{"v":"a"} b{"v":"b"} c{}^1-0`,
			layer.AllDocsOptions{Start: text("a"), End: text("c"), IncludeDocs: true, Conflicts: true}},
		{"bodies", `a{"v":"a"} b{"v":"b"} c{}`,
			layer.AllDocsOptions{Start: text("a"), End: text("c"), IncludeDocs: true, BodyOnly: true}},
		{"keys and docs", `b{"v":"b"} gone! x?`,
			layer.AllDocsOptions{Keys: []string{"b", "gone", "x"}, IncludeDocs: true}},
		{"designs", "_design/x", layer.AllDocsOptions{Only: layer.DesignOnly}},
		{"designs from b", "", layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("b")}},
		{"designs by key", "_design/x a?",
			layer.AllDocsOptions{Only: layer.DesignOnly, Keys: []string{"_design/x", "a"}}},
		{"without designs", "B a b", layer.AllDocsOptions{Only: layer.WithoutDesigns, Limit: 3}},
		{"without designs, skip", "b", layer.AllDocsOptions{Only: layer.WithoutDesigns, Skip: 2, Limit: 1}},
		{"without designs by key", "_design/x? a",
			layer.AllDocsOptions{Only: layer.WithoutDesigns, Keys: []string{"_design/x", "a"}}},
		{"local", `_local/l1{"v":1} _local/l2{"v":1}`, layer.AllDocsOptions{Only: layer.LocalOnly, IncludeDocs: true}},
		{"local, descending, limit", "_local/l2",
			layer.AllDocsOptions{Only: layer.LocalOnly, Descending: true, Limit: 1}},
		{"local by key", "_local/l2 _local/x?",
			layer.AllDocsOptions{Only: layer.LocalOnly, Keys: []string{"_local/l2", "_local/x"}}},
	} {
		if c.name == "docs" { // hashes sort before texts; the text wins
			c.want = strings.Replace(c.want, "^1-0", "^"+firstConflict(t, d, "c"), 1)
		}
		got, res := allDocs(t, d, c.o)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if c.o.Only == layer.Everything && res.TotalRows != 6 {
			t.Errorf("%s: %d rows in total", c.name, res.TotalRows)
		}
	}
	if res, _ := d.AllDocs(t.Context(), layer.AllDocsOptions{Only: layer.DesignOnly, Limit: -1}); res.TotalRows != 1 {
		t.Errorf("%d design documents", res.TotalRows)
	}
}

func firstConflict(tb testing.TB, d *layer.Database, id string) string {
	tb.Helper()
	doc, err := d.Get(tb.Context(), id, layer.GetOptions{Conflicts: true})
	if err != nil || len(doc.Conflicts) == 0 {
		tb.Fatalf("%v, %v", doc, err)
	}
	return doc.Conflicts[0].String()
}

// More rows than a read window, with bodies of several chunks among them, come in order and complete.
func TestAllDocs_windows(t *testing.T) {
	d := mustDatabase(t)
	const n = 200
	var edits []layer.Edit
	var keys []string
	for i := range n {
		body := fmt.Sprint(i)
		if i%50 == 7 {
			body = strings.Repeat("x", 250_000)
		}
		keys = append(keys, fmt.Sprintf("%03d", i))
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"%03d","b":"%s"}`, i, body)))
	}
	if results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil || results[n-1].Err != nil {
		t.Fatal(err)
	}
	for _, o := range []layer.AllDocsOptions{{IncludeDocs: true, Limit: -1},
		{IncludeDocs: true, Limit: -1, Keys: keys},
		{IncludeDocs: true, BodyOnly: true, Limit: -1}} {
		res, err := d.AllDocs(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for row, err := range res.Rows {
			if err != nil {
				t.Fatal(err)
			}
			if row.ID != keys[i] || string(row.Doc.Body) != string(edits[i].Body) {
				t.Fatalf("row %d is %s with %d bytes", i, row.ID, len(row.Doc.Body))
			}
			i++
		}
		if i != n {
			t.Fatalf("%d rows", i)
		}
	}
}

// Offsets count the rows before the range and those that are skipped, in the direction of the request, in lists of any
// size.
func TestAllDocs_offset(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	for _, id := range []string{"a", "b", "c", "_design/x", "_design/y", "B", "e"} {
		put(t, d, `{"_id":"`+id+`"}`)
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name string
		want int64
		o    layer.AllDocsOptions
	}{
		{"all", 0, layer.AllDocsOptions{}},
		{"skip", 2, layer.AllDocsOptions{Skip: 2}},
		{"skip too far", 7, layer.AllDocsOptions{Skip: 20}},
		{"start", 4, layer.AllDocsOptions{Start: text("b")}},
		{"start and skip", 6, layer.AllDocsOptions{Start: text("b"), Skip: 2}},
		{"start at no document", 6, layer.AllDocsOptions{Start: text("d")}},
		{"start behind all", 7, layer.AllDocsOptions{Start: text("zz"), Skip: 1}},
		{"start before all", 0, layer.AllDocsOptions{Start: text("0")}},
		{"end", 0, layer.AllDocsOptions{End: text("b")}},
		{"one", 4, layer.AllDocsOptions{Start: text("b"), End: text("b")}},
		{"empty", 4, layer.AllDocsOptions{Start: text("b"), End: text("b"), ExcludeEnd: true}},
		{"wrong way", 4, layer.AllDocsOptions{Start: text("b"), End: text("a")}},
		{"descending", 2, layer.AllDocsOptions{Start: text("b"), Descending: true}},
		{"descending, skip", 3, layer.AllDocsOptions{Start: text("b"), Descending: true, Skip: 1}},
		{"descending to the end", 0, layer.AllDocsOptions{End: text("b"), Descending: true}},
		{"designs", 0, layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("0")}},
		{"second design", 1, layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("_design/y")}},
		{"behind designs", 2, layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("b"), Skip: 1}},
		{"designs, descending", 1,
			layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("_design/x"), Descending: true}},
		{"keys", -1, layer.AllDocsOptions{Keys: []string{"b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.WithOffset = true
			for _, piece := range []int64{0, 1, 2} { // also in ranges with counters
				layer.DivideListsInto(s, piece)
				if _, res := allDocs(t, d, c.o); res.Offset != c.want {
					t.Errorf("got %d, want %d", res.Offset, c.want)
				}
			}
			layer.DivideListsInto(s, 0)
			c.o.WithOffset = false
			if _, res := allDocs(t, d, c.o); res.Offset != -1 {
				t.Errorf("%d although it was not asked for", res.Offset)
			}
		})
	}
	// More documents than are counted without ranges.
	const many = 2500
	var edits []layer.Edit
	for i := range many {
		edits = append(edits, edit(t, fmt.Sprintf(`{"_id":"many%04d"}`, i)))
	}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	offset := func(o layer.AllDocsOptions, want int64) {
		t.Helper()
		o.WithOffset, o.Limit = true, 1
		if _, res := allDocs(t, d, o); res.Offset != want {
			t.Errorf("the offset is %d, should be %d", res.Offset, want)
		}
	}
	offset(layer.AllDocsOptions{Start: text("e")}, 6)
	offset(layer.AllDocsOptions{Skip: 3}, 3)
	offset(layer.AllDocsOptions{Start: text("many1200"), Skip: 3}, 7+1200+3)
	offset(layer.AllDocsOptions{Start: text("many1200"), Descending: true}, many-1201)
	offset(layer.AllDocsOptions{Start: text("many0007")}, 7+7)
	save(t, d, `{"_id":"many0006","_deleted":true}`)
	offset(layer.AllDocsOptions{Start: text("many0006")}, 7+6)
	offset(layer.AllDocsOptions{Start: text("many1200")}, 7+1199)
	offset(layer.AllDocsOptions{Only: layer.DesignOnly, Start: text("_design/y")}, 1)
}

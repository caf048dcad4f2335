package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// A revision that one edit of a request adds, and the next one makes history of, is compacted also where the document
// knew the next one already, but no longer the first, since its history is stemmed.
func TestBulk_stemmedFamily(t *testing.T) {
	d := mustDatabase(t)
	if err := d.SetRevsLimit(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	var edits []layer.Edit
	path := func(pos int64) (revs []layer.Rev) {
		for ; pos > 0; pos-- {
			revs = append(revs, layer.Rev{Pos: pos, ID: fmt.Sprintf("%032x", pos)})
		}
		return revs
	}
	for pos := range int64(4) {
		revs := path(pos + 1)
		edits = append(edits, layer.Edit{ID: "a", Rev: revs[0], Ancestors: revs[1:], Body: []byte(`{}`)})
	}
	for _, e := range edits {
		if _, err := d.Bulk(t.Context(), []layer.Edit{e}, layer.WriteOptions{Replicated: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	results, err := d.Bulk(t.Context(), edits[1:3],
		layer.WriteOptions{Replicated: true}) // 2, which is forgotten, and 3
	if err != nil || results[0].Err != nil || results[1].Err != nil {
		t.Fatal(results, err)
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := d.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leaves := leafRevs(t, d, "a")
	if info.SupersededBodies != 0 || readable(t, d, "a", edits[1].Rev) &&
		!strings.Contains(fmt.Sprint(leaves), edits[1].Rev.String()) {
		t.Errorf("a body is left that nobody removes: leaves %v, %d superseded", leaves, info.SupersededBodies)
	}
}

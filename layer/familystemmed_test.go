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

// An edit that makes a revision again, of a parent that stemming had forgotten and that came again, takes the place of
// the body that is still there, with its attachment. Alone or with others, and also where the revision is a leaf, with
// which the edit conflicts.
func TestPut_stemmedAgain(t *testing.T) {
	for name, others := range map[string][]string{
		"alone": nil, "with others": {"b", "c"}, "in a family": {"a"},
	} {
		t.Run(name, func(t *testing.T) {
			e := mustEngine(t)
			d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
			if err := d.SetRevsLimit(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			const attachment = `"_attachments":{"f":{"data":"aGVsbG8="}}`
			first := put(t, d, `{"_id":"a","n":1}`)
			again := edit(t, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":2,%s}`, first, attachment))
			bulk := func(e layer.Edit) (layer.Rev, error) {
				t.Helper()
				edits := []layer.Edit{e}
				for _, id := range others {
					other := edit(t, fmt.Sprintf(`{"_id":"%s","other":true}`, id))
					if id == "a" {
						other.Rev = layer.Rev{Pos: 7, ID: "0123456789abcdef0123456789abcdef"} // a conflict
					}
					edits = append(edits, other)
				}
				results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return results[0].Rev, results[0].Err
			}
			second, err := bulk(again)
			if err != nil {
				t.Fatal(err)
			}
			come := func() { push(t, d, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":1}`, first)) }
			come()
			if _, err := bulk(again); layer.KindOf(err) != layer.Conflict {
				t.Errorf("an edit that makes another leaf again: %v", err)
			}
			if n := len(leafRevs(t, d, "a")); n != 2 {
				t.Errorf("%d leaves", n)
			}
			put(t, d, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":3}`, second))
			if r, err := bulk(again); err != nil || r != second {
				t.Errorf("%s was made again as %s, %v", second, r, err)
			}
			if err := d.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if a := get(t, d, "a", layer.GetOptions{Rev: second}); !strings.Contains(a, `"f"`) {
				t.Errorf("%s is %s", second, a)
			}
			put(t, d, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":4}`, second))
			if err := d.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			info, err := d.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if readable(t, d, "a", second) || info.SupersededBodies != 0 || countKeys(t, e, "attachments") > 0 {
				t.Errorf("something is left of %s: %+v", second, info)
			}
		})
	}
}

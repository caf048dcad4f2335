package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// If one edit of a request adds a revision and the next one makes it history, it is compacted, also if the document
// already knew the next one but had stemmed the first from its history.
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

// An edit makes a revision again from a parent that stemming had forgotten and that has returned. It replaces the body
// that is still stored, with its attachment: alone or with others, and also if the revision is a leaf with which the
// edit conflicts.
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

// Where stemming has forgotten the history, a client may replicate a different one. Then no branch knows the old
// bodies, though every branch goes back to a first revision. They are not counted twice when their revisions return, in
// whatever way, and a purge leaves none of them.
func TestPut_anotherHistory(t *testing.T) {
	again := `{"_id":"a","_rev":"1-a","n":2,"_attachments":{"f":{"data":"aGVsbG8="}}}`
	for name, do := range map[string]func(t *testing.T, d *layer.Database){
		"alone": func(t *testing.T, d *layer.Database) { push(t, d, again) },
		"a purge": func(t *testing.T, d *layer.Database) {
			leaf := leafRevs(t, d, "a")[0]
			push(t, d, `{"_id":"a","_rev":"1-c","n":2}`)
			if _, err := d.Purge(t.Context(), "a", []layer.Rev{leaf}); err != nil {
				t.Fatal(err)
			}
			if err := d.SetRevsLimit(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			push(t, d, again)
		},
		"with another": func(t *testing.T, d *layer.Database) {
			o := layer.WriteOptions{Replicated: true}
			edits := []layer.Edit{replicated(t, again), replicated(t, `{"_id":"a","_rev":"1-b","n":3}`)}
			results, err := d.Bulk(t.Context(), edits, o)
			if err != nil || results[0].Err != nil || results[1].Err != nil {
				t.Fatal(results, err)
			}
		},
	} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, together %t", name, together), func(t *testing.T) {
				e := mustEngine(t)
				d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
				if err := d.SetRevsLimit(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				push(t, d, `{"_id":"a","_rev":"1-a","n":1,"_attachments":{"f":{"data":"Z29uZQ=="}}}`)
				push(t, d, `{"_id":"a","_revisions":{"start":2,"ids":["b","a"]}}`)
				if err := d.SetRevsLimit(t.Context(), 1000); err != nil {
					t.Fatal(err)
				}
				edits := []layer.Edit{replicated(t, `{"_id":"a","_revisions":{"start":3,"ids":["c","b","other"]}}`)}
				if together {
					edits = append(edits, replicated(t, `{"_id":"a","_revisions":{"start":4,"ids":["d","c"]}}`))
				}
				results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{Replicated: true})
				if err != nil || results[0].Err != nil {
					t.Fatal(results, err)
				}
				checkDatabase(t, e, d)
				do(t, d)
				checkDatabase(t, e, d)
				if err := d.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				checkCompacted(t, e, d)
			})
		}
	}
}

// Branches that share no revision with an edit learn from other branches, as they do in a document with few branches,
// if a lower limit of revisions had made them know less.
func TestBulk_relatedBranchesLearn(t *testing.T) {
	defer layer.CacheTreesFrom(1000)()
	defer layer.TreesOf(0)()
	d := mustDatabase(t)
	if err := d.SetRevsLimit(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	push(t, d, `{"_id":"a","_revisions":{"start":6,"ids":["f","e","d","c","b","a"]}}`)
	push(t, d, `{"_id":"a","_revisions":{"start":5,"ids":["p","d","c"]}}`)
	push(t, d, `{"_id":"a","_revisions":{"start":4,"ids":["q","c","b"]}}`)
	push(t, d, `{"_id":"a","_revisions":{"start":3,"ids":["r","b","a"]}}`)
	if err := d.SetRevsLimit(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	edits := []layer.Edit{replicated(t, `{"_id":"a","_rev":"1-x"}`), replicated(t, `{"_id":"a","_rev":"1-y"}`)}
	if _, err := d.Bulk(t.Context(), edits, layer.WriteOptions{Replicated: true}); err != nil {
		t.Fatal(err)
	}
	leaves, err := d.OpenRevs(t.Context(), "a", nil, layer.GetOptions{Revs: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves {
		if got := int64(len(l.Doc.Revs)); got != l.Rev.Pos {
			t.Errorf("%v knows %v", l.Rev, l.Doc.Revs)
		}
	}
}

// An edit does not make a revision again that another branch has in its history, because it would be both a leaf and
// not. If its body is gone, that cannot be known without reading all branches: the revision is made, and a purge leaves
// it to compaction.
func TestPut_stemmedAgainInHistory(t *testing.T) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted %t", compacted), func(t *testing.T) {
			e := mustEngine(t)
			d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
			if err := d.SetRevsLimit(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			first := put(t, d, `{"_id":"a","n":1}`)
			again := edit(t, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":2}`, first))
			second, err := d.Put(t.Context(), again, layer.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			put(t, d, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":3}`, second))
			push(t, d, fmt.Sprintf(`{"_id":"a","_rev":"%s","n":1}`, first))
			if compacted {
				if err := d.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for n := range 2 { // alone, and in a family
				edits := []layer.Edit{again, edit(t, `{"_id":"a","_rev":"9-x"}`)}[:1+n]
				results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if err := results[0].Err; !compacted && layer.KindOf(err) != layer.Conflict {
					t.Errorf("one of %d edits makes %s again: %v", n+1, second, err)
				}
			}
			if _, err := d.Purge(t.Context(), "a", []layer.Rev{second}); err != nil {
				t.Fatal(err)
			}
			if err := d.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkCompacted(t, e, d)
		})
	}
}

// An edit that completes the histories of a document drops the bodies that no branch knew. If later edits of the same
// request first put such a revision into a history and then write it, it has the body that was written with it.
func TestBulk_againAfterCompletedHistories(t *testing.T) {
	for _, trees := range []int{1, 1000} { // cached between batches, and not
		t.Run(fmt.Sprintf("trees kept from %d branches", trees), func(t *testing.T) {
			defer layer.CacheTreesFrom(trees)()
			e := mustEngine(t)
			d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
			if err := d.SetRevsLimit(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			push(t, d, `{"_id":"a","_rev":"1-a","_deleted":true,"_attachments":{"f":{"data":"Z29uZQ=="}}}`)
			push(t, d, `{"_id":"a","_revisions":{"start":2,"ids":["b","a"]}}`)
			if err := d.SetRevsLimit(t.Context(), 1000); err != nil {
				t.Fatal(err)
			}
			edits := []layer.Edit{
				replicated(t, `{"_id":"a","_revisions":{"start":3,"ids":["c","b","other"]}}`),
				replicated(t, `{"_id":"a","_revisions":{"start":2,"ids":["d","a"]}}`),
				replicated(t, `{"_id":"a","_rev":"1-a","n":2}`),
			}
			results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{Replicated: true})
			if err != nil || results[0].Err != nil || results[1].Err != nil || results[2].Err != nil {
				t.Fatal(results, err)
			}
			again := get(t, d, "a", layer.GetOptions{Rev: edits[2].Rev})
			if want := `{"_id":"a","_rev":"1-a","n":2}`; again != want {
				t.Errorf("the revision that came again is %s, want %s", again, want)
			}
			checkDatabase(t, e, d)
			if err := d.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkCompacted(t, e, d)
		})
	}
}

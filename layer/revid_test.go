package layer_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
)

// The edits of testdata/revisions.tsv, made by CouchDB 3.5.0: the parent's revision, "deleted" or nothing, the body,
// and the revision.
//
//go:embed testdata/revisions.tsv
var couchRevisions string

// An edit makes the revision that CouchDB makes.
func TestPut_CouchDBRevisions(t *testing.T) {
	calm(t)
	d := mustCreate(t, mustStore(t, mustEngine(t), layer.Options{}), "db", layer.CreateOptions{})
	made := map[string]string{} // documents by revision
	for i, line := range strings.Split(strings.TrimRight(couchRevisions, "\n"), "\n") {
		parts := strings.Split(line, "\t")
		parent, want := parts[0], parts[3]
		e := layer.Edit{ID: made[parent], Deleted: parts[1] != "", Body: []byte(parts[2])}
		switch {
		case parent == "":
			e.ID = strings.Repeat("x", i+1)
		case e.ID == "": // not made here
			e.ID = strings.Repeat("y", i+1)
			doc := `{"_id":"` + e.ID + `","_rev":"` + parent + `"}`
			if _, err := d.Put(t.Context(), replicated(t, doc), layer.WriteOptions{Replicated: true}); err != nil {
				t.Fatal(err)
			}
		}
		if doc, err := d.Get(t.Context(), e.ID, layer.GetOptions{}); err == nil {
			if e.Rev, err = revtree.ParseRev(parent); err != nil || doc.Rev != e.Rev {
				t.Fatal(doc.Rev, parent, err)
			}
		}
		got, err := d.Put(t.Context(), e, layer.WriteOptions{})
		if err != nil || got.String() != want {
			t.Errorf("%.200s\nmakes %s, %v, and in CouchDB %s", line, got, err, want)
		}
		made[want] = e.ID
	}
}

// Attachments are part of the revision, as in CouchDB, in the order of the edit.
func TestPut_CouchDBAttachments(t *testing.T) {
	calm(t)
	d := mustCreate(t, mustStore(t, mustEngine(t), layer.Options{}), "db", layer.CreateOptions{})
	r, err := d.Put(t.Context(), edit(t, `{"_id":"a","_attachments":{"z.png":{"content_type":"image/png","data":"aGk="},
		"a.png":{"content_type":"image/png","data":"aG8="},"m":{"data":"aGE="}}}`), layer.WriteOptions{})
	if err != nil || r.String() != "1-27f029a6b5d24e6d6611a1f641dc3f3d" {
		t.Fatal(r, err)
	}
	e := layer.Edit{ID: "a", Rev: r, Body: []byte(`{"n":1}`), KeepAttachments: true}
	if r, err = d.Put(t.Context(), e, layer.WriteOptions{}); err != nil ||
		r.String() != "2-7307ccca6e4ed6e4c2b47c44d0b58fb7" {
		t.Error(r, err)
	}
}

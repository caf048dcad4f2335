package layer_test

import (
	"testing"

	"github.com/divandb/divan/layer"
)

func TestStore_Counted(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	db := mustCreate(t, s, "counted", layer.CreateOptions{})
	put := func(text string) error {
		e, err := layer.ParseEdit([]byte(text), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Put(t.Context(), e, layer.WriteOptions{})
		return err
	}
	if err := put(`{"_id":"a"}`); err != nil {
		t.Fatal(err)
	}
	if layer.KindOf(put(`{"_id":"a"}`)) != layer.Conflict {
		t.Error("no conflict")
	}
	var edits []layer.Edit
	for _, text := range []string{`{"_id":"b"}`, `{"_id":"a"}`, `{"_id":"c"}`} {
		e, err := layer.ParseEdit([]byte(text), false)
		if err != nil {
			t.Fatal(err)
		}
		edits = append(edits, e)
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), "a", layer.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), "nobody", layer.GetOptions{}); layer.KindOf(err) != layer.NotFound {
		t.Fatal(err) // and is not counted
	}
	for _, o := range []layer.ChangesOptions{{Limit: -1}, {Limit: -1, Uncounted: true}} {
		pass, err := db.Changes(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range pass.Rows {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want := layer.Counted{Written: 3, Refused: 2, Read: 1, Changes: 3}
	if got := s.Counts.Counted(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	var of layer.Counted
	s.EachCounted(func(name string, c layer.Counted) {
		if name == "counted" {
			of = c
		}
	})
	if of != want {
		t.Errorf("counted of the database %+v", of)
	}
}

// A pass tells which documents are in conflict: those that are there and have another leaf that is.
func TestChanges_inConflict(t *testing.T) {
	d := mustDatabase(t)
	put(t, d, `{"_id":"alone"}`)
	push(t, d, `{"_id":"two","_revisions":{"start":1,"ids":["a"]}}`)
	push(t, d, `{"_id":"two","_revisions":{"start":1,"ids":["b"]}}`)
	push(t, d, `{"_id":"resolved","_revisions":{"start":1,"ids":["a"]}}`)
	push(t, d, `{"_id":"resolved","_revisions":{"start":1,"ids":["b"]},"_deleted":true}`)
	push(t, d, `{"_id":"gone","_revisions":{"start":1,"ids":["a"]},"_deleted":true}`)
	push(t, d, `{"_id":"gone","_revisions":{"start":1,"ids":["b"]},"_deleted":true}`)
	for _, asked := range []bool{true, false} {
		pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1, InConflict: asked})
		if err != nil {
			t.Fatal(err)
		}
		got, all := "", 0
		for c, err := range pass.Rows {
			if err != nil {
				t.Fatal(err)
			}
			if all++; c.InConflict {
				got += c.ID + " "
			}
		}
		if want := map[bool]string{true: "two "}[asked]; got != want || all != 4 {
			t.Errorf("in conflict are %q of %d, want %q", got, all, want)
		}
	}
}

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
	pass, err := db.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
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

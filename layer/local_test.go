package layer_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

func TestLocal(t *testing.T) {
	d := mustDatabase(t)
	putLocal := func(json string) (string, error) {
		r, err := d.PutLocal(t.Context(), edit(t, json))
		return r.String(), err
	}
	_, err := d.LocalDocument(t.Context(), "_local/x")
	wantKind(t, err, layer.NotFound)
	_, err = putLocal(`{"_id":"_local/x","_deleted":true}`)
	wantKind(t, err, layer.NotFound)
	if r, err := putLocal(`{"_id":"_local/x","v":1}`); err != nil || r != "0-1" {
		t.Fatal(r, err)
	}
	if r, err := putLocal(`{"_id":"_local/x","_rev":"0-1","v":"` + strings.Repeat("y", 200_000) + `"}`); err != nil ||
		r != "0-2" {
		t.Fatal(r, err)
	}
	doc, err := d.LocalDocument(t.Context(), "_local/x")
	if err != nil || doc.Rev.String() != "0-2" || len(doc.Body) < 200_000 {
		t.Fatal(doc.Rev, err)
	}
	if r, err := putLocal(`{"_id":"_local/x","_rev":"0-7"}`); err != nil || r != "0-8" { // like CouchDB since 2.0
		t.Fatal(r, err)
	}
	if doc, err = d.LocalDocument(t.Context(), "_local/x"); err != nil ||
		string(doc.AppendJSON(nil)) != `{"_id":"_local/x","_rev":"0-8"}` {
		t.Fatal(string(doc.AppendJSON(nil)), err)
	}
	for _, bad := range []string{`{"_id":"_local/x","_rev":"1-a"}`, `{"_id":"_local/x","_rev":"0-a"}`, `{"_id":"x"}`,
		`{"_id":"_local/x","_attachments":{"a":{"data":""}}}`} {
		_, err := putLocal(bad)
		wantKind(t, err, layer.Invalid)
	}
	if r, err := putLocal(`{"_id":"_local/x","_deleted":true,"_rev":"0-8"}`); err != nil || r != "0-0" {
		t.Fatal(r, err)
	}
	_, err = d.LocalDocument(t.Context(), "_local/x")
	wantKind(t, err, layer.NotFound)
	if rows, _ := feedOf(t, d, layer.ChangesOptions{}); len(rows) != 0 {
		t.Fatalf("a _local document is in the feed: %v", rows)
	}
	_, err = d.Put(t.Context(), edit(t, `{"_id":"_local/x"}`), layer.WriteOptions{})
	wantKind(t, err, layer.Invalid)
}

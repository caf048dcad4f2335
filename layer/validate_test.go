package layer_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// wordValidator replaces the script engine: a design document with the member "refuse" refuses documents that contain
// that word.
type wordValidator struct{ seen []string }

func refused(design []byte) []byte {
	_, rest, ok := bytes.Cut(design, []byte(`"refuse":"`))
	if !ok {
		return nil
	}
	word, _, _ := bytes.Cut(rest, []byte(`"`))
	return word
}

func (v *wordValidator) CheckDesign(_ context.Context, doc []byte) error {
	if bytes.Contains(doc, []byte("syntax error")) {
		return &layer.Error{Kind: layer.Invalid, Name: "compilation_error", Reason: "no"}
	}
	return nil
}

func (v *wordValidator) Watches(doc []byte) bool { return refused(doc) != nil }

func (v *wordValidator) Validate(_ context.Context, key string, load func() ([]byte, error),
	newDoc, oldDoc []byte, user *layer.UserCtx, dbName string, security []byte) error {
	design, err := load()
	if err != nil {
		return err
	}
	v.seen = append(v.seen,
		strings.Join([]string{key[:strings.Index(key, " ")], string(oldDoc), user.Name, dbName, string(security)}, "|"))
	if bytes.Contains(newDoc, refused(design)) {
		return &layer.Error{Kind: layer.Forbidden, Reason: "refused"}
	}
	return nil
}

func TestValidate(t *testing.T) {
	e := mustEngine(t)
	v := &wordValidator{}
	s := mustStore(t, e, layer.Options{Validator: v})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	other, err := layer.Open(t.Context(), e, layer.Options{Validator: v}) // another node
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	far, err := other.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	as := layer.WriteOptions{User: &layer.UserCtx{Name: "u"}}
	write := func(d *layer.Database, json string, o layer.WriteOptions) (layer.Rev, error) {
		t.Helper()
		ed := edit(t, json)
		if o.Replicated {
			ed = replicated(t, json)
		}
		return d.Put(t.Context(), ed, o)
	}
	must := func(d *layer.Database, json string) layer.Rev {
		t.Helper()
		r, err := write(d, json, as)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	stamp := func() string { return stampOf(t, e) }

	a := must(far, `{"_id":"a","x":"bad"}`) // there is no objection yet, and the other node caches that
	before := stamp()
	must(d, `{"_id":"_design/plain","views":{}}`)
	if stamp() != before {
		t.Error("a design document that writes need not look at moved the stamp (CouchDB #2952)")
	}
	design := must(d, `{"_id":"_design/v","refuse":"bad"}`)
	_, err = write(far, `{"_id":"b","x":"bad"}`, as)
	wantKind(t, err, layer.Forbidden)
	_, err = write(far, `{"_id":"b","_revisions":{"start":3,"ids":["c"]},"x":"bad"}`,
		layer.WriteOptions{User: as.User, Replicated: true})
	wantKind(t, err, layer.Forbidden)
	if _, err = write(far, `{"_id":"internal","x":"bad"}`, layer.WriteOptions{}); err != nil {
		t.Errorf("an internal write: %v", err)
	}
	results, err := far.Bulk(t.Context(), []layer.Edit{edit(t, `{"_id":"c","x":"bad"}`), edit(t, `{"_id":"d"}`)}, as)
	if err != nil || layer.KindOf(results[0].Err) != layer.Forbidden || results[1].Err != nil {
		t.Errorf("%+v, %v", results, err)
	}
	v.seen = nil
	must(far, `{"_id":"a","_rev":"`+a.String()+`","x":"good"}`)
	want := `_design/v|{"_id":"a","_rev":"` + a.String() + `","x":"bad","_revisions":{"start":1,"ids":["` + a.ID +
		`"]}}|u|db|{}`
	if len(v.seen) != 1 || v.seen[0] != want {
		t.Errorf("the function was called with %q, want %q", v.seen, want)
	}
	_, err = write(d, `{"_id":"_design/w","x":"syntax error"}`, as)
	wantKind(t, err, layer.Invalid)
	// A design document does not validate itself, and its validation ends when it is changed.
	design = must(d, `{"_id":"_design/v","_rev":"`+design.String()+`","refuse":"bad","x":1}`)
	must(d, `{"_id":"_design/v","_rev":"`+design.String()+`","_deleted":true}`)
	must(far, `{"_id":"b","x":"bad"}`)
}

package layer_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

func TestPut_lifeOfADocument(t *testing.T) {
	d := mustDatabase(t)
	r1 := put(t, d, `{"_id":"a","n":1.0,"b":{"y":1,"x":2}}`)
	if got, want := get(t, d, "a", layer.GetOptions{}), `{"_id":"a","_rev":"`+r1.String()+
		`","n":1.0,"b":{"y":1,"x":2}}`; got != want {
		t.Fatalf("got %s", got)
	}
	_, err := d.Put(t.Context(), edit(t, `{"_id":"a"}`), layer.WriteOptions{})
	wantKind(t, err, layer.Conflict)
	r2 := put(t, d, `{"_id":"a","_rev":"`+r1.String()+`","n":2}`)
	_, err = d.Put(t.Context(), edit(t, `{"_id":"a","_rev":"`+r1.String()+`","n":3}`), layer.WriteOptions{})
	wantKind(t, err, layer.Conflict)
	if got := get(t, d, "a", layer.GetOptions{Rev: r1}); !strings.Contains(got, `"n":1.0`) {
		t.Fatalf("the old revision before compaction: %s", got)
	}
	if got := get(t, d, "a", layer.GetOptions{Revs: true, RevsInfo: true}); !strings.Contains(got,
		`"_revisions":{"start":2,"ids":["`+r2.ID+`","`+r1.ID+`"]}`) ||
		!strings.Contains(got, `{"rev":"`+r1.String()+`","status":"available"}`) {
		t.Fatal(got)
	}
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, d, "a", layer.GetOptions{Rev: r1}); got != "missing" {
		t.Fatalf("after compaction: %s", got)
	}
	r3 := put(t, d, `{"_id":"a","_rev":"`+r2.String()+`","_deleted":true,"why":"x"}`)
	if got := get(t, d, "a", layer.GetOptions{}); got != "deleted" {
		t.Fatal(got)
	}
	if got := get(t, d, "a", layer.GetOptions{Rev: r3}); got != `{"_id":"a","_rev":"`+r3.String()+
		`","why":"x","_deleted":true}` {
		t.Fatal(got)
	}
	_, err = d.Put(t.Context(), edit(t, `{"_id":"a","_rev":"`+r3.String()+`"}`), layer.WriteOptions{})
	wantKind(t, err, layer.Conflict) // R6
	r4 := put(t, d, `{"_id":"a","n":4}`)
	if r4.Pos != 4 {
		t.Fatalf("recreated as %v", r4)
	}
	if got := get(t, d, "b", layer.GetOptions{}); got != "missing" {
		t.Fatal(got)
	}
}

// Exists agrees with Get through the life of a document.
func TestDatabase_Exists(t *testing.T) {
	d := mustDatabase(t)
	is := func(want bool) {
		t.Helper()
		_, err := d.Get(t.Context(), "a", layer.GetOptions{})
		exists, failed := d.Exists(t.Context(), "a")
		if failed != nil || exists != want || (err == nil) != want {
			t.Errorf("exists: %v, %v; reading it: %v; want %v", exists, failed, err, want)
		}
	}
	is(false)
	r1 := put(t, d, `{"_id":"a"}`)
	is(true)
	push(t, d, `{"_id":"a","_revisions":{"start":1,"ids":["b"]}}`)
	put(t, d, `{"_id":"a","_rev":"`+r1.String()+`","_deleted":true}`)
	is(true) // the other branch
	put(t, d, `{"_id":"a","_rev":"1-b","_deleted":true}`)
	is(false)
	put(t, d, `{"_id":"a"}`)
	is(true)
	parted := mustCreate(t, mustStore(t, mustEngine(t), layer.Options{}), "p", layer.CreateOptions{Partitioned: true})
	_, err := parted.Exists(t.Context(), "no-partition")
	wantKind(t, err, layer.Invalid)
}

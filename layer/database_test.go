package layer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

func TestStore_Create(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{MaxShards: 8})
	for _, name := range []string{"a", "a/b", "a_$()+-/9", "_users", "_replicator", "x/_replicator"} {
		mustCreate(t, s, name, layer.CreateOptions{})
	}
	for _, name := range []string{"", "A", "1a", "_x", "a b", "a\x00", "ä", "a\n"} {
		_, err := s.Create(t.Context(), name, layer.CreateOptions{})
		wantKind(t, err, layer.Invalid)
	}
	_, err := s.Create(t.Context(), "a", layer.CreateOptions{})
	wantKind(t, err, layer.Exists)
	for _, shards := range []int{-1, 9} {
		_, err = s.Create(t.Context(), "z", layer.CreateOptions{Shards: shards})
		wantKind(t, err, layer.Invalid)
	}
	_, err = s.Create(t.Context(), "z", layer.CreateOptions{Security: []byte(`{"admins":[]}`)})
	wantKind(t, err, layer.Invalid)
	_, err = s.Database(t.Context(), "z")
	wantKind(t, err, layer.NotFound)
	_, err = s.Database(t.Context(), "never")
	wantKind(t, err, layer.NotFound)
}

func TestStore_Names(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	for _, name := range []string{"a", "b", "b/c", "d"} {
		mustCreate(t, s, name, layer.CreateOptions{})
	}
	for _, c := range []struct {
		o    layer.NamesOptions
		want []string
	}{
		{layer.NamesOptions{Limit: -1}, []string{"a", "b", "b/c", "d"}},
		{layer.NamesOptions{Limit: -1, Descending: true}, []string{"d", "b/c", "b", "a"}},
		{layer.NamesOptions{Limit: 2, Skip: 1}, []string{"b", "b/c"}},
		{layer.NamesOptions{Limit: -1, Start: "b", End: "c"}, []string{"b", "b/c"}},
		{layer.NamesOptions{Limit: -1, Start: "b", End: "d", ExcludeEnd: true}, []string{"b", "b/c"}},
		{layer.NamesOptions{Limit: 0}, nil},
	} {
		var got []string
		for name, err := range s.Names(t.Context(), c.o) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}

// An open handle always refers to the same database. A new handle refers to the database that has the name now, even if
// another node has replaced it since this node cached it.
func TestDatabase_replaced(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	other, err := layer.Open(t.Context(), e, layer.Options{}) // another node
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()

	old := mustCreate(t, s, "a", layer.CreateOptions{})
	put(t, old, `{"_id":"x"}`)
	replace := func() {
		t.Helper()
		if err := other.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Create(t.Context(), "a", layer.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	replace()
	_, err = old.Get(t.Context(), "x", layer.GetOptions{})
	wantKind(t, err, layer.NotFound)
	_, err = old.Put(t.Context(), edit(t, `{"_id":"y"}`), layer.WriteOptions{})
	wantKind(t, err, layer.NotFound)
	_, err = old.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
	wantKind(t, err, layer.NotFound)

	replace() // the cache of s is out of date again
	now, err := s.Database(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	put(t, now, `{"_id":"y"}`)
	replace()
	now, err = s.Database(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if rows, _ := feedOf(t, now, layer.ChangesOptions{}); len(rows) != 0 {
		t.Fatal(rows)
	}
	if err := other.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Database(t.Context(), "a")
	if err == nil {
		_, err = gone.Info(t.Context())
	}
	wantKind(t, err, layer.NotFound)
}

// Deletion wakes waiting readers and leaves no keys except the store's own.
func TestStore_Delete(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	d := mustCreate(t, s, "a", layer.CreateOptions{})
	put(t, d, `{"_id":"x"}`)
	maps, err := d.ShardMaps(t.Context(), layer.Seq{})
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := d.WatchShard(t.Context(), maps[0].Shards[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("no wake")
	}
	wantKind(t, s.Delete(t.Context(), "a"), layer.NotFound)
}

func TestDatabase_Info(t *testing.T) {
	d := mustDatabase(t)
	a := put(t, d, `{"_id":"a","x":1}`)
	put(t, d, `{"_id":"b"}`)
	put(t, d, `{"_id":"a","_deleted":true,"_rev":"`+a.String()+`"}`)
	info, err := d.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.DocCount != 1 || info.DocDelCount != 1 || info.SupersededBodies != 1 || info.Shards != 1 ||
		len(info.UUID) != 32 || info.UpdateSeq.IsZero() || info.ActiveSize == 0 {
		t.Fatalf("%+v", info)
	}
}

func TestDatabase_settings(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{})
	d := mustCreate(t, s, "a", layer.CreateOptions{Security: []byte(`{"members":{"names":["x"]}}`)})
	other, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	far, err := other.Database(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := far.Security(t.Context()); err != nil || string(got) != `{"members":{"names":["x"]}}` {
		t.Fatalf("%s, %v", got, err)
	}
	for _, bad := range []string{`[]`, `{"admins":[]}`, `{"admins":{"names":"x"}}`, `{"members":{"roles":[1]}}`, `{`} {
		wantKind(t, d.SetSecurity(t.Context(), []byte(bad)), layer.Invalid)
	}
	if err := d.SetSecurity(t.Context(), []byte(`{"admins":{"names":["a","b"],"roles":[]}}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := far.Security(t.Context()); err != nil || string(got) != `{"admins":{"names":["a","b"],"roles":[]}}` {
		t.Fatalf("the other node still sees %s, %v", got, err)
	}
	for _, n := range []int{0, -1, 4001} {
		wantKind(t, d.SetRevsLimit(t.Context(), n), layer.Invalid)
	}
	if err := d.SetRevsLimit(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if n, err := far.RevsLimit(t.Context()); err != nil || n != 2 {
		t.Fatalf("%d, %v", n, err)
	}
	r := put(t, far, `{"_id":"x"}`)
	for range 3 {
		r = put(t, far, fmt.Sprintf(`{"_id":"x","_rev":"%s"}`, r))
	}
	doc, err := d.Get(t.Context(), "x", layer.GetOptions{Revs: true})
	if err != nil || len(doc.Revs) != 2 || doc.Revs[0].Pos != 4 {
		t.Fatalf("%v, %v", doc, err)
	}
}

func TestDatabase_cancelled(t *testing.T) {
	d := mustDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Get(ctx, "x", layer.GetOptions{})
	if !errors.Is(err, context.Canceled) || layer.KindOf(err) != layer.Timeout {
		t.Fatal(err)
	}
}

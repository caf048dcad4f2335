package globalchanges_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/node/globalchanges"
)

func newEngine(t *testing.T) kv.Engine {
	t.Helper()
	e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// node opens the store with a recorder, unless r is nil.
func node(t *testing.T, e kv.Engine, r *globalchanges.Recorder) *layer.Store {
	t.Helper()
	o := layer.Options{Logger: slog.New(slog.DiscardHandler)}
	if r != nil {
		o.Happened = r.Happened
	}
	s, err := layer.Open(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func create(t *testing.T, s *layer.Store, name string) *layer.Database {
	t.Helper()
	d, err := s.Create(t.Context(), name, layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t *testing.T, d *layer.Database, id string) {
	t.Helper()
	if _, err := d.Put(t.Context(), layer.Edit{ID: id, Body: []byte(`{}`)}, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// entries returns the ids of the entries in the order of the feed.
func entries(t *testing.T, s *layer.Store) []string {
	t.Helper()
	d, err := s.Database(t.Context(), layer.GlobalChangesDatabase)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for change, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, change.ID)
	}
	return ids
}

// entryRev returns the revision of an entry.
func entryRev(t *testing.T, s *layer.Store, id string) string {
	t.Helper()
	d, err := s.Database(t.Context(), layer.GlobalChangesDatabase)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := d.Get(t.Context(), id, layer.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return doc.Rev.String()
}

// wait waits until the entries are as wanted.
func wait(t *testing.T, s *layer.Store, sorted ...string) {
	t.Helper()
	var got []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if got = entries(t, s); slices.Equal(slices.Sorted(slices.Values(got)), sorted) {
			return
		}
	}
	t.Fatalf("entries %v, want %v", got, sorted)
}

func stop(t *testing.T, f func(context.Context) error) {
	t.Helper()
	if err := f(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestRecorder(t *testing.T) {
	r := globalchanges.New(slog.New(slog.DiscardHandler))
	s := node(t, newEngine(t), r)
	end := r.Start(s)
	create(t, s, layer.GlobalChangesDatabase)
	a := create(t, s, "a")
	wait(t, s, "created:a")
	put(t, a, "x")
	wait(t, s, "created:a", "updated:a")
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wait(t, s, "created:a", "deleted:a", "updated:a")

	// Each event moves its entry to the end. A stopped recorder has written everything.
	create(t, s, "a")
	stop(t, end)
	if got := strings.Join(entries(t, s), " "); got != "updated:a deleted:a created:a" {
		t.Errorf("entries %s", got)
	}
}

// What a killed node has not recorded is found by the next one, or by one that is told of its death.
func TestRecorder_Compare(t *testing.T) {
	e := newEngine(t)
	first := globalchanges.New(slog.New(slog.DiscardHandler))
	s := node(t, e, first)
	create(t, s, layer.GlobalChangesDatabase)
	end := first.Start(s)
	a, b := create(t, s, "a"), create(t, s, "b")
	put(t, a, "x")
	put(t, b, "x")
	wait(t, s, "created:a", "created:b", "updated:a", "updated:b")
	stop(t, end)

	killed := node(t, e, nil)
	d, err := killed.Database(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "y")
	if err := killed.Delete(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	create(t, killed, "empty")

	second := globalchanges.New(slog.New(slog.DiscardHandler))
	end = second.Start(s)
	wait(t, s, "created:a", "created:b", "deleted:b", "updated:a", "updated:b")
	if got := entries(t, s); !slices.Contains(got[len(got)-2:], "updated:a") {
		t.Errorf("the entry of a missed update is not new: %v", got)
	}
	before := entryRev(t, s, "updated:a")
	put(t, d, "z")
	second.Compare()
	for deadline := time.Now().Add(20 * time.Second); entryRev(t, s, "updated:a") == before; {
		if time.Now().After(deadline) {
			t.Fatal("the recorder does not compare when it is told to")
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop(t, end)
}

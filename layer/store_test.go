package layer_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// mustStore opens a store that is closed after the test and then checked: every database is consistent, and no
// transaction id is left.
func mustStore(tb testing.TB, e kv.Engine, o layer.Options) *layer.Store {
	tb.Helper()
	s, err := layer.Open(tb.Context(), faultkv.InSuite(tb, e), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if faulty, ok := e.(faultyEngine); ok {
			e = faulty.below
		}
		checkStore(tb, e)
		verifyInSuite(tb, e)
	})
	return s
}

// verifyVariable makes Verify check every store that tests leave. None may have faults.
const verifyVariable = "DIVAN_TEST_VERIFY"

func verifyInSuite(tb testing.TB, e kv.Engine) {
	tb.Helper()
	if os.Getenv(verifyVariable) == "" {
		return
	}
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Minute}})
	s, err := layer.Open(context.Background(), e, layer.Options{Scripts: sandbox})
	if err != nil {
		tb.Error(err)
		return
	}
	_, err = s.Verify(context.Background(), layer.VerifyOptions{Damage: func(d *layer.Damage) error {
		tb.Errorf("Verify says: %s", d)
		return nil
	}})
	if err = errors.Join(err, s.Close(), sandbox.Close()); err != nil {
		tb.Error(err)
	}
}

// mustDatabase creates a database in a new store.
func mustDatabase(tb testing.TB) *layer.Database {
	tb.Helper()
	return mustCreate(tb, mustStore(tb, mustEngine(tb), layer.Options{}), "db", layer.CreateOptions{})
}

func mustCreate(tb testing.TB, s *layer.Store, name string, o layer.CreateOptions) *layer.Database {
	tb.Helper()
	d, err := s.Create(tb.Context(), name, o)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// edit parses a document as a client sends it.
func edit(tb testing.TB, json string) layer.Edit {
	tb.Helper()
	e, err := layer.ParseEdit([]byte(json), false)
	if err != nil {
		tb.Fatalf("%s: %v", json, err)
	}
	return e
}

func replicated(tb testing.TB, json string) layer.Edit {
	tb.Helper()
	e, err := layer.ParseEdit([]byte(json), true)
	if err != nil {
		tb.Fatalf("%s: %v", json, err)
	}
	return e
}

// put writes a document interactively.
func put(tb testing.TB, d *layer.Database, json string) layer.Rev {
	tb.Helper()
	r, err := d.Put(tb.Context(), edit(tb, json), layer.WriteOptions{})
	if err != nil {
		tb.Fatalf("%s: %v", json, err)
	}
	return r
}

// push writes a document as a replicator does.
func push(tb testing.TB, d *layer.Database, json string) {
	tb.Helper()
	if _, err := d.Put(tb.Context(), replicated(tb, json), layer.WriteOptions{Replicated: true}); err != nil {
		tb.Fatalf("%s: %v", json, err)
	}
}

// get reads a document and renders it.
func get(tb testing.TB, d *layer.Database, id string, o layer.GetOptions) string {
	tb.Helper()
	doc, err := d.Get(tb.Context(), id, o)
	if err != nil {
		return err.Error()
	}
	return string(doc.AppendJSON(nil))
}

// wantKind fails unless err is of a kind.
func wantKind(tb testing.TB, err error, want layer.Kind) {
	tb.Helper()
	if err == nil || layer.KindOf(err) != want {
		tb.Fatalf("error %v, want kind %d", err, want)
	}
}

func rev(tb testing.TB, s string) layer.Rev {
	tb.Helper()
	r, err := parseRev(s)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

package layer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// between is an engine that calls a function before the next commit of a transaction with writes, once it is armed.
type between struct {
	kv.Engine
	armed atomic.Bool
	do    func()
}

func (e *between) Begin(ctx context.Context) kv.Transaction {
	return &betweenTransaction{e.Engine.Begin(ctx), e}
}

type betweenTransaction struct {
	kv.Transaction
	e *between
}

func (t *betweenTransaction) Commit() error {
	if t.Wrote() && t.e.armed.CompareAndSwap(true, false) {
		t.e.do()
	}
	return t.Transaction.Commit()
}

// While compaction removes the last body that refers to an attachment, another store changes the document between
// compaction's reads and its commit.
func TestCompact_races(t *testing.T) {
	const root = `{"_id":"a","_revisions":{"start":1,"ids":["r"]},"_attachments":{"x":{"data":"aGVsbG8="}}}`
	stub := `"_attachments":{"x":{"stub":true,"revpos":1}}`
	for name, c := range map[string]struct {
		before []string
		do     func(d *layer.Database)
		left   int
	}{
		"a branch from the old revision carries it over": {
			before: []string{root, `{"_id":"a","_revisions":{"start":2,"ids":["b","r"]}}`},
			do: func(d *layer.Database) {
				push(t, d, `{"_id":"a","_revisions":{"start":2,"ids":["c","r"]},`+stub+`}`)
			},
			left: 1,
		},
		"the other revision that has it is purged": {
			before: []string{root, `{"_id":"a","_revisions":{"start":2,"ids":["b","r"]},` + stub + `}`,
				`{"_id":"a","_revisions":{"start":2,"ids":["c","r"]}}`},
			do: func(d *layer.Database) {
				if purged, err := d.Purge(t.Context(), "a", []layer.Rev{rev(t, "2-b")}); err != nil ||
					len(purged) != 1 {
					t.Errorf("%v, %v", purged, err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			below := mustEngine(t)
			d := mustCreate(t, mustStore(t, below, layer.Options{}), "db", layer.CreateOptions{})
			for _, doc := range c.before {
				push(t, d, doc)
			}
			e := &between{Engine: below, do: func() { c.do(d) }}
			s, err := layer.Open(t.Context(), e, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			other, err := s.Database(t.Context(), "db")
			if err != nil {
				t.Fatal(err)
			}
			e.armed.Store(true)
			if err := other.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				stored, err := layer.StoredAttachments(t.Context(), d)
				if err != nil || len(stored) != c.left {
					t.Fatalf("%d attachments are stored, want %d; %v", len(stored), c.left, err)
				}
				if err := d.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

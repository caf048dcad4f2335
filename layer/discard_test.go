package layer_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// deadlines records the deadlines of transactions that have one.
type deadlines struct {
	kv.Engine
	mu   sync.Mutex
	seen []time.Time
}

func (e *deadlines) Begin(ctx context.Context) kv.Transaction {
	if at, ok := ctx.Deadline(); ok {
		e.mu.Lock()
		e.seen = append(e.seen, at)
		e.mu.Unlock()
	}
	return e.Engine.Begin(ctx)
}

// All uploads of edits that conflict are removed within one time limit. Otherwise a store that does not answer would
// delay the request once for each of them.
func TestBulk_discardsUploads(t *testing.T) {
	e := &deadlines{Engine: mustEngine(t)}
	d := mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{})
	var edits []layer.Edit
	for _, id := range []string{"a", "b", "c"} {
		put(t, d, `{"_id":"`+id+`"}`)
		edits = append(edits, layer.Edit{ID: id,
			Attachments: []layer.AttachmentEdit{{Name: "x", Data: make([]byte, 600_000), Length: -1}}})
	}
	e.mu.Lock()
	e.seen = nil
	e.mu.Unlock()
	results, err := d.Bulk(t.Context(), edits, layer.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if layer.KindOf(r.Err) != layer.Conflict {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
	e.mu.Lock()
	seen := slices.Clone(e.seen)
	e.mu.Unlock()
	if len(seen) < len(edits) {
		t.Errorf("only %d transactions with a deadline: the uploads were not removed", len(seen))
	}
	if different := slices.Compact(seen); len(different) != 1 {
		t.Errorf("deadlines of removals: %v", different)
	}
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	for _, row := range dump(t, tx) {
		if row.key[0] != int64(keyspace.Data) {
			continue
		}
		if sub := keyspace.Subspace(row.key[2].(int64)); sub == keyspace.Uploads || sub == keyspace.Attachments {
			t.Errorf("%v is left", row.key)
		}
	}
}

package embedded_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// TestEngine_Checkpoint copies a store under load: each copy opens, has everything that was acknowledged before, and
// is consistent.
func TestEngine_Checkpoint(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{MemTableBytes: 128 << 10})
	l := newLedger(4)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.run(ctx, e, nil) }()
	base := t.TempDir()
	var promises []promise
	for i := range 5 {
		for l.workers[0].acked.Load() < int64(20*(i+1)) {
			get(t, e, "total")
		}
		p := l.promised()
		if err := e.Checkpoint(t.Context(), filepath.Join(base, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		p.begun = l.begun()
		promises = append(promises, p)
	}
	if err := e.Checkpoint(t.Context(), filepath.Join(base, "0")); err == nil {
		t.Error("a checkpoint into an existing directory")
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i, p := range promises {
		c := mustOpen(t, filepath.Join(base, fmt.Sprint(i)), embedded.Options{})
		if err := newLedger(4).verify(t.Context(), c, p); err != nil {
			t.Errorf("checkpoint %d: %v", i, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Checkpoint(t.Context(), filepath.Join(base, "late")); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("a checkpoint of a closed store: %v", err)
	}
}

// A checkpoint of a damaged store fails, and the error names the file.
func TestEngine_Checkpoint_damaged(t *testing.T) {
	dir := writtenStore(t, 2)
	e := mustOpen(t, dir, embedded.Options{})
	if err := e.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "whole")); err != nil {
		t.Fatal(err)
	}
	damageAll(t, dir, 0.5)
	err := e.Checkpoint(t.Context(), filepath.Join(t.TempDir(), "damaged"))
	if !kv.IsCode(err, kv.CodeFileCorrupt) || !strings.Contains(err.Error(), ".sst: the block of ") {
		t.Errorf("a damaged store was copied: %v", err)
	}
	if d := e.Degraded(); len(d) == 0 {
		t.Error("the damage was not reported")
	}
}

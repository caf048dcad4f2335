package watch

import (
	"errors"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// Whoever comes first, a watch that is cancelled while it is armed does not stay registered.
func TestWatch_CancelWhileArming(t *testing.T) {
	ws := &Watches{Limit: 10}
	for range 20_000 {
		w, ok := ws.Make([]byte("k"), nil)
		if !ok {
			t.Fatal("no watch")
		}
		var both sync.WaitGroup
		both.Go(func() { ws.add(w) })
		both.Go(w.Cancel)
		both.Wait()
		if ws.Armed() || ws.count.Load() != 0 || !errors.Is(w.Err(), failure.ErrCancelled) {
			t.Fatalf("%d keys have watches, %d are not finished, %v", ws.keys.Load(), ws.count.Load(), w.Err())
		}
	}
}

// Very many feeds cancel watches that have fired, all at once. They do not wait for each other.
func TestWatch_CancelWhenDone(t *testing.T) {
	ws := &Watches{Limit: 10}
	w, _ := ws.Make([]byte("k"), nil)
	if !ws.add(w) {
		t.Fatal("not armed")
	}
	ws.remove(w)
	w.Finish(nil)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.Cancel()
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

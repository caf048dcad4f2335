package runtime

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// Hold ensures that a watch is cancelled when the life in which it was armed ends, even if the message that carries it
// is lost. Call it within Shell.Do. Cancel the returned watch when it is no longer needed, or Take it.
func (t *Tree) Hold(life context.Context, w kv.Watch) kv.Watch {
	t.io.Add(1)
	stop := context.AfterFunc(life, func() {
		defer t.io.Done()
		w.Cancel()
	})
	gone := make(chan struct{})
	take := sync.OnceFunc(func() {
		if stop() {
			t.io.Done()
		}
	})
	return heldWatch{w, gone, take, sync.OnceFunc(func() {
		close(gone)
		take()
	})}
}

type heldWatch struct {
	kv.Watch
	gone chan struct{} // closed by Cancel
	take func()        // idempotent
	let  func()        // idempotent
}

// Take ends the hold on a held watch: the caller cancels it when its life ends. So the end of very many lives at once
// does not start a goroutine for each.
func Take(w kv.Watch) { w.(heldWatch).take() }

// Cancel releases the watch. It is idempotent.
func (h heldWatch) Cancel() {
	h.let()
	h.Watch.Cancel()
}

// Released returns a channel that is closed when a held watch is cancelled.
func Released(w kv.Watch) <-chan struct{} { return w.(heldWatch).gone }

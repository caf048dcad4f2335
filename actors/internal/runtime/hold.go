package runtime

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// Hold makes sure that a watch is cancelled when the life ends in which it was armed, also where the message that
// carries it is lost then. Called in Shell.Do. Cancel the held one when it has served.
func (t *Tree) Hold(life context.Context, w kv.Watch) kv.Watch {
	t.io.Add(1)
	stop := context.AfterFunc(life, func() {
		defer t.io.Done()
		w.Cancel()
	})
	gone := make(chan struct{})
	return heldWatch{w, gone, sync.OnceFunc(func() {
		close(gone)
		if stop() {
			t.io.Done()
		}
	})}
}

type heldWatch struct {
	kv.Watch
	gone chan struct{} // closed by Cancel
	let  func()        // idempotent
}

// Cancel releases the watch. Idempotent.
func (h heldWatch) Cancel() {
	h.let()
	h.Watch.Cancel()
}

// Released is closed when a held watch is cancelled.
func Released(w kv.Watch) <-chan struct{} { return w.(heldWatch).gone }

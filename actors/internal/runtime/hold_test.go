package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// cancels counts how often a watch is cancelled.
type cancels struct {
	kv.Watch
	n atomic.Int64
}

func (c *cancels) Cancel() { c.n.Add(1) }

// A held watch is cancelled when its life ends, unless it was taken: then only by whoever took it. The end of the tree
// waits for neither in vain.
func TestTree_Hold(t *testing.T) {
	for _, c := range []struct {
		name          string
		take, release bool
		byHold        int64
	}{
		{"held", false, false, 1},
		{"taken", true, false, 0},
		{"cancelled", false, true, 1},
		{"taken and cancelled", true, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
			life, end := context.WithCancel(t.Context())
			defer end()
			w := &cancels{}
			held := tree.Hold(life, w)
			if c.take {
				Take(held)
				Take(held)
			}
			if c.release {
				held.Cancel()
			}
			end()
			tree.io.Wait() // for the hold
			if n := w.n.Load(); n != c.byHold {
				t.Fatalf("cancelled %d times, want %d", n, c.byHold)
			}
			if c.take && !c.release {
				held.Cancel()
			}
			if n := w.n.Load(); n != 1 {
				t.Errorf("cancelled %d times in the end", n)
			}
		})
	}
}

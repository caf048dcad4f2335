package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// The sizes of a simulation.
const (
	nodes       = 5
	linger      = 2 * time.Second
	startWithin = 8 * time.Second
	slowest     = 20 * time.Millisecond // the longest delay of one call of the engine
)

// world is a simulated cluster with its clients.
type world struct {
	t       *testing.T
	seed    uint64
	log     *history
	rates   faultkv.Rates
	net     *simnet.Network
	below   kv.Engine // of all nodes
	truth   *layer.Store
	moves   bool // n1 returns under another address than the others know, and they have only that one to join
	scripts *script.Sandbox
	nodes   []*node
	dbs     []*database

	ending  sync.WaitGroup // what is left of killed nodes
	calm    atomic.Bool    // there are no more troubles
	clients sync.WaitGroup // until quit is closed
	quit    chan struct{}
	// followers go on until over is closed.
	followers sync.WaitGroup
	over      chan struct{}
	// workers do errands until errandsOver is closed.
	workers     sync.WaitGroup
	errandsOver chan struct{}
	errands     errands

	mu struct {
		sync.Mutex
		full time.Time // when the disk was last full
	}
}

// newWorld starts a cluster. It must be called in a bubble of synctest.
func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, log: newHistory(t), quit: make(chan struct{}), over: make(chan struct{})}
	w.errandsOver = make(chan struct{})
	w.errands.asked, w.errands.begun = map[string]time.Time{}, map[string]time.Time{}
	w.errands.ended = map[string]bool{}
	r := source(seed, "world", 0)
	base, err := embedded.Open(directory(t), embedded.Options{Logger: slog.New(slog.DiscardHandler),
		CacheBytes: 8 << 20, MemTableBytes: 4 << 20, ResolverBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := base.Close(); err != nil {
			t.Error(err)
		}
	})
	w.below = shared{base}
	if r.IntN(2) == 0 {
		w.below = snapshots{shared{base}, base}
	}
	w.rates = faultkv.Rates{Conflict: 0.01, TooOld: 0.0005, FutureVersion: 0.005, UnknownLost: 0.02,
		UnknownCommitted: 0.03, Slow: 0.03, Spurious: 0.05}
	w.scripts = script.New(script.Options{})
	t.Cleanup(func() { w.scripts.Close() })
	if w.truth, err = layer.Open(t.Context(), base, layer.Options{Scripts: w.scripts}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.truth.Close(); err != nil {
			t.Error(err)
		}
	})
	w.net = simnet.New(seed, simnet.Faults{Lose: 0.01, Double: 0.02, Delay: 3 * time.Millisecond})
	for i := range nodes {
		n := &node{w: w, name: fmt.Sprintf("n%d", i+1)}
		n.ip, n.other = fmt.Sprintf("127.0.0.%d", i+1), fmt.Sprintf("127.0.0.%d", i+11)
		n.at = n.ip
		n.clock = time.Duration(r.IntN(3)-1) * time.Hour
		w.nodes = append(w.nodes, n)
	}
	w.moves = r.IntN(2) == 0
	var starting sync.WaitGroup
	for _, n := range w.nodes {
		starting.Go(func() { n.up(t.Context()) })
	}
	starting.Wait()
	return w
}

// directory returns an empty directory, in memory if possible.
func directory(t *testing.T) string {
	const memory = "/dev/shm"
	dir, err := os.MkdirTemp(memory, "divan-simulation") //nolint:usetesting // T.TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// addresses lists the addresses that the node has now or may have later.
func (n *node) addresses() []string { return []string{n.ip, n.other} }

// joins returns the addresses that a new life of the node is told to join. Where the first node moves, the others have
// nothing but the address that it had at the beginning, until an operator starts them again, with all addresses of the
// others. (With one address each, two nodes that are started again in a partition could be told of one another only,
// and nobody would know of both them and the others.)
func (n *node) joins() (list []string) {
	first := n.w.nodes[0]
	if n.w.moves && n.lives == 1 {
		if n != first {
			list = append(list, first.ip+":7946")
		}
		return list
	}
	for _, o := range n.w.nodes {
		switch {
		case o == n || n.w.moves && o == first:
		case !n.w.moves:
			list = append(list, o.ip+":7946")
		case o.current() != nil: // it is up, even if it cannot be reached now
			list = append(list, o.ip+":7946")
		}
	}
	return list
}

// gone reports whether all others have given a node up, or know that it has left. A node that returns under another
// address before that is first given up, and is back only some seconds later.
func (w *world) gone(n *node) bool {
	known := false
	for _, l := range w.alive() {
		for _, m := range l.cluster.Members() {
			if m.Name == n.name && m.Status != cluster.Left {
				return false
			}
			known = known || m.Name == n.name
		}
	}
	return known
}

// up starts a node, again and again as an init system does.
func (n *node) up(ctx context.Context) {
	for ctx.Err() == nil && n.current() == nil {
		if err := n.start(ctx); err != nil {
			n.w.log.add("%s could not start: %v", n.name, err)
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// alive lists the nodes that are up.
func (w *world) alive() (list []*life) {
	for _, n := range w.nodes {
		if l := n.current(); l != nil {
			list = append(list, l)
		}
	}
	return list
}

// healthy counts the nodes that are up and have had the store for a while.
func (w *world) healthy(d time.Duration) (n int) {
	for _, l := range w.alive() {
		if since, ok := l.clearSince(); ok && time.Since(since) >= d {
			n++
		}
	}
	return n
}

// wasFull reports whether the disk is full or was within a time.
func (w *world) wasFull(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.mu.full.IsZero() && time.Since(w.mu.full) < d
}

// isFull reports whether the disk is full.
func (w *world) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.full.After(time.Now())
}

// running reports whether clients go on.
func (w *world) running() bool { return open(w.quit) }

func open(c chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// stop stops all nodes, and waits for everything.
func (w *world) stop() {
	var leaving sync.WaitGroup
	for _, n := range w.nodes {
		leaving.Go(n.leave)
	}
	leaving.Wait()
	w.ending.Wait()
	time.Sleep(10 * time.Second) // memberlist does not wait for its own goroutines
}

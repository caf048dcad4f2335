package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
)

// watchCounter counts the watches of an engine: those currently armed, and all ever armed.
type watchCounter struct {
	kv.Engine
	mu    sync.Mutex
	armed map[*countedWatch]bool
	total int
}

type countedTransaction struct {
	kv.Transaction
	w *watchCounter
}

type countedWatch struct {
	kv.Watch
	w *watchCounter
}

func (w *watchCounter) Begin(ctx context.Context) kv.Transaction {
	return countedTransaction{w.Engine.Begin(ctx), w}
}

func (t countedTransaction) Watch(key []byte) kv.Watch {
	c := &countedWatch{t.Transaction.Watch(key), t.w}
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	t.w.armed[c] = true
	t.w.total++
	return c
}

func (c *countedWatch) Cancel() {
	c.Watch.Cancel()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	delete(c.w.armed, c)
}

func (w *watchCounter) counts() (armed, total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.armed {
		select {
		case <-c.Done():
		default:
			armed++
		}
	}
	return armed, w.total
}

// startNodes starts nodes n0, n1, ... over one engine, each with a store of its own, as processes have.
func startNodes(t *testing.T, engine kv.Engine, count int,
	grace time.Duration) (m *mesh, systems []*actors.System, stores []*layer.Store) {
	t.Helper()
	m = newMesh()
	m.beat, m.grace = time.Second, grace // a slow machine must not cause doubt here
	for i := range count {
		sandbox := script.New(script.Options{})
		t.Cleanup(func() { sandbox.Close() })
		store, err := layer.Open(t.Context(), engine, layer.Options{Scripts: sandbox})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, store)
		systems = append(systems, m.startNode(t, actors.FromLayer(store), fmt.Sprint("n", i)))
	}
	return m, systems, stores
}

// openEngine returns an engine that is closed at the end of the test.
func openEngine(t testing.TB) *embedded.Engine {
	t.Helper()
	engine, err := embedded.Open(t.TempDir(), embedded.Options{CacheBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// On the real layer and engine, three nodes with many listeners each on four shards need four watches in the store. A
// commit costs one more, through whichever node it comes. Each node has four more watches, on the job queues.
func TestPeers_WatchesInTheStore(t *testing.T) {
	counter := &watchCounter{Engine: openEngine(t), armed: map[*countedWatch]bool{}}
	const nodes, each, shards, queue = 3, 100, 4, 3 * 4
	m, systems, stores := startNodes(t, counter, nodes, 0)
	ids := shardsOf(t, create(t, stores[0], "cities", shards))
	for i, id := range ids {
		m.place("cities/"+string(id), fmt.Sprint("n", i%nodes))
	}
	var all listeners
	var last *layer.Database
	for i, s := range systems {
		db, err := stores[i].Database(t.Context(), "cities")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, listen(t, s, actors.Of(db), each, ids...)...)
		last = db
	}
	eventually(t, func() string {
		if armed, _ := counter.counts(); armed != shards+queue {
			return fmt.Sprintf("%d watches for %d shards and %d on queues", armed, shards, queue)
		}
		return ""
	})
	all.drain()
	time.Sleep(100 * time.Millisecond) // nothing is armed without a commit
	_, before := counter.counts()
	const commits = 20
	for i := range commits {
		put(t, last, fmt.Sprintf(`{"_id":"doc-%d"}`, i))
		all.wake(t, "a commit")
	}
	eventually(t, func() string {
		armed, total := counter.counts()
		if armed != shards+queue || total-before > commits {
			return fmt.Sprintf("%d watches; %d more were armed for %d commits", armed, total-before, commits)
		}
		return ""
	})
}

// A commit wakes listeners before the next watch is armed: they do not wait for the arming, and are not woken again
// when it ends. Later commits wake them again.
func TestListen_WokenBeforeTheNextWatch(t *testing.T) {
	db := newDatabase("cities")
	release := make(chan struct{}, 1)
	// so that the guard does not wake them
	s := start(t, newStore(t, db), func(o *actors.Options) { o.Beat = time.Minute })
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "the first watch")
	eventually(t, func() string {
		if db.armed() != 1 {
			return "no watch"
		}
		return ""
	})
	db.set(func() {
		db.arming = func(ctx context.Context) {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	})
	wakes := s.Metrics().Wakes
	for range 3 {
		db.commit("a")
		receives(t, ch, "a commit, while the next watch is not armed yet")
		if n := db.armed(); n != 0 {
			t.Fatalf("%d watches are armed", n)
		}
		release <- struct{}{}
		eventually(t, func() string {
			if db.armed() != 1 {
				return "no watch"
			}
			return ""
		})
	}
	if n := s.Metrics().Wakes - wakes; n != 3 || len(ch) != 0 {
		t.Errorf("three commits have woken the listener %d times", n)
	}
}

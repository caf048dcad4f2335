package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/cluster/simnet"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/node/peers"
)

// node is a node with its lives.
type node struct {
	w     *world
	name  string
	ip    string        // its first address
	other string        // its address when it has moved
	at    string        // one of these
	clock time.Duration // by how much its clock is wrong
	lives int

	mu struct {
		sync.Mutex
		now  *life // nil while it is down
		last *life // the last one, which may be over
	}
}

// life is one start of a node. Its fields do not change.
type life struct {
	*node
	number  int
	host    *simnet.Host
	engine  faultkv.Engine
	store   *layer.Store
	cluster *cluster.Cluster
	actors  *actors.System
	over    context.Context // ends when the node dies or begins to leave
	end     context.CancelFunc
	sick    *atomic.Int32 // how its shard actors fail: faultsNone, faultsAtStart or faultsLater

	mu struct {
		sync.Mutex
		hung  time.Time // since when the store does not answer it; zero: it does
		clear time.Time // since when it does
		died  time.Time
		// told is how often failures of an actor were reported
		told map[string]int
		// gaveUp has the ids that members had when this one gave them up, by name
		gaveUp map[string]string
	}
}

func (l *life) String() string { return l.name }

// current returns the node's current life, or nil.
func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.now
}

// shared is the engine below those of all nodes, which none of them closes.
type shared struct{ kv.Engine }

func (shared) Close() error { return nil }

// snapshots is shared with long snapshots.
type snapshots struct {
	shared
	kv.Snapshotter
}

// start starts the node, which must be down. It returns an error if it could not start, as a process would end.
func (n *node) start(ctx context.Context) error {
	n.lives++
	l := &life{node: n, number: n.lives, sick: new(atomic.Int32)}
	l.mu.told, l.mu.gaveUp = map[string]int{}, map[string]string{}
	l.over, l.end = context.WithCancel(n.w.t.Context())
	l.mu.clear = time.Now()
	faults := source(n.w.seed, n.name, n.lives).Uint64()
	l.engine = faultkv.New(n.w.below, faultkv.Options{Seed: faults, Rates: n.w.rates, Delay: slowest})
	l.engine.Fill(n.w.isFull())
	quiet := slog.New(slog.DiscardHandler)
	var err error
	if n.w.moves && n == n.w.nodes[0] && n.w.gone(n) {
		n.at = n.other
	}
	ip := n.at
	if l.host, err = n.w.net.Host(ip); err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	l.store, err = layer.Open(opening, l.engine, layer.Options{Scripts: n.w.scripts, Logger: quiet,
		CleanupAfter: time.Second, Wall: func() time.Time { return time.Now().Add(n.clock) }})
	if err != nil {
		l.host.Kill()
		return fmt.Errorf("open the store: %w", err)
	}
	system := actors.NewActorSystem(quiet)
	var running atomic.Pointer[actors.System]
	l.cluster, err = cluster.Start(opening, cluster.Options{
		System: system, Name: n.name, Gossip: l.host.Gossip(), Join: n.joins(), Store: l.store.UUID(),
		Claim: l.store.NodeName(n.name), HTTP: ip + ":5984", SQL: ip + ":5433", Version: "simulated", Logger: quiet,
		Network: l.host,
		Receive: func(from string, message []byte) {
			if s := running.Load(); s != nil {
				s.Receive(from, message)
			}
		},
		Answer: func(_ context.Context, from string, question []byte) ([]byte, error) {
			return fmt.Appendf(nil, "%s to %s: %s", n.name, from, question), nil
		},
		Notify: func(e cluster.Event) {
			n.w.log.add("%s sees: %s %s", n.name, e.Member, e.Kind)
			if e.Kind == cluster.MemberDead {
				l.gaveUp(e.Member)
			}
		},
	})
	if err != nil {
		l.host.Kill()
		_ = l.store.Close() // its reason is reported
		return fmt.Errorf("join: %w", err)
	}
	l.actors, err = actors.Start(actors.Options{
		System: system, Store: l.port(), Peers: peers.Of(l.cluster), Node: n.name, Logger: quiet,
		Linger: linger, ShareFrom: 50, Batch: 4, MaxShards: 2, Notify: l.notify,
	})
	if err != nil {
		return err
	}
	running.Store(l.actors)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.now, n.mu.last = l, l
	l.engine.Fill(n.w.isFull()) // this may have changed since the start began
	n.w.log.add("%s is up (life %d, clock %+v)", n.name, l.number, n.clock)
	n.w.workers.Go(l.runErrands)
	return nil
}

func (l *life) notify(e actors.Event) {
	switch {
	case e.Failed != nil:
		l.w.log.add("%s: actor %s failed: %s", l, e.Failed.Actor, e.Failed.Reason)
		l.mu.Lock()
		l.mu.told[e.Failed.Actor]++
		l.mu.Unlock()
		if e.Failed.Reason != sickness {
			l.w.log.violated("no actor fails", "%s: %s\n%s", l, e.Failed.Reason, e.Failed.Stack)
		}
	case e.Took != nil:
		l.w.log.add("%s took over %s %s from %s with token %d", l, e.Took.Type, e.Took.ID, e.Took.From, e.Took.Token)
		l.w.log.count("jobs taken over")
	}
}

// take takes the current life, so that no client begins anything with it.
func (n *node) take() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.mu.now
	if l == nil {
		return nil
	}
	n.mu.now = nil
	l.mu.Lock()
	l.mu.died = time.Now()
	l.mu.Unlock()
	return l
}

// kill ends the node as SIGKILL does.
func (n *node) kill() {
	l := n.take()
	if l == nil {
		return
	}
	n.w.log.add("%s is killed", n.name)
	l.host.Kill()
	l.engine.Kill()
	l.end()
	n.w.ending.Go(func() { l.stop() }) // what is left of the process has no effect
}

// leave stops the node as SIGTERM does.
func (n *node) leave() {
	l := n.take()
	if l == nil {
		return
	}
	n.w.log.add("%s leaves", n.name)
	ctx, cancel := context.WithTimeout(n.w.t.Context(), 300*time.Millisecond)
	l.actors.Drain(ctx)
	cancel()
	begun := time.Now()
	l.end()
	l.stop()
	n.w.log.add("%s has left", n.name)
	n.w.handedOver(l, begun)
}

// stop stops the parts in the order of package node.
func (l *life) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := l.actors.Stop(ctx); err != nil {
		l.w.log.violated("a node stops", "%s: %v", l, err)
	}
	_ = l.cluster.Stop() // fails if there is nobody to tell
	_ = l.store.Close()  // fails if the engine is dead
	l.host.Kill()
	l.engine.Kill()
	_ = l.engine.Close()
}

// hang cuts the node off from the store, or ends that.
func (l *life) hang(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on {
		l.mu.hung = time.Now()
		l.engine.Hang()
		return
	}
	l.mu.hung, l.mu.clear = time.Time{}, time.Now()
	l.engine.Resume()
}

// clearSince returns since when the store has answered the node, and whether it does.
func (l *life) clearSince() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.clear, l.mu.hung.IsZero()
}

// lost returns since when the node has been dead or without the store, or the zero time.
func (l *life) lost() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.died.IsZero() {
		return l.mu.died
	}
	return l.mu.hung
}

// source returns random numbers for a purpose.
func source(seed uint64, purpose string, n int) *rand.Rand {
	h := seed
	for _, c := range purpose {
		h = h*1099511628211 + uint64(c)
	}
	return rand.New(rand.NewPCG(h, uint64(n)))
}

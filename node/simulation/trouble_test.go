package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/cluster/simnet"
	"github.com/divandb/divan/layer"
)

// trouble is something that goes wrong for a while.
type trouble struct {
	name string
	// begin starts it and returns how to end it, or nil if it is not possible now.
	begin func(w *world, r *rand.Rand) (end func())
	// shortest and longest bound its duration.
	shortest, longest time.Duration
}

// longEvery is how many seeds there are for each one with long troubles, in which members are given up, nodes start in
// a partition, and actors fail for so long that they are restarted late.
const longEvery = 4

// most is how many nodes may be down or without the store at the same time, so that there are others to go on.
const most = 3

func (w *world) lostNodes() (n int) {
	for _, x := range w.nodes {
		if l := x.current(); l == nil || !l.lost().IsZero() {
			n++
		}
	}
	return n
}

// pick returns a node that is up and has the store, or nil if too few would be left. It prefers one that holds a job.
func (w *world) pick(r *rand.Rand) *life {
	i := r.IntN(len(w.nodes))
	if r.IntN(3) > 0 {
		for j, err := range w.truth.Jobs(w.t.Context()) {
			if err == nil && j.State == layer.JobRunning {
				i = slices.IndexFunc(w.nodes, func(n *node) bool { return n.name == j.Worker })
			}
		}
	}
	if l := w.nodes[i].current(); l != nil && l.lost().IsZero() && w.lostNodes() < most {
		return l
	}
	return nil
}

// direction says which messages between some nodes and all others are lost.
type direction int

const (
	bothWays  direction = iota
	unheard             // those from them
	unhearing           // those to them
)

// apart cuts messages between some nodes and all others.
func (w *world) apart(way direction, some ...*node) (end func()) {
	inside := map[*node]bool{}
	for _, n := range some {
		inside[n] = true
	}
	var cuts [][2]string
	for _, a := range w.nodes {
		for _, b := range w.nodes {
			if inside[a] && !inside[b] && way != unhearing || inside[b] && !inside[a] && way != unheard {
				for _, from := range a.addresses() {
					for _, to := range b.addresses() {
						cuts = append(cuts, [2]string{from, to})
					}
				}
			}
		}
	}
	for _, c := range cuts {
		w.net.Cut(c[0], c[1], true)
	}
	return func() {
		for _, c := range cuts {
			w.net.Cut(c[0], c[1], false)
		}
	}
}

var troubles = []trouble{
	{"kill", func(w *world, r *rand.Rand) func() {
		l := w.pick(r)
		if l == nil {
			return nil
		}
		l.kill()
		return func() { l.up(w.t.Context()) }
	}, 0, 6 * time.Second},
	{"leave", func(w *world, r *rand.Rand) func() {
		l := w.pick(r)
		if l == nil {
			return nil
		}
		l.leave()
		return func() { l.up(w.t.Context()) }
	}, 0, 4 * time.Second},
	{"partition", func(w *world, r *rand.Rand) func() {
		a, b := w.nodes[r.IntN(nodes)], w.nodes[r.IntN(nodes)]
		w.log.add("%s and %s are cut off from the others", a.name, b.name)
		return w.apart(bothWays, a, b)
	}, 0, 12 * time.Second},
	{"one-way partition", func(w *world, r *rand.Rand) func() {
		a := w.nodes[r.IntN(nodes)]
		if r.IntN(2) == 0 {
			w.log.add("nobody hears %s", a.name)
			return w.apart(unheard, a)
		}
		w.log.add("%s hears nobody", a.name)
		return w.apart(unhearing, a)
	}, 0, 12 * time.Second},
	{"no store", func(w *world, r *rand.Rand) func() {
		l := w.pick(r)
		if l == nil {
			return nil
		}
		w.log.add("%s has lost the store", l)
		l.hang(true)
		return func() {
			w.log.add("%s has the store again", l)
			l.hang(false)
		}
	}, 0, 6 * time.Second},
	{"pause", func(w *world, r *rand.Rand) func() {
		l := w.pick(r)
		if l == nil {
			return nil
		}
		w.log.add("%s stands still", l)
		l.hang(true)
		heal := w.apart(bothWays, l.node)
		return func() {
			w.log.add("%s goes on", l)
			heal()
			l.hang(false)
		}
	}, 0, 6 * time.Second},
	// A worker stands still in the middle of a build, for so long that another one takes it over and documents change,
	// and then goes on as if nothing had happened.
	{"stalled build", func(w *world, r *rand.Rand) func() {
		l := w.builder(r)
		if l == nil {
			return nil
		}
		w.log.add("%s stands still in the middle of a build", l)
		l.hang(true)
		heal := func() {}
		if r.IntN(2) == 0 {
			heal = w.apart(bothWays, l.node)
		}
		return func() {
			w.log.add("%s goes on with its build", l)
			l.hang(false)
			heal()
		}
	}, 3 * time.Second, 6 * time.Second},
	{"sick actors", func(w *world, r *rand.Rand) func() {
		l := w.pick(r)
		if l == nil {
			return nil
		}
		fault, what := faultsAtStart, "as they start"
		if r.IntN(2) == 0 {
			fault, what = faultsLater, "while they watch"
		}
		w.log.add("the shard actors of %s begin to fail %s", l, what)
		l.sick.Store(fault)
		return func() {
			w.log.add("the shard actors of %s no longer fail", l)
			l.sick.Store(faultsNone)
		}
	}, 0, 10 * time.Second},
	{"full disk", func(w *world, r *rand.Rand) func() {
		w.log.add("the disk is full")
		w.fill(true)
		return func() {
			w.log.add("the disk has room")
			w.fill(false)
		}
	}, 0, 2 * time.Second},
	{"bad network", func(w *world, r *rand.Rand) func() {
		f := simnet.Faults{Lose: r.Float64() / 3, Double: r.Float64() / 3,
			Delay: time.Duration(r.IntN(200)+1) * time.Millisecond}
		w.log.add("the network loses %.0f %%, doubles %.0f %% and takes up to %v", 100*f.Lose, 100*f.Double, f.Delay)
		w.net.Change(f)
		return func() {
			w.log.add("the network is good again")
			w.net.Change(simnet.Faults{Delay: 3 * time.Millisecond})
		}
	}, 0, 6 * time.Second},
}

// builder waits until a node builds an index, and returns it, or nil if there is none for a while.
func (w *world) builder(r *rand.Rand) *life {
	if l := w.any(r); l != nil {
		d := w.dbs[r.IntN(len(w.dbs))]
		w.clients.Go(func() {
			d.redesign(l)
			_ = d.query(l, time.Second) // so that there is a build
		})
	}
	patience := time.Duration(r.IntN(60)) * time.Millisecond // into the build
	for range 100 {
		time.Sleep(10 * time.Millisecond)
		for j, err := range w.truth.Jobs(w.t.Context()) {
			if err != nil || j.State != layer.JobRunning || !strings.HasPrefix(j.Type, layer.IndexJobs) {
				continue
			}
			time.Sleep(patience)
			for _, l := range w.alive() {
				if l.name == j.Worker && l.lost().IsZero() && w.lostNodes() < most {
					return l
				}
			}
		}
	}
	return nil
}

// fill makes the disk full for all nodes, or not.
func (w *world) fill(full bool) {
	w.mu.Lock()
	w.mu.full = time.Now()
	if full {
		w.mu.full = time.Now().Add(24 * time.Hour)
	}
	w.mu.Unlock()
	for _, l := range w.alive() {
		l.engine.Fill(full)
	}
}

// trouble makes troubles, and returns when all are over.
func (w *world) trouble() {
	r := source(w.seed, "trouble", 0)
	lasts := *duration
	switch {
	case lasts != 0:
	case w.seed%longEvery == 0:
		lasts = 8*time.Second + time.Duration(r.Int64N(int64(12*time.Second)))
	default:
		lasts = time.Second + time.Duration(r.Int64N(int64(2500*time.Millisecond)))
	}
	var going sync.WaitGroup
	begun := time.Now()
	running := map[string]bool{}
	var mu sync.Mutex
	for time.Since(begun) < lasts {
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		x := troubles[r.IntN(len(troubles))]
		left := max(lasts-time.Since(begun), 0) + 1500*time.Millisecond
		span := x.shortest + min(time.Duration(r.Int64N(int64(x.longest-x.shortest))), left)
		fate := rand.New(rand.NewPCG(r.Uint64(), 0))
		mu.Lock()
		twice := running[x.name]
		running[x.name] = true
		mu.Unlock()
		if twice {
			continue
		}
		over := func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, x.name)
		}
		end := x.begin(w, fate)
		if end == nil {
			over()
			continue
		}
		w.log.count(x.name)
		going.Go(func() {
			defer over()
			time.Sleep(span)
			end()
		})
	}
	going.Wait()
}

package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 200, "how many seeds to simulate")
	first = flag.Uint64("first", 1, "the first seed")

	duration = flag.Duration("troubles", 0, "for how long of simulated time there are troubles; 0: some seconds")
)

// mostLeft is how many bytes may be in use when all simulations are over.
const mostLeft = 64 << 20

func TestMain(m *testing.M) {
	flag.Parse()
	// With one processor, goroutines that are ready at the same instant mostly run in the same order every time.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400) // a seed needs little memory, and there are many of them
	os.Exit(m.Run())
}

// total is what all simulations did together, so that a test can see that they did something.
type total struct {
	mu     sync.Mutex
	counts map[string]int
	most   map[string]time.Duration
}

func (a *total) add(h *history) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for what, n := range h.mu.counts {
		a.counts[what] += n
	}
	for what, d := range h.mu.most {
		a.most[what] = max(a.most[what], d)
	}
}

// TestSimulation runs five nodes in trouble (T4). See the package comment.
func TestSimulation(t *testing.T) {
	all := &total{counts: map[string]int{}, most: map[string]time.Duration{}}
	if testing.Short() {
		*seeds = min(*seeds, 20)
	}
	for seed := *first; seed < *first+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { all.add(simulate(t, seed)) })
		})
	}
	for _, what := range slices.Sorted(maps.Keys(all.counts)) {
		t.Logf("%8d %s", all.counts[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(all.most)) {
		t.Logf("%8v at most: %s", all.most[what].Round(time.Millisecond), what)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%8d MB are in use afterwards, by %d goroutines", m.HeapAlloc>>20, runtime.NumGoroutine())
	if m.HeapAlloc > mostLeft {
		t.Errorf("%d MB are in use after all simulations", m.HeapAlloc>>20)
	}
	if *seeds < 100 || t.Failed() {
		return
	}
	needed := []string{"writes", "queries", "wakes", "errands", "reshards", "deletions", "new views", "jobs taken over",
		"writes without an answer", "writes that were not acknowledged and happened"}
	for _, x := range troubles {
		needed = append(needed, x.name)
	}
	for _, what := range needed {
		if all.counts[what] == 0 {
			t.Errorf("there were no %s, so the simulation has proved little", what)
		}
	}
}

// simulate runs one seed.
func simulate(t *testing.T, seed uint64) *history {
	w := newWorld(t, seed)
	defer func() { w.log.report(seed) }()
	r := source(seed, "sizes", 0)
	for _, name := range []string{"a", "b"} {
		d, err := w.create(name, 1+r.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		w.dbs = append(w.dbs, d)
	}
	var followers []*follower
	for i := range 5 {
		f := &follower{w: w, d: w.dbs[i%len(w.dbs)], n: i}
		followers = append(followers, f)
		w.followers.Go(f.follow)
	}
	const writers = 3
	for i := range writers {
		w.clients.Go(func() { w.writer(i, writers) })
	}
	for i := range 2 {
		w.clients.Go(func() { w.querier(i) })
	}
	w.clients.Go(w.changer)
	w.clients.Go(w.deleter)
	w.clients.Go(w.watchJobs)
	w.clients.Go(w.watchActors)
	w.clients.Go(w.asker)
	w.trouble()
	w.log.add("all troubles are over")
	w.calm.Store(true)
	w.settle()
	time.Sleep(time.Second) // of work without troubles
	close(w.quit)
	w.clients.Wait()
	w.checkErrands()
	close(w.errandsOver)
	w.workers.Wait()
	time.Sleep(wokenWithin)
	close(w.over)
	w.followers.Wait()
	w.checkContents(followers)
	w.checkRest()
	w.stop()
	w.verify()
	return w.log
}

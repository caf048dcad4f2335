package actors_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/actors"
)

// The times of a warm actor in these tests: it gathers changes for 100 ms, leaves aggregates alone for 800 ms, and
// checks every 15 minutes whether the indexes are still used.
const (
	gathers = 100 * time.Millisecond
	settles = 8 * gathers
)

// pace records when things happen, in synctest's time.
type pace struct {
	db    *database
	ask   func() // requests an update of the index
	begun time.Time
	taken time.Duration // by an Aggregate with something to do
	// starts and ends of Aggregates with something to do; one more start than ends means that one is running
	starts, ends []time.Duration
}

// warmed returns a system that keeps an index of five commits warm, with no work left, and the beginning of the pace of
// what follows.
func warmed(t *testing.T, taken time.Duration) *pace {
	p := &pace{db: newDatabase("cities"), taken: taken}
	// It runs last, because dead letters of the stop are counted in a goroutine that waits.
	t.Cleanup(func() { time.Sleep(time.Second) })
	s := start(t, newStore(t, p.db),
		func(o *actors.Options) { o.WarmFor, o.WarmGather, o.Linger = time.Hour, gathers, time.Minute })
	p.ask = func() {
		if err := s.Ensure(t.Context(), p.db, p.db.design); err != nil {
			t.Error(err)
		}
	}
	commits(p.db, "a", 5)
	p.ask()
	time.Sleep(10 * time.Second)
	if p.behind() != "" {
		t.Fatalf("after ten seconds: %s", p.behind())
	}
	p.begun = time.Now()
	p.db.set(func() { p.db.aggregates = p.aggregate })
	return p
}

func (p *pace) now() time.Duration { return time.Since(p.begun) }

func (p *pace) aggregate() {
	p.db.set(func() { p.starts = append(p.starts, p.now()) })
	time.Sleep(p.taken)
	p.db.set(func() { p.ends = append(p.ends, p.now()) })
}

// under returns how long the current Aggregate has been running, or a negative value if none is.
func (p *pace) under() time.Duration {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	if len(p.starts) == len(p.ends) {
		return -1
	}
	return p.now() - p.starts[len(p.starts)-1]
}

// aggregated returns when Aggregates began, and when they ended.
func (p *pace) aggregated() (starts, ends []time.Duration) {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	return slices.Clone(p.starts), slices.Clone(p.ends)
}

// indexed returns how many commits are indexed.
func (p *pace) indexed() uint64 {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	return sum(p.db.indexed)
}

// behind returns what is not up to date, or "".
func (p *pace) behind() string {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	if rows, all := sum(p.db.indexed), sum(p.db.version); rows != all || p.db.aggregated != all {
		return fmt.Sprintf("of %d commits %d are indexed and %d aggregated", all, rows, p.db.aggregated)
	}
	return ""
}

func (p *pace) caughtUp() int {
	p.db.mu.Lock()
	defer p.db.mu.Unlock()
	return p.db.catchUps
}

// commitFor commits every forty milliseconds.
func (p *pace) commitFor(d time.Duration) {
	for until := p.now() + d; p.now() < until; time.Sleep(40 * time.Millisecond) {
		p.db.commit("a")
	}
}

// A change is in the index as soon as changes have been gathered, and not sooner. During continuous changes, the index
// is updated once per gathering.
func TestWarm_PaceOfUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := warmed(t, 0)
		before := p.caughtUp()
		p.db.commit("a")
		time.Sleep(gathers - time.Millisecond)
		if n := p.caughtUp() - before; n != 0 {
			t.Errorf("%d updates before changes were gathered", n)
		}
		p.db.commit("a")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := p.caughtUp() - before; n != 1 || p.indexed() != 7 {
			t.Errorf("%d updates, %d commits of 7 indexed when changes were gathered", n, p.indexed())
		}
		time.Sleep(settles)
		before = p.caughtUp()
		p.commitFor(time.Minute)
		if n := time.Duration(p.caughtUp() - before); n < time.Minute/gathers*2/3 || n > time.Minute/gathers {
			t.Errorf("%d updates in a minute of changes", n)
		}
		time.Sleep(gathers + 2*settles)
		if p.behind() != "" {
			t.Error(p.behind())
		}
		before = p.caughtUp()
		time.Sleep(time.Minute)
		if n := p.caughtUp() - before; n != 0 {
			t.Errorf("%d updates without changes", n)
		}
	})
}

// During continuous changes, aggregates are updated again and again, but only for a limited part of the time: they rest
// for three times the duration of an update, and at least for the settling time.
func TestWarm_PaceOfAggregates(t *testing.T) {
	for taken, rest := range map[time.Duration]time.Duration{0: settles, 200 * time.Millisecond: settles,
		time.Second: 3 * time.Second, 10 * time.Second: 30 * time.Second} {
		t.Run(fmt.Sprint(taken), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := warmed(t, taken)
				p.commitFor(2 * time.Minute)
				starts, ends := p.aggregated()
				for i := range min(len(starts)-1, len(ends)) {
					if pause := starts[i+1] - ends[i]; pause < rest || pause > rest+settles+gathers {
						t.Fatalf("aggregates rest from %v to %v, want %v", ends[i], starts[i+1], rest)
					}
				}
				if n := time.Duration(len(starts)); n < 2*time.Minute/(taken+rest+settles+gathers) {
					t.Errorf("aggregates were brought up to date only %d times", n)
				}
			})
		})
	}
}

// When changes have ended, aggregates are updated soon after the settling time has passed without changes (the last
// change may be noticed once more). This includes changes during a long Aggregate. Then nothing more is done.
func TestWarm_PaceWhenChangesEnd(t *testing.T) {
	for _, taken := range []time.Duration{0, time.Second, 10 * time.Second} {
		t.Run(fmt.Sprint(taken), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := warmed(t, taken)
				p.commitFor(20 * time.Second)
				for p.under() >= 0 { // until a rest begins
					time.Sleep(10 * time.Millisecond)
					p.db.commit("a")
				}
				synctest.Wait()
				last := p.now()
				before, _ := p.aggregated()
				time.Sleep(2*(gathers+settles) + taken + time.Millisecond)
				if p.behind() != "" {
					t.Errorf("%v after the last change, with aggregates that take %v: %s", p.now()-last, taken,
						p.behind())
				}
				time.Sleep(10 * time.Minute)
				if after, _ := p.aggregated(); len(after) > len(before)+1 {
					t.Errorf("aggregates were brought up to date at %v after the last change at %v",
						after[len(before):], last)
				}
				p.db.commit("a") // and a single change after a long time
				time.Sleep(2*(gathers+settles) + taken + time.Millisecond)
				if p.behind() != "" {
					t.Errorf("after a single change: %s", p.behind())
				}
			})
		})
	}
}

// If requests keep the index up to date, it is never behind when the actor checks. The actor notices that there were
// changes, or assumes that there may have been some during a long Aggregate.
func TestWarm_PaceBesideRequests(t *testing.T) {
	for _, taken := range []time.Duration{0, 10 * time.Second} {
		t.Run(fmt.Sprint(taken), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := warmed(t, taken)
				for p.now() < 20*time.Second || taken > 0 && p.under() < taken/2 {
					time.Sleep(10 * time.Millisecond)
					p.db.commit("a")
					p.ask()
				}
				time.Sleep(2*(gathers+settles) + 2*taken + time.Millisecond)
				if p.behind() != "" {
					t.Error(p.behind())
				}
			})
		})
	}
}

// A failing store is retried at growing intervals of at most ten seconds. Once it answers again, the usual pace resumes
// at once.
func TestWarm_PaceOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := warmed(t, 0)
		var asked []time.Duration
		fail := func(err error) {
			p.db.set(func() {
				asked = nil
				p.db.stateFault = func() error {
					asked = append(asked, p.now())
					return err
				}
			})
		}
		attempts := func() (times []time.Duration) {
			t.Helper()
			p.db.set(func() { times = slices.Clone(asked) })
			for i := range len(times) - 1 {
				limit := min(100*time.Millisecond<<min(i, 10), 10*time.Second)
				if pause := times[i+1] - times[i]; pause < limit/2 || pause > limit {
					t.Errorf("attempt %d comes %v after the one before, want at most %v", i+1, pause, limit)
				}
			}
			return times
		}
		fail(errors.New("the disk is on fire"))
		p.db.commit("a")
		time.Sleep(10 * time.Minute)
		if n := len(attempts()); n < 60 || n > 130 {
			t.Fatalf("%d attempts in ten minutes", n)
		}
		fail(nil)
		time.Sleep(10*time.Second + 2*(gathers+settles))
		if p.behind() != "" {
			t.Error(p.behind())
		}
		fail(errors.New("it burns again"))
		p.db.commit("a")
		time.Sleep(10 * time.Second)
		if n := len(attempts()); n < 6 {
			t.Errorf("after a success only %d attempts in ten seconds", n)
		}
	})
}

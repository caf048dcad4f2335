package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/survey"
)

// That views skip documents is told when it begins, and when they have doubled.
func TestWatcher_reportSkips(t *testing.T) {
	w := &watcher{events: events.New("n1", slog.New(slog.DiscardHandler))}
	look := func(database string, counts ...int64) {
		for _, n := range counts {
			w.reportSkips([]actors.IndexInfo{{Database: database, Design: "_design/d", Errors: n}})
		}
	}
	told := func() (list []int64) {
		for _, e := range slices.Backward(w.events.List(time.Time{}, 100)) {
			list = append(list, e.Count)
		}
		return list
	}
	look("a", 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 24, 24)
	if got := told(); !slices.Equal(got, []int64{1, 2, 4, 8, 24}) {
		t.Errorf("told %v", got)
	}
	look("b", 3)
	look("a", 23, 25, 47)
	if got := told(); !slices.Equal(got[5:], []int64{3}) {
		t.Errorf("then told %v", got[5:])
	}
	look("a", 0, 5) // built anew
	if got := told(); !slices.Equal(got[6:], []int64{5}) {
		t.Errorf("at last told %v", got[6:])
	}
	for i := range maxSkipsKnown + 1 {
		look(strconv.Itoa(i), 1)
	}
	if n := len(w.skipped); n > maxSkipsKnown {
		t.Errorf("%d are known", n)
	}
}

// While the store does not answer, how far indexes are behind is not known: it is not 0.
func TestWatcher_lag(t *testing.T) {
	var list []actors.IndexInfo
	var failed error
	w := &watcher{events: events.New("n1", slog.New(slog.DiscardHandler)), lag: &atomic.Int64{}, away: &storeAway{},
		holder: func() string { return "" },
		probed: time.Now(), skips: &atomic.Pointer[skipping]{}, survey: survey.New(survey.Store{}, nil),
		ready:   func(context.Context) error { return failed },
		indexes: func(context.Context, int) ([]actors.IndexInfo, error) { return list, failed }}
	look := func(want int64) {
		t.Helper()
		if w.lookAtIndexes(t.Context()); w.lag.Load() != want {
			t.Errorf("the lag is %d ms, want %d", w.lag.Load(), want)
		}
	}
	look(0)
	list = []actors.IndexInfo{{Database: "a", Design: "_design/d", Behind: 2 * time.Second}}
	look(2000)
	failed = errors.New("no answer")
	if w.probe(t.Context()); w.lag.Load() >= 0 {
		t.Errorf("as soon as the store does not answer, the lag is %d ms", w.lag.Load())
	}
	look(-1)
	failed = nil
	look(2000)
}

// A node that was paused while it probed the store does not say that the store was silent.
func TestWatcher_probe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took, idle time.Duration
		noted := 0
		var failed error
		w := &watcher{probed: time.Now(), away: &storeAway{}, lag: &atomic.Int64{}, holder: func() string { return "" },
			events: events.New("n1", slog.New(slog.DiscardHandler)),
			ready: func(context.Context) error {
				time.Sleep(took)
				return failed
			}}
		probe := func(t1 time.Duration, err error) (last state.EventKind) {
			time.Sleep(idle)
			took, failed = t1, err
			w.probe(t.Context())
			if away := w.away.last.Load(); away != nil && time.Since(*away) == 0 {
				noted++
			}
			if newest := w.events.List(time.Time{}, 1); len(newest) > 0 {
				last = newest[0].Kind
			}
			return last
		}
		silent := errors.New("no answer")
		for i, c := range []struct {
			took time.Duration
			err  error
			want state.EventKind
		}{
			{time.Millisecond, nil, ""}, {10 * time.Second, silent, ""}, {time.Millisecond, nil, ""},
			{10 * time.Second, silent, ""}, {probeTimeout, silent, state.StoreLost},
			{10 * time.Second, silent, state.StoreLost}, {10 * time.Second, nil, state.StoreBack},
			{10 * time.Second, silent, state.StoreBack}, {10 * time.Second, silent, state.StoreLost},
		} {
			if got := probe(c.took, c.err); got != c.want {
				t.Errorf("probe %d: the last event is %q, want %q", i, got, c.want)
			}
		}
		if noted != 2 { // not of the probes during which the node was paused
			t.Errorf("the silence of the store was noted %d times", noted)
		}
		probe(time.Millisecond, nil)
		idle = 10 * time.Second // paused between two probes
		for range 2 {           // the second is made at once, since it is late
			if got := probe(time.Millisecond, silent); got != state.StoreBack || noted != 2 {
				t.Errorf("after a pause between two probes: the last event is %q, noted %d times", got, noted)
			}
			idle = 0
		}
		idle = longestProbe
		if got := probe(time.Millisecond, silent); got != state.StoreLost {
			t.Errorf("some time after a pause: the last event is %q", got)
		}
		lost := w.events.List(time.Time{}, 1)[0].Since
		idle = 0
		probe(time.Millisecond, nil)
		if back := w.events.List(time.Time{}, 1)[0]; lost == nil || back.Since == nil || !back.Since.Equal(*lost) {
			t.Errorf("lost since %v, then %+v", lost, back)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the node ends
		idle, took, failed = 0, time.Millisecond, silent
		w.away.last.Store(nil)
		if w.probe(ctx); w.away.last.Load() != nil {
			t.Error("the end of the node was noted as silence of the store")
		}
	})
}

// A node asks the others now and then what they tell of members, and soon after something has happened to one.
func TestLearning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l learning
		asks := func(within time.Duration) (at []int, from time.Time) { // the earliest one
			begun := time.Now()
			for ; time.Since(begun) < within; time.Sleep(time.Second) {
				if since, due := l.due(time.Now()); due {
					if at = append(at, int(time.Since(begun).Seconds())); len(at) == 1 || since.Before(from) {
						from = since
					}
				}
			}
			return at, from
		}
		begun := time.Now()
		if at, from := asks(25 * time.Second); fmt.Sprint(at) != "[0 10 20]" || !from.Equal(begun.Add(-learnBefore)) {
			t.Errorf("it asks at %v, from %v before", at, begun.Sub(from))
		}
		begun = time.Now()
		l.begin(begun.Add(-time.Hour)) // the store is back after an hour
		l.begin(begun)                 // belongs to it
		if at, from := asks(31 * time.Second); fmt.Sprint(at) != "[0 2 10 20 30]" ||
			!from.Equal(begun.Add(-time.Hour-learnBefore)) {
			t.Errorf("it asks at %v, from %v before", at, begun.Sub(from))
		}
		asks(time.Hour)
		l.begin(time.Now())
		l.begin(time.Time{}) // it has started
		if at, from := asks(time.Second); len(at) != 1 || !from.IsZero() {
			t.Errorf("at its start it asks at %v, from %v", at, from)
		}
		asks(time.Hour)
		begun = time.Now()
		if _, from := asks(learnEvery); from.Before(begun.Add(-learnBefore)) {
			t.Errorf("an hour later it asks from %v before", begun.Sub(from))
		}
	})
}

// Who waits for a store that does not answer goes on when a probe finds it back. The store is asked once for all who
// find out first.
func TestStoreAway_outlast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed error
		asked := 0
		ready := func(context.Context) error {
			asked++
			time.Sleep(time.Second)
			return failed
		}
		away := &storeAway{}
		w := &watcher{probed: time.Now(), away: away, events: events.New("n1", slog.New(slog.DiscardHandler)),
			holder: func() string { return "" },
			ready:  func(context.Context) error { return failed }}
		if away.outlast(t.Context(), ready) || asked != 1 {
			t.Error("it was waited for a store that answers")
		}
		failed = errors.New("no answer")
		ended := make(chan bool, 10)
		for range cap(ended) {
			go func() { ended <- away.outlast(t.Context(), ready) }()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if away.outlast(ctx, ready) || ctx.Err() == nil {
			t.Error("it was back before it answered")
		}
		w.probe(t.Context())
		synctest.Wait()
		if len(ended) > 0 || asked != 2 {
			t.Errorf("%d have ended, asked %d times", len(ended), asked)
		}
		failed = nil
		w.probe(t.Context())
		for range cap(ended) {
			if !<-ended {
				t.Error("one gave up")
			}
		}
		if away.outlast(t.Context(), ready) {
			t.Error("it was waited for a store that is back")
		}
	})
}

func TestStoreHolder(t *testing.T) {
	at := time.Now()
	member := func(name string, gone time.Duration, roles ...string) cluster.Member {
		m := cluster.Member{Name: name, Roles: roles, Self: name == "n0"}
		if since := at.Add(gone); gone != 0 {
			m.GoneSince = &since
		}
		return m
	}
	dead, later := member("n1", time.Second, storeRole), member("n2", time.Minute, storeRole)
	up, other := member("n3", 0, storeRole), member("n4", 0, storeRole)
	rest := []cluster.Member{member("n0", 0, storeRole), member("n5", 0)}
	for _, c := range []struct {
		members []cluster.Member
		want    string
	}{{nil, ""}, {[]cluster.Member{dead}, "n1"}, {[]cluster.Member{dead, later}, "n2"},
		{[]cluster.Member{later, up, dead}, "n3"}, {[]cluster.Member{up, other}, ""}} {
		if got := storeHolder(append(c.members, rest...)); got != c.want {
			t.Errorf("%v: %q, want %q", c.members, got, c.want)
		}
	}
}

// The node with the store tells of its disk once at a time: that it is low before it is full, and not with that.
func TestWatcher_disk(t *testing.T) {
	for want, steps := range map[string][]string{
		"disk_low recovered disk_low":                      {"low", "low", ""},
		"disk_full recovered disk_full":                    {"full", "full", ""},
		"disk_low disk_full recovered disk_full":           {"low", "full", ""},
		"disk_full recovered disk_full recovered disk_low": {"full", "low", ""},
	} {
		var is string
		w := &watcher{events: events.New("n1", slog.New(slog.DiscardHandler)),
			diskLow: func() (string, bool) { return "3 MB left", is != "" },
			degraded: func() []string {
				if is == "full" {
					return []string{"disk_full: 3 MB left"}
				}
				return nil
			}}
		var got []string
		for _, is = range steps {
			w.compare()
		}
		for _, e := range slices.Backward(w.events.List(time.Time{}, 100)) {
			if e.Kind == state.Recovered {
				got = append(got, "recovered")
			}
			got = append(got, e.Object)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q tells %q, want %q", steps, s, want)
		}
	}
}

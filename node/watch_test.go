package node

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// A node that was paused while it probed the store does not say that the store was silent.
func TestWatcher_probe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took, idle time.Duration
		noted := 0
		var failed error
		w := &watcher{probed: time.Now(), away: &storeAway{}, events: events.New("n1", slog.New(slog.DiscardHandler)),
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
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the node ends
		idle, took, failed = 0, time.Millisecond, silent
		w.away.last.Store(nil)
		if w.probe(ctx); w.away.last.Load() != nil {
			t.Error("the end of the node was noted as silence of the store")
		}
	})
}

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
		var took time.Duration
		var failed error
		w := &watcher{away: &storeAway{}, events: events.New("n1", slog.New(slog.DiscardHandler)),
			ready: func(context.Context) error {
				time.Sleep(took)
				return failed
			}}
		probe := func(t1 time.Duration, err error) (last state.EventKind) {
			took, failed = t1, err
			w.probe(t.Context())
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
	})
}

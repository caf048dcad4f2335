package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer/internal/upkeep"
	"github.com/divandb/divan/layer/kv"
)

// TestUpkeep checks that each kind runs with its own period, independent of the others, and reports correct metrics.
func TestUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		u := &upkeep.Upkeep{Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		wake := make(chan struct{}, 1)
		fails := errors.New("no")
		full := errors.New("full")
		left := 3
		var all sync.WaitGroup
		for _, k := range []upkeep.Kind{
			{Name: "stuck", Every: time.Minute, Run: func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}},
			{Name: "slow", Every: time.Minute, Run: func(context.Context) error {
				time.Sleep(time.Minute)
				return nil
			}},
			{Name: "first", First: 5 * time.Minute, Every: time.Hour, Run: func(context.Context) error { return nil }},
			{Name: "failing", Every: time.Minute, Failed: "it fails", Run: func(context.Context) error {
				return fails
			}},
			{Name: "away", Every: time.Minute, Failed: "the store is away", Run: func(context.Context) error {
				return kv.NewError(kv.CodeUnreachable, "away", nil) // the node logs that
			}},
			{Name: "woken", Wake: wake, Run: func(context.Context) error { return nil }},
			{
				Name: "once", Failed: "it is full",
				Run: func(context.Context) error {
					if left--; left > 0 {
						return full
					}
					return nil
				},
				Again: func(err error) time.Duration {
					if err != nil {
						return time.Second
					}
					return 0
				},
				Silent: func(err error) bool { return errors.Is(err, full) },
			},
		} {
			all.Go(func() { u.Keep(ctx, k) })
		}
		time.Sleep(10*time.Minute + time.Second)
		wake <- struct{}{}
		synctest.Wait()
		want := map[string]upkeep.Metrics{
			"stuck": {Every: time.Minute, Running: 10*time.Minute + time.Second},
			"slow": {
				Every:   time.Minute,
				Runs:    5,
				Took:    5 * time.Minute,
				Running: time.Second,
				Since:   61 * time.Second,
				Done:    true,
			},
			"first":   {Every: time.Hour, Runs: 1, Since: 5*time.Minute + time.Second, Done: true},
			"failing": {Every: time.Minute, Runs: 11, Failures: 11, Error: "no"},
			"away":    {Every: time.Minute, Runs: 11, Failures: 11, Error: "kv: away (1026)"},
			"woken":   {Runs: 2, Done: true},
			"once":    {Runs: 3, Failures: 2, Since: 10*time.Minute - time.Second, Done: true},
		}
		for _, got := range u.Metrics() {
			w := want[got.Kind]
			w.Kind = got.Kind
			if got != w {
				t.Errorf("%+v, want %+v", got, w)
			}
			delete(want, got.Kind)
		}
		if len(want) != 0 {
			t.Errorf("no metrics of %v", want)
		}
		stop()
		all.Wait()
		if n := strings.Count(log.String(), "it fails"); n != 11 || strings.Contains(log.String(), "it is full") ||
			strings.Contains(log.String(), "away") {
			t.Errorf("the failure was logged %d times:\n%s", n, log.String())
		}
	})
}

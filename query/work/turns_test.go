package work_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/query/work"
)

// busy are statements that only compute, in the time of a synctest bubble.
type busy struct {
	turns   *work.Turns
	running atomic.Int32
	most    atomic.Int32 // the most that ran at once since it was last reset
	ran     []atomic.Int64
	wg      sync.WaitGroup
}

func newBusy(ctx context.Context, procs, statements int) *busy {
	b := &busy{turns: work.NewTurns(func() int { return procs }), ran: make([]atomic.Int64, statements)}
	for i := range statements {
		b.wg.Go(func() {
			w := work.New(ctx, nil, 0, b.turns)
			defer w.Close()
			for w.Step(1<<20) == nil {
				n := b.running.Add(1)
				for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
				}
				time.Sleep(time.Millisecond)
				b.running.Add(-1)
				b.ran[i].Add(1)
			}
		})
	}
	return b
}

// visit calls Arrive every few milliseconds for a while.
func (b *busy) visit(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		b.turns.Arrive()
	}
}

func TestTurns_KeepOneProcessorFree(t *testing.T) {
	for _, c := range []struct{ procs, statements, beside, alone int32 }{
		{2, 8, 1, 2}, {4, 8, 3, 4}, {1, 3, 1, 1}, {4, 2, 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := newBusy(ctx, int(c.procs), int(c.statements))
			b.visit(100 * time.Millisecond)
			b.most.Store(0)
			b.visit(2 * time.Second)
			if got := b.most.Load(); got != c.beside {
				t.Errorf("%d processors, %d statements: %d ran at once beside others", c.procs, c.statements, got)
			}
			for i := range b.ran {
				share := 2100 * int64(c.beside) / int64(c.statements)
				if got := b.ran[i].Load(); got < share/2 || got > share*2+20 {
					t.Errorf("%d processors: statement %d ran for %d ms, its share is %d", c.procs, i, got, share)
				}
			}
			b.most.Store(0)
			time.Sleep(time.Second)
			if got := b.most.Load(); got != c.alone {
				t.Errorf("%d processors, %d statements: %d ran at once by themselves", c.procs, c.statements, got)
			}
			cancel()
			b.wg.Wait()
		})
	}
}

// A statement that waits for its client or the disk does not keep others from running.
func TestTurns_Stale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := work.NewTurns(func() int { return 2 })
		slow := work.New(t.Context(), nil, 0, turns)
		defer slow.Close()
		time.Sleep(10 * time.Millisecond)
		if err := slow.Step(1 << 20); err != nil { // it has a turn now
			t.Fatal(err)
		}
		turns.Arrive()
		other := work.New(t.Context(), nil, 0, turns)
		defer other.Close()
		time.Sleep(10 * time.Millisecond)
		began := time.Now()
		if err := other.Step(1 << 20); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("waited %v for a statement that does not run", d)
		}
		// The first one continues when the second gives its turn back.
		done := make(chan error, 1)
		go func() { done <- slow.Step(1 << 20) }()
		synctest.Wait()
		other.Pause()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTurns_Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := work.NewTurns(func() int { return 2 })
		first := work.New(t.Context(), nil, 0, turns)
		time.Sleep(10 * time.Millisecond)
		if err := first.Step(1 << 20); err != nil {
			t.Fatal(err)
		}
		turns.Arrive()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		second := work.New(ctx, nil, 0, turns)
		time.Sleep(10 * time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- second.Step(1 << 20) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("a statement that waits for its turn ends with %v", err)
		}
		first.Close()
		second.Close()
	})
}

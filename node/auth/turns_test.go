package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/auth"
)

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

// turnOrder lets log-ins wait in the order given, while one place is taken, and returns the order in which they get it.
func turnOrder(t *testing.T, waiting []struct {
	name  string
	from  int
	known bool
},
) []string {
	t.Helper()
	turns := auth.NewTurns(1)
	if err := turns.Take(t.Context(), address(0), false); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for _, w := range waiting {
		all.Go(func() {
			if err := turns.Take(t.Context(), address(w.from), w.known); err != nil {
				t.Errorf("%s: %v", w.name, err)
				return
			}
			mu.Lock()
			order = append(order, w.name)
			mu.Unlock()
			turns.Give()
		})
		synctest.Wait() // it waits in the queue
	}
	turns.Give()
	all.Wait()
	return order
}

func TestTurns_Order(t *testing.T) {
	type waiting = []struct {
		name  string
		from  int
		known bool
	}
	for _, c := range []struct {
		name    string
		waiting waiting
		want    []string
	}{
		{"addresses take turns", waiting{{"a1", 1, false}, {"a2", 1, false}, {"a3", 1, false}, {"b1", 2, false}}, []string{"a3", "b1", "a2", "a1"}},
		{"the newest of an address first", waiting{{"a1", 1, false}, {"a2", 1, false}}, []string{"a2", "a1"}},
		{"known names first, but not all the time",
			waiting{{"s1", 1, false}, {"s2", 1, false}, {"k1", 2, true}, {"k2", 3, true}, {"k3", 4, true}, {"k4", 5, true}},
			[]string{"k1", "k2", "k3", "s2", "k4", "s1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := turnOrder(t, c.waiting); !slices.Equal(got, c.want) {
					t.Errorf("turns went to %v, want %v", got, c.want)
				}
			})
		})
	}
}

// A flood of one address neither grows the queue without bound nor drives out another address.
func TestTurns_Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := auth.NewTurns(1)
		if err := turns.Take(t.Context(), address(0), false); err != nil {
			t.Fatal(err)
		}
		honest := make(chan error, 1)
		go func() { honest <- turns.Take(t.Context(), address(2), false) }()
		synctest.Wait()
		const flood = 3 * auth.MaxTurnsWaiting
		results := make(chan error, flood)
		for range flood {
			go func() {
				err := turns.Take(t.Context(), address(1), false)
				if err == nil {
					turns.Give()
				}
				results <- err
			}()
		}
		synctest.Wait()
		if n := turns.Waiting(); n > auth.MaxTurnsWaiting {
			t.Errorf("%d log-ins wait", n)
		}
		turns.Give()
		if err := <-honest; err != nil {
			t.Errorf("the other address: %v", err)
		}
		turns.Give()
		refused := 0
		for range flood {
			if err := <-results; errors.Is(err, auth.ErrBusy) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if want := flood + 1 - auth.MaxTurnsWaiting; refused != want {
			t.Errorf("%d log-ins were refused, want %d", refused, want)
		}
	})
}

// Who waits too long, or goes away, leaves the queue; a turn that is granted at that moment is not lost.
func TestTurns_GiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := auth.NewTurns(1)
		if err := turns.Take(t.Context(), address(0), false); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := turns.Take(t.Context(), address(1), false); !errors.Is(err, auth.ErrBusy) {
			t.Errorf("a turn that never comes: %v", err)
		}
		if waited := time.Since(began); waited != auth.MaxTurnWait {
			t.Errorf("waited %v", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- turns.Take(ctx, address(1), false) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		if n := turns.Waiting(); n != 0 {
			t.Errorf("%d still wait", n)
		}
		turns.Give()
		for i := range 3 { // the place is there, again and again
			if err := turns.Take(t.Context(), address(i), false); err != nil {
				t.Fatal(err)
			}
			turns.Give()
		}
	})
}

// Giving up and being granted at the same moment must neither lose a place nor make one.
func TestTurns_Race(t *testing.T) {
	turns := auth.NewTurns(2)
	var all sync.WaitGroup
	places := make(chan struct{}, 2)
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			if turns.Take(ctx, address(i%5), i%3 == 0) != nil {
				return
			}
			select {
			case places <- struct{}{}:
			default:
				t.Error("more than two turns at once")
			}
			runtime.Gosched()
			<-places
			turns.Give()
		})
	}
	all.Wait()
	for range 2 {
		if err := turns.Take(t.Context(), address(0), false); err != nil {
			t.Fatal(fmt.Errorf("a place was lost: %w", err))
		}
	}
}

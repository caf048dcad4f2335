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

// turnOrder makes logins wait in the given order while the only place is taken, and returns the order in which they get
// it.
func turnOrder(t *testing.T, waiting []struct {
	name string
	from int
	is   auth.Priority
},
) []string {
	t.Helper()
	turns := auth.NewTurns(1)
	if err := turns.Take(t.Context(), address(0), auth.Newcomer); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for _, w := range waiting {
		all.Go(func() {
			if err := turns.Take(t.Context(), address(w.from), w.is); err != nil {
				t.Errorf("%s: %v", w.name, err)
				return
			}
			mu.Lock()
			order = append(order, w.name)
			mu.Unlock()
			turns.Give()
		})
		synctest.Wait() // it is in the queue
	}
	turns.Give()
	all.Wait()
	return order
}

func TestTurns_Order(t *testing.T) {
	type waiting = []struct {
		name string
		from int
		is   auth.Priority
	}
	const known, newcomer, suspect = auth.KnownName, auth.Newcomer, auth.Suspect
	for _, c := range []struct {
		name    string
		waiting waiting
		want    []string
	}{
		{"addresses take turns",
			waiting{{"a1", 1, newcomer}, {"a2", 1, newcomer}, {"a3", 1, newcomer}, {"b1", 2, newcomer}},
			[]string{"a1", "b1", "a2", "a3"}},
		{"the oldest of an address first", waiting{{"a1", 1, newcomer}, {"a2", 1, newcomer}}, []string{"a1", "a2"}},
		{"known names first, but not all the time",
			waiting{{"s1", 1, newcomer}, {"s2", 1, newcomer}, {"k1", 2, known}, {"k2", 3, known}, {"k3", 4, known},
				{"k4", 5, known}},
			[]string{"k1", "k2", "k3", "s1", "k4", "s2"}},
		{"addresses that have sent wrong passwords last",
			waiting{{"w1", 1, suspect}, {"w2", 2, suspect}, {"w3", 3, suspect}, {"n1", 4, newcomer}, {"k1", 5, known}},
			[]string{"k1", "n1", "w1", "w2", "w3"}},
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

// Of the logins from one address all get a turn while that does not take long. Under a larger flood some still do:
// clients that try again at once after each answer must not keep all others waiting until they are refused.
func TestTurns_OneAddress(t *testing.T) {
	for _, c := range []struct {
		clients int
		within  time.Duration
		least   int // how many of a hundred get through
	}{{20, 2200 * time.Millisecond, 100}, {200, auth.MaxTurnWait, 10}} {
		t.Run(fmt.Sprint(c.clients), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := auth.NewTurns(1)
				login := func(ctx context.Context) error {
					err := turns.Take(ctx, address(1), auth.Suspect)
					if err == nil {
						time.Sleep(100 * time.Millisecond) // the time of hashing
						turns.Give()
					}
					return err
				}
				ctx, end := context.WithCancel(t.Context())
				var flood sync.WaitGroup
				for range c.clients {
					flood.Go(func() {
						for ctx.Err() == nil {
							_ = login(ctx) // tries again whether refused or not
						}
					})
				}
				time.Sleep(time.Minute)
				through := 0
				for range 100 {
					began := time.Now()
					if login(t.Context()) == nil && time.Since(began) <= c.within {
						through++
					}
				}
				if through < c.least {
					t.Errorf("%d of a hundred logins got through with %d other clients", through, c.clients)
				}
				end()
				flood.Wait()
			})
		})
	}
}

// A flood from one address neither grows the queue without bound nor displaces another address.
func TestTurns_Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := auth.NewTurns(1)
		if err := turns.Take(t.Context(), address(0), auth.Newcomer); err != nil {
			t.Fatal(err)
		}
		honest := make(chan error, 1)
		go func() { honest <- turns.Take(t.Context(), address(2), auth.Newcomer) }()
		synctest.Wait()
		const flood = 3 * auth.MaxTurnsWaiting
		results := make(chan error, flood)
		for range flood {
			go func() {
				err := turns.Take(t.Context(), address(1), auth.Newcomer)
				if err == nil {
					turns.Give()
				}
				results <- err
			}()
		}
		synctest.Wait()
		if n := turns.Waiting(); n > auth.MaxTurnsWaiting {
			t.Errorf("%d logins wait", n)
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
			t.Errorf("%d logins were refused, want %d", refused, want)
		}
	})
}

// A login that waits too long, or whose client leaves, leaves the queue. A turn granted at that moment is not lost.
func TestTurns_GiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := auth.NewTurns(1)
		if err := turns.Take(t.Context(), address(0), auth.Newcomer); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := turns.Take(t.Context(), address(1), auth.Newcomer); !errors.Is(err, auth.ErrBusy) {
			t.Errorf("a turn that never comes: %v", err)
		}
		if waited := time.Since(began); waited != auth.MaxTurnWait {
			t.Errorf("waited %v", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- turns.Take(ctx, address(1), auth.Newcomer) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}
		if n := turns.Waiting(); n != 0 {
			t.Errorf("%d still wait", n)
		}
		turns.Give()
		for i := range 3 { // the place is still usable, again and again
			if err := turns.Take(t.Context(), address(i), auth.Newcomer); err != nil {
				t.Fatal(err)
			}
			turns.Give()
		}
	})
}

// Giving up and being granted at the same moment must neither lose nor add a place.
func TestTurns_Race(t *testing.T) {
	turns := auth.NewTurns(2)
	var all sync.WaitGroup
	places := make(chan struct{}, 2)
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			if turns.Take(ctx, address(i%5), auth.Priority(i%3)) != nil {
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
		if err := turns.Take(t.Context(), address(0), auth.Newcomer); err != nil {
			t.Fatal(fmt.Errorf("a place was lost: %w", err))
		}
	}
}

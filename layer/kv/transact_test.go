package kv_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// faulty returns an embedded engine with injected faults.
func faulty(t *testing.T, o faultkv.Options) faultkv.Engine {
	below, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if o.Delay == 0 {
		o.Delay = time.Microsecond
	}
	e := faultkv.New(below, o)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// appendTo appends a word to the value of key. This is not idempotent.
func appendTo(key, word string) func(tx kv.Transaction) (string, error) {
	return func(tx kv.Transaction) (string, error) {
		v, err := tx.Get([]byte(key)).Wait()
		if err != nil {
			return "", err
		}
		now := string(v) + word + " "
		tx.Set([]byte(key), []byte(now))
		return now, nil
	}
}

// TestTransact_onceWithID checks that with a transaction id every effect happens exactly once, whatever the commits
// report, and that the result is that of the attempt that committed.
func TestTransact_onceWithID(t *testing.T) {
	const workers, rounds = 6, 30
	e := faulty(t,
		faultkv.Options{Seed: 11,
			Rates: faultkv.Rates{Conflict: 0.1, TooOld: 0.02, FutureVersion: 0.05, UnknownLost: 0.2,
				UnknownCommitted: 0.2}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	results := map[string]kv.Committed{}
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				word := fmt.Sprintf("%d-%d", w, i)
				now, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{TransactionID: []byte("id/" + word)},
					appendTo("log", word))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				results[strings.TrimSpace(now)] = c
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	final, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (string, error) {
		v, err := tx.Get([]byte("log")).Wait()
		return string(v), err
	})
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(final)
	if len(words) != workers*rounds {
		t.Errorf("%d effects of %d transactions", len(words), workers*rounds)
	}
	last := int64(0)
	for i := range words {
		prefix := strings.Join(words[:i+1], " ")
		c, ok := results[prefix]
		if !ok {
			t.Fatalf("no transaction returned the log with exactly %d words", i+1)
		}
		if c.Version <= last || c.Versionstamp.Version() != c.Version || c.Attempts < 1 {
			t.Errorf("word %d was committed at %+v, the one before at %d", i, c, last)
		}
		last = c.Version
		delete(results, prefix)
	}
	if n := e.Injected(); n[faultkv.UnknownCommitted] == 0 || n[faultkv.UnknownLost] == 0 {
		t.Errorf("injected only %v", n)
	}
}

// TestTransact_twiceWithoutID shows that the test above can fail: without the id the same load applies effects twice.
func TestTransact_twiceWithoutID(t *testing.T) {
	e := faulty(t, faultkv.Options{Seed: 11, Rates: faultkv.Rates{UnknownCommitted: 0.5}})
	for range 40 {
		if _, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, appendTo("log", "x")); err != nil {
			t.Fatal(err)
		}
	}
	now, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, appendTo("log", "x"))
	if err != nil || len(strings.Fields(now)) <= 41 {
		t.Errorf("%d effects, %v: no fault had an effect", len(strings.Fields(now)), err)
	}
}

func TestTransact_ends(t *testing.T) {
	own := errors.New("my own")
	t.Run("with fn's error", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
		calls := 0
		_, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			calls++
			tx.Set([]byte("a"), nil)
			return 7, own
		})
		if !errors.Is(err, own) || calls != 1 || c.Attempts != 1 || c.Version != -1 || kv.MaybeCommitted(err) {
			t.Errorf("%v after %d calls, %+v", err, calls, c)
		}
	})
	t.Run("retries an error that wraps a retryable one", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
		calls := 0
		n, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			if calls++; calls < 3 {
				return 0, fmt.Errorf("wrapped: %w", kv.NewError(kv.CodeTooOld, "old", nil))
			}
			return calls, nil
		})
		if err != nil || n != 3 || c.Attempts != 3 {
			t.Errorf("%d, %v, %+v", n, err, c)
		}
	})
	t.Run("after the attempts it was given", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{Conflict: 1}})
		n, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{MaxAttempts: 3},
			func(tx kv.Transaction) (int, error) {
				tx.Set([]byte("a"), nil)
				return 7, nil
			})
		if !kv.IsCode(err, kv.CodeNotCommitted) || n != 0 || c.Attempts != 3 || kv.MaybeCommitted(err) {
			t.Errorf("%d, %v, %+v", n, err, c)
		}
	})
	t.Run("when an illegal transaction is refused", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}})
		_, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			tx.Set([]byte{0xff}, nil)
			return 7, nil
		})
		if !kv.IsCode(err, kv.CodeKeyOutsideRange) || c.Attempts != 1 {
			t.Errorf("%v, %+v", err, c)
		}
	})
	t.Run("when its context ends", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{Conflict: 1}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, c, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			tx.Set([]byte("a"), nil)
			return 7, nil
		})
		if !kv.IsCode(err, kv.CodeTimedOut) || !errors.Is(err, context.DeadlineExceeded) || c.Attempts < 2 ||
			kv.MaybeCommitted(err) {
			t.Errorf("%v, %+v", err, c)
		}
	})
	t.Run("when its context ends after an unknown commit", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{UnknownCommitted: 1}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			tx.Set([]byte("a"), nil)
			return 7, nil
		})
		if !kv.IsCode(err, kv.CodeTimedOut) || !kv.MaybeCommitted(err) {
			t.Errorf("%v", err)
		}
	})
	t.Run("after an unknown commit that the id has resolved", func(t *testing.T) {
		e := faulty(t, faultkv.Options{Rates: faultkv.Rates{UnknownLost: 1}})
		calls := 0
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{TransactionID: []byte("id")},
			func(tx kv.Transaction) (int, error) {
				if calls++; calls == 2 {
					return 0, kv.NewError(kv.CodeKeyTooLarge, "permanent", nil)
				}
				tx.Set([]byte("a"), nil)
				return 7, nil
			})
		if !kv.IsCode(err, kv.CodeKeyTooLarge) || kv.MaybeCommitted(err) {
			t.Errorf("%v", err)
		}
	})
}

// limited is an engine that bounds attempts.
type limited struct {
	kv.Engine
	attempts int
}

func (l limited) MaxAttempts() int { return l.attempts }

// TestTransact_engineLimit checks that the engine's bound applies to transactions without a bound of their own.
func TestTransact_engineLimit(t *testing.T) {
	e := limited{faulty(t, faultkv.Options{Rates: faultkv.Rates{Conflict: 1}}), 3}
	for _, c := range []struct{ own, want int }{{0, 3}, {2, 2}, {5, 5}} {
		_, got, err := kv.Transact(t.Context(), e, kv.TransactOptions{MaxAttempts: c.own}, appendTo("a", "x"))
		if !kv.IsCode(err, kv.CodeNotCommitted) || got.Attempts != c.want {
			t.Errorf("own limit %d: %d attempts, %v, want %d", c.own, got.Attempts, err, c.want)
		}
	}
}

func TestTransact_readOnly(t *testing.T) {
	e := faulty(t, faultkv.Options{Seed: 5})
	_, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{TransactionID: []byte("id")},
		func(tx kv.Transaction) ([]byte, error) {
			return tx.Get([]byte("a")).Wait()
		})
	if err != nil || c.Version != -1 || c.Versionstamp != (kv.Versionstamp{}) {
		t.Errorf("%+v, %v", c, err)
	}
	id, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get([]byte("id")).Wait()
	})
	if err != nil || id != nil {
		t.Errorf("a transaction that only read left its id: %x, %v", id, err)
	}
}

// refusing is an engine whose commits all fail. It has no timers, so that only the pauses of Transact take time.
type refusing struct {
	kv.Engine
	begun *[]time.Time
}

func (r refusing) Begin(context.Context) kv.Transaction {
	*r.begun = append(*r.begun, time.Now())
	return refused{}
}

type refused struct{ kv.Transaction }

func (refused) Commit() error { return kv.NewError(kv.CodeNotCommitted, "always", nil) }
func (refused) Cancel()       {}
func (refused) Wrote() bool   { return true }

// TestTransact_backoff checks that the pauses double from some milliseconds to a second and have jitter.
func TestTransact_backoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun []time.Time
		_, c, err := kv.Transact(t.Context(), refusing{begun: &begun}, kv.TransactOptions{MaxAttempts: 16},
			func(kv.Transaction) (int, error) {
				return 0, nil
			})
		if !kv.IsCode(err, kv.CodeNotCommitted) || c.Attempts != 16 || len(begun) != 16 {
			t.Fatalf("%v, %+v", err, c)
		}
		most := 2 * time.Millisecond
		var pauses []time.Duration
		for i := 1; i < len(begun); i++ {
			pause := begun[i].Sub(begun[i-1])
			if pause < most/2 || pause > most {
				t.Errorf("pause %d is %v, want between %v and %v", i, pause, most/2, most)
			}
			most = min(2*most, time.Second)
			pauses = append(pauses, pause)
		}
		if a, b, c := pauses[12], pauses[13], pauses[14]; a == b && b == c {
			t.Errorf("the long pauses are all %v: there is no jitter", a)
		}
	})
}

// old is an engine whose transactions all live for a given time and are too old when they commit. A commit applies
// its writes or nothing.
type old struct {
	kv.Engine
	lives time.Duration
}

func (o old) Begin(ctx context.Context) kv.Transaction { return oldTransaction{o.Engine.Begin(ctx), o} }

type oldTransaction struct {
	kv.Transaction
	o old
}

func (t oldTransaction) Commit() error {
	time.Sleep(t.o.lives)
	return kv.NewError(kv.CodeTooOld, "old", nil)
}

// TestTransact_tooOld checks that Transact gives up on a transaction that is too old in each attempt: after a few
// attempts if it is divisible, otherwise after more, and the longer the attempts take, the sooner.
func TestTransact_tooOld(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lives time.Duration
		o     kv.TransactOptions
		want  int
	}{
		{"divisible", 5 * time.Second, kv.TransactOptions{Divisible: true}, 2},
		{"long", 5 * time.Second, kv.TransactOptions{}, 3},
		{"short", time.Millisecond, kv.TransactOptions{}, 50},
		{"limited", 5 * time.Second, kv.TransactOptions{MaxAttempts: 1}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c, err := kv.Transact(t.Context(), old{stub{}, tt.lives}, tt.o,
					func(tx kv.Transaction) (int, error) {
						return 7, nil
					})
				if !kv.IsCode(err, kv.CodeTooOld) || kv.MaybeCommitted(err) || c.Attempts != tt.want {
					t.Errorf("%v after %d attempts, want %d", err, c.Attempts, tt.want)
				}
				if given := tt.o.MaxAttempts == 0; kv.TooMuch(err) != given || kv.Retryable(err) == given {
					t.Errorf("%v: too much: %t, retryable: %t", err, kv.TooMuch(err), kv.Retryable(err))
				}
			})
		})
	}
}

// stub is an engine that does nothing.
type stub struct{ kv.Engine }

func (stub) Begin(context.Context) kv.Transaction { return refused{} }

// TestTransact_conflicts checks that conflicts end the loop only if the work is divisible.
func TestTransact_conflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun []time.Time
		_, c, err := kv.Transact(t.Context(), refusing{begun: &begun}, kv.TransactOptions{Divisible: true},
			func(kv.Transaction) (int, error) {
				return 0, nil
			})
		if !kv.IsCode(err, kv.CodeNotCommitted) || !kv.TooMuch(err) || kv.Retryable(err) || c.Attempts < 3 {
			t.Errorf("%v after %d attempts", err, c.Attempts)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, c, err = kv.Transact(ctx, refusing{begun: &begun}, kv.TransactOptions{}, func(kv.Transaction) (int, error) {
			return 0, nil
		})
		if !kv.IsCode(err, kv.CodeTimedOut) || kv.TooMuch(err) || c.Attempts < 50 {
			t.Errorf("%v after %d attempts", err, c.Attempts)
		}
	})
}

// inDoubt is an engine whose first commit fails with an unknown result, with or without having been made. The next
// two transactions are too old for any read.
type inDoubt struct {
	kv.Engine
	made  bool
	begun *int
}

func (d inDoubt) Begin(ctx context.Context) kv.Transaction {
	*d.begun++
	return &doubtful{Transaction: d.Engine.Begin(ctx), made: d.made, n: *d.begun}
}

type doubtful struct {
	kv.Transaction
	made bool
	n    int
}

func (t *doubtful) Get(key []byte) kv.Future[[]byte] {
	if t.n == 2 || t.n == 3 {
		return failing{kv.NewError(kv.CodeTooOld, "old", nil)}
	}
	return t.Transaction.Get(key)
}

type failing struct{ err error }

func (f failing) Wait() ([]byte, error) { return nil, f.err }

func (t *doubtful) Commit() error {
	if t.n == 1 && t.made {
		if err := t.Transaction.Commit(); err != nil {
			return err
		}
	}
	return kv.NewError(kv.CodeUnknownResult, "unknown result", nil)
}

// TestTransact_tooOldInDoubt checks that the loop does not give up before it knows whether an attempt was committed.
func TestTransact_tooOldInDoubt(t *testing.T) {
	for _, made := range []bool{true, false} {
		begun, calls := 0, 0
		e := inDoubt{faulty(t, faultkv.Options{Rates: faultkv.Rates{Slow: 1e-9}}), made, &begun}
		now, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{TransactionID: []byte("id"), Divisible: true},
			func(tx kv.Transaction) (string, error) {
				calls++
				tx.Set([]byte("a"), nil)
				return "done", nil
			})
		switch {
		case begun != 4 || calls != 1:
			t.Errorf("%d transactions, %d of them ran fn", begun, calls)
		case made && (err != nil || now != "done" || c.Version <= 0):
			t.Errorf("a commit that happened: %q, %v", now, err)
		case !made && (!kv.TooMuch(err) || kv.MaybeCommitted(err)):
			t.Errorf("a commit that did not happen: %v", err)
		}
	}
}

package advisory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/divandb/divan/query/advisory"
	"github.com/divandb/divan/query/sqlstate"
)

func key(n int64) advisory.Key { return advisory.Key{Database: "db", Number: n} }

func try(t *testing.T, o *advisory.Owner, k advisory.Key, shared, transaction bool) bool {
	t.Helper()
	ok, err := o.Try(k, shared, transaction)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestOwner_Try(t *testing.T) {
	l := advisory.New()
	a, b, c := l.NewOwner(), l.NewOwner(), l.NewOwner()
	for range 2 {
		if !try(t, a, key(1), false, false) || try(t, b, key(1), false, false) || try(t, b, key(1), true, false) {
			t.Error("exclusive")
		}
	}
	if !try(t, b, advisory.Key{Database: "other", Number: 1}, false, false) ||
		!try(t, b, advisory.Key{Database: "db", Number: 1, Pair: true}, false, false) {
		t.Error("other keys")
	}
	if !a.Unlock(key(1), false) || try(t, b, key(1), false, false) || !a.Unlock(key(1), false) ||
		a.Unlock(key(1), false) {
		t.Error("counted")
	}
	if !try(t, b, key(1), true, false) || !try(t, c, key(1), true, true) || try(t, a, key(1), false, false) ||
		b.Unlock(key(1), false) {
		t.Error("shared")
	}
	c.EndTransaction(0)
	if !try(t, b, key(1), false, false) {
		t.Error("what one owner holds shared excludes only others")
	}
	b.End()
	if !try(t, a, key(1), false, true) {
		t.Error("after the end")
	}
	mark := a.Mark()
	if !try(t, a, key(2), false, true) || try(t, b, key(2), false, false) {
		t.Error("second lock")
	}
	a.EndTransaction(mark)
	if !try(t, b, key(2), false, false) || try(t, b, key(1), false, false) || a.Unlock(key(1), false) {
		t.Error("back to the mark")
	}
}

func TestOwner_Lock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := advisory.New()
		a, b, c := l.NewOwner(), l.NewOwner(), l.NewOwner()
		if err := a.Lock(t.Context(), key(1), false, false); err != nil {
			t.Fatal(err)
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- b.Lock(t.Context(), key(1), false, true) }()
		synctest.Wait()
		go func() { second <- c.Lock(t.Context(), key(1), true, false) }()
		synctest.Wait()
		a.UnlockAll()
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-second:
			t.Fatalf("got a lock that another owner holds: %v", err)
		default:
		}
		// A waiting owner comes before a new one.
		if try(t, a, key(1), true, false) {
			t.Error("overtook the waiting owner")
		}
		b.EndTransaction(0)
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		if !try(t, a, key(1), true, false) {
			t.Error("two shared locks")
		}
	})
}

func TestOwner_LockCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := advisory.New()
		a, b, c := l.NewOwner(), l.NewOwner(), l.NewOwner()
		try(t, a, key(1), true, false)
		ctx, cancel := context.WithCancel(t.Context())
		done, shared := make(chan error, 1), make(chan error, 1)
		go func() { done <- b.Lock(ctx, key(1), false, false) }()
		synctest.Wait()
		go func() { shared <- c.Lock(t.Context(), key(1), true, false) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-shared; err != nil { // it was waiting for b only
			t.Errorf("got %v", err)
		}
		a.End()
		c.End()
		if !try(t, b, key(1), false, false) {
			t.Error("locks are left")
		}
	})
}

func TestOwner_Deadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := advisory.New()
		a, b, c := l.NewOwner(), l.NewOwner(), l.NewOwner()
		for i, o := range []*advisory.Owner{a, b, c} {
			try(t, o, key(int64(i)), false, false)
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- a.Lock(t.Context(), key(1), false, false) }()
		go func() { second <- b.Lock(t.Context(), key(2), false, false) }()
		synctest.Wait()
		var e *sqlstate.Error
		if err := c.Lock(t.Context(), key(0), true, false); !errors.As(err, &e) || e.Code != "40P01" {
			t.Errorf("got %v", err)
		}
		c.End()
		if err := <-second; err != nil {
			t.Error(err)
		}
		b.End()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

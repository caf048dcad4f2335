package outage_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/outage"
)

// While the store does not answer, a transaction that reads waits until that is known, and all later ones fail at once.
// Within a second after the store answers again, they succeed.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &switched{}
		e := outage.Guard(store, outage.Options{Key: []byte("k"), Silence: 5 * time.Second})
		defer e.Close()
		ask := func() (time.Duration, error) {
			begun := time.Now()
			_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (any, error) {
				_, err := tx.Get([]byte("a")).Wait()
				return nil, err
			})
			return time.Since(begun), err
		}
		works := func() {
			t.Helper()
			if took, err := ask(); err != nil || took > 0 {
				t.Fatalf("an answer after %v: %v", took, err)
			}
		}
		waits := func() {
			if took, err := ask(); err != nil || took == 0 {
				t.Errorf("an answer after %v: %v", took, err)
			}
		}
		works()
		for _, away := range []time.Duration{4 * time.Second, 10 * time.Second, time.Hour} {
			store.set(true)
			if away < 5*time.Second { // who began before waits, and who begins later need not
				var waiting sync.WaitGroup
				waiting.Go(waits)
				time.Sleep(1900 * time.Millisecond)
				waiting.Go(waits)
				time.Sleep(1100 * time.Millisecond)
				if took, err := ask(); took > 0 || !kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) {
					t.Errorf("a later request: %v after %v", err, took)
				}
				time.Sleep(away - 3*time.Second)
				store.set(false)
				waiting.Wait()
				synctest.Wait()
				works()
				continue
			}
			if took, err := ask(); took < 5*time.Second || took > 6*time.Second ||
				!kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) || kv.MaybeCommitted(err) {
				t.Errorf("the first request: %v after %v", err, took)
			}
			for range 5 {
				took, err := ask()
				if took > 0 || !kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) || kv.MaybeCommitted(err) {
					t.Errorf("a later request: %v after %v", err, took)
				}
				time.Sleep(away / 10)
			}
			store.set(false)
			back := time.Now()
			for {
				if _, err := ask(); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if took := time.Since(back); took > time.Second {
				t.Errorf("noticed after %v that the store is back", took)
			}
			works()
		}
	})
}

// A commit that is under way when the store is found to be away is left alone, since it may still happen.
func TestGuard_commits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &switched{}
		e := outage.Guard(store, outage.Options{Key: []byte("k"), Silence: 5 * time.Second})
		defer e.Close()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		idle := e.Begin(t.Context())
		defer idle.Cancel()
		store.set(true)
		time.AfterFunc(8*time.Second, func() { store.set(false) })
		begun := time.Now()
		if err := tx.Commit(); err != nil || time.Since(begun) != 8*time.Second {
			t.Errorf("the commit: %v after %v", err, time.Since(begun))
		}
		if _, err := idle.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeUnreachable) {
			t.Errorf("a read of a transaction that began before: %v", err)
		}
	})
}

// A store that is locked for a moment is waited for; one that stays locked is away, and the operator is told why.
func TestGuard_locked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &switched{}
		e := outage.Guard(store, outage.Options{Key: []byte("k"), Silence: 5 * time.Second})
		defer e.Close()
		ask := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			begun := time.Now()
			_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (any, error) {
				_, err := tx.Get([]byte("a")).Wait()
				return nil, err
			})
			return time.Since(begun), err
		}
		store.locked.Store(true)
		time.AfterFunc(700*time.Millisecond, func() { store.locked.Store(false) })
		if _, err := ask(); err != nil {
			t.Errorf("a moment's lock: %v", err)
		}
		time.Sleep(5 * time.Second)
		store.locked.Store(true)
		if took, err := ask(); took > 4*time.Second || !kv.IsCode(err, kv.CodeUnreachable) ||
			!strings.Contains(err.Error(), "locked since") {
			t.Errorf("the first request of a locked store: %v after %v", err, took)
		}
		for range 5 {
			if took, err := ask(); took > 0 || !kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) {
				t.Errorf("a later request: %v after %v", err, took)
			}
			time.Sleep(7 * time.Second)
		}
		if reasons := e.Degraded(); len(reasons) != 1 || !strings.HasPrefix(reasons[0], "store_locked: ") {
			t.Errorf("reasons: %q", reasons)
		}
		store.locked.Store(false)
		time.Sleep(time.Second)
		if took, err := ask(); took > 0 || err != nil || len(e.Degraded()) > 0 {
			t.Errorf("after the lock: %v after %v; %q", err, took, e.Degraded())
		}
	})
}

// Each call of a transaction that was refused fails.
func TestGuard_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &switched{}
		store.set(true)
		e := outage.Guard(store, outage.Options{Silence: time.Second})
		defer e.Close()
		time.Sleep(2 * time.Second)
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		tx.Set([]byte("a"), nil)
		if !tx.Wrote() {
			t.Error("the write is forgotten")
		}
		rows := tx.Snapshot().GetRange(kv.KeyRange{}, kv.RangeOptions{})
		watch := tx.Watch([]byte("a"))
		<-watch.Done()
		_, stampErr := tx.Versionstamp()
		_, versionErr := tx.CommittedVersion()
		_, readErr := tx.ReadVersion().Wait()
		_, keyErr := tx.GetKey(kv.KeySelector{}).Wait()
		if rows.Next() {
			t.Error("a row")
		}
		for i, err := range []error{tx.Commit(), rows.Err(), watch.Err(), stampErr, versionErr, readErr, keyErr} {
			if !kv.IsCode(err, kv.CodeUnreachable) {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
}

// patience is how long the client of the store in these tests waits by itself.
const patience = 10 * time.Second

// switched is a store that can be silent or locked. Its transactions can do nothing but Get.
type switched struct {
	kv.Counts
	silent atomic.Pointer[chan struct{}] // closed when the silence ends; nil while the store answers
	locked atomic.Bool
}

func (s *switched) set(silent bool) {
	if silent {
		c := make(chan struct{})
		s.silent.Store(&c)
		return
	}
	close(*s.silent.Swap(nil))
}

func (s *switched) Name() string { return "switched" }
func (s *switched) Close() error { return nil }

func (s *switched) Begin(ctx context.Context) kv.Transaction {
	return &transaction{store: s, ctx: ctx}
}

type transaction struct {
	kv.Transaction
	store *switched
	ctx   context.Context
}

func (t *transaction) Get([]byte) kv.Future[[]byte] { return read{t} }
func (t *transaction) Cancel()                      {}
func (t *transaction) Wrote() bool                  { return false }
func (t *transaction) Commit() error {
	_, err := read{t}.Wait()
	return err
}
func (t *transaction) CommittedVersion() (int64, error) { return -1, nil }

type read struct{ t *transaction }

func (r read) Wait() ([]byte, error) {
	var cause *kv.Error
	if errors.As(context.Cause(r.t.ctx), &cause) {
		return nil, cause
	}
	if r.t.store.locked.Load() {
		return nil, kv.NewError(kv.CodeDatabaseLocked, "locked", nil)
	}
	silent := r.t.store.silent.Load()
	if silent == nil {
		return nil, nil
	}
	select {
	case <-*silent:
		return nil, nil
	case <-r.t.ctx.Done():
		if errors.As(context.Cause(r.t.ctx), &cause) {
			return nil, cause
		}
		if errors.Is(r.t.ctx.Err(), context.DeadlineExceeded) {
			return nil, kv.NewError(kv.CodeTimedOut, "late", nil)
		}
		return nil, kv.NewError(kv.CodeCancelled, "cancelled", nil)
	case <-time.After(patience):
		return nil, kv.NewError(kv.CodeUnreachable, "silent", nil)
	}
}

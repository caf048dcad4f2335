package remote_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/kvtest"
	"github.com/divandb/divan/layer/kv/remote"
)

// cutNowAndThen cuts the proxy's connections at random moments until the returned function is called. It counts what
// the clients send, and not time, so that a slow machine connects and does some work in between.
func cutNowAndThen(p *proxy) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			for until := p.sent() + 1 + rand.IntN(100); p.sent() < until && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			p.cut()
		}
	})
	return func() { cancel(); wg.Wait() }
}

// TestBreak_serialisable checks that connections broken at any moment do not affect strict serialisability.
func TestBreak_serialisable(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e := mustOpen(t, p.addr())
	defer cutNowAndThen(p)()
	if err := (kvtest.Load{Seed: rand.Uint64(), Rounds: 400}).Check(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// TestBreak_onceWithID checks that with a transaction id every effect happens exactly once, however often the
// connection breaks.
func TestBreak_onceWithID(t *testing.T) {
	const workers, rounds = 8, 100
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e := mustOpen(t, p.addr())
	stop := cutNowAndThen(p)
	var wg sync.WaitGroup
	retried := make([]int, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				o := kv.TransactOptions{TransactionID: fmt.Appendf(nil, "id/%d/%d", w, i)}
				_, c, err := kv.Transact(t.Context(), e, o, func(tx kv.Transaction) (struct{}, error) {
					tx.Atomic(kv.AtomicAppendIfFits, fmt.Appendf(nil, "log/%d", w), fmt.Appendf(nil, "%d ", i))
					return struct{}{}, nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				retried[w] += c.Attempts - 1
			}
		})
	}
	wg.Wait()
	stop()
	sum := 0
	for w := range workers {
		v, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
			return tx.Get(fmt.Appendf(nil, "log/%d", w)).Wait()
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, word := range strings.Fields(string(v)) {
			if word != fmt.Sprint(i) {
				t.Fatalf("worker %d: step %d is %s", w, i, word)
			}
		}
		if n := len(strings.Fields(string(v))); n != rounds {
			t.Errorf("worker %d: %d effects of %d", w, n, rounds)
		}
		sum += retried[w]
	}
	if sum == 0 {
		t.Error("nothing was retried: the connection did not break")
	}
	t.Logf("%d attempts more than transactions", sum)
}

// held is an engine whose commits wait.
type held struct {
	kv.Engine
	reached chan struct{} // a commit has arrived
	release chan struct{} // it may continue
}

func (h held) Begin(ctx context.Context) kv.Transaction { return heldTx{h.Engine.Begin(ctx), h} }

type heldTx struct {
	kv.Transaction
	h held
}

func (t heldTx) Commit() error {
	if t.Wrote() {
		t.h.reached <- struct{}{}
		<-t.h.release
	}
	return t.Transaction.Commit()
}

// TestBreak_fence checks that a commit in progress when the connection breaks is reported as unknown only after it
// has ended, and that nobody reads the store before that and concludes that it was not made.
func TestBreak_fence(t *testing.T) {
	h := held{mustEmbed(t), make(chan struct{}), make(chan struct{})}
	p := mustProxy(t, mustServe(t, h).Addr().String())
	e := mustOpen(t, p.addr())
	tx := e.Begin(t.Context())
	tx.Set([]byte("id"), []byte("made"))
	committed := make(chan error, 1)
	go func() { committed <- tx.Commit() }()
	<-h.reached
	p.cut()
	looked := make(chan string, 1)
	go func() {
		v, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
			return tx.Get([]byte("id")).Wait()
		})
		looked <- fmt.Sprintf("%s %v", v, err)
	}()
	select {
	case err := <-committed:
		t.Errorf("the commit failed with %v while still in progress", err)
	case v := <-looked:
		t.Errorf("the id was looked up during the commit: %q", v)
	case <-time.After(300 * time.Millisecond):
	}
	h.release <- struct{}{}
	if err := <-committed; !kv.IsCode(err, kv.CodeUnknownResult) || !kv.MaybeCommitted(err) || !kv.Retryable(err) {
		t.Errorf("commit: %v", err)
	}
	if v := <-looked; v != "made <nil>" {
		t.Errorf("the id: %s", v)
	}
}

// TestBreak_openTransactions checks that transactions open when the connection breaks can be retried.
func TestBreak_openTransactions(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e := mustOpen(t, p.addr())
	put := func(k, v string) {
		t.Helper()
		if _, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.Set([]byte(k), []byte(v))
			return struct{}{}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "1")
	reading, writing, armed, unarmed := e.Begin(t.Context()), e.Begin(t.Context()), e.Begin(t.Context()),
		e.Begin(t.Context())
	for _, tx := range []kv.Transaction{reading, writing} {
		if _, err := tx.Get([]byte("a")).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	writing.Set([]byte("b"), []byte("lost"))
	w, u := armed.Watch([]byte("a")), unarmed.Watch([]byte("a"))
	if err := armed.Commit(); err != nil {
		t.Fatal(err)
	}
	snap, err := e.OpenSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	p.cut()
	select {
	case <-w.Done():
		if w.Err() != nil {
			t.Errorf("an armed watch ended with %v instead of firing", w.Err())
		}
	case <-time.After(10 * time.Second):
		t.Error("an armed watch is silent after the connection broke")
	}
	retry := func(what string, err error) {
		t.Helper()
		if !kv.Retryable(err) || kv.MaybeCommitted(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = reading.Get([]byte("a")).Wait()
	retry("a read", err)
	retry("a commit", writing.Commit())
	_, err = snap.Get([]byte("a")).Wait()
	retry("a snapshot's read", err)
	retry("the commit of a watch", unarmed.Commit())
	<-u.Done()
	retry("the watch of a commit that failed", u.Err())
	put("c", "after")
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	if v, err := tx.Get([]byte("b")).Wait(); err != nil || v != nil {
		t.Errorf("b is %q, %v", v, err)
	}
}

// TestBreak_waiting checks that while a lost store may still come back, a transaction waits for it until its context
// ends or it is cancelled.
func TestBreak_waiting(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e, err := remote.Open(t.Context(), p.addr(), remote.Options{Secret: secret, Logger: quiet(t), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	p.setRefusing(true)
	p.cut()
	for deadline := time.Now().Add(10 * time.Second); ; { // the first read may still be on the broken connection
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := e.Begin(ctx).Get([]byte("a")).Wait()
		cancel()
		if kv.IsCode(err, kv.CodeTimedOut) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("read with a deadline while the store is away: %v", err)
		}
	}
	tx := e.Begin(t.Context())
	time.AfterFunc(20*time.Millisecond, tx.Cancel)
	if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("read that is cancelled while the store is away: %v", err)
	}
	tx = e.Begin(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { p.setRefusing(false) })
	if _, err := tx.Get([]byte("a")).Wait(); err != nil {
		t.Errorf("read that waits for the store to come back: %v", err)
	}
}

// TestBreak_storeGone checks a store that is away for longer than the client waits, and comes back as another process
// with the same content.
func TestBreak_storeGone(t *testing.T) {
	below := mustEmbed(t)
	first := mustServe(t, below)
	p := mustProxy(t, first.Addr().String())
	e, err := remote.Open(t.Context(), p.addr(),
		remote.Options{Secret: secret, Logger: quiet(t), Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	tx := e.Begin(t.Context())
	tx.Set([]byte("a"), []byte("1"))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	p.setRefusing(true)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	tx = e.Begin(t.Context())
	if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeUnreachable) && !kv.Retryable(err) {
		t.Errorf("read while the store is away: %v", err)
	}
	tx.Cancel()
	tx = e.Begin(t.Context())
	if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) {
		t.Errorf("read while the store is away: %v", err)
	}
	tx.Cancel()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v to fail", d)
	}
	// After this wait nobody waits again, not even for the other reads of the transaction.
	start = time.Now()
	for range 20 {
		tx = e.Begin(t.Context())
		for range 10 {
			if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeUnreachable) {
				t.Errorf("read while the store is away: %v", err)
			}
		}
		tx.Cancel()
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("200 reads took %v to fail", d)
	}
	p.redirect(mustServe(t, below).Addr().String())
	p.setRefusing(false)
	deadline := time.Now().Add(10 * time.Second)
	for {
		tx = e.Begin(t.Context())
		v, err := tx.Get([]byte("a")).Wait()
		tx.Cancel()
		if err == nil && string(v) == "1" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the store is back, and a read gives %q, %v", v, err)
		}
	}
}

// TestBreak_silence checks that a store that stops answering, though the connection stands, is given up.
func TestBreak_silence(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e, err := remote.Open(t.Context(), p.addr(),
		remote.Options{Secret: secret, Logger: quiet(t), Timeout: 5 * time.Second}.WithPing(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	tx := e.Begin(t.Context())
	if _, err := tx.Get([]byte("a")).Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // idle for longer than either side waits for an answer
	if _, err := tx.Get([]byte("a")).Wait(); err != nil {
		t.Errorf("an idle connection was closed: %v", err)
	}
	p.setSilent(true)
	if _, err := tx.Get([]byte("a")).Wait(); !kv.Retryable(err) {
		t.Errorf("read of a silent store: %v", err)
	}
	p.setSilent(false)
	if _, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get([]byte("a")).Wait()
	}); err != nil {
		t.Errorf("read after the silence: %v", err)
	}
}

// TestBreak_silentFor checks that nobody waits for a store that has been silent for as long as it may, not even for a
// new connection.
func TestBreak_silentFor(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e, err := remote.Open(t.Context(), p.addr(),
		remote.Options{Secret: secret, Logger: quiet(t), Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	p.setSilent(true)
	tx := e.Begin(t.Context())
	if _, err := tx.Get([]byte("a")).Wait(); !kv.Retryable(err) {
		t.Errorf("read of a silent store: %v", err)
	}
	tx.Cancel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	tx = e.Begin(ctx)
	defer tx.Cancel()
	if _, err := tx.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeUnreachable) {
		t.Errorf("read of a store that was silent for long: %v", err)
	}
}

// TestBreak_openSnapshot checks that a snapshot that is being opened when the connection breaks is opened on the next
// one, and that it knows when it has ended with its connection.
func TestBreak_openSnapshot(t *testing.T) {
	p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
	e := mustOpen(t, p.addr())
	works(t, e) // a ping goes before it
	p.setSilent(true)
	asked := p.sent()
	time.AfterFunc(10*time.Millisecond, func() {
		for p.sent() == asked { // the request is under way
			time.Sleep(time.Millisecond)
		}
		p.cut()
		p.setSilent(false)
	})
	s, err := e.OpenSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Get([]byte("a")).Wait(); err != nil || kv.Lost(s) {
		t.Errorf("read of the snapshot: %v; lost: %v", err, kv.Lost(s))
	}
	p.cut()
	if _, err := s.Get([]byte("a")).Wait(); !errors.Is(err, kv.ErrConnectionLost) || !kv.Lost(s) {
		t.Errorf("read after the connection broke: %v; lost: %v", err, kv.Lost(s))
	}
}

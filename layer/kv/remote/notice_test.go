package remote_test

import (
	"context"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/remote"
)

// patientClient returns an engine that waits for its store for longer than a test takes.
func patientClient(t *testing.T, addr string) *remote.Engine {
	t.Helper()
	o := remote.Options{Secret: secret, Logger: quiet(t), Timeout: 20 * time.Second}
	e, err := remote.Open(t.Context(), addr, o.WithPing(600*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// readWithin reads a key, and gives up when the time is over.
func readWithin(ctx context.Context, e *remote.Engine, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tx := e.Begin(ctx)
	defer tx.Cancel()
	_, err := tx.Get([]byte("a")).Wait()
	return err
}

// Who begins when the store is known to be away is told so at once; who has waited since before goes on waiting, and
// is answered when the store is back.
func TestNotice(t *testing.T) {
	for name, lose := range map[string]func(*proxy){
		"silent": func(p *proxy) { p.setSilent(true) },
		"gone": func(p *proxy) {
			p.setRefusing(true)
			p.cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustProxy(t, mustServe(t, mustEmbed(t)).Addr().String())
			e := patientClient(t, p.addr())
			if err := readWithin(t.Context(), e, time.Minute); err != nil {
				t.Fatal(err)
			}
			lose(p)
			waited := make(chan error, 1)
			go func() {
				_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{},
					func(tx kv.Transaction) ([]byte, error) { return tx.Get([]byte("a")).Wait() })
				waited <- err
			}()
			for {
				err := readWithin(t.Context(), e, 10*time.Millisecond)
				if kv.IsCode(err, kv.CodeUnreachable) {
					break
				}
				if !kv.IsCode(err, kv.CodeTimedOut) && !kv.Retryable(err) {
					t.Fatalf("read while the store is away: %v", err)
				}
			}
			select {
			case err := <-waited:
				t.Errorf("who has waited since before was told %v", err)
			default:
			}
			p.setSilent(false)
			p.setRefusing(false)
			p.cut()
			if err := <-waited; err != nil {
				t.Errorf("who has waited since before was told %v", err)
			}
			if err := readWithin(t.Context(), e, time.Minute); err != nil {
				t.Errorf("read when the store is back: %v", err)
			}
		})
	}
}

// A store that says that it stops is waited for, also by those that begin later: it is being restarted.
func TestNotice_announced(t *testing.T) {
	t.Parallel()
	below := mustEmbed(t)
	first := mustServe(t, below)
	p := mustProxy(t, first.Addr().String())
	e := patientClient(t, p.addr())
	p.setRefusing(true)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < 2200*time.Millisecond; { // until it would be told of an outage
		if err := readWithin(t.Context(), e, 10*time.Millisecond); !kv.IsCode(err, kv.CodeTimedOut) &&
			!kv.Retryable(err) {
			t.Fatalf("read while the store is restarted: %v", err)
		}
	}
	p.redirect(mustServe(t, below).Addr().String())
	p.setRefusing(false)
	if err := readWithin(t.Context(), e, time.Minute); err != nil {
		t.Errorf("read when the store is back: %v", err)
	}
}

//go:build fdb

package fdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
)

// limit is far longer than the tests below may take, and far shorter than a hang.
const limit = 5 * time.Second

// clusterFile writes a cluster file with content into a new directory.
func clusterFile(t *testing.T, content string) string {
	name := filepath.Join(t.TempDir(), "fdb.cluster")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustOpen(t *testing.T, o fdb.Options) kv.Engine {
	t.Helper()
	e, err := fdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// timely fails a test that hangs.
func timely(t *testing.T, what string, f func() error) error {
	t.Helper()
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		t.Logf("%s: %v after %v", what, err, time.Since(start).Round(time.Millisecond))
		return err
	case <-time.After(limit):
		t.Fatalf("%s: no answer after %v", what, limit)
		return nil
	}
}

// TestUnreachable uses a cluster file whose address nobody listens on.
func TestUnreachable(t *testing.T) {
	e := mustOpen(t, fdb.Options{ClusterFile: clusterFile(t, "no:body@127.0.0.1:1\n"), Timeout: 500 * time.Millisecond})
	read := func(ctx context.Context) func() error {
		return func() error {
			_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
				return tx.Get([]byte("a")).Wait()
			})
			return err
		}
	}
	if err := timely(t, "read", read(t.Context())); !kv.IsCode(err, kv.CodeUnreachable) || kv.Retryable(err) ||
		kv.MaybeCommitted(err) {
		t.Errorf("read: %v", err)
	}
	err := timely(t, "write", func() error {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
			tx.Set([]byte("a"), nil)
			return 0, nil
		})
		return err
	})
	if !kv.IsCode(err, kv.CodeUnreachable) || !kv.MaybeCommitted(err) {
		t.Errorf("write: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := timely(t, "read with a deadline", read(ctx)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read with a deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := timely(t, "read that is cancelled", read(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("read that is cancelled: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	away := kv.NewError(kv.CodeUnreachable, "away", nil)
	time.AfterFunc(50*time.Millisecond, func() { end(away) })
	if err := timely(t, "read that is ended", read(ended)); !kv.IsCode(err, kv.CodeUnreachable) ||
		!strings.Contains(err.Error(), "away") {
		t.Errorf("read that is ended for a reason: %v", err)
	}
	if err := timely(t, "a later one", read(ended)); !kv.IsCode(err, kv.CodeUnreachable) {
		t.Errorf("read after the end: %v", err)
	}
	tx := e.Begin(t.Context())
	w := tx.Watch([]byte("a"))
	if err := timely(t, "watch", tx.Commit); !kv.IsCode(err, kv.CodeUnreachable) && err != nil {
		t.Errorf("commit of a watch: %v", err)
	}
	tx.Cancel()
	_ = timely(t, "watch", func() error { w.Cancel(); <-w.Done(); return w.Err() })

	waiting := e.Begin(t.Context())
	value := waiting.Get([]byte("a"))
	time.AfterFunc(50*time.Millisecond, func() { _ = e.Close() })
	if err := timely(t, "read of an engine that closes", func() error {
		_, err := value.Wait()
		return err
	}); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("read of an engine that closes: %v", err)
	}
	if err := timely(t, "read of a closed engine", read(t.Context())); !kv.IsCode(err, kv.CodeCancelled) {
		t.Errorf("read of a closed engine: %v", err)
	}
}

// TestOpen_ClusterFile checks that problems of the file are reported by Open or by the first transaction.
func TestOpen_ClusterFile(t *testing.T) {
	for name, file := range map[string]string{
		"missing":     filepath.Join(t.TempDir(), "none"),
		"a directory": t.TempDir(),
		"empty":       clusterFile(t, ""),
		"garbage":     clusterFile(t, "this is not a cluster file"),
	} {
		err := timely(t, name, func() error {
			e, err := fdb.Open(fdb.Options{ClusterFile: file, Timeout: 500 * time.Millisecond})
			if err != nil {
				return err
			}
			defer e.Close()
			_, err = e.Begin(t.Context()).ReadVersion().Wait()
			return err
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

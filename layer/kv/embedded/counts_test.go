package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

func TestCounts(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	before := e.Tally().Counted()
	write := func(fn func(tx kv.Transaction) error) error {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			return struct{}{}, fn(tx)
		})
		return err
	}
	for range 10 {
		if err := write(func(tx kv.Transaction) error { tx.Set([]byte("a"), nil); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	attempts := 0
	err := write(func(tx kv.Transaction) error {
		if _, err := tx.Get([]byte("a")).Wait(); err != nil {
			return err
		}
		if attempts++; attempts < 4 {
			other := e.Begin(context.Background())
			other.Set([]byte("a"), []byte{byte(attempts)})
			if err := other.Commit(); err != nil {
				return err
			}
		}
		tx.Set([]byte("b"), nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = write(func(tx kv.Transaction) error { return errors.New("a failure") })
	_ = write(func(tx kv.Transaction) error { _, err := tx.Get([]byte("a")).Wait(); return err }) // a read
	n := e.Tally().Counted().Since(before)
	if n.Commits != 11 || n.Conflicts != 3 || n.Retries != 3 {
		t.Errorf("counted %d commits, %d conflicts, %d retries", n.Commits, n.Conflicts, n.Retries)
	}
	if p := n.Quantile(0.5); p <= 0 || p > 10*time.Second {
		t.Errorf("the median commit takes %v", p)
	}
}

//go:build fdb

package fdb_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// TestTransaction_oldIsNotDead checks that a transaction whose owner was busy for longer than the client's time
// limit, for example because it streams to a slow reader, fails as too old and retryable. It must not fail because
// the cluster does not answer, which would end the response.
func TestTransaction_oldIsNotDead(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, kv.TransactionSeconds*time.Second + 500*time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) { oldIsNotDead(t, timeout) })
	}
}

func oldIsNotDead(t *testing.T, timeout time.Duration) {
	fdbtest.Whole(t)
	e := mustOpen(t, fdb.Options{ClusterFile: fdbtest.AnotherFile(t), Timeout: timeout})
	for i := range 2000 { // more than the first batches of a range
		if i%500 == 0 {
			_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
				for j := i; j < i+500; j++ {
					tx.Set(binary.BigEndian.AppendUint32([]byte("row"), uint32(j)), make([]byte, 500))
				}
				return 0, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	reader, writer := e.Begin(t.Context()), e.Begin(t.Context())
	defer reader.Cancel()
	defer writer.Cancel()
	rows := reader.GetRange(kv.KeyRange{Begin: []byte("row"), End: []byte("rox")}, kv.RangeOptions{})
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if _, err := writer.Get([]byte("row")).Wait(); err != nil {
		t.Fatal(err)
	}
	writer.Set([]byte("late"), nil)
	time.Sleep(timeout + 500*time.Millisecond) // the owner is busy
	for rows.Next() {
	}
	old := func(what string, err error) {
		t.Helper()
		if !kv.IsCode(err, kv.CodeTooOld) || !kv.Retryable(err) || kv.MaybeCommitted(err) {
			t.Errorf("%s: %v, want CodeTooOld", what, err)
		}
	}
	old("the rest of a range", rows.Err())
	_, err := reader.Get([]byte("row")).Wait()
	old("a read", err)
	_, err = reader.GetKey(kv.FirstGreaterThan([]byte("row"))).Wait()
	old("a selector", err)
	old("a commit", writer.Commit())
}

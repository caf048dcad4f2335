// Package kvtest is the conformance suite of kv.Engine. It tests each operation and each limit, the anomalies that
// must not happen, and strict serialisability with random concurrent transactions.
//
//	func TestConformance(t *testing.T) {
//		kvtest.Run(t, func(tb testing.TB) kv.Engine { ... })
//	}
package kvtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// Run runs the suite. open returns an engine whose whole key space may be erased, and registers its closing. It is
// called for each test and may return the same store again, but no other engine may use the store meanwhile.
func Run(t *testing.T, open func(tb testing.TB) kv.Engine) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, e kv.Engine)
	}{
		{"point reads and writes", testPoints},
		{"read your writes", testReadYourWrites},
		{"ranges", testRanges},
		{"ranges read together", testRangesTogether},
		{"reads see the moment of issue", testIssue},
		{"key selectors", testSelectors},
		{"atomic operations", testAtomics},
		{"atomic operations race", testAtomicRace},
		{"blind transactions, replayed", testReplayed},
		{"versionstamps", testVersionstamps},
		{"versionstamped keys cannot be read", testUnreadable},
		{"versionstamps are in commit order", testStampOrder},
		{"metadata version", testMetadataVersion},
		{"conflicts", testConflicts},
		{"conflicts stop where the read stopped", testConflictTrimming},
		{"anomalies", testAnomalies},
		{"read versions", testReadVersions},
		{"limits", testLimits},
		{"illegal calls", testIllegal},
		{"endings", testEndings},
		{"context", testContext},
		{"watches", testWatches},
		{"watches under load", testWatchStorm},
		{"long snapshots", testSnapshots},
		{"a pinned engine", testPinned},
		{"the time limit", testTimeLimit},
		{"one transaction, many goroutines", testShared},
		{"random transactions one by one", testModel},
		{"random transactions at once", testSerialisable},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, cleared(t, open)) })
	}
}

// RunAtomics runs the suite's tests of atomic operations, for engines in special states.
func RunAtomics(t *testing.T, open func(tb testing.TB) kv.Engine) {
	t.Run("atomic operations", func(t *testing.T) { testAtomics(t, cleared(t, open)) })
	t.Run("atomic operations race", func(t *testing.T) { testAtomicRace(t, cleared(t, open)) })
	t.Run("blind transactions, replayed", func(t *testing.T) { testReplayed(t, cleared(t, open)) })
}

// cleared opens an engine and erases its content.
func cleared(t *testing.T, open func(tb testing.TB) kv.Engine) kv.Engine {
	t.Helper()
	e := open(t)
	update(t, e, func(tx kv.Transaction) { tx.ClearRange(everything) })
	return e
}

var everything = kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}

func key(s string) []byte { return []byte(s) }

func keyRange(begin, end string) kv.KeyRange { return kv.KeyRange{Begin: key(begin), End: key(end)} }

// begin returns a transaction that is cancelled when the test ends.
func begin(t *testing.T, e kv.Engine) kv.Transaction {
	tx := e.Begin(t.Context())
	t.Cleanup(tx.Cancel)
	return tx
}

// update writes in one transaction and commits it. A conflict fails the test.
func update(t *testing.T, e kv.Engine, f func(tx kv.Transaction)) kv.Committed {
	t.Helper()
	_, c, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		f(tx)
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put writes pairs given as "key=value".
func put(t *testing.T, e kv.Engine, pairs ...string) kv.Committed {
	t.Helper()
	return update(t, e, func(tx kv.Transaction) {
		for _, p := range pairs {
			k, v, _ := strings.Cut(p, "=")
			tx.Set(key(k), []byte(v))
		}
	})
}

// must waits for a read that must succeed.
func must[T any](t *testing.T, f kv.Future[T]) T {
	t.Helper()
	v, err := f.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fails checks that a read fails with code.
func fails[T any](t *testing.T, f kv.Future[T], code kv.Code) {
	t.Helper()
	if v, err := f.Wait(); !kv.IsCode(err, code) {
		t.Errorf("got %v, %v, want code %d", v, err, code)
	}
}

// isCode checks an error's code.
func isCode(t *testing.T, what string, err error, code kv.Code) {
	t.Helper()
	if !kv.IsCode(err, code) {
		t.Errorf("%s: %v, want code %d", what, err, code)
	}
}

// show formats a value for messages: <none> for a missing one.
func show(v []byte) string {
	if v == nil {
		return "<none>"
	}
	return string(v)
}

// collect reads a range to its end and returns its rows as "key=value key=value".
func collect(r kv.Reader, kr kv.Range, o kv.RangeOptions) (string, error) {
	return drain(r.GetRange(kr, o))
}

func drain(it kv.RangeIterator) (string, error) {
	defer it.Close()
	var rows []string
	for it.Next() {
		row := it.KeyValue()
		rows = append(rows, fmt.Sprintf("%s=%s", row.Key, row.Value))
	}
	return strings.Join(rows, " "), it.Err()
}

// wantRows checks a range read.
func wantRows(t *testing.T, r kv.Reader, kr kv.Range, o kv.RangeOptions, want string) {
	t.Helper()
	if got, err := collect(r, kr, o); err != nil || got != want {
		t.Errorf("range %s: %q, %v, want %q", showRange(kr), got, err, want)
	}
}

func showRange(r kv.Range) string {
	b, e := r.Selectors()
	return showSelector(b) + ".." + showSelector(e)
}

func showSelector(s kv.KeySelector) string {
	return fmt.Sprintf("(%q,%v,%+d)", s.Key, s.OrEqual, s.Offset)
}

// wantValue checks a point read.
func wantValue(t *testing.T, r kv.Reader, k, want string) {
	t.Helper()
	if got := show(must(t, r.Get(key(k)))); got != want {
		t.Errorf("%q is %q, want %q", k, got, want)
	}
}

// wantStored checks a committed value.
func wantStored(t *testing.T, e kv.Engine, k, want string) {
	t.Helper()
	wantValue(t, begin(t, e), k, want)
}

// wantCommit commits and checks the result: success for code 0, or an engine error with that code.
func wantCommit(t *testing.T, what string, tx kv.Transaction, code kv.Code) {
	t.Helper()
	err := tx.Commit()
	if code == 0 && err != nil || code != 0 && !kv.IsCode(err, code) {
		t.Errorf("%s: commit: %v, want code %d", what, err, code)
	}
}

func repeat(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

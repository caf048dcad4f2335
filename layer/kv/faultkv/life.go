package faultkv

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// TimeVariable is the environment variable that limits transactions to a lifetime in simulated time, such as 50ms, in
// test suites.
//
//	DIVAN_TEST_TRANSACTION_TIME=50ms go test ./layer
const TimeVariable = "DIVAN_TEST_TRANSACTION_TIME"

// Short reports whether TimeVariable is set. Tests whose transactions cannot be divided, or that count them, skip
// themselves then.
func Short() bool { return os.Getenv(TimeVariable) != "" }

// The simulated duration of reads: some multiple of their duration on the embedded engine, and the same on every
// machine, busy or not.
const (
	readTime = 20 * time.Microsecond // a Get, a GetKey, the start of a range
	rowTime  = 2 * time.Microsecond
	byteTime = 2 * time.Nanosecond
)

// WithLife limits the transactions of e to a lifetime in simulated time. Each read uses up some of it; once it is
// used up, further reads and the commit fail with CodeTooOld. Real time does not count, so the same transaction
// always ends at the same place. Long snapshots are not limited.
func WithLife(e kv.Engine, life time.Duration) kv.Engine {
	m := timed{e, life}
	if s, ok := e.(kv.Snapshotter); ok {
		return timedSnapshotter{m, s}
	}
	return m
}

// ShortInSuite limits the transactions of e if TimeVariable is set, else it returns e.
func ShortInSuite(tb interface {
	Helper()
	Fatal(args ...any)
}, e kv.Engine) kv.Engine {
	tb.Helper()
	if !Short() {
		return e
	}
	life, err := time.ParseDuration(os.Getenv(TimeVariable))
	if err != nil {
		tb.Fatal(TimeVariable, err)
	}
	return WithLife(e, life)
}

type forever struct{}

// Forever returns a context for a test's own transactions that read a whole store at once: only the limits of the
// engine below apply to them.
func Forever(ctx context.Context) context.Context { return context.WithValue(ctx, forever{}, true) }

type timed struct {
	kv.Engine
	life time.Duration
}

type timedSnapshotter struct {
	timed
	kv.Snapshotter
}

func (m timed) Begin(ctx context.Context) kv.Transaction {
	if ctx.Value(forever{}) != nil {
		return m.Engine.Begin(ctx)
	}
	t := &timedTransaction{Transaction: m.Engine.Begin(ctx)}
	t.left.Store(int64(m.life))
	return t
}

// timedTransaction has a remaining lifetime. A negative remainder means that it is dead.
type timedTransaction struct {
	kv.Transaction
	left atomic.Int64
}

// spend deducts d from the lifetime and returns an error if the transaction is dead.
func (t *timedTransaction) spend(d time.Duration) error {
	if t.left.Add(-int64(d)) < 0 {
		return kv.NewError(kv.CodeTooOld, "faultkv: the transaction's simulated time is used up", nil)
	}
	return nil
}

func bytesTime(bytes int) time.Duration { return time.Duration(bytes) * byteTime }

func (t *timedTransaction) Get(key []byte) kv.Future[[]byte] {
	return timedReader{t.Transaction, t}.Get(key)
}

func (t *timedTransaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return timedReader{t.Transaction, t}.GetKey(sel)
}

func (t *timedTransaction) ReadVersion() kv.Future[int64] {
	return timedReader{t.Transaction, t}.ReadVersion()
}

func (t *timedTransaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return timedReader{t.Transaction, t}.GetRange(r, o)
}

func (t *timedTransaction) Snapshot() kv.Reader {
	below := t.Transaction.Snapshot()
	if _, ok := below.(kv.RangesReader); ok {
		return timedRanges{timedReader{below, t}}
	}
	return timedReader{below, t}
}

func (t *timedTransaction) Commit() error {
	if err := t.spend(0); err != nil {
		t.Transaction.Cancel()
		return err
	}
	return t.Transaction.Commit()
}

// timedReader deducts the time of each read from the transaction's lifetime.
type timedReader struct {
	below kv.Reader
	t     *timedTransaction
}

func (r timedReader) Get(key []byte) kv.Future[[]byte] {
	if err := r.t.spend(readTime); err != nil {
		return failed[[]byte]{err}
	}
	value, err := r.below.Get(key).Wait()
	if err == nil {
		err = r.t.spend(bytesTime(len(value)))
	}
	return done[[]byte]{value, err}
}

func (r timedReader) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := r.t.spend(readTime); err != nil {
		return failed[[]byte]{err}
	}
	return r.below.GetKey(sel)
}

func (r timedReader) ReadVersion() kv.Future[int64] {
	if err := r.t.spend(0); err != nil {
		return failed[int64]{err}
	}
	return r.below.ReadVersion()
}

func (r timedReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := r.t.spend(readTime); err != nil {
		return &iterator{err: err}
	}
	return &timedRows{RangeIterator: r.below.GetRange(in, o), t: r.t}
}

// timedRanges adds GetRanges. Looking a range up takes as long as reading a row.
type timedRanges struct{ timedReader }

func (r timedRanges) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	rows, ok := kv.GetRanges(r.below, ranges)
	if !ok {
		return nil, false
	}
	if err := r.t.spend(readTime + time.Duration(len(ranges))*rowTime); err != nil {
		rows.Close()
		return &iterator{err: err}, true
	}
	return &timedRows{RangeIterator: rows, t: r.t}, true
}

type done[T any] struct {
	value T
	err   error
}

func (d done[T]) Wait() (T, error) { return d.value, d.err }

type timedRows struct {
	kv.RangeIterator
	t   *timedTransaction
	err error
}

func (r *timedRows) Next() bool {
	if r.err != nil || !r.RangeIterator.Next() {
		return false
	}
	row := r.RangeIterator.KeyValue()
	r.err = r.t.spend(rowTime + bytesTime(len(row.Key)+len(row.Value)))
	return r.err == nil
}

func (r *timedRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}

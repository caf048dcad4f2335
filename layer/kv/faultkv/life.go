package faultkv

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// TimeVariable is the environment variable that makes a suite run on engines whose transactions live for a time of the
// engine's own, such as 50ms.
//
//	DIVAN_TEST_TRANSACTION_TIME=50ms go test ./layer
const TimeVariable = "DIVAN_TEST_TRANSACTION_TIME"

// Short reports whether TimeVariable is set. A test whose transactions cannot be divided, or that counts them, skips
// itself then.
func Short() bool { return os.Getenv(TimeVariable) != "" }

// What reads take of a transaction's life: some times what they take on the embedded engine, and the same on every
// machine, busy or not.
const (
	readTime = 20 * time.Microsecond // a Get, a GetKey, the beginning of a range
	rowTime  = 2 * time.Microsecond
	byteTime = 2 * time.Nanosecond
)

// WithLife is e with transactions that live for life of engine time: what they read takes of it, and after that further
// reads and the commit fail with CodeTooOld. What is done beside reading, however long it takes, does not count, so
// that the same transaction always ends at the same place. Long snapshots have no end.
func WithLife(e kv.Engine, life time.Duration) kv.Engine {
	m := mortal{e, life}
	if s, ok := e.(kv.Snapshotter); ok {
		return mortalSnapshotter{m, s}
	}
	return m
}

// ShortInSuite is e with short transactions where TimeVariable is set, else e.
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

// Forever is ctx for transactions of a test itself, which looks at a whole store at once: they live for as long as
// those of the engine below.
func Forever(ctx context.Context) context.Context { return context.WithValue(ctx, forever{}, true) }

type mortal struct {
	kv.Engine
	life time.Duration
}

type mortalSnapshotter struct {
	mortal
	kv.Snapshotter
}

func (m mortal) Begin(ctx context.Context) kv.Transaction {
	if ctx.Value(forever{}) != nil {
		return m.Engine.Begin(ctx)
	}
	t := &mortalTransaction{Transaction: m.Engine.Begin(ctx)}
	t.left.Store(int64(m.life))
	return t
}

// mortalTransaction has some time left. With less than none it is dead.
type mortalTransaction struct {
	kv.Transaction
	left atomic.Int64
}

// spend takes of the life, and is the error of a dead transaction.
func (t *mortalTransaction) spend(d time.Duration) error {
	if t.left.Add(-int64(d)) < 0 {
		return kv.NewError(kv.CodeTooOld, "faultkv: the transaction has used up its time", nil)
	}
	return nil
}

func bytesTime(bytes int) time.Duration { return time.Duration(bytes) * byteTime }

func (t *mortalTransaction) Get(key []byte) kv.Future[[]byte] {
	return mortalReader{t.Transaction, t}.Get(key)
}

func (t *mortalTransaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return mortalReader{t.Transaction, t}.GetKey(sel)
}

func (t *mortalTransaction) ReadVersion() kv.Future[int64] {
	return mortalReader{t.Transaction, t}.ReadVersion()
}

func (t *mortalTransaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return mortalReader{t.Transaction, t}.GetRange(r, o)
}

func (t *mortalTransaction) Snapshot() kv.Reader {
	below := t.Transaction.Snapshot()
	if _, ok := below.(kv.RangesReader); ok {
		return mortalRanges{mortalReader{below, t}}
	}
	return mortalReader{below, t}
}

func (t *mortalTransaction) Commit() error {
	if err := t.spend(0); err != nil {
		t.Transaction.Cancel()
		return err
	}
	return t.Transaction.Commit()
}

// mortalReader takes what is read of a transaction's life.
type mortalReader struct {
	below kv.Reader
	t     *mortalTransaction
}

func (r mortalReader) Get(key []byte) kv.Future[[]byte] {
	if err := r.t.spend(readTime); err != nil {
		return failed[[]byte]{err}
	}
	value, err := r.below.Get(key).Wait()
	if err == nil {
		err = r.t.spend(bytesTime(len(value)))
	}
	return done[[]byte]{value, err}
}

func (r mortalReader) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := r.t.spend(readTime); err != nil {
		return failed[[]byte]{err}
	}
	return r.below.GetKey(sel)
}

func (r mortalReader) ReadVersion() kv.Future[int64] {
	if err := r.t.spend(0); err != nil {
		return failed[int64]{err}
	}
	return r.below.ReadVersion()
}

func (r mortalReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := r.t.spend(readTime); err != nil {
		return &iterator{err: err}
	}
	return &mortalRows{RangeIterator: r.below.GetRange(in, o), t: r.t}
}

// done is a read that is over.
// mortalRanges reads ranges together. Each of them takes what a row takes, as it is looked for.
type mortalRanges struct{ mortalReader }

func (r mortalRanges) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	rows, ok := kv.GetRanges(r.below, ranges)
	if !ok {
		return nil, false
	}
	if err := r.t.spend(readTime + time.Duration(len(ranges))*rowTime); err != nil {
		rows.Close()
		return &iterator{err: err}, true
	}
	return &mortalRows{RangeIterator: rows, t: r.t}, true
}

type done[T any] struct {
	value T
	err   error
}

func (d done[T]) Wait() (T, error) { return d.value, d.err }

type mortalRows struct {
	kv.RangeIterator
	t   *mortalTransaction
	err error
}

func (r *mortalRows) Next() bool {
	if r.err != nil || !r.RangeIterator.Next() {
		return false
	}
	row := r.RangeIterator.KeyValue()
	r.err = r.t.spend(rowTime + bytesTime(len(row.Key)+len(row.Value)))
	return r.err == nil
}

func (r *mortalRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}

package faultkv

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
)

// Damaged is an engine with a range of keys that cannot be read, as after a block of a file was damaged on disk:
// every read that meets one of those keys fails with CodeFileCorrupt. It holds no snapshots. Safe for concurrent use.
type Damaged struct {
	kv.Engine
	keys atomic.Pointer[kv.KeyRange]
}

// NewDamaged returns an engine with no damage yet. Closing it does not close below.
func NewDamaged(below kv.Engine) *Damaged {
	e := &Damaged{Engine: below}
	e.Damage(kv.KeyRange{})
	return e
}

// Damage sets the damaged range, replacing the previous one, for transactions that begin from now on.
func (e *Damaged) Damage(keys kv.KeyRange) { e.keys.Store(&keys) }

func (e *Damaged) Begin(ctx context.Context) kv.Transaction {
	tx := e.Engine.Begin(ctx)
	return damagedTransaction{tx, damagedReader{tx, *e.keys.Load()}}
}

type damagedTransaction struct {
	kv.Transaction
	reader damagedReader
}

func (t damagedTransaction) Get(key []byte) kv.Future[[]byte] { return t.reader.Get(key) }

func (t damagedTransaction) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return t.reader.GetRange(in, o)
}

func (t damagedTransaction) Snapshot() kv.Reader {
	return damagedReader{t.Transaction.Snapshot(), t.reader.keys}
}

type damagedReader struct {
	kv.Reader
	keys kv.KeyRange
}

func (r damagedReader) Get(key []byte) kv.Future[[]byte] {
	if f := r.Reader.Get(key); !damaged(r.keys, key) {
		return f
	}
	return damagedFuture{}
}

func (r damagedReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &damagedRows{RangeIterator: r.Reader.GetRange(in, o), keys: r.keys}
}

func damaged(keys kv.KeyRange, key []byte) bool {
	return bytes.Compare(keys.Begin, key) <= 0 && bytes.Compare(key, keys.End) < 0
}

func errDamaged() error { return injected(kv.CodeFileCorrupt, "a block is damaged") }

type damagedFuture struct{}

func (damagedFuture) Wait() ([]byte, error) { return nil, errDamaged() }

type damagedRows struct {
	kv.RangeIterator
	keys kv.KeyRange
	err  error
}

func (r *damagedRows) Next() bool {
	if r.err != nil || !r.RangeIterator.Next() {
		return false
	}
	if damaged(r.keys, r.KeyValue().Key) {
		r.err = errDamaged()
	}
	return r.err == nil
}

func (r *damagedRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.RangeIterator.Err()
}

package layer_test

import (
	"context"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
)

// costs counts the calls of an engine, which determine the cost on FoundationDB, where each read is a message.
type costs struct {
	transactions, conflicts, gets, ranges, rows, sets, atomics, bytes atomic.Int64
}

func (c *costs) forget() {
	for _, n := range []*atomic.Int64{&c.transactions, &c.conflicts, &c.gets, &c.ranges, &c.rows, &c.sets, &c.atomics,
		&c.bytes} {
		n.Store(0)
	}
}

// costEngine counts calls. Like FoundationDB it does not support snapshots.
type costEngine struct {
	kv.Engine
	costs
}

func (e *costEngine) Begin(ctx context.Context) kv.Transaction {
	e.transactions.Add(1)
	return &costTransaction{e.Engine.Begin(ctx), &e.costs}
}

type costTransaction struct {
	kv.Transaction
	c *costs
}

func (t *costTransaction) Commit() error {
	err := t.Transaction.Commit()
	if kv.IsCode(err, kv.CodeNotCommitted) {
		t.c.conflicts.Add(1)
	}
	return err
}

func (t *costTransaction) Set(key, value []byte) {
	t.c.sets.Add(1)
	t.c.bytes.Add(int64(len(key) + len(value)))
	t.Transaction.Set(key, value)
}

func (t *costTransaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.c.atomics.Add(1)
	t.Transaction.Atomic(op, key, operand)
}

func (t *costTransaction) Get(key []byte) kv.Future[[]byte] {
	return costReader{t.Transaction, t.c}.Get(key)
}

func (t *costTransaction) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return costReader{t.Transaction, t.c}.GetRange(in, o)
}

func (t *costTransaction) Snapshot() kv.Reader { return costReader{t.Transaction.Snapshot(), t.c} }

type costReader struct {
	kv.Reader
	c *costs
}

func (r costReader) Get(key []byte) kv.Future[[]byte] {
	r.c.gets.Add(1)
	return r.Reader.Get(key)
}

func (r costReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	r.c.ranges.Add(1)
	return &costRange{r.Reader.GetRange(in, o), r.c}
}

type costRange struct {
	kv.RangeIterator
	c *costs
}

func (r *costRange) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		r.c.rows.Add(1)
	}
	return more
}

// snapshotCosts is costEngine for an engine that supports snapshots.
type snapshotCosts struct{ costEngine }

func (e *snapshotCosts) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, _, err := kv.OpenSnapshot(ctx, e.Engine)
	return costSnapshot{s, costReader{s, &e.costs}}, err
}

type costSnapshot struct {
	kv.Snapshot
	reads costReader
}

func (s costSnapshot) Get(key []byte) kv.Future[[]byte] { return s.reads.Get(key) }

func (s costSnapshot) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return s.reads.GetRange(in, o)
}

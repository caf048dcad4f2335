package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/tuple"
)

// counted is an engine that counts its operations, which on FoundationDB are messages, keys and bytes. Like
// FoundationDB it has no long-lived snapshots.
type counted struct {
	kv.Engine
	mu sync.Mutex
	counts
}

// counts are those of one or more operations.
type counts struct {
	transactions, gets, ranges, rows int
	sets, clears, cleared, atomics   int
	bytes                            int // of keys and values that are set
	tail                             int // sets in the range that grows at its end: Changes
	hot                              int // sets and atomic operations on keys that many writers share
}

func (e *counted) note(f func(c *counts)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.counts)
}

func (e *counted) take() counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	e.counts = counts{}
	return c
}

func (e *counted) Begin(ctx context.Context) kv.Transaction {
	e.note(func(c *counts) { c.transactions++ })
	return &countedTransaction{e.Engine.Begin(ctx), e}
}

type countedTransaction struct {
	kv.Transaction
	e *counted
}

func (t *countedTransaction) Get(key []byte) kv.Future[[]byte] {
	return countedReader{t.Transaction, t.e}.Get(key)
}

func (t *countedTransaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return countedReader{t.Transaction, t.e}.GetRange(r, o)
}

func (t *countedTransaction) Snapshot() kv.Reader {
	return countedReader{t.Transaction.Snapshot(), t.e}
}

// subspace returns the subspace of a key, or -1 if it belongs to no database.
func subspace(key []byte) keyspace.Subspace {
	section, rest, err := tuple.TakeInt(key)
	if err != nil || section != int64(keyspace.Data) {
		return -1
	}
	if _, rest, err = tuple.TakeInt(rest); err != nil {
		return -1
	}
	sub, _, err := tuple.TakeInt(rest)
	if err != nil {
		return -1
	}
	return keyspace.Subspace(sub)
}

func (t *countedTransaction) set(key, value []byte) {
	t.e.note(func(c *counts) {
		c.sets++
		c.bytes += len(key) + len(value)
		switch subspace(key) {
		case keyspace.Changes, keyspace.ShardSuperseded:
			c.tail++
		case keyspace.Wake:
			c.hot++
		}
	})
}

func (t *countedTransaction) Set(key, value []byte) {
	t.set(key, value)
	t.Transaction.Set(key, value)
}

func (t *countedTransaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.set(key, value)
	t.Transaction.SetVersionstampedKey(key, offset, value)
}

func (t *countedTransaction) SetVersionstampedValue(key, value []byte, offset int) {
	t.set(key, value)
	t.Transaction.SetVersionstampedValue(key, value, offset)
}

func (t *countedTransaction) Clear(key []byte) {
	t.e.note(func(c *counts) { c.clears++ })
	t.Transaction.Clear(key)
}

func (t *countedTransaction) ClearRange(r kv.KeyRange) {
	t.e.note(func(c *counts) { c.cleared++ })
	t.Transaction.ClearRange(r)
}

func (t *countedTransaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.e.note(func(c *counts) {
		c.atomics++
		c.hot++
		c.bytes += len(key) + len(operand)
	})
	t.Transaction.Atomic(op, key, operand)
}

type countedReader struct {
	kv.Reader
	e *counted
}

func (r countedReader) Get(key []byte) kv.Future[[]byte] {
	if string(key) != kv.MetadataVersionKey { // which comes with the read version
		r.e.note(func(c *counts) { c.gets++ })
	}
	return r.Reader.Get(key)
}

func (r countedReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	r.e.note(func(c *counts) { c.ranges++ })
	return &countedRange{r.Reader.GetRange(in, o), r.e}
}

type countedRange struct {
	kv.RangeIterator
	e *counted
}

func (r *countedRange) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		r.e.note(func(c *counts) { c.rows++ })
	}
	return more
}

// operation is a client operation on n documents.
type operation struct {
	what string
	n    int
	run  func() error
}

// costsOf counts the cost of operations on cities, and returns the counts by operation.
func costsOf(ctx context.Context, dir string, docs []layer.Edit, t *table) (costs map[string]counts, err error) {
	engine, err := embedded.Open(dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	e := &counted{Engine: engine}
	s, err := layer.Open(ctx, e, layer.Options{})
	if err != nil {
		return nil, err
	}
	db, err := s.Create(ctx, "cities", layer.CreateOptions{})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if _, err = db.LastSeq(ctx); err != nil { // caches the configuration
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Close(); err != nil { // nothing may run in the background during the counts
		return nil, err
	}
	one := docs[0]
	rest := docs[1:]
	put := func(e layer.Edit) (layer.Rev, error) { return db.Put(ctx, e, layer.WriteOptions{}) }
	scan := func(o layer.AllDocsOptions) error {
		res, err := db.AllDocs(ctx, o)
		if err != nil {
			return err
		}
		for _, err := range res.Rows {
			if err != nil {
				return err
			}
		}
		return nil
	}
	changes := func(o layer.ChangesOptions) error {
		pass, err := db.Changes(ctx, o)
		if err != nil {
			return err
		}
		for _, err := range pass.Rows {
			if err != nil {
				return err
			}
		}
		return nil
	}
	operations := []operation{
		{"insert", 1, func() (err error) { one.Rev, err = put(one); return err }},
		{"update", 1, func() (err error) { one.Rev, err = put(one); return err }},
		{"GET", 1, func() error { _, err := db.Get(ctx, one.ID, layer.GetOptions{}); return err }},
		{"delete", 1, func() error {
			gone := layer.Edit{ID: one.ID, Rev: one.Rev, Deleted: true, Body: []byte("{}")}
			_, err := put(gone)
			return err
		}},
		{"_bulk_docs, a document of 500", len(rest), func() error {
			results, err := db.Bulk(ctx, rest, layer.WriteOptions{})
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
			return err
		}},
		{"_all_docs, a row", len(rest), func() error { return scan(layer.AllDocsOptions{Limit: -1}) }},
		{"_all_docs with bodies, a row", len(rest),
			func() error { return scan(layer.AllDocsOptions{Limit: -1, IncludeDocs: true}) }},
		{"_changes, a row", len(rest), func() error { return changes(layer.ChangesOptions{Limit: -1}) }},
		{"_changes with bodies, a row", len(rest),
			func() error { return changes(layer.ChangesOptions{Limit: -1, IncludeDocs: true}) }},
	}
	costs = map[string]counts{}
	for _, o := range operations {
		e.take()
		if err := o.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", o.what, err)
		}
		c := e.take()
		costs[o.what] = c
		per := func(v int) string { return fmt.Sprintf("%.3g", float64(v)/float64(o.n)) }
		t.row(o.what, "%s transactions, reads: %s keys, %s ranges of %s rows; writes: %s sets, %s clears, %s "+
			"atomic, %s bytes; %s at the end of the feed, %s on shared keys",
			per(c.transactions), per(c.gets), per(c.ranges), per(c.rows), per(c.sets), per(c.clears+c.cleared),
			per(c.atomics), per(c.bytes), per(c.tail), per(c.hot))
	}
	return costs, nil
}

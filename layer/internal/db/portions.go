package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/kv"
)

// Work that may be too much for one transaction is divided. Every batched operation (bulk writes, compaction, purges,
// sweeps, imports, steps of indexes, lists of documents) asks a Portions how many of its items the next transaction may
// take, and runs that transaction by WritePart, ReadPart or StorePart:
//
//	p := NewPortions(500)
//	for len(items) > 0 {
//		n, _, err := WritePart(ctx, d, p, len(items), func(t *Txn, n int) (int, error) {
//			return t.write(items[:n]) // how many it has done: n, or fewer after it has read ReadBudget
//		})
//		if err != nil {
//			return err // a single item is too much, or something else is wrong
//		}
//		items = items[n:]
//	}
//
// A transaction that does too much (kv.TooMuch, ErrDivide) is run again with half as many items. After a slow
// transaction, the next one takes half as many. After some successful ones the number doubles. As in FoundationDB's
// Record Layer, repeated conflicts also reduce the number of items.

const (
	// ReadBudget is how many bytes a transaction reads before it takes no further items. The last item may exceed it by
	// any amount.
	ReadBudget = 4_000_000
	// slowPart is the duration of a transaction's work after which the next one takes fewer items. It is well below the
	// maximum lifetime of a transaction.
	slowPart = time.Second
	// growAfter is how many full transactions in a row must succeed before the next one takes more items.
	growAfter = 2
)

// Portions decides how many items of a batched operation a transaction takes. It belongs to one operation and is not
// safe for concurrent use.
type Portions struct {
	most      int // maximum
	Now       int // number for the next transaction
	tooMany   int // number that was recently too much, not to be tried again soon; 0 if none was
	successes int // successful full transactions in a row
	needed    int // how many of these are needed before tooMany is tried again
}

// NewPortions returns a Portions that begins with most items, which is also its maximum.
func NewPortions(most int) *Portions { return &Portions{most: most, Now: most, needed: growAfter} }

// Halve halves the number of items after a transaction that was too much. n is how many it was given, and tried how
// many it has tried. Halve returns false if the number cannot be halved.
func (p *Portions) Halve(n, tried int) bool {
	if n <= 1 {
		return false
	}
	if tried > 0 {
		n = min(n, tried)
	}
	p.Now, p.tooMany, p.successes = max(1, n/2), n, 0
	p.needed *= 4 // failures are expensive and must stay rare
	return true
}

// Adapt adapts the number to a transaction that has done some of n items in the given time.
func (p *Portions) Adapt(done, n int, within time.Duration) {
	switch {
	case within > slowPart && done > 1:
		p.Now, p.successes = done/2, 0
	// It has reached ReadBudget: do not start as many again.
	case done < n:
		p.Now, p.successes = max(1, done), 0
	case n < p.Now: // there were no more items
	default:
		p.successes++
		if p.tooMany > 0 && 2*p.Now >= p.tooMany && p.successes < p.needed {
			return
		}
		if p.successes >= growAfter {
			p.Now, p.tooMany, p.successes = min(2*p.Now, p.most), 0, 0
		}
	}
}

// PartRun describes the last attempt of a transaction.
type PartRun struct {
	tried  int // items; 0 if unknown
	within time.Duration
}

// Attempt runs fn for one attempt. If fn fails, tried is what fn has returned, which may be 0.
func (r *PartRun) Attempt(n int, fn func(n int) (int, error)) (int, error) {
	began := time.Now()
	done, err := fn(n)
	r.tried, r.within = done, time.Since(began)
	return done, err
}

// Run runs transactions with fewer and fewer items, until one succeeds or fails with a single item. items is how many
// there are, or 0 if not known.
func (p *Portions) Run(items int, transact func(o kv.TransactOptions, n int, r *PartRun) (int, error)) (int, error) {
	for {
		n := p.Now
		if items > 0 {
			n = min(n, items)
		}
		var r PartRun
		done, err := transact(kv.TransactOptions{Divisible: n > 1}, n, &r)
		switch {
		case err == nil:
			p.Adapt(done, n, r.within)
			return done, nil
		case !TooMuch(err) || !p.Halve(n, r.tried):
			return 0, err
		}
	}
}

// WritePart runs fn in one transaction with an id (see Transact), for as many items as p allows: n. items is the total
// number, or 0 if not known. fn returns how many items it has done or, with an error, tried, and so does WritePart. fn
// assigns other results to variables, which the next attempt overwrites.
func WritePart(ctx context.Context, d *Database, p *Portions, items int,
	fn func(t *Txn, n int) (int, error)) (int, kv.Committed, error) {
	var c kv.Committed
	done, err := p.Run(items, func(o kv.TransactOptions, n int, r *PartRun) (done int, err error) {
		done, c, err = transactWith(ctx, d, o, func(t *Txn) (int, error) {
			return r.Attempt(n, func(n int) (int, error) { return fn(t, n) })
		})
		return done, err
	})
	return done, c, err
}

// ReadPart is WritePart for a transaction without an id: one that only reads, or that may be repeated after it has
// committed.
func ReadPart(ctx context.Context, d *Database, p *Portions, items int,
	fn func(t *Txn, n int) (int, error)) (int, error) {
	return p.Run(items, func(o kv.TransactOptions, n int, r *PartRun) (int, error) {
		return readWith(ctx, d, o, func(t *Txn) (int, error) {
			return r.Attempt(n, func(n int) (int, error) { return fn(t, n) })
		})
	})
}

// StorePart is WritePart for data that belongs to no database.
func StorePart(ctx context.Context, s *Store, p *Portions, items int,
	fn func(tx kv.Transaction, n int) (int, error)) (int, kv.Committed, error) {
	var c kv.Committed
	done, err := p.Run(items, func(o kv.TransactOptions, n int, r *PartRun) (done int, err error) {
		done, c, err = storeTransactWith(ctx, s, o, func(tx kv.Transaction) (int, error) {
			return r.Attempt(n, func(n int) (int, error) { return fn(tx, n) })
		})
		return done, err
	})
	return done, c, err
}

// ErrDivide is returned by fn if the transaction would be too much.
var ErrDivide = errors.New("layer: too much for one transaction")

// TooMuch reports whether a transaction failed because it did too much, so that a smaller one may succeed.
func TooMuch(err error) bool { return errors.Is(err, ErrDivide) || kv.TooMuch(err) }

// Explain adds a message for the client to an error of a transaction that did too much: TooLarge if it had too much
// to write, Unavailable if it took too long.
func Explain(err error) error {
	var already *fault.Error
	switch {
	case err == nil || !TooMuch(err) || errors.As(err, &already):
		return err
	case kv.IsCode(err, kv.CodeTransactionTooLarge) || errors.Is(err, ErrDivide):
		return &fault.Error{Kind: fault.TooLarge, Name: "transaction_too_large", Err: err,
			Reason: "this is too large for one transaction, and cannot be divided"}
	case kv.IsCode(err, kv.CodeNotCommitted):
		return &fault.Error{Kind: fault.Unavailable, Name: "write_contention", Err: err,
			Reason: "repeated conflicts with other writes; try again later"}
	}
	return &fault.Error{Kind: fault.Unavailable, Name: "transaction_too_long", Err: err,
		Reason: "this exceeded the time limit of a transaction in several attempts, and cannot be " +
			"divided further; it is too much work, or the store is too busy: try again later"}
}

// Guarded turns a panic of f into an error. On a goroutine of its own, a panic would end the node.
func Guarded(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return f()
	}
}

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

// Work that is more than one transaction can do is divided. Every batched operation (bulk writes, compaction, purges,
// sweeps, imports, steps of indexes, lists of documents) asks a portions how many of its items the next transaction may
// take, and runs that transaction by WritePart, readPart or storePart:
//
//	p := NewPortions(500)
//	for len(items) > 0 {
//		n, _, err := WritePart(ctx, d, p, len(items), func(t *Txn, n int) (int, error) {
//			return t.write(items[:n]) // how many it has done: n, or fewer where it has read ReadBudget
//		})
//		if err != nil {
//			return err // one item alone is too much, or something else is wrong
//		}
//		items = items[n:]
//	}
//
// A transaction that does too much (kv.TooMuch, ErrDivide) is run again with half as many items. One that took long
// halves those of the next. After some that did well there are twice as many again. As in FoundationDB's Record Layer,
// conflicts call for less work too, after some attempts.

const (
	// ReadBudget is how many bytes a transaction reads before it takes no further items. The last one may pass it by
	// any amount.
	ReadBudget = 4_000_000
	// slowPart is how long a transaction's work may take before the next one gets less: well below what a transaction
	// lives.
	slowPart = time.Second
	// growAfter is how many full transactions in a row have to do well before the next one gets more.
	growAfter = 2
)

// Portions is how many items of a batched operation one transaction takes. It belongs to one operation, and is not safe
// for concurrent use.
type Portions struct {
	most    int // at most
	Now     int
	tooMany int // were too much lately: not to be tried again soon. 0: nothing was
	well    int // full transactions in a row that did well
	wait    int // how many that have to be before as many as were too much are tried again
}

func NewPortions(most int) *Portions { return &Portions{most: most, Now: most, wait: growAfter} }

// Lessen halves what a transaction takes, after one that was too much for n items, of which it tried some. It is false
// where there is nothing to halve.
func (p *Portions) Lessen(n, tried int) bool {
	if n <= 1 {
		return false
	}
	if tried > 0 {
		n = min(n, tried)
	}
	p.Now, p.tooMany, p.well = max(1, n/2), n, 0
	p.wait *= 4 // a failure costs as much as many that do well
	return true
}

// Took learns from a transaction that did some of n items within a time.
func (p *Portions) Took(done, n int, within time.Duration) {
	switch {
	case within > slowPart && done > 1:
		p.Now, p.well = done/2, 0
	case done < n: // by bytes: do not begin to read so many again
		p.Now, p.well = max(1, done), 0
	case n < p.Now: // there were no more
	default:
		p.well++
		if p.tooMany > 0 && 2*p.Now >= p.tooMany && p.well < p.wait {
			return
		}
		if p.well >= growAfter {
			p.Now, p.tooMany, p.well = min(2*p.Now, p.most), 0, 0
		}
	}
}

// PartRun is what is known of the last attempt of a transaction.
type PartRun struct {
	tried  int // items, 0: unknown
	within time.Duration
}

// Attempt runs fn for one attempt. An error of fn does not tell how many items it tried, unless it says so.
func (r *PartRun) Attempt(n int, fn func(n int) (int, error)) (int, error) {
	began := time.Now()
	done, err := fn(n)
	r.tried, r.within = done, time.Since(began)
	return done, err
}

// Run runs transactions over fewer and fewer items until one succeeds, or fails with a single item. items is how many
// there are, 0 where that is not known.
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
			p.Took(done, n, r.within)
			return done, nil
		case !TooMuch(err) || !p.Lessen(n, r.tried):
			return 0, err
		}
	}
}

// WritePart runs fn in one transaction with an id (transact), over as many of items as p allows: n. items 0 means that
// nobody knows how many there are. fn returns how many it has done, with an error how many it has tried; so does
// WritePart. What else fn finds out it assigns to variables, which an attempt overwrites.
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

// ReadPart is WritePart for a transaction without an id: one that only reads, or that may be repeated after it was
// committed.
func ReadPart(ctx context.Context, d *Database, p *Portions, items int,
	fn func(t *Txn, n int) (int, error)) (int, error) {
	return p.Run(items, func(o kv.TransactOptions, n int, r *PartRun) (int, error) {
		return readWith(ctx, d, o, func(t *Txn) (int, error) {
			return r.Attempt(n, func(n int) (int, error) { return fn(t, n) })
		})
	})
}

// StorePart is WritePart for what belongs to no database.
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

// ErrDivide is fn's own word that a transaction would be too much.
var ErrDivide = errors.New("layer: more than one transaction can do")

// TooMuch reports that a transaction was more than one can be: less may succeed.
func TooMuch(err error) bool { return errors.Is(err, ErrDivide) || kv.TooMuch(err) }

// Explained gives an error of a transaction that did too much its words for the client. TooLarge where it had too much
// to write, Unavailable where it took too long.
func Explained(err error) error {
	var already *fault.Error
	switch {
	case err == nil || !TooMuch(err) || errors.As(err, &already):
		return err
	case kv.IsCode(err, kv.CodeTransactionTooLarge) || errors.Is(err, ErrDivide):
		return &fault.Error{Kind: fault.TooLarge, Name: "transaction_too_large", Err: err,
			Reason: "this is more than one transaction can hold, and cannot be divided"}
	case kv.IsCode(err, kv.CodeNotCommitted):
		return &fault.Error{Kind: fault.Unavailable, Name: "write_contention", Err: err,
			Reason: "others write the same again and again; try again later"}
	}
	return &fault.Error{Kind: fault.Unavailable, Name: "transaction_too_long", Err: err,
		Reason: "this was not done within the time that a transaction has, in several attempts, and cannot be " +
			"divided further; it is too much, or the store is too busy: try again later"}
}

// Guarded makes an error of f's panic: on a goroutine of its own it would end the node.
func Guarded(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic over an index: %v\n%s", p, debug.Stack())
			}
		}()
		return f()
	}
}

package layer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Work that is more than one transaction can do is divided. Every batched operation (bulk writes, compaction, purges,
// sweeps, imports, steps of indexes, lists of documents) asks a portions how many of its items the next transaction may
// take, and runs that transaction by writePart, readPart or storePart:
//
//	p := newPortions(500)
//	for len(items) > 0 {
//		n, _, err := writePart(ctx, d, p, len(items), func(t *txn, n int) (int, error) {
//			return t.write(items[:n]) // how many it has done: n, or fewer where it has read readBudget
//		})
//		if err != nil {
//			return err // one item alone is too much, or something else is wrong
//		}
//		items = items[n:]
//	}
//
// A transaction that does too much (kv.TooMuch, errDivide) is run again with half as many items. One that took long
// halves those of the next. After some that did well there are twice as many again. As in FoundationDB's Record Layer,
// conflicts call for less work too, after some attempts.

const (
	// readBudget is how many bytes a transaction reads before it takes no further items. The last one may pass it by
	// any amount.
	readBudget = 4_000_000
	// slowPart is how long a transaction's work may take before the next one gets less: well below what a transaction
	// lives.
	slowPart = time.Second
	// growAfter is how many full transactions in a row have to do well before the next one gets more.
	growAfter = 2
)

// portions is how many items of a batched operation one transaction takes. It belongs to one operation, and is not safe
// for concurrent use.
type portions struct {
	most    int // at most
	now     int
	tooMany int // were too much lately: not to be tried again soon. 0: nothing was
	well    int // full transactions in a row that did well
	wait    int // how many that have to be before as many as were too much are tried again
}

func newPortions(most int) *portions { return &portions{most: most, now: most, wait: growAfter} }

// lessen halves what a transaction takes, after one that was too much for n items, of which it tried some. It is false
// where there is nothing to halve.
func (p *portions) lessen(n, tried int) bool {
	if n <= 1 {
		return false
	}
	if tried > 0 {
		n = min(n, tried)
	}
	p.now, p.tooMany, p.well = max(1, n/2), n, 0
	p.wait *= 4 // a failure costs as much as many that do well
	return true
}

// took learns from a transaction that did some of n items within a time.
func (p *portions) took(done, n int, within time.Duration) {
	switch {
	case within > slowPart && done > 1:
		p.now, p.well = done/2, 0
	case done < n: // by bytes: do not begin to read so many again
		p.now, p.well = max(1, done), 0
	case n < p.now: // there were no more
	default:
		p.well++
		if p.tooMany > 0 && 2*p.now >= p.tooMany && p.well < p.wait {
			return
		}
		if p.well >= growAfter {
			p.now, p.tooMany, p.well = min(2*p.now, p.most), 0, 0
		}
	}
}

// partRun is what is known of the last attempt of a transaction.
type partRun struct {
	tried  int // items, 0: unknown
	within time.Duration
}

// attempt runs fn for one attempt. An error of fn does not tell how many items it tried, unless it says so.
func (r *partRun) attempt(n int, fn func(n int) (int, error)) (int, error) {
	began := time.Now()
	done, err := fn(n)
	r.tried, r.within = done, time.Since(began)
	return done, err
}

// run runs transactions over fewer and fewer items until one succeeds, or fails with a single item. items is how many
// there are, 0 where that is not known.
func (p *portions) run(items int, transact func(o kv.TransactOptions, n int, r *partRun) (int, error)) (int, error) {
	for {
		n := p.now
		if items > 0 {
			n = min(n, items)
		}
		var r partRun
		done, err := transact(kv.TransactOptions{Divisible: n > 1}, n, &r)
		switch {
		case err == nil:
			p.took(done, n, r.within)
			return done, nil
		case !tooMuch(err) || !p.lessen(n, r.tried):
			return 0, err
		}
	}
}

// writePart runs fn in one transaction with an id (transact), over as many of items as p allows: n. items 0 means that
// nobody knows how many there are. fn returns how many it has done, with an error how many it has tried; so does
// writePart. What else fn finds out it assigns to variables, which an attempt overwrites.
func writePart(ctx context.Context, d *Database, p *portions, items int,
	fn func(t *txn, n int) (int, error)) (int, kv.Committed, error) {
	var c kv.Committed
	done, err := p.run(items, func(o kv.TransactOptions, n int, r *partRun) (done int, err error) {
		done, c, err = transactWith(ctx, d, o, func(t *txn) (int, error) {
			return r.attempt(n, func(n int) (int, error) { return fn(t, n) })
		})
		return done, err
	})
	return done, c, err
}

// readPart is writePart for a transaction without an id: one that only reads, or that may be repeated after it was
// committed.
func readPart(ctx context.Context, d *Database, p *portions, items int,
	fn func(t *txn, n int) (int, error)) (int, error) {
	return p.run(items, func(o kv.TransactOptions, n int, r *partRun) (int, error) {
		return readWith(ctx, d, o, func(t *txn) (int, error) {
			return r.attempt(n, func(n int) (int, error) { return fn(t, n) })
		})
	})
}

// storePart is writePart for what belongs to no database.
func storePart(ctx context.Context, s *dbStore, p *portions, items int,
	fn func(tx kv.Transaction, n int) (int, error)) (int, kv.Committed, error) {
	var c kv.Committed
	done, err := p.run(items, func(o kv.TransactOptions, n int, r *partRun) (done int, err error) {
		done, c, err = storeTransactWith(ctx, s, o, func(tx kv.Transaction) (int, error) {
			return r.attempt(n, func(n int) (int, error) { return fn(tx, n) })
		})
		return done, err
	})
	return done, c, err
}

// errDivide is fn's own word that a transaction would be too much.
var errDivide = errors.New("layer: more than one transaction can do")

// tooMuch reports that a transaction was more than one can be: less may succeed.
func tooMuch(err error) bool { return errors.Is(err, errDivide) || kv.TooMuch(err) }

// explained gives an error of a transaction that did too much its words for the client. TooLarge where it had too much
// to write, Unavailable where it took too long.
func explained(err error) error {
	var already *Error
	switch {
	case err == nil || !tooMuch(err) || errors.As(err, &already):
		return err
	case kv.IsCode(err, kv.CodeTransactionTooLarge) || errors.Is(err, errDivide):
		return &Error{Kind: TooLarge, Name: "transaction_too_large", Err: err,
			Reason: "this is more than one transaction can hold, and cannot be divided"}
	case kv.IsCode(err, kv.CodeNotCommitted):
		return &Error{Kind: Unavailable, Name: "write_contention", Err: err,
			Reason: "others write the same again and again; try again later"}
	}
	return &Error{Kind: Unavailable, Name: "transaction_too_long", Err: err,
		Reason: "this was not done within the time that a transaction has, in several attempts, and cannot be " +
			"divided further; it is too much, or the store is too busy: try again later"}
}

// guarded makes an error of f's panic: on a goroutine of its own it would end the node.
func guarded(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic over an index: %v\n%s", p, debug.Stack())
			}
		}()
		return f()
	}
}

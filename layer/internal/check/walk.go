package check

import (
	"errors"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// walk reads a range in which adjacent rows belong together, such as those of a document.
type walk struct {
	in kv.KeyRange
	// of returns what a row belongs to, and the rest of its key.
	of  func(key []byte) (id string, rest []byte, err error)
	row func(id string, rest []byte, row kv.KeyValue) error
	// end is called after the last row of each group. flush completes pending checks, in addition to the checker's own.
	// reset discards them: everything since the last flush will be read again.
	end          func(id string) error
	flush, reset func() error
	begin        func() error // called in every transaction; may be nil
}

// errBeginAgain is returned by a walk.begin that must be called again in another transaction, because it has read
// enough in this one. It makes progress each time.
var errBeginAgain = errors.New("begin must be called again")

func (x *checker) walk(w walk) error {
	nothing := func() error { return nil }
	if w.end == nil {
		w.end = func(string) error { return nil }
	}
	if w.flush == nil {
		w.flush = nothing
	}
	if w.reset == nil {
		w.reset = nothing
	}
	var patience kv.Patience
	for {
		next, err := x.walkOnce(&w)
		if err == nil && next == nil {
			return nil
		}
		if next != nil {
			w.in.Begin = next
			patience.Progress()
			x.window = min(2*x.window, checkWindow)
		}
		if err == nil {
			continue
		}
		x.window = max(x.window/4, 1)
		x.forgetWork()
		if err := w.reset(); err != nil {
			return err
		}
		if err = patience.Tried(err); !kv.Retryable(err) || x.exact || x.ctx.Err() != nil {
			return err
		}
	}
}

// walkOnce walks in one transaction, or in the snapshot. next is the key to continue from: nil at the end or, with an
// error, if there was no progress.
func (x *checker) walkOnce(w *walk) (next []byte, err error) {
	if !x.exact {
		tx := x.v.s.Engine.Begin(x.ctx)
		defer tx.Cancel()
		x.r = tx.Snapshot()
		if err := x.load(); err != nil {
			return nil, err
		}
		if w.begin != nil {
			err := w.begin()
			if errors.Is(err, errBeginAgain) {
				return w.in.Begin, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	rows := x.r.GetRange(w.in, kv.RangeOptions{})
	defer rows.Close()
	began, n, size, groups := time.Now(), 0, 0, 0
	x.beside, x.besideBytes = 0, 0
	at, some := "", false
	for rows.Next() {
		row := rows.KeyValue()
		id, rest, err := w.of(row.Key)
		if err != nil {
			return next, db.Corrupt("key", err)
		}
		if some && id != at {
			if err := w.end(at); err != nil {
				return next, err
			}
			groups++
			full := !x.exact && (n+x.beside > x.most() || size+x.besideBytes > checkBytes ||
				time.Since(began) > checkTime)
			if full || groups%x.window == 0 {
				if err := x.done(w); err != nil {
					return next, err
				}
				next = append(next[:0:0], row.Key...)
			}
			if full {
				return next, nil
			}
		}
		at, some = id, true
		n, size = n+1, size+len(row.Value)
		if err := x.v.compared(row); err != nil {
			return next, err
		}
		if err := w.row(id, rest, row); err != nil {
			return next, err
		}
	}
	if err := rows.Err(); err != nil {
		return next, err
	}
	if some {
		if err := w.end(at); err != nil {
			return next, err
		}
	}
	if err := x.done(w); err != nil {
		return next, err // what was settled before must not be counted again
	}
	return nil, nil
}

func (x *checker) done(w *walk) error {
	if err := x.winners.flush(x); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := x.leftPartitions(); err != nil {
		return err
	}
	return x.settle()
}

// behind returns a walk.of for keys with an id after the prefix.
func behind(prefix []byte) func([]byte) (string, []byte, error) {
	return func(key []byte) (string, []byte, error) { return tuple.TakeString(key[len(prefix):]) }
}

// single returns a walk.of for rows that do not belong together.
func single(prefix []byte) func([]byte) (string, []byte, error) {
	return func(key []byte) (string, []byte, error) { return string(key[len(prefix):]), key[len(prefix):], nil }
}

package layer

import (
	"context"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// After all rows were read, Verify compares them: whether what one says is what the others say. It goes through each
// part of a database document by document, in both directions, with a bounded number of them in memory. Whatever is
// compared is read at one moment: from a snapshot, or where the engine holds none, in one of many transactions, each
// about some documents. So what others write meanwhile is no fault. Sums over a whole database are compared with its
// counters where there is a snapshot, or nobody has written meanwhile.

const (
	// checkWindow is how many documents are looked at together.
	checkWindow = 64
	// checkRows, checkBytes and checkTime bound a transaction where the engine holds no snapshot.
	checkRows  = 2000
	checkBytes = 4_000_000
	checkTime  = time.Second
)

// checker compares the rows of one database.
type checker struct {
	v     *verifier
	ctx   context.Context
	core  *core
	keys  space
	exact bool      // r is a snapshot
	r     kv.Reader // of the transaction under way
	cfg   *config   // as r has it
	found []Damage  // not told of yet
	sums  map[string]int64
	added map[string]int64 // to sums, by the documents at work
}

// compare compares the rows of all databases in which nothing is damaged. What is damaged is told of already.
func (v *verifier) compare() error {
	for _, c := range v.databases {
		if v.hurt[""] || v.hurt[c.name] {
			continue
		}
		x := &checker{v: v, ctx: v.ctx, core: c, keys: c.keys, sums: map[string]int64{}, added: map[string]int64{}}
		err := x.run()
		if KindOf(err) == NotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("database %s: %w", c.name, err)
		}
	}
	return nil
}

func (x *checker) run() error {
	snap, ok, err := kv.OpenSnapshot(x.ctx, x.v.s.engine)
	if err != nil {
		return err
	}
	if ok {
		defer snap.Close()
		x.r, x.exact = snap, true
		if err := x.load(); err != nil {
			return err
		}
	}
	before, err := x.state()
	if err != nil {
		return err
	}
	for _, step := range []func() error{x.documents, x.feeds, x.lists, x.bodies, x.attachments, x.queues} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := x.counters(before); err != nil {
		return err
	}
	return x.indexes()
}

// load reads the configuration at the moment of r.
func (x *checker) load() (err error) {
	if x.cfg, err = x.core.load(x.r); err == nil && x.cfg == nil {
		err = errNoDatabase()
	}
	return err
}

// fault notes a fault, which is told of once what was looked at is done with.
func (x *checker) fault(sub keyspace.Subspace, id, format string, args ...any) {
	x.found = append(x.found, Damage{Database: x.core.name, Part: parts[sub].name, First: id, Last: id,
		What: fmt.Sprintf(format, args...), Help: parts[sub].help})
}

func (x *checker) count(counter string, n int64) { x.added[counter] += n }

// settle tells of the faults, and keeps the sums, of what was looked at.
func (x *checker) settle() error {
	for i := range x.found {
		if err := x.v.damage(&x.found[i]); err != nil {
			return err
		}
	}
	x.found = x.found[:0]
	for name, n := range x.added {
		x.sums[name] += n
	}
	clear(x.added)
	return nil
}

// walk goes through a range, in which neighbouring rows belong together, such as those of a document.
type walk struct {
	in kv.KeyRange
	// of is what a row's key says that it belongs to, and what follows in the key.
	of  func(key []byte) (id string, rest []byte, err error)
	row func(id string, rest []byte, row kv.KeyValue) error
	// end is called after the last row of each. flush does what was put off, and reset forgets it: all since flush is
	// looked at again.
	end          func(id string) error
	flush, reset func() error
	begin        func() error // in every transaction, may be nil
}

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
		}
		if err == nil {
			continue
		}
		x.found = x.found[:0]
		clear(x.added)
		if err := w.reset(); err != nil {
			return err
		}
		if err = patience.Tried(err); !kv.Retryable(err) || x.exact || x.ctx.Err() != nil {
			return err
		}
	}
}

// walkOnce walks in one transaction, or the snapshot. next is where to go on, nil at the end or, with an error, at the
// same place.
func (x *checker) walkOnce(w *walk) (next []byte, err error) {
	if !x.exact {
		tx := x.v.s.engine.Begin(x.ctx)
		defer tx.Cancel()
		x.r = tx.Snapshot()
		if err := x.load(); err != nil {
			return nil, err
		}
		if w.begin != nil {
			if err := w.begin(); err != nil {
				return nil, err
			}
		}
	}
	rows := x.r.GetRange(w.in, kv.RangeOptions{})
	defer rows.Close()
	began, n, size, groups := time.Now(), 0, 0, 0
	at, some := "", false
	for rows.Next() {
		row := rows.KeyValue()
		id, rest, err := w.of(row.Key)
		if err != nil {
			return next, corrupt("key", err)
		}
		if some && id != at {
			if err := w.end(at); err != nil {
				return next, err
			}
			groups++
			full := !x.exact && (n > checkRows || size > checkBytes || time.Since(began) > checkTime)
			if full || groups%checkWindow == 0 {
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
	return nil, x.done(w)
}

func (x *checker) done(w *walk) error {
	if err := w.flush(); err != nil {
		return err
	}
	return x.settle()
}

// behind is walk.of for keys that go on with an id behind a prefix.
func behind(prefix []byte) func([]byte) (string, []byte, error) {
	return func(key []byte) (string, []byte, error) { return tuple.TakeString(key[len(prefix):]) }
}

// single is walk.of for rows of which each is by itself.
func single(prefix []byte) func([]byte) (string, []byte, error) {
	return func(key []byte) (string, []byte, error) { return string(key[len(prefix):]), key[len(prefix):], nil }
}

// winner is a document's winner as r has it; nil where there is no such document.
type winnerRead struct{ rows kv.RangeIterator }

func (x *checker) readWinner(id string) winnerRead {
	return winnerRead{getRange(x.r, x.keys.doc(nil, keyspace.Revisions, id),
		kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})}
}

func (w winnerRead) wait(prefix int) (*leafKV, error) {
	leaves, err := readLeaves(w.rows, prefix, false, nil)
	if err != nil || len(leaves) == 0 {
		return nil, err
	}
	return &leaves[0], nil
}

func (x *checker) winner(id string) (*leafKV, error) {
	return x.readWinner(id).wait(len(x.keys.doc(nil, keyspace.Revisions, id)))
}

// checkedCounters are the counters that are compared with what there is.
var checkedCounters = []string{counterDocs, counterDeleted, counterBodies, counterStored, counterContent,
	counterSuperseded, counterPurges, counterPurgesDropped}

// checkedState is what tells whether anybody has written.
type checkedState struct {
	counters []int64
	last     Seq
}

func (x *checker) state() (s checkedState, err error) {
	read := func(r kv.Reader) error {
		last := readLastSeq(r, x.keys, x.cfg)
		if s.counters, err = countersOf(r, x.keys, checkedCounters...); err != nil {
			return err
		}
		s.last, err = last()
		return err
	}
	if x.exact {
		return s, read(x.r)
	}
	_, _, err = kv.Transact(x.ctx, x.v.s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		x.r = tx.Snapshot()
		if err := x.load(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, read(x.r)
	})
	return s, err
}

// counters compares the sums with the counters.
func (x *checker) counters(before checkedState) error {
	now, err := x.state()
	if err != nil {
		return err
	}
	if now.last != before.last {
		return nil // the sums are of no one moment
	}
	for i := range checkedCounters {
		if now.counters[i] != before.counters[i] {
			return nil
		}
	}
	x.sums[counterPurges] += now.counters[7] // those that are no longer in the history
	for i, name := range checkedCounters[:7] {
		if n := x.sums[name]; n != now.counters[i] {
			x.fault(keyspace.Counters, "", "the counter %s is %d, and there are %d", name, now.counters[i], n)
		}
	}
	return x.settle()
}

// queues counts the rows of which there is nothing else to say.
func (x *checker) queues() error {
	ranges := map[string][][]byte{counterPurges: {x.keys.sub(nil, keyspace.Purges)}}
	t := &txn{keys: x.keys, cfg: x.cfg}
	for _, part := range t.supersededRanges() {
		ranges[counterSuperseded] = append(ranges[counterSuperseded], part.prefix)
	}
	for counter, list := range ranges {
		for _, prefix := range list {
			err := x.walk(walk{in: prefixRange(prefix), of: single(prefix),
				row: func(string, []byte, kv.KeyValue) error {
					x.count(counter, 1)
					return nil
				}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

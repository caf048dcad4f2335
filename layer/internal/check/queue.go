package check

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Each stored body that is no leaf's is in the queue for compaction, or it would stay for ever. The queue is in the
// order of time, so what it has is remembered as hashes while the bodies are gone through, as many as fit in memory at
// a time: where there are more, the bodies are gone through again for the others. The other way round nothing has to
// hold: a body in the queue may be gone already, or a leaf's again.

// maxQueued is how many superseded bodies are remembered.
const maxQueued = 2 << 20

// queuedBodies are superseded bodies that the queue had when it was read, or has had since.
type queuedBodies struct {
	seed    maphash.Seed
	passes  uint64
	pass    uint64 // bodies whose hashes are this modulo passes are remembered
	hashes  map[uint64]struct{}
	read    map[string][]byte // by prefix of a part of the queue: the last key that was read
	looks   []leafLook        // under way
	checked *checker
}

// leafLook is a body of which the queue has nothing on its way: is there a leaf?
type leafLook struct {
	id   string
	rev  db.Rev
	live [2]kv.Future[[]byte]
}

// queueCheck goes through the queues of superseded bodies.
type queueCheck struct{ *checker }

func (x queueCheck) newQueuedBodies(queued int64) *queuedBodies {
	most := cmp.Or(x.v.o.Remember, maxQueued)
	return &queuedBodies{seed: maphash.MakeSeed(), passes: 1 + uint64(max(queued, 0)/most), checked: x.checker}
}

// beginWith reads the queue for a pass, as far as there is one by now.
func (q *queuedBodies) beginWith(pass uint64) error {
	q.pass, q.hashes, q.read, q.looks = pass, map[uint64]struct{}{}, map[string][]byte{}, nil
	if q.checked.exact {
		_, err := q.readOn(q.checked.r, 0)
		return err
	}
	for all := false; !all; {
		err := q.checked.at(func() (err error) {
			all, err = q.readOn(q.checked.r, q.checked.most())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begin is walk.begin: it reads what the queue has got since, in as many transactions as that takes.
func (q *queuedBodies) begin() error {
	all, err := q.readOn(q.checked.r, q.checked.most())
	if err == nil && !all {
		err = errBeginAgain
	}
	return err
}

// again goes through the bodies for another pass.
func (q *queuedBodies) again(pass uint64) error {
	if err := q.beginWith(pass); err != nil {
		return err
	}
	x := q.checked
	prefix := x.keys.Sub(nil, keyspace.Documents)
	return x.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		begin: q.begin, flush: q.flush,
		row: func(id string, rest []byte, _ kv.KeyValue) error {
			rev, chunk, err := db.TakeRev(rest)
			if err != nil {
				return db.Corrupt("body key", err)
			}
			if n, _, err := tuple.TakeInt(chunk); err != nil || n != 0 {
				return err
			}
			return q.body(id, rev)
		},
		end: func(id string) error {
			x.winners.look(x, id, func(w *rev.LeafKV) error {
				if w == nil {
					q.forget(id)
				}
				return nil
			})
			return nil
		},
		reset: func() error {
			q.looks = q.looks[:0]
			return nil
		},
	})
}

// take reports whether a body is one of this pass.
func (q *queuedBodies) take(id string, rev db.Rev) (hash uint64, taken bool) {
	var h maphash.Hash
	h.SetSeed(q.seed)
	_, _ = h.WriteString(id)
	_ = h.WriteByte(0)
	_, _ = h.Write(db.AppendRev(nil, rev))
	hash = h.Sum64()
	return hash, hash%q.passes == q.pass
}

// readOn reads what the queue has got since it was read last, up to so many rows of all its parts; 0 is no limit. Where
// it has read all, everything is known that the queue has at the moment of r; what compaction has taken from it stays
// known.
func (q *queuedBodies) readOn(r kv.Reader, limit int) (all bool, err error) {
	t := &db.Txn{Keys: q.checked.keys, Cfg: q.checked.cfg}
	more := compact.SupersededRanges(t)
	left := limit
	if limit > 0 { // a share of each part in one round trip; what is left of the limit is for those that have more
		share := max(1, limit/len(more))
		reads := make([]kv.RangeIterator, len(more))
		for i, part := range more {
			reads[i] = q.readPart(r, part, share)
			defer reads[i].Close()
		}
		full := more[:0:0]
		for i, part := range more {
			n, err := q.remember(part, reads[i])
			if err != nil {
				return false, err
			}
			if left -= n; n == share {
				full = append(full, part)
			}
		}
		more = full
	}
	for _, part := range more {
		if limit > 0 && left <= 0 {
			return false, nil
		}
		rows := q.readPart(r, part, left)
		n, err := q.remember(part, rows)
		rows.Close()
		if err != nil {
			return false, err
		}
		if limit > 0 && n == left {
			return false, nil
		}
		left -= n
	}
	return true, nil
}

// readPart begins to read a part of the queue behind what was read of it.
func (q *queuedBodies) readPart(r kv.Reader, part compact.SupersededRange, limit int) kv.RangeIterator {
	in := db.PrefixRange(part.Prefix)
	if last := q.read[string(part.Prefix)]; last != nil {
		in.Begin = append(last[:len(last):len(last)], 0)
	}
	return r.GetRange(in, kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll})
}

// remember takes in rows of a part of the queue, and says how many there were.
func (q *queuedBodies) remember(part compact.SupersededRange, rows kv.RangeIterator) (n int, err error) {
	name := string(part.Prefix)
	for ; rows.Next(); n++ {
		row := rows.KeyValue()
		id, rev, err := parseSuperseded(row.Value)
		q.read[name] = append(q.read[name][:0], row.Key...)
		if err != nil {
			continue // the walk over the queue tells of it
		}
		if hash, taken := q.take(id, rev); taken {
			q.hashes[hash] = struct{}{}
		}
	}
	return n, rows.Err()
}

func parseSuperseded(value []byte) (id string, rev db.Rev, err error) {
	id, rest, err := tuple.TakeString(value)
	if err == nil {
		rev, _, err = db.TakeRev(rest)
	}
	return id, rev, err
}

// body looks for a stored body in the queue, and else for its leaf.
func (q *queuedBodies) body(id string, rev db.Rev) error {
	hash, taken := q.take(id, rev)
	if _, queued := q.hashes[hash]; queued || !taken {
		return nil
	}
	l := leafLook{id: id, rev: rev}
	for i, deleted := range []bool{false, true} {
		l.live[i] = q.checked.r.Get(q.checked.keys.Revision(nil, id, deleted, rev))
	}
	if q.looks = append(q.looks, l); len(q.looks) >= 2*checkWindow {
		return q.flush()
	}
	return nil
}

// forget gives up the looks of a document, of which something else is told.
func (q *queuedBodies) forget(id string) {
	q.looks = slices.DeleteFunc(q.looks, func(l leafLook) bool { return l.id == id })
}

func (q *queuedBodies) flush() error {
	if err := q.checked.winners.flush(q.checked); err != nil { // documents that are not there are forgotten first
		return err
	}
	defer func() { q.looks = q.looks[:0] }()
	for i := range q.looks {
		l := &q.looks[i]
		found := false
		for _, f := range l.live {
			leaf, err := f.Wait()
			if err != nil {
				return err
			}
			found = found || leaf != nil
		}
		if !found {
			q.checked.faultWith(keyspace.Documents, l.id, helpLeft,
				"the body of revision %s is that of no leaf, and compaction does not know of it", l.rev)
		}
	}
	return nil
}

// queues goes through the queue of superseded bodies and the history of purges: they can be read, and are counted.
func (x queueCheck) queues() error {
	count := func(prefix []byte, row func(value []byte) error) (n int64, err error) {
		var here int64
		err = x.walk(walk{
			in: db.PrefixRange(prefix), of: single(prefix),
			row: func(_ string, _ []byte, r kv.KeyValue) error {
				here++
				return row(r.Value)
			},
			flush: func() error {
				n, here = n+here, 0
				return nil
			},
			reset: func() error {
				here = 0
				return nil
			},
		})
		return n, err
	}
	n, err := count(x.keys.Sub(nil, keyspace.Purges), func(value []byte) error {
		_, rest, err := tuple.TakeString(value)
		if err == nil {
			_, _, err = tuple.TakeNested(rest)
		}
		if err != nil {
			x.fault(keyspace.Purges, "", "an entry cannot be read: %v", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.sums[db.CounterPurges] += n
	t := &db.Txn{Keys: x.keys, Cfg: x.cfg}
	for _, part := range compact.SupersededRanges(t) {
		sub := keyspace.ShardSuperseded
		key := x.keys.ShardCounter(nil, part.Shard, db.CounterSuperseded)
		if part.Old {
			sub, key = keyspace.Superseded, x.keys.Counter(nil, db.CounterSuperseded)
		}
		n, err := count(part.Prefix, func(value []byte) error {
			if _, _, err := parseSuperseded(value); err != nil {
				x.fault(sub, "", "an entry cannot be read: %v", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := x.queueCounter(part, key, n); err != nil {
			return err
		}
	}
	return nil
}

// queueCounter compares the counter of a part of the queue.
func (x queueCheck) queueCounter(part compact.SupersededRange, key []byte, n int64) error {
	x.sums[db.CounterSuperseded] += n
	var counted int64
	err := x.at(func() error {
		value, err := x.r.Get(key).Wait()
		counted = db.CounterValue(value)
		return err
	})
	if err != nil || counted == n {
		return err
	}
	of := fmtShard(part)
	x.doubt(keyspace.ShardCounters, "", "the queue for compaction of %s has %d bodies, counted as %d", of, n, counted)
	x.miscounted[db.CounterSuperseded] += counted - n
	return x.settle()
}

func fmtShard(part compact.SupersededRange) string {
	if part.Old {
		return "the database as a whole"
	}
	return "shard " + string(part.Shard)
}

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

// Each stored body that does not belong to a leaf must be in the compaction queue, or it would never be removed. The
// queue is ordered by time, so its contents are kept as hashes while the bodies are read. If they do not fit into
// memory, the bodies are read again for each further part. The converse need not hold: a body in the queue may have
// been removed or belong to a leaf again.

// maxQueued is the maximum number of hashes in memory.
const maxQueued = 2 << 20

// queuedBodies are superseded bodies that are or were in the queue.
type queuedBodies struct {
	seed    maphash.Seed
	passes  uint64
	pass    uint64 // this pass keeps the bodies whose hash is pass modulo passes
	hashes  map[uint64]struct{}
	read    map[string][]byte // by prefix of a part of the queue: the last key read
	looks   []leafLook        // pending reads
	checked *checker
}

// leafLook is a body that is not in the queue, with pending reads of its leaf.
type leafLook struct {
	id   string
	rev  db.Rev
	live [2]kv.Future[[]byte]
}

// queueCheck checks the queues of superseded bodies.
type queueCheck struct{ *checker }

func (x queueCheck) newQueuedBodies(queued int64) *queuedBodies {
	most := cmp.Or(x.v.o.Remember, maxQueued)
	return &queuedBodies{seed: maphash.MakeSeed(), passes: 1 + uint64(max(queued, 0)/most), checked: x.checker}
}

// beginWith reads the existing queue for a pass.
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

// begin is walk.begin. It reads what was added to the queue, in as many transactions as that takes.
func (q *queuedBodies) begin() error {
	all, err := q.readOn(q.checked.r, q.checked.most())
	if err == nil && !all {
		err = errBeginAgain
	}
	return err
}

// again reads the bodies for another pass.
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

// take returns the hash of a body, and whether it belongs to this pass.
func (q *queuedBodies) take(id string, rev db.Rev) (hash uint64, taken bool) {
	var h maphash.Hash
	h.SetSeed(q.seed)
	_, _ = h.WriteString(id)
	_ = h.WriteByte(0)
	_, _ = h.Write(db.AppendRev(nil, rev))
	hash = h.Sum64()
	return hash, hash%q.passes == q.pass
}

// readOn reads what was added to the queue since the last read, up to limit rows in all parts; 0 means no limit. If it
// returns true, everything that is in the queue at r's version is known. Entries that compaction has removed stay
// known.
func (q *queuedBodies) readOn(r kv.Reader, limit int) (all bool, err error) {
	t := &db.Txn{Keys: q.checked.keys, Cfg: q.checked.cfg}
	more := compact.SupersededRanges(t)
	left := limit
	// First read a share of each part in one round trip. The rest of the limit is for the parts that have more.
	if limit > 0 {
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

// readPart starts reading a part of the queue after what was read before.
func (q *queuedBodies) readPart(r kv.Reader, part compact.SupersededRange, limit int) kv.RangeIterator {
	in := db.PrefixRange(part.Prefix)
	if last := q.read[string(part.Prefix)]; last != nil {
		in.Begin = append(last[:len(last):len(last)], 0)
	}
	return r.GetRange(in, kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll})
}

// remember adds rows of a part of the queue, and returns how many there were.
func (q *queuedBodies) remember(part compact.SupersededRange, rows kv.RangeIterator) (n int, err error) {
	name := string(part.Prefix)
	for ; rows.Next(); n++ {
		row := rows.KeyValue()
		id, rev, err := parseSuperseded(row.Value)
		q.read[name] = append(q.read[name][:0], row.Key...)
		if err != nil {
			continue // queues reports it
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

// body looks for a stored body in the queue, and otherwise for its leaf.
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

// forget drops the pending reads of a document for which another fault is reported.
func (q *queuedBodies) forget(id string) {
	q.looks = slices.DeleteFunc(q.looks, func(l leafLook) bool { return l.id == id })
}

func (q *queuedBodies) flush() error {
	// It first drops the reads of documents that do not exist.
	if err := q.checked.winners.flush(q.checked); err != nil {
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
				"revision %s is not a leaf, but its body is not in the compaction queue", l.rev)
		}
	}
	return nil
}

// queues checks that the compaction queue and the purge history can be read and are counted correctly.
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
	x.doubt(keyspace.ShardCounters, "", "the compaction queue of %s has %d bodies, but its counter is %d", of, n,
		counted)
	x.miscounted[db.CounterSuperseded] += counted - n
	return x.settle()
}

func fmtShard(part compact.SupersededRange) string {
	if part.Old {
		return "the database as a whole"
	}
	return "shard " + string(part.Shard)
}

package check

import (
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// feedCheck compares the feeds of the shards, and the counts of their entries, with the documents.
type feedCheck struct{ *checker }

// feeds checks that each entry in the feed of any shard, also a replaced one, is the only one of its document.
func (x feedCheck) feeds() error {
	shards := map[db.ShardID]bool{}
	for _, m := range x.cfg.Maps {
		for _, id := range m.Subspaces() {
			shards[id] = true
		}
	}
	for id := range shards {
		if err := x.feed(id); err != nil {
			return err
		}
	}
	return nil
}

func (x feedCheck) feed(shard db.ShardID) error {
	prefix := x.keys.Feed(nil, shard)
	type read struct {
		e      feed.Entry
		winner winnerRead
	}
	var entries []read
	var newest db.Seq
	err := x.walk(walk{
		in: db.PrefixRange(prefix), of: single(prefix),
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			e := feed.Entry{Shard: shard}
			if err := feed.ParseEntry(&e, rest, row.Value); err != nil {
				x.fault(keyspace.Changes, "", "an entry of shard %q cannot be read: %v", shard, err)
				return nil
			}
			if e.Seq.Compare(newest) > 0 {
				newest = e.Seq
			}
			entries = append(entries, read{e, x.readWinner(e.Id)})
			return nil
		},
		flush: func() error {
			for i := range entries {
				e := &entries[i].e
				w, err := entries[i].winner.wait(len(x.keys.Doc(nil, keyspace.Revisions, e.Id)))
				switch {
				case err != nil:
					return err
				case w == nil:
					x.fault(keyspace.Changes, e.Id, "there is an entry at %s, but no such document", e.Seq)
				case w.Winner && w.Seq != e.Seq:
					x.fault(keyspace.Changes, e.Id, "there is an entry at %s besides that at %s", e.Seq, w.Seq)
				case w.Winner && x.cfg.ShardAt(e.Id, e.Seq) != shard:
					x.fault(keyspace.Changes, e.Id, "the entry at %s is in shard %q instead of %q", e.Seq, shard,
						x.cfg.ShardAt(e.Id, e.Seq))
				}
			}
			entries = entries[:0]
			return nil
		},
		reset: func() error {
			entries = nil
			return nil
		},
	})
	if err != nil {
		return err
	}
	return x.unlessLost(keyspace.Wake, "", x.shardEnd(shard, newest))
}

// shardEnd checks the recorded end of a shard, from which feeds continue and up to which indexes are built. It must not
// be before the newest entry, nor at a version that the store has not reached.
func (x feedCheck) shardEnd(shard db.ShardID, newest db.Seq) error {
	err := x.at(func() error {
		read := x.r.ReadVersion()
		value, err := x.r.Get(x.keys.Wake(nil, shard)).Wait()
		if value == nil || err != nil {
			return err
		}
		said, err := db.ParseWake(value)
		if err != nil {
			return err
		}
		now, err := read.Wait()
		if err != nil {
			return err
		}
		switch {
		case said.Compare(newest) < 0:
			x.fault(keyspace.Wake, "", "shard %q is recorded to end at %s, but has an entry at %s", shard, said, newest)
		case said.Incarnation > x.cfg.Incarnation || said.Incarnation == x.cfg.Incarnation && said.Version() > now:
			x.fault(keyspace.Wake, "", "shard %q is recorded to end at %s, which is in the future", shard, said)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.settle()
}

// lists checks that listed documents exist. documentCheck checks that all documents are listed.
func (x *checker) lists() error {
	for _, sub := range []keyspace.Subspace{keyspace.AllDocs, keyspace.Designs} {
		prefix := x.keys.Sub(nil, sub)
		type read struct {
			id     string
			winner winnerRead
		}
		var ids []read
		err := x.walk(walk{
			in: db.PrefixRange(prefix), of: behind(prefix),
			row: func(id string, _ []byte, _ kv.KeyValue) error {
				ids = append(ids, read{id, x.readWinner(id)})
				return nil
			},
			flush: func() error {
				for _, r := range ids {
					w, err := r.winner.wait(len(x.keys.Doc(nil, keyspace.Revisions, r.id)))
					if err != nil {
						return err
					}
					if w == nil {
						x.fault(sub, r.id, "it is listed, but there is no such document")
					}
				}
				ids = ids[:0]
				return nil
			},
			reset: func() error {
				ids = nil
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bodyCheck checks the stored bodies.
type bodyCheck struct{ *checker }

// bodies checks all stored bodies: that they can be read, that their documents exist, that attachment counters match
// the references, and that bodies of non-leaves are in the compaction queue.
func (x bodyCheck) bodies() error {
	queued := queueCheck(x).newQueuedBodies(x.sums[db.CounterSuperseded])
	if err := queued.beginWith(0); err != nil {
		return err
	}
	if err := x.readBodies(queued); err != nil {
		return err
	}
	for pass := uint64(1); pass < queued.passes; pass++ {
		if err := queued.again(pass); err != nil {
			return err
		}
	}
	return nil
}

func (x bodyCheck) readBodies(queued *queuedBodies) error {
	prefix := x.keys.Sub(nil, keyspace.Documents)
	refs, taken := map[[16]byte]int64{}, map[[16]byte]rev.Attachment{}
	uncounted := map[[16]byte]bool{}
	var here bodiesOf
	clearAll := func() error {
		clear(refs)
		clear(taken)
		clear(uncounted)
		queued.looks = queued.looks[:0]
		here = bodiesOf{}
		return nil
	}
	var body []byte // a body whose list of attachments continues in the next chunk
	note := func(id string, b *rev.StoredBody) {
		here.add(b)
		for _, a := range b.Attachments {
			taken[a.ID] = a
			if b.Counted {
				refs[a.ID]++
			} else {
				uncounted[a.ID] = true
			}
		}
	}
	return x.overPartitions(db.PartitionCounters[2:], walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		begin: queued.begin, flush: queued.flush,
		row: func(id string, rest []byte, row kv.KeyValue) error {
			x.countFor(id, db.CounterBodies, int64(len(row.Value)))
			r, chunk, err := db.TakeRev(rest)
			if err != nil {
				return db.Corrupt("body key", err)
			}
			n, _, err := tuple.TakeInt(chunk)
			if err != nil {
				return db.Corrupt("body key", err)
			}
			switch {
			case n == 0:
				body = nil
				if err := queued.body(id, r); err != nil {
					return err
				}
			case body == nil:
				return nil
			}
			whole := append(body, row.Value...)
			body = nil
			b, _, err := rev.ParseHeader(whole)
			if err != nil && len(row.Value) >= keyspace.BodyChunk && len(whole) < write.StateOf(x.v.s).MaxDocument*2 {
				body = whole
				return nil
			}
			if err != nil {
				x.fault(keyspace.Documents, id, "a body cannot be read: %v", err)
				return nil
			}
			note(id, &b)
			return nil
		},
		end: func(id string) error {
			counted := x.readRefs(id, refs, taken, uncounted)
			clear(refs)
			clear(taken)
			clear(uncounted)
			stored := here
			here = bodiesOf{}
			x.winners.look(x.checker, id, func(w *rev.LeafKV) error {
				if w == nil {
					x.fault(keyspace.Documents, id, "there are bodies, but no such document")
					queued.forget(id) // it would be reported twice
				}
				if err := stored.countOld(x.checker, id); err != nil {
					return err
				}
				for i := range counted {
					if err := counted[i].check(x.checker, id); err != nil {
						return err
					}
				}
				return nil
			})
			return nil
		},
		reset: clearAll,
	})
}

// bodiesOf sums up the stored bodies of a document.
type bodiesOf struct {
	n     int
	sized int64 // bytes of those with FlagSized
}

func (b *bodiesOf) add(s *rev.StoredBody) {
	b.n++
	if s.Sized {
		b.sized += int64(s.Size)
	}
}

// countOld counts the bytes of the bodies that belong to no leaf. A single body belongs to one.
func (b *bodiesOf) countOld(x *checker, id string) error {
	if b.n < 2 || b.sized == 0 {
		return nil
	}
	old := b.sized
	prefix := x.keys.Doc(nil, keyspace.Revisions, id)
	rows := db.GetRange(x.r, prefix, kv.RangeOptions{})
	defer rows.Close()
	for rows.Next() {
		var l rev.LeafKV
		row := rows.KeyValue()
		x.beside++
		x.besideBytes += len(row.Value)
		err := rev.ParseLeafKey(&l, row.Key[len(prefix):])
		if err == nil {
			err = rev.ParseLeafValue(&l, row.Value, true)
		}
		if err != nil {
			return err
		}
		size, err := sizeOfLeaf(x, id, &l)
		if err != nil {
			return err
		}
		old -= size
	}
	if err := rows.Err(); err != nil {
		return err
	}
	x.countFor(id, db.CounterOldBodies, old)
	return nil
}

// sizeOfLeaf returns the size of a leaf's body if it has FlagSized.
func sizeOfLeaf(x *checker, id string, l *rev.LeafKV) (int64, error) {
	if l.Size > 0 {
		return int64(l.Size), nil
	}
	read := rev.ReadBody(x.r, x.keys, id, l.Rev)
	body, found, err := read.Wait()
	if err != nil || !found || !body.Sized {
		return 0, err
	}
	return int64(body.Size), nil
}

// refsRead is the pending read of an attachment's counter, with the number of references to the attachment.
type refsRead struct {
	a         rev.Attachment
	value     kv.Future[[]byte]
	refs      int64
	uncounted bool // by at least one body
}

// readRefs counts the attachments of a document's bodies, and starts reading their counters.
func (x bodyCheck) readRefs(id string, refs map[[16]byte]int64, taken map[[16]byte]rev.Attachment,
	uncounted map[[16]byte]bool) (all []refsRead) {
	for a, at := range taken {
		x.countFor(id, db.CounterStored, at.EncodedLength)
		x.countFor(id, db.CounterContent, at.Length)
		all = append(all, refsRead{at, x.r.Get(rev.Refs(x.keys, nil, id, a)), refs[a], uncounted[a]})
	}
	return all
}

func (r *refsRead) check(x *checker, id string) error {
	value, err := r.value.Wait()
	if err != nil {
		return err
	}
	n, all, old := attach.TakeRefs(db.CounterValue(value))
	if old {
		x.countFor(id, db.CounterOldStored, r.a.EncodedLength)
		x.countFor(id, db.CounterOldContent, r.a.Length)
	}
	switch {
	case n != r.refs:
		x.fault(keyspace.AttachmentRefs, id, "attachment %q is counted %d times, but %d bodies refer to it", r.a.Name,
			n, r.refs)
	case all && r.uncounted:
		x.fault(keyspace.AttachmentRefs, id, "attachment %q is marked as counted in all bodies, but is not", r.a.Name)
	}
	return nil
}

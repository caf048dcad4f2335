package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The size of a database in use is that of its leaves' bodies and attachments. So a leaf that becomes history is
// counted as superseded, until its body is removed. Usually the row of the leaf says what it occupies. Its body is read
// if the row does not say it, as in rows of format 1, or if it has attachments, which the new leaf may have too.

// outgoing is what has to be read of leaves that become history. nil is valid: nothing has to be.
type outgoing struct {
	leaves []*rev.LeafKV
	first  []kv.Future[[]byte] // of the leaf's body; nil if the row says enough
	sizes  []int64             // of the bodies, as far as they are counted
	left   []rev.Attachment
}

// readOutgoing starts the reads. parent, unless nil, is a pending read of the body of a leaf.
func readOutgoing(t *db.Txn, id string, leaves []*rev.LeafKV, parent *rev.BodyRead) *outgoing {
	if !slices.ContainsFunc(leaves, needsBody) {
		return nil
	}
	o := &outgoing{leaves: leaves, first: make([]kv.Future[[]byte], len(leaves)), sizes: make([]int64, len(leaves))}
	for i, l := range leaves {
		switch {
		case !needsBody(l):
		case parent != nil && parent.First != nil && parent.Rev == l.Rev:
			o.first[i] = parent.First
		default:
			o.first[i] = t.Snapshot().Get(t.Keys.Body(nil, id, l.Rev, 0))
		}
	}
	return o
}

func needsBody(l *rev.LeafKV) bool { return l.Size == 0 || l.Attachments > 0 }

// wait waits for the reads, and returns the attachments of the leaves.
func (o *outgoing) wait(t *db.Txn, id string) (left []rev.Attachment, err error) {
	if o == nil {
		return nil, nil
	}
	for i, l := range o.leaves {
		if o.first[i] == nil {
			continue
		}
		size, attachments, err := oldBody(t, id, l.Rev, o.first[i])
		if err != nil {
			return nil, err
		}
		o.first[i] = nil
		o.sizes[i], o.left = size, append(o.left, attachments...)
	}
	return o.left, nil
}

// size returns the size of the body of a leaf, given its index.
func (o *outgoing) size(i int, l *rev.LeafKV) int64 {
	if needsBody(l) {
		return o.sizes[i]
	}
	return int64(l.Size)
}

// oldBody waits for the first chunk of the body of a revision that becomes history. size is 0 if the body is not
// counted.
func oldBody(t *db.Txn, id string, r db.Rev, chunk kv.Future[[]byte]) (size int64, list []rev.Attachment, err error) {
	first, err := chunk.Wait()
	if err != nil || first == nil {
		return 0, nil, err
	}
	t.Spent += len(first)
	body, _, err := attach.Header(t, db.AppendRev(t.Keys.Doc(nil, keyspace.Documents, id), r), first)
	if err != nil {
		return 0, nil, err
	}
	if body.Sized {
		size = int64(body.Size)
	}
	return size, body.Attachments, nil
}

// supersede queues a body that no longer belongs to a leaf for compaction. size is 0 if it is not counted as
// superseded.
func supersede(t *db.Txn, id string, r db.Rev, size int64) {
	shard := t.Cfg.Shard(id)
	key := t.Keys.Superseded(t.Open(), shard)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.Superseded)))
	t.SetVersionstampedKey(key, offset, t.Close(db.AppendRev(tuple.AppendString(t.Open(), id), r)))
	t.Superseded++
	t.CountIn(shard, db.CounterSuperseded, 1)
	t.CountForIn(shard, id, db.CounterOldBodies, size)
}

// mostOthers is how many other leaves of a document are read to find out which attachments they have.
const mostOthers = 64

// othersOf returns a function that reads the attachments of a document's stored leaves, except those in gone. It
// returns nil if there are none. branches is the number of stored leaves.
func othersOf(t *db.Txn, id string, branches int64, gone []*rev.LeafKV,
) func() (list []rev.Attachment, all bool, err error) {
	if branches <= int64(len(gone)) {
		return nil
	}
	return func() (list []rev.Attachment, all bool, err error) {
		prefix := t.Keys.Doc(nil, keyspace.Revisions, id)
		limit := len(gone) + mostOthers
		if branches > int64(limit) {
			return nil, false, nil
		}
		rows := db.GetRange(t.Snapshot(), prefix, kv.RangeOptions{Limit: limit, Mode: kv.ModeExact})
		leaves, err := rev.ReadLeaves(rows, len(prefix), true, nil)
		if err != nil {
			return nil, false, err
		}
		without := make(map[db.Rev]bool, len(gone))
		for _, l := range gone {
			without[l.Rev] = true
		}
		var others []*rev.LeafKV
		for i := range leaves {
			if l := &leaves[i]; !without[l.Rev] {
				others = append(others, l)
			}
		}
		list, err = readOutgoing(t, id, others, nil).wait(t, id)
		return list, true, err
	}
}

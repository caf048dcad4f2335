package compact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

const (
	// compactBatch is the maximum number of superseded bodies, or purges, that one transaction removes.
	compactBatch = 500
	// compactWindow is how many bodies are read at once. A first chunk may be as long as a value.
	compactWindow = 32
)

// Compacted counts what compaction has done.
type Compacted struct {
	Queued          int64 // entries of the queue; some are of bodies that are gone or belong to leaves again
	Bodies          int64 // superseded bodies removed
	BodyBytes       int64
	AttachmentBytes int64
	Purges          int64 // removed from the purge history
}

func (c *Compacted) add(o Compacted) {
	c.Queued += o.Queued
	c.Bodies += o.Bodies
	c.BodyBytes += o.BodyBytes
	c.AttachmentBytes += o.AttachmentBytes
	c.Purges += o.Purges
}

// Compact removes bodies that no longer belong to a leaf, and attachment data that no body refers to, in small
// transactions, and makes the engine return the space to its disk. It is idempotent and may run while the database is
// written. compactSome is limited to older data, and can be slowed down.
func (d Database) Compact(ctx context.Context) error {
	if err := d.compactSome(ctx, Options{}); err != nil {
		return err
	}
	return d.Reclaim(ctx)
}

// Options are the options of compactSome.
type Options struct {
	// Until is a version of the store. Bodies superseded later are kept. 0 means no limit.
	Until int64
	// Done, unless nil, is called after every transaction with what it has done. An error ends compactSome. Done may
	// block to slow it down.
	Done func(Compacted) error
}

// compactSome removes what was superseded up to a version.
func (d Database) compactSome(ctx context.Context, o Options) error {
	if err := feed.DropCuts(ctx, d.Database); err != nil {
		return err
	}
	for _, step := range []func(t *db.Txn, most int) (int, bool, error){
		func(t *db.Txn, most int) (int, bool, error) { return compact(t, most, o.Until) },
		attach.CheckAttachments,
		dropPurges,
	} {
		if err := compactStep(ctx, d.Database, o, step); err != nil {
			return err
		}
	}
	return nil
}

// compactStep repeats a step until there is no more to do. The transactions need no id: what one has removed is not
// found again.
func compactStep(ctx context.Context, d *db.Database, o Options,
	step func(t *db.Txn, most int) (done int, more bool, err error)) error {
	p := db.NewPortions(compactBatch)
	for more := true; more; {
		var c Compacted
		_, err := db.ReadPart(ctx, d, p, 0, func(t *db.Txn, n int) (done int, err error) {
			done, more, err = step(t, n)
			c = Compacted{Queued: t.Unqueued, Bodies: t.Removed, BodyBytes: t.Dropped, AttachmentBytes: t.Freed,
				Purges: t.Forgotten}
			return done, err
		})
		if err == nil && o.Done != nil {
			err = o.Done(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reclaim makes the engine return the space of removed data to its disk, if it does not do so by itself.
func (d Database) Reclaim(ctx context.Context) error {
	r, ok := d.Store.Engine.(kv.Reclaimer)
	if !ok {
		return nil
	}
	prefix := d.Core.Load().Keys.Prefix
	end, err := tuple.Strinc(prefix)
	if err != nil {
		return err
	}
	return r.Reclaim(ctx, kv.KeyRange{Begin: prefix, End: end})
}

// supersededBody is one row of the queue.
type supersededBody struct {
	key  []byte
	part SupersededRange // the part that contains it
	id   string
	rev  db.Rev
	live [2]kv.Future[[]byte] // the leaf, if the revision has become one again
	body kv.Future[[]byte]
}

// compact removes bodies at the head of the queue, up to a version, sorted by document.
func compact(t *db.Txn, most int, until int64) (done int, more bool, err error) {
	t.MakesRoom()
	queue, err := supersededBodies(t, most, until)
	if err != nil {
		return len(queue), false, err
	}
	more = len(queue) == most
	// A revision may be queued twice: stemming forgets it, and it is added again. Such entries are adjacent now.
	slices.SortFunc(queue, func(a, b supersededBody) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.rev.Pos, b.rev.Pos),
			strings.Compare(a.rev.ID, b.rev.ID))
	})
	var candidates []attach.AttachmentOf
	for len(queue) > 0 && (done == 0 || t.Spent < db.ReadBudget) {
		window := queue[:min(len(queue), compactWindow)]
		list, err := compactQueued(t, window)
		if err != nil {
			return done + len(window), false, err
		}
		candidates = append(candidates, list...)
		queue, done = queue[len(window):], done+len(window)
	}
	t.Unqueued = int64(done)
	return done, more || len(queue) > 0, attach.DropAttachments(t, candidates)
}

// compactQueued removes some bodies, and returns the attachments that they referred to.
func compactQueued(t *db.Txn, queue []supersededBody) (candidates []attach.AttachmentOf, err error) {
	for i := range queue {
		s := &queue[i]
		for j, deleted := range []bool{false, true} {
			s.live[j] = t.Get(t.Close(t.Keys.Revision(t.Open(), s.id, deleted, s.rev)))
		}
		s.body = t.Get(t.Close(t.Keys.Body(t.Open(), s.id, s.rev, 0)))
	}
	for i := range queue {
		s := &queue[i]
		t.Clear(s.key)
		countQueued(t, s.part, -1)
		if i > 0 && s.id == queue[i-1].id && s.rev == queue[i-1].rev {
			continue
		}
		list, err := dropSuperseded(t, s)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, list...)
	}
	return candidates, nil
}

// SupersededRange is a part of the queue in the order of versionstamps: that of a shard, or the one used before there
// were such parts.
type SupersededRange struct {
	Prefix []byte
	Shard  db.ShardID
	Old    bool
}

// SupersededRanges returns the parts of the queue.
func SupersededRanges(t *db.Txn) []SupersededRange {
	parts := []SupersededRange{{Prefix: t.Keys.Sub(nil, keyspace.Superseded), Old: true}}
	for i := range t.Cfg.Maps {
		for _, id := range t.Cfg.Maps[i].Subspaces() {
			parts = append(parts, SupersededRange{Prefix: t.Keys.Superseded(nil, id), Shard: id})
		}
	}
	return parts
}

// countQueued changes the counter of a part of the queue.
func countQueued(t *db.Txn, part SupersededRange, n int64) {
	if part.Old {
		t.Count(db.CounterSuperseded, n)
	} else {
		t.CountIn(part.Shard, db.CounterSuperseded, n)
	}
}

// supersededBodies reads the heads of the queue. Bodies superseded since a cut or after a version are not included.
func supersededBodies(t *db.Txn, most int, until int64) (queue []supersededBody, err error) {
	for _, part := range SupersededRanges(t) {
		if len(queue) == most {
			break
		}
		if queue, err = supersededIn(t, part, most-len(queue), until, queue); err != nil {
			return nil, err
		}
	}
	return queue, nil
}

// supersededIn appends the head of a part. It adds a read conflict for each row: of two concurrent compactions, one is
// retried, while writers, who append to the part, do not conflict.
func supersededIn(t *db.Txn, part SupersededRange, most int, until int64, queue []supersededBody) (
	[]supersededBody, error,
) {
	in := db.PrefixRange(part.Prefix)
	if end := supersededEnd(t, part.Prefix, until); end != nil {
		in.End = end
	}
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		s := supersededBody{key: bytes.Clone(row.Key), part: part}
		t.AddReadConflict(kv.KeyRange{Begin: s.key, End: append(bytes.Clone(s.key), 0)})
		id, rest, err := tuple.TakeString(row.Value)
		if err == nil {
			s.rev, _, err = db.TakeRev(rest)
		}
		if err != nil {
			return nil, db.Corrupt("compaction queue", err)
		}
		s.id = id
		queue = append(queue, s)
	}
	return queue, rows.Err()
}

// supersededEnd returns the end of the rows that may be removed from a part of the queue, or nil if all may be.
func supersededEnd(t *db.Txn, prefix []byte, until int64) (end []byte) {
	if until > 0 {
		end = tuple.AppendVersionstamp(bytes.Clone(prefix), firstStamp(until+1))
	}
	if len(t.Cfg.Cuts) == 0 {
		return end
	}
	oldest, _ := t.Cfg.CutRange()
	atCut := tuple.AppendVersionstamp(bytes.Clone(prefix), oldest.Versionstamp())
	if end == nil || bytes.Compare(atCut, end) < 0 {
		return atCut
	}
	return end
}

// versionOf returns the commit version of a versionstamp.
func versionOf(s tuple.Versionstamp) int64 { return int64(binary.BigEndian.Uint64(s.Transaction[:])) }

// firstStamp returns the first versionstamp of a version.
func firstStamp(version int64) (s tuple.Versionstamp) {
	binary.BigEndian.PutUint64(s.Transaction[:], uint64(version))
	return s
}

// dropSuperseded removes a body, unless its revision has become a leaf again, and returns the attachments that it
// referred to.
func dropSuperseded(t *db.Txn, s *supersededBody) ([]attach.AttachmentOf, error) {
	for _, f := range s.live {
		if leaf, err := f.Wait(); err != nil || leaf != nil {
			return nil, err
		}
	}
	first, err := s.body.Wait()
	if err != nil || first == nil {
		return nil, err
	}
	t.Removed++
	return attach.DropBody(t, s.id, s.rev, first, false)
}

package layer

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// compactBatch is how many superseded bodies one transaction removes at most, and how many purges.
const compactBatch = 100

// Compact removes the bodies that are no leaf any more, and attachment data that no body refers to, in small transactions.
// It is idempotent and may run while the database is written.
func (d *Database) Compact(ctx context.Context) error {
	if err := d.dropCuts(ctx); err != nil {
		return err
	}
	if err := d.repeatPart(ctx, compactBatch, (*txn).compact); err != nil {
		return err
	}
	if err := d.repeatPart(ctx, compactBatch, (*txn).dropPurges); err != nil {
		return err
	}
	return d.reclaim(ctx)
}

// reclaim has the engine give the room of what was removed back to its disk.
func (d *Database) reclaim(ctx context.Context) error {
	r, ok := d.store.engine.(kv.Reclaimer)
	if !ok {
		return nil
	}
	prefix := d.core.Load().keys.prefix
	end, err := tuple.Strinc(prefix)
	if err != nil {
		return err
	}
	return r.Reclaim(ctx, kv.KeyRange{Begin: prefix, End: end})
}

// supersededBody is one row of the queue.
type supersededBody struct {
	key  []byte
	id   string
	rev  Rev
	live [2]kv.Future[[]byte] // the leaf that it may be again
	body kv.Future[[]byte]
}

// compact takes the head of the queue, document by document. Its transaction needs no id: what it did is no longer in
// the queue.
func (t *txn) compact(most int) (done int, more bool, err error) {
	t.MakesRoom()
	queue, err := t.supersededBodies(most)
	if err != nil {
		return len(queue), false, err
	}
	more = len(queue) == most
	for i := range queue {
		s := &queue[i]
		for j, deleted := range []bool{false, true} {
			s.live[j] = t.Get(t.close(t.keys.revision(t.open(), s.id, deleted, s.rev)))
		}
		s.body = t.Get(t.close(t.keys.body(t.open(), s.id, s.rev, 0)))
	}
	// Those of one document together: which attachments it still has is read once.
	slices.SortStableFunc(queue, func(a, b supersededBody) int { return strings.Compare(a.id, b.id) })
	for len(queue) > 0 && (done == 0 || t.spent < readBudget) {
		n := 1
		for n < len(queue) && queue[n].id == queue[0].id {
			n++
		}
		if err := t.compactDocument(queue[:n]); err != nil {
			return done + n, false, err
		}
		queue, done = queue[n:], done+n
	}
	t.count(counterSuperseded, int64(-done))
	return done, more || len(queue) > 0, nil
}

// compactDocument removes superseded bodies of one document.
func (t *txn) compactDocument(queue []supersededBody) error {
	dropped := make(map[Rev]bool, len(queue)) // one may be queued twice: stemming forgets revisions, which then come again
	var candidates []attachmentOf
	for i := range queue {
		s := &queue[i]
		t.Clear(s.key)
		if dropped[s.rev] {
			continue
		}
		dropped[s.rev] = true
		attachments, err := t.dropSuperseded(s)
		if err != nil {
			return err
		}
		candidates = append(candidates, attachments...)
	}
	return t.dropAttachments(candidates)
}

// supersededBodies reads the head of the queue. What was superseded since a cut stays in it.
func (t *txn) supersededBodies(most int) (queue []supersededBody, err error) {
	prefix := t.keys.sub(nil, keyspace.Superseded)
	in := prefixRange(prefix)
	if len(t.cfg.cuts) > 0 {
		oldest, _ := t.cfg.cutRange()
		in.End = tuple.AppendVersionstamp(prefix, oldest.versionstamp())
	}
	rows := t.GetRange(in, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		s := supersededBody{key: bytes.Clone(row.Key)}
		id, rest, err := tuple.TakeString(row.Value)
		if err == nil {
			s.rev, _, err = takeRev(rest)
		}
		if err != nil {
			return nil, corrupt("compaction queue", err)
		}
		s.id = id
		queue = append(queue, s)
	}
	return queue, rows.Err()
}

// attachmentOf is an attachment that a removed body referred to.
type attachmentOf struct {
	docID string
	a     Attachment
}

// dropSuperseded removes a body unless its revision is a leaf again.
func (t *txn) dropSuperseded(s *supersededBody) ([]attachmentOf, error) {
	for _, f := range s.live {
		if leaf, err := f.Wait(); err != nil || leaf != nil {
			return nil, err
		}
	}
	first, err := s.body.Wait()
	if err != nil || first == nil {
		return nil, err
	}
	return t.dropBody(s.id, s.rev, first)
}

// dropBody clears a body, of which the first chunk was read, and returns the attachments it referred to.
func (t *txn) dropBody(id string, r Rev, first []byte) ([]attachmentOf, error) {
	t.spent += len(first)
	body, _, err := parseHeader(first)
	if err != nil && len(first) >= keyspace.BodyChunk { // a list of attachments longer than a chunk
		whole := readBody(t, t.keys, id, r)
		body, _, err = whole.wait()
	}
	if err != nil {
		return nil, err
	}
	t.ClearRange(prefixRange(appendRev(t.keys.doc(nil, keyspace.Documents, id), r)))
	t.countFor(id, counterBodies, int64(-body.size))
	var list []attachmentOf
	for _, a := range body.attachments {
		list = append(list, attachmentOf{id, a})
	}
	return list, nil
}

// dropAttachments clears those that no remaining body of their document refers to. Its reads of the bodies conflict with a writer that carries one
// of them over.
func (t *txn) dropAttachments(candidates []attachmentOf) error {
	for len(candidates) > 0 {
		id := candidates[0].docID
		used, err := t.usedAttachments(id)
		if err != nil {
			return err
		}
		rest := candidates[:0]
		for _, c := range candidates {
			if c.docID != id {
				rest = append(rest, c)
				continue
			}
			if used[c.a.ID] {
				continue
			}
			used[c.a.ID] = true // several removed bodies may share it
			t.ClearRange(prefixRange(t.keys.attachment(nil, id, c.a.ID)))
			t.countFor(id, counterStored, -c.a.EncodedLength)
			t.countFor(id, counterContent, -c.a.Length)
		}
		candidates = rest
	}
	return nil
}

// usedAttachments are those that a document's stored bodies refer to, removals of this transaction regarded.
func (t *txn) usedAttachments(id string) (map[[16]byte]bool, error) {
	used := map[[16]byte]bool{}
	prefix := t.keys.doc(nil, keyspace.Documents, id)
	rows := getRange(t, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var whole []byte
	note := func() error {
		if whole == nil {
			return nil
		}
		body, _, err := parseHeader(whole)
		for _, a := range body.attachments {
			used[a.ID] = true
		}
		return err
	}
	for rows.Next() {
		row := rows.KeyValue()
		t.spent += len(row.Value)
		_, chunk, err := takeRev(row.Key[len(prefix):])
		if err != nil {
			return nil, corrupt("body key", err)
		}
		if n, _, err := tuple.TakeInt(chunk); err != nil {
			return nil, corrupt("body key", err)
		} else if n == 0 {
			if err := note(); err != nil {
				return nil, err
			}
			whole = nil
		}
		whole = append(whole, row.Value...)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return used, note()
}

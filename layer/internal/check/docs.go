package check

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// checkedDoc is a document whose branches are being checked.
type checkedDoc struct {
	id     string
	leaves int64
	last   rev.LeafKV
	entry  kv.Future[[]byte]
	listed kv.Future[[]byte]
	design kv.Future[[]byte]
}

// documentCheck checks the branches of documents.
type documentCheck struct{ *checker }

// documents checks the branches of all documents: the winner, its entries in the feed and the lists, and that leaves
// have bodies with their attachments.
func (x documentCheck) documents() error {
	var docs []checkedDoc
	var at checkedDoc
	var bodies []checkedBody
	checkBodies := func() error {
		for i := range bodies {
			if err := bodies[i].check(x.checker); err != nil {
				return err
			}
		}
		bodies = bodies[:0]
		return nil
	}
	prefix := x.keys.Sub(nil, keyspace.Revisions)
	return x.overPartitions([]string{db.CounterDeleted, db.CounterDocs}, walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		row: func(id string, rest []byte, row kv.KeyValue) error {
			if at.leaves > 0 && at.last.Winner {
				x.fault(keyspace.Revisions, id, "revision %s is marked as the winner, but another one sorts after it",
					at.last.Rev)
			}
			at.last = rev.LeafKV{}
			if err := rev.ParseLeafKey(&at.last, rest); err != nil {
				return err
			}
			if err := rev.ParseLeafValue(&at.last, row.Value, true); err != nil {
				return err
			}
			at.leaves++
			bodies = append(bodies, x.readLeafBody(id, &at.last))
			// A document with many branches.
			if len(bodies) >= 2*checkWindow {
				return checkBodies()
			}
			return nil
		},
		end: func(id string) error {
			at.id = id
			at.issue(x.checker)
			docs = append(docs, at)
			at = checkedDoc{}
			return nil
		},
		flush: func() error {
			for i := range docs {
				if err := docs[i].check(x.checker); err != nil {
					return err
				}
			}
			docs = docs[:0]
			return checkBodies()
		},
		reset: func() error {
			docs, bodies, at = docs[:0], bodies[:0], checkedDoc{}
			return nil
		},
	})
}

func (d *checkedDoc) issue(x *checker) {
	if d.last.Winner {
		d.entry = x.r.Get(x.keys.Entry(nil, x.cfg.ShardAt(d.id, d.last.Seq), d.last.Seq))
	}
	d.listed = x.r.Get(x.keys.Doc(nil, keyspace.AllDocs, d.id))
	if db.IsDesign(d.id) {
		d.design = x.r.Get(x.keys.Doc(nil, keyspace.Designs, d.id))
	}
}

func (d *checkedDoc) check(x *checker) error {
	w := &d.last
	if w.Deleted {
		x.countFor(d.id, db.CounterDeleted, 1)
	} else {
		x.countFor(d.id, db.CounterDocs, 1)
		docRangeCheck{x}.count(d.id)
	}
	if err := d.checkListed(x); err != nil {
		return err
	}
	if !w.Winner {
		x.fault(keyspace.Revisions, d.id, "the winning revision %s is not marked as the winner", w.Rev)
		return nil
	}
	if w.Branches != d.leaves {
		x.fault(keyspace.Revisions, d.id, "%d branches are recorded, but there are %d", w.Branches, d.leaves)
	}
	entry, err := d.entry.Wait()
	if err != nil {
		return err
	}
	want := feed.AppendEntryValue(nil, d.id, w.Rev, w.Branches, w.Deleted)
	switch {
	case entry == nil:
		x.fault(keyspace.Changes, d.id, "the document has no entry at its sequence %s", w.Seq)
	case !bytes.Equal(entry, want):
		x.fault(keyspace.Changes, d.id, "the entry at %s is not that of revision %s", w.Seq, w.Rev)
	}
	return nil
}

// checkListed checks the lists of documents and of design documents.
func (d *checkedDoc) checkListed(x *checker) error {
	listed, err := d.listed.Wait()
	if err != nil {
		return err
	}
	d.checkIn(x, keyspace.AllDocs, listed)
	if d.design == nil {
		return nil
	}
	if listed, err = d.design.Wait(); err == nil {
		d.checkIn(x, keyspace.Designs, listed)
	}
	return err
}

func (d *checkedDoc) checkIn(x *checker, list keyspace.Subspace, value []byte) {
	w := &d.last
	switch {
	case w.Deleted && value != nil:
		x.fault(list, d.id, "the document is deleted, but listed")
	case !w.Deleted && value == nil:
		x.fault(list, d.id, "the document is not listed")
	case !w.Deleted:
		if r, err := db.ParseRevPair(value); err != nil || r != w.Rev {
			x.fault(list, d.id, "revision %s is listed, but %s is the winner", r, w.Rev)
		}
	}
}

// checkedBody is the body of a leaf, being read.
type checkedBody struct {
	id      string
	rev     db.Rev
	deleted bool
	size    [2]int32 // according to the leaf's row: of the body, and the number of attachments
	first   kv.Future[[]byte]
}

func (x documentCheck) readLeafBody(id string, l *rev.LeafKV) checkedBody {
	return checkedBody{id, l.Rev, l.Deleted, [2]int32{l.Size, l.Attachments}, x.r.Get(x.keys.Body(nil, id, l.Rev, 0))}
}

// check checks that a body exists in full length, is JSON, and has its attachments.
func (b *checkedBody) check(x *checker) error {
	first, err := b.first.Wait()
	if err != nil {
		return err
	}
	if first == nil {
		x.fault(keyspace.Documents, b.id, "the leaf %s has no body", b.rev)
		return nil
	}
	read := rev.ReadBody(x.r, x.keys, b.id, b.rev)
	read.First = rev.HaveRead(first)
	body, _, err := read.Wait()
	if err != nil {
		if kv.Retryable(err) || x.ctx.Err() != nil {
			return err
		}
		x.fault(keyspace.Documents, b.id, "the body of the leaf %s cannot be read: %v", b.rev, err)
		return nil
	}
	switch _, err := jsontext.ScanMembers(body.Body, func(jsontext.Member) {}); {
	case err != nil:
		x.fault(keyspace.Documents, b.id, "the body of the leaf %s: %v", b.rev, err)
	case body.Deleted != b.deleted:
		x.fault(keyspace.Documents, b.id, "the body of the leaf %s disagrees about whether it is deleted", b.rev)
	}
	want := [2]int32{int32(body.Size), int32(len(body.Attachments))}
	if b.size[0] > 0 && (b.size != want || !body.Sized) {
		x.fault(keyspace.Revisions, b.id, "the sizes of the leaf %s are recorded as %d, but are %d", b.rev, b.size,
			want)
	}
	for i := range body.Attachments {
		if err := b.attachment(x, &body.Attachments[i]); err != nil {
			return err
		}
	}
	return nil
}

// attachment checks the last chunk of an attachment, and that it is not marked as one without a leaf. attachmentCheck
// checks the other chunks.
func (b *checkedBody) attachment(x *checker, a *rev.Attachment) error {
	counter := x.r.Get(rev.Refs(x.keys, nil, b.id, a.ID))
	if a.EncodedLength == 0 {
		return nil
	}
	last := (a.EncodedLength - 1) / keyspace.BodyChunk
	chunk, err := x.r.Get(tuple.AppendInt(x.keys.Attachment(nil, b.id, a.ID), last)).Wait()
	if err != nil {
		return err
	}
	if int64(len(chunk)) != a.EncodedLength-last*keyspace.BodyChunk {
		x.fault(keyspace.Attachments, b.id, "attachment %q of revision %s does not have its length of %d bytes",
			a.Name,
			b.rev, a.EncodedLength)
	}
	value, err := counter.Wait()
	if err != nil {
		return err
	}
	if _, _, old := attach.TakeRefs(db.CounterValue(value)); old {
		x.fault(keyspace.AttachmentRefs, b.id, "attachment %q is marked as one without a leaf, but %s has it", a.Name,
			b.rev)
	}
	return nil
}

package layer

import (
	"bytes"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// checkedDoc is a document whose branches are being looked at.
type checkedDoc struct {
	id     string
	leaves int64
	last   leafKV
	entry  kv.Future[[]byte]
	listed kv.Future[[]byte]
	design kv.Future[[]byte]
}

// documents goes through the branches of all documents: the winner, what is noted of it, and that leaves have bodies
// and those their attachments.
func (x *checker) documents() error {
	var docs []checkedDoc
	var at checkedDoc
	var bodies []checkedBody
	checkBodies := func() error {
		for i := range bodies {
			if err := bodies[i].check(x); err != nil {
				return err
			}
		}
		bodies = bodies[:0]
		return nil
	}
	prefix := x.keys.sub(nil, keyspace.Revisions)
	return x.overPartitions([]string{counterDeleted, counterDocs}, walk{
		in: prefixRange(prefix), of: behind(prefix),
		row: func(id string, rest []byte, row kv.KeyValue) error {
			if at.leaves > 0 && at.last.winner {
				x.fault(keyspace.Revisions, id, "the revision %s is marked the winner, and another one comes after it",
					at.last.rev)
			}
			at.last = leafKV{}
			if err := parseLeafKey(&at.last, rest); err != nil {
				return err
			}
			if err := parseLeafValue(&at.last, row.Value, false); err != nil {
				return err
			}
			at.leaves++
			bodies = append(bodies, x.readLeafBody(id, at.last.rev))
			if len(bodies) >= 2*checkWindow { // a document with many branches
				return checkBodies()
			}
			return nil
		},
		end: func(id string) error {
			at.id = id
			at.issue(x)
			docs = append(docs, at)
			at = checkedDoc{}
			return nil
		},
		flush: func() error {
			for i := range docs {
				if err := docs[i].check(x); err != nil {
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
	if d.last.winner {
		d.entry = x.r.Get(x.keys.entry(nil, x.cfg.shardAt(d.id, d.last.seq), d.last.seq))
	}
	d.listed = x.r.Get(x.keys.doc(nil, keyspace.AllDocs, d.id))
	if isDesign(d.id) {
		d.design = x.r.Get(x.keys.doc(nil, keyspace.Designs, d.id))
	}
}

func (d *checkedDoc) check(x *checker) error {
	w := &d.last
	if w.deleted {
		x.countFor(d.id, counterDeleted, 1)
	} else {
		x.countFor(d.id, counterDocs, 1)
	}
	if err := d.checkListed(x); err != nil {
		return err
	}
	if !w.winner {
		x.fault(keyspace.Revisions, d.id, "the winning revision %s is not marked", w.rev)
		return nil
	}
	if w.branches != d.leaves {
		x.fault(keyspace.Revisions, d.id, "%d branches are noted, and there are %d", w.branches, d.leaves)
	}
	entry, err := d.entry.Wait()
	if err != nil {
		return err
	}
	want := appendEntryValue(nil, d.id, w.rev, w.branches, w.deleted)
	switch {
	case entry == nil:
		x.fault(keyspace.Changes, d.id, "the document has no entry at its sequence %s", w.seq)
	case !bytes.Equal(entry, want):
		x.fault(keyspace.Changes, d.id, "the entry at %s is not that of revision %s", w.seq, w.rev)
	}
	return nil
}

// checkListed looks at the lists of documents and of design documents.
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
	case w.deleted && value != nil:
		x.fault(list, d.id, "the document is deleted, and listed")
	case !w.deleted && value == nil:
		x.fault(list, d.id, "the document is not listed")
	case !w.deleted:
		if r, err := parseRevPair(value); err != nil || r != w.rev {
			x.fault(list, d.id, "revision %s is listed, and %s is the winner", r, w.rev)
		}
	}
}

// checkedBody is the body of a leaf on its way.
type checkedBody struct {
	id    string
	rev   Rev
	first kv.Future[[]byte]
}

func (x *checker) readLeafBody(id string, r Rev) checkedBody {
	return checkedBody{id, r, x.r.Get(x.keys.body(nil, id, r, 0))}
}

// check looks whether a body is there in full length, and has its attachments.
func (b *checkedBody) check(x *checker) error {
	first, err := b.first.Wait()
	if err != nil {
		return err
	}
	if first == nil {
		x.fault(keyspace.Documents, b.id, "the leaf %s has no body", b.rev)
		return nil
	}
	read := readBody(x.r, x.keys, b.id, b.rev)
	read.first = haveRead(first)
	body, _, err := read.wait()
	if err != nil {
		if kv.Retryable(err) || x.ctx.Err() != nil {
			return err
		}
		x.fault(keyspace.Documents, b.id, "the body of the leaf %s cannot be read: %v", b.rev, err)
		return nil
	}
	for i := range body.attachments {
		if err := b.attachment(x, &body.attachments[i]); err != nil {
			return err
		}
	}
	return nil
}

// attachment looks at the last chunk of an attachment. Those before it attachments looks at.
func (b *checkedBody) attachment(x *checker, a *Attachment) error {
	if a.EncodedLength == 0 {
		return nil
	}
	last := (a.EncodedLength - 1) / keyspace.BodyChunk
	chunk, err := x.r.Get(tuple.AppendInt(x.keys.attachment(nil, b.id, a.ID), last)).Wait()
	if err != nil {
		return err
	}
	if int64(len(chunk)) != a.EncodedLength-last*keyspace.BodyChunk {
		x.fault(keyspace.Attachments, b.id, "attachment %q of revision %s is not there in its length of %d bytes",
			a.Name,
			b.rev, a.EncodedLength)
	}
	return nil
}

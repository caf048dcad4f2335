package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// The data of an attachment is shared by the revisions of its document that carry it over. A counter says how many
// stored bodies refer to it, so that removing a body costs the same however many others there are:
//
//	(AttachmentRefs, DocID, AttachmentID) = little-endian counter: bodies, and countsAll where it counts all of them
//	(AttachmentRefs, DocID)               = empty: all bodies of the document are counted
//
// A body whose attachments are counted says so in its header (flagCounted). Bodies of stores of format 3 and below do
// not. The data goes with the last body if all are counted; otherwise somebody has to look at the bodies
// (attachmentchecks.go).
//
// Who writes a body adds to the counters without reading them, so that writers do not conflict with each other. This is
// why data that a body refers to is never removed:
//
//   - A writer that carries an attachment over has read the body that it takes it from, its parent's, and conflicts
//     with whoever removes that body. So at its commit the parent's reference is there, and the counter above zero.
//   - Those that remove bodies of one document conflict with each other, by a read and a write conflict on the
//     document's key. What one of them reads of a counter, at its read version, can at its commit only have grown. If
//     it leaves something by what was read, it does.
//   - One that leaves nothing, and so removes the data, conflicts with the counter too: then a writer between its read
//     and its commit makes it fail.
//   - A transaction of several edits of one document writes all their bodies before it looks what is left.
//
// So only the removal of the last body can be kept from committing by writers, and those carry over what that body has
// only if they have read it as their parent: a document that is written all the time can be compacted.

// takeRefs divides the value of a counter.
func takeRefs(n int64) (bodies int64, all bool) {
	if n >= countsAll/2 {
		return n - countsAll, true
	}
	return n, false
}

// attachmentOf is an attachment that a removed body referred to.
type attachmentOf struct {
	docID string
	a     Attachment
}

// dropAttachments removes those that no body of their document refers to any more. What the transaction adds to the
// document's bodies it has added before.
func (t *txn) dropAttachments(candidates []attachmentOf) error {
	for len(candidates) > 0 {
		id := candidates[0].docID
		var own []Attachment
		rest := candidates[:0]
		seen := map[[16]byte]bool{} // several removed bodies may share one
		for _, c := range candidates {
			switch {
			case c.docID != id:
				rest = append(rest, c)
			case !seen[c.a.ID] && !gather[attachmentRefs](t).of[attachmentKey{id, c.a.ID}].freed:
				seen[c.a.ID] = true
				own = append(own, c.a)
			}
		}
		if err := t.dropAttachmentsOf(id, own); err != nil {
			return err
		}
		candidates = rest
	}
	return nil
}

func (t *txn) dropAttachmentsOf(id string, list []Attachment) error {
	// See the argument above for why the counters are read without conflicts.
	document := t.close(t.keys.doc(t.open(), keyspace.AttachmentRefs, id))
	alone := singleKey(document)
	t.AddReadConflict(alone)
	t.AddWriteConflict(alone)
	converted := t.Snapshot().Get(document)
	keys := make([][]byte, len(list))
	reads := make([]kv.Future[[]byte], len(list))
	for i := range list {
		keys[i] = t.close(t.keys.refs(t.open(), id, list[i].ID))
		reads[i] = t.Snapshot().Get(keys[i])
	}
	marker, err := converted.Wait()
	if err != nil {
		return err
	}
	var unsure []Attachment
	for i := range list {
		value, err := reads[i].Wait()
		if err != nil {
			return err
		}
		n, all := takeRefs(counterValue(value) + gather[attachmentRefs](t).of[attachmentKey{id, list[i].ID}].n)
		if n != 0 { // less than none is a wrong counter: the data stays, and verify tells
			continue
		}
		t.AddReadConflict(singleKey(keys[i]))
		if all || marker != nil {
			t.freeAttachment(id, &list[i])
		} else {
			unsure = append(unsure, list[i])
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	return t.dropUncounted(id, unsure)
}

// freeAttachment removes the data of an attachment.
func (t *txn) freeAttachment(id string, a *Attachment) {
	t.ClearRange(prefixRange(t.keys.attachment(nil, id, a.ID)))
	t.Clear(t.close(t.keys.refs(t.open(), id, a.ID)))
	t.Clear(t.close(t.keys.attachmentCheck(t.open(), id, a.ID)))
	t.addRefs(attachmentKey{id, a.ID}, 0)
	gather[attachmentRefs](t).set(attachmentKey{id, a.ID}, refChange{freed: true})
	t.countFor(id, counterStored, -a.EncodedLength)
	t.countFor(id, counterContent, -a.Length)
	t.freed += a.EncodedLength
}

// dropBody clears a body, of which the first chunk was read, and returns the attachments it referred to.
func (t *txn) dropBody(id string, r Rev, first []byte) ([]attachmentOf, error) {
	t.spent += len(first)
	key := t.close(appendRev(t.keys.doc(t.open(), keyspace.Documents, id), r))
	body, _, err := t.header(key, first)
	if err != nil {
		return nil, err
	}
	t.ClearRange(prefixRange(key))
	t.countFor(id, counterBodies, int64(-body.size))
	t.dropped += int64(body.size)
	if body.counted {
		t.refer(id, body.attachments, -1)
	}
	var list []attachmentOf
	for _, a := range body.attachments {
		list = append(list, attachmentOf{id, a})
	}
	return list, nil
}

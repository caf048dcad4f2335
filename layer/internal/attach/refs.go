package attach

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// The data of an attachment is shared by the revisions of its document that refer to it. A counter says how many stored
// bodies do, so that the cost of removing a body does not depend on the number of other bodies:
//
//	(AttachmentRefs, DocID, AttachmentID) = little-endian counter: bodies, plus CountsAll if it includes all of them,
//	                                        plus CountsOld if no leaf refers to the attachment, and it is counted so
//	(AttachmentRefs, DocID)               = empty: all bodies of the document are counted
//
// A body that is counted has FlagCounted in its header. Bodies of stores of format 3 and below do not. The data is
// removed with the last body if all bodies are counted; otherwise the other bodies have to be checked (checks.go).
//
// A transaction that writes a body adds to the counters without reading them, so that writers do not conflict with each
// other. Data that a body refers to is never removed, because:
//
//   - A writer that keeps an attachment has read the parent's body, which refers to it, and conflicts with any removal
//     of that body. So at its commit the parent's reference exists, and the counter is above zero.
//   - Transactions that remove bodies of one document conflict with each other, by a read and a write conflict on the
//     document's key. Between the read version and the commit of one of them, a counter can only grow. If the value
//     that it has read leaves references, there still are some.
//   - A transaction that finds no references left, and so removes the data, also has a read conflict on the counter, so
//     that it fails if a writer commits in between.
//   - A transaction with several edits of one document writes all their bodies before it reads the counters.
//
// So writers can only delay the removal of the last body, and only writers that have read it as their parent keep its
// attachments. A document that is written all the time can still be compacted.

// TakeRefs splits the value of a counter. all reports that it includes all bodies, old that no leaf refers to the
// attachment.
func TakeRefs(n int64) (bodies int64, all, old bool) {
	if all = n >= rev.CountsAll/2; all {
		n -= rev.CountsAll
	}
	if old = n >= rev.CountsOld/2; old {
		n -= rev.CountsOld
	}
	return n, all, old
}

// AttachmentOf is an attachment that a removed body referred to.
type AttachmentOf struct {
	DocID string
	A     rev.Attachment
}

// DropAttachments removes the attachments that no body of their document refers to any more. The transaction must have
// written its own bodies before.
func DropAttachments(t *db.Txn, candidates []AttachmentOf) error {
	for len(candidates) > 0 {
		id := candidates[0].DocID
		var own []rev.Attachment
		rest := candidates[:0]
		seen := map[[16]byte]bool{} // several removed bodies may share an attachment
		for _, c := range candidates {
			switch {
			case c.DocID != id:
				rest = append(rest, c)
			case !seen[c.A.ID] && !db.Gather[rev.AttachmentRefs](t).Of[rev.AttachmentKey{DocID: id, Id: c.A.ID}].Freed:
				seen[c.A.ID] = true
				own = append(own, c.A)
			}
		}
		if err := dropAttachmentsOf(t, id, own); err != nil {
			return err
		}
		candidates = rest
	}
	return nil
}

func dropAttachmentsOf(t *db.Txn, id string, list []rev.Attachment) error {
	// The comment above explains why the counters are read without conflicts.
	document := t.Close(t.Keys.Doc(t.Open(), keyspace.AttachmentRefs, id))
	alone := db.SingleKey(document)
	t.AddReadConflict(alone)
	t.AddWriteConflict(alone)
	converted := t.Snapshot().Get(document)
	keys := make([][]byte, len(list))
	reads := make([]kv.Future[[]byte], len(list))
	for i := range list {
		keys[i] = t.Close(rev.Refs(t.Keys, t.Open(), id, list[i].ID))
		reads[i] = t.Snapshot().Get(keys[i])
	}
	marker, err := converted.Wait()
	if err != nil {
		return err
	}
	var unsure []unsureAttachment
	for i := range list {
		value, err := reads[i].Wait()
		if err != nil {
			return err
		}
		n, all, old := TakeRefs(db.CounterValue(value) +
			db.Gather[rev.AttachmentRefs](t).Of[rev.AttachmentKey{DocID: id, Id: list[i].ID}].N)
		// A negative count is an error: the data is kept, and divan verify reports the error.
		if n != 0 {
			continue
		}
		t.AddReadConflict(db.SingleKey(keys[i]))
		if all || marker != nil {
			freeAttachment(t, id, &list[i], old)
		} else {
			unsure = append(unsure, unsureAttachment{list[i], old})
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	return dropUncounted(t, id, unsure)
}

// unsureAttachment is an attachment that bodies may refer to that are not counted.
type unsureAttachment struct {
	rev.Attachment
	old bool // see freeAttachment
}

// freeAttachment removes the data of an attachment. old reports that it is counted as one that no leaf refers to.
func freeAttachment(t *db.Txn, id string, a *rev.Attachment, old bool) {
	t.ClearRange(db.PrefixRange(t.Keys.Attachment(nil, id, a.ID)))
	t.Clear(t.Close(rev.Refs(t.Keys, t.Open(), id, a.ID)))
	t.Clear(t.Close(AttachmentCheck(t.Keys, t.Open(), id, a.ID)))
	rev.AddRefs(t, rev.AttachmentKey{DocID: id, Id: a.ID}, 0)
	db.Gather[rev.AttachmentRefs](t).Set(rev.AttachmentKey{DocID: id, Id: a.ID}, rev.RefChange{Freed: true})
	t.CountFor(id, db.CounterStored, -a.EncodedLength)
	t.CountFor(id, db.CounterContent, -a.Length)
	if old {
		countOld(t, id, a, -1)
	}
	t.Freed += a.EncodedLength
}

// DropBody clears a body whose first chunk has been read, and returns the attachments that it referred to. leaf reports
// whether it belongs to a leaf until this transaction.
func DropBody(t *db.Txn, id string, r db.Rev, first []byte, leaf bool) ([]AttachmentOf, error) {
	t.Spent += len(first)
	key := t.Close(db.AppendRev(t.Keys.Doc(t.Open(), keyspace.Documents, id), r))
	body, _, err := Header(t, key, first)
	if err != nil {
		return nil, err
	}
	t.ClearRange(db.PrefixRange(key))
	t.CountFor(id, db.CounterBodies, int64(-body.Size))
	if body.Sized && !leaf {
		t.CountFor(id, db.CounterOldBodies, int64(-body.Size))
	}
	t.Dropped += int64(body.Size)
	if body.Counted {
		rev.Refer(t, id, body.Attachments, -1)
	}
	var list []AttachmentOf
	for _, a := range body.Attachments {
		list = append(list, AttachmentOf{id, a})
	}
	return list, nil
}

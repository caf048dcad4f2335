package attach

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// The size of a database in use does not include attachments that no leaf refers to, although compaction has not
// removed them yet. Whether a leaf refers to an attachment can only change with an edit of its document. All edits of a
// document conflict with each other, so the counters that tell it are read without conflicts.

// MarkOld counts attachments as old: those in left, which revisions have that were leaves, except those in linked,
// which new leaves have, and those that others returns. Attachments in linked that were old are no longer.
//
// others, unless nil, returns the attachments of the document's other leaves. all is false if these are too many to be
// read; then nothing becomes old. The transaction must have written its own bodies before, and no branches of the
// document.
func MarkOld(t *db.Txn, id string, left, linked []rev.Attachment,
	others func() (list []rev.Attachment, all bool, err error)) error {
	gone := attachmentsByID(left)
	again := attachmentsByID(linked)
	for k := range again {
		if _, both := gone[k]; both {
			delete(again, k)
			delete(gone, k)
		}
	}
	if len(gone) > 0 && others != nil {
		list, all, err := others()
		if err != nil {
			return err
		}
		for i := range list {
			delete(gone, list[i].ID)
		}
		if !all {
			clear(gone)
		}
	}
	refs := db.Gather[rev.AttachmentRefs](t)
	for k := range again {
		if refs.Of[rev.AttachmentKey{DocID: id, Id: k}].N >= rev.CountsAll/2 {
			delete(again, k) // new
		}
	}
	return markOld(t, id, gone, again)
}

func markOld(t *db.Txn, id string, gone, again map[[16]byte]*rev.Attachment) error {
	type read struct {
		a     *rev.Attachment
		n     int64 // to be added to its number of old attachments: 1 or -1
		value kv.Future[[]byte]
	}
	var reads []read
	for _, part := range []struct {
		of map[[16]byte]*rev.Attachment
		n  int64
	}{{gone, 1}, {again, -1}} {
		for k, a := range part.of {
			reads = append(reads, read{a, part.n, t.Snapshot().Get(t.Close(rev.Refs(t.Keys, t.Open(), id, k)))})
		}
	}
	refs := db.Gather[rev.AttachmentRefs](t)
	for _, r := range reads {
		value, err := r.value.Wait()
		if err != nil {
			return err
		}
		key := rev.AttachmentKey{DocID: id, Id: r.a.ID}
		change := refs.Of[key]
		if _, _, old := TakeRefs(db.CounterValue(value) + change.N); change.Freed || old == (r.n > 0) {
			continue
		}
		rev.AddRefs(t, key, r.n*rev.CountsOld)
		countOld(t, id, r.a, r.n)
	}
	return nil
}

func attachmentsByID(list []rev.Attachment) map[[16]byte]*rev.Attachment {
	of := make(map[[16]byte]*rev.Attachment, len(list))
	for i := range list {
		of[list[i].ID] = &list[i]
	}
	return of
}

// countOld adds an attachment n times to those that no leaf refers to.
func countOld(t *db.Txn, id string, a *rev.Attachment, n int64) {
	t.CountFor(id, db.CounterOldStored, n*a.EncodedLength)
	t.CountFor(id, db.CounterOldContent, n*a.Length)
}

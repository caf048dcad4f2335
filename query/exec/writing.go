package exec

import (
	"context"
	"encoding/json"
)

// Writable is an optional interface of a Snapshot: the present it was taken at can be continued by writes.
type Writable interface {
	// Begin begins a transaction that reads the snapshot. It does no I/O. Nothing is locked: Commit fails if another
	// writer has changed what the transaction has read. The error is of kind Forbidden if the database cannot be
	// written by SQL, and of kind Unsupported if the snapshot may move.
	Begin() (Transaction, error)
}

// Transaction reads a snapshot with its own writes. Reads that would have to show writes as only their commit can
// define them (views, changes, conflicts) are Unsupported once it has written. What it reads is part of it: see
// Commit. It ends with its snapshot; nothing has to be closed. Not safe for concurrent use.
type Transaction interface {
	Database
	// Write writes all of the edits, of different documents, or none. Until Commit only the transaction's own reads see
	// them.
	Write(ctx context.Context, edits []Edit) ([]Written, error)
	// Mark returns a position that RollBack can return to. RollBack undoes the writes since.
	Mark() int
	RollBack(mark int)
	// At returns the database with the writes up to a mark. What it reads counts as read by the transaction. It may be
	// used as long as the transaction does not roll back to an earlier mark, and its snapshot is held.
	At(mark int) Database
	// Wrote reports whether there is something to commit.
	Wrote() bool
	// Commit makes the writes durable and visible, all or none. It fails with kind Stale if another writer has changed
	// what the transaction has read, with kind Overdue if the transaction has taken longer than the store allows, and
	// with kind Unknown if the store cannot tell whether it has been committed. The transaction has ended then.
	Commit(ctx context.Context) error
}

// Edit is a write of one document.
type Edit struct {
	// ID may be empty in an edit of a new document. It is then the text's member _id, or else chosen.
	ID string
	// Rev is the revision that the edit replaces, "" for a new document.
	Rev     string
	Deleted bool
	// Doc is the text of the document, unless Deleted is set. Its members _id and _rev, if there are any, must be ID
	// and Rev. Attachments are kept unless it has a member _attachments.
	Doc json.RawMessage
}

// Written is the result of an edit.
type Written struct {
	ID, Rev string
	Doc     json.RawMessage // as in Row; nil if the document was deleted
}

package rev

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// CountsAll is added to the counter of an attachment with its first body, if that body is counted. It is too large to
// be reached by a number of bodies.
const CountsAll = int64(1) << 60

// CountsOld is added to the counter of an attachment while no leaf refers to it. It is too large to be reached by a
// number of bodies.
const CountsOld = int64(1) << 58

// AttachmentKey identifies an attachment in a database.
type AttachmentKey struct {
	DocID string
	Id    [16]byte
}

// RefChange is how a transaction changes the counter of an attachment.
type RefChange struct {
	N     int64
	Freed bool // the attachment has been removed
}

// AttachmentRefs collects how a transaction changes the counters of attachments.
type AttachmentRefs struct{ Of map[AttachmentKey]RefChange }

// Set replaces the change of a counter.
func (refs *AttachmentRefs) Set(k AttachmentKey, c RefChange) {
	if refs.Of == nil {
		refs.Of = map[AttachmentKey]RefChange{}
	}
	refs.Of[k] = c
}

// Finish writes the changes.
func (refs *AttachmentRefs) Finish(t *db.Txn) {
	for k, c := range refs.Of {
		if c.N != 0 && !c.Freed {
			t.Atomic(kv.AtomicAdd, t.Close(Refs(t.Keys, t.Open(), k.DocID, k.Id)), db.LittleEndian(c.N))
		}
	}
}

// Refs is (AttachmentRefs, DocID, AttachmentID).
func Refs(s db.Space, dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(s.Doc(dst, keyspace.AttachmentRefs, id), attachment)
}

// Refer adds n to the number of bodies that refer to each attachment.
func Refer(t *db.Txn, docID string, list []Attachment, n int64) {
	for i := range list {
		AddRefs(t, AttachmentKey{docID, list[i].ID}, n)
	}
}

// BeginCounting marks a new attachment, whose counter will include all bodies that refer to it.
func BeginCounting(t *db.Txn, docID string, a *Attachment) {
	AddRefs(t, AttachmentKey{docID, a.ID}, CountsAll)
}

// AddRefs adds n to the counter of an attachment at the end of the transaction.
func AddRefs(t *db.Txn, k AttachmentKey, n int64) {
	refs := db.Gather[AttachmentRefs](t)
	c := refs.Of[k]
	c.N += n
	refs.Set(k, c)
}

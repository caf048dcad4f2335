package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// countsAll is added to the counter of an attachment with its first body, if that body was counted. It is so large that
// no number of bodies reaches it from either side.
const countsAll = int64(1) << 60

// attachmentKey names an attachment in a database.
type attachmentKey struct {
	docID string
	id    [16]byte
}

// refChange is what a transaction does to the counter of an attachment.
type refChange struct {
	n     int64
	freed bool // the attachment is gone
}

// attachmentRefs is what a transaction does to the counters of attachments.
type attachmentRefs struct{ of map[attachmentKey]refChange }

func (refs *attachmentRefs) set(k attachmentKey, c refChange) {
	if refs.of == nil {
		refs.of = map[attachmentKey]refChange{}
	}
	refs.of[k] = c
}

// finish writes what the transaction does to the counters.
func (refs *attachmentRefs) finish(t *txn) {
	for k, c := range refs.of {
		if c.n != 0 && !c.freed {
			t.Atomic(kv.AtomicAdd, t.close(t.keys.refs(t.open(), k.docID, k.id)), littleEndian(c.n))
		}
	}
}

// refs is (AttachmentRefs, DocID, AttachmentID).
func (s space) refs(dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(s.doc(dst, keyspace.AttachmentRefs, id), attachment)
}

// refer changes the count of bodies that refer to attachments.
func (t *txn) refer(docID string, list []Attachment, n int64) {
	for i := range list {
		t.addRefs(attachmentKey{docID, list[i].ID}, n)
	}
}

// bear says that an attachment is new: it has no bodies that are not counted.
func (t *txn) bear(docID string, a *Attachment) { t.addRefs(attachmentKey{docID, a.ID}, countsAll) }

func (t *txn) addRefs(k attachmentKey, n int64) {
	refs := gather[attachmentRefs](t)
	c := refs.of[k]
	c.n += n
	refs.set(k, c)
}

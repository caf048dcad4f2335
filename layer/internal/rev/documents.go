package rev

import "github.com/divandb/divan/layer/internal/db"

// Document is one revision of a document. Body and attachments are as stored; fields beyond are filled only when asked
// for (R7).
type Document struct {
	ID      string
	Rev     db.Rev
	Deleted bool
	// Body is the JSON object text as it came, without the top-level members that begin with an underscore. At least
	// `{}`.
	Body []byte
	// Large is there instead of Body where the read was asked to leave large bodies in the store, and this is one.
	Large       *LargeBody
	Attachments []Attachment // in the order given by the writer

	Revs             []db.Rev // newest first, from Rev back (revs)
	RevsInfo         []Info   // (revs_info)
	Conflicts        []db.Rev // (conflicts) live leaves but the winner, best first
	DeletedConflicts []db.Rev // (deleted_conflicts)
	LocalSeq         db.Seq   // (local_seq) zero if not asked
}

// Info says whether a body is still there: "available", "missing" or "deleted".
type Info struct {
	Rev    db.Rev
	Status string
}

// Attachment describes stored attachment data.
type Attachment struct {
	Name          string
	ContentType   string
	RevPos        int64
	Digest        string // "md5-" and base64
	Length        int64  // of the content, decoded
	Encoding      string // "gzip" where it came so, else empty
	EncodedLength int64  // as stored; equal to Length where Encoding is empty
	ID            [16]byte
}

// GetOptions of Get and OpenRevs.
type GetOptions struct {
	Rev    db.Rev // zero is the winner
	Latest bool   // with Rev: the leaf (or leaves) that descend from it
	// Large leaves large bodies in the store: Document.Large.
	Large bool

	Revs, RevsInfo, Conflicts, DeletedConflicts, LocalSeq bool
}

// OpenRev is one answer of OpenRevs: Doc, or the missing Rev.
type OpenRev struct {
	Rev db.Rev
	Doc *Document // nil if missing
}

// DocRef names a document and perhaps a revision.
type DocRef struct {
	ID  string
	Rev db.Rev // zero: every leaf, as CouchDB's _bulk_get answers where no rev is given
}

// BulkGetRow answers one DocRef.
type BulkGetRow struct {
	Ref  DocRef
	Docs []OpenRev
	More bool  // the next row has more of its documents
	Err  error // NotFound and the like, for this row alone
}

// Edit is one change to one document.
type Edit struct {
	ID string
	// Rev is the parent of an interactive edit (zero: a new document), or the revision itself of a replicated edit.
	Rev db.Rev
	// Ancestors of a replicated edit's Rev, newest first: consecutive positions from Rev.Pos-1 down.
	Ancestors []db.Rev
	Deleted   bool
	Body      []byte // as Document.Body; nil keeps the parent's, or is {} where there is none
	// Attachments that the new revision has. nil is none: a parent's attachment survives only where named as a stub.
	Attachments []AttachmentEdit
	// KeepAttachments carries all of the parent's attachments over (standalone attachment PUT and DELETE use it with
	// Attachments / RemoveAttachment).
	KeepAttachments  bool
	RemoveAttachment string
}

// AttachmentEdit is one attachment of an Edit: a stub of the parent revision's, data held in memory, or a finished
// upload.
type AttachmentEdit struct {
	Name        string
	ContentType string
	Encoding    string
	RevPos      int64 // 0: the new revision's position
	Stub        bool
	Digest      string // of a stub or announced by the client; checked where not empty
	Data        []byte // inline
	Upload      *Upload
	// Follows marks data that comes in a later part of a multipart body (Length bytes of it, as stored; -1 where the
	// client does not say): the caller uploads it and sets Upload before it writes. Put and Bulk refuse an edit whose
	// data never came.
	Follows bool
	Length  int64
}

// Upload is attachment data already in the store and not yet part of a document.
type Upload struct {
	ID                    [16]byte
	DocID                 string
	Digest                string
	Length, EncodedLength int64

	Encoding string
	Hour     int64 // when it began, in the key of its entry
}

// WriteOptions of Put and Bulk.
type WriteOptions struct {
	// Replicated is new_edits=false.
	Replicated bool
	// User is who writes, for validate_doc_update; nil skips validation (internal writes).
	User *db.UserCtx
	// Atomic makes a Bulk all or nothing, in one transaction (all_or_nothing); beyond a transaction's limits TooLarge.
	Atomic bool
}

// EditResult answers one Edit of Bulk.
type EditResult struct {
	ID  string
	Rev db.Rev
	Err error
}

// What a revision and an attachment of an edit take in memory, roughly, in bytes.
const (
	RevSize        = 40
	attachmentSize = 200
)

// Held is roughly what the edit takes in memory beside the text that it was parsed from and the body.
func (e *Edit) Held() int {
	n := RevSize*len(e.Ancestors) + attachmentSize*len(e.Attachments)
	for i := range e.Attachments {
		n += len(e.Attachments[i].Data)
	}
	return n
}

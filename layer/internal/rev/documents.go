package rev

import "github.com/divandb/divan/layer/internal/db"

// Document is one revision of a document. Body and attachments are as stored; the other fields are only set on request
// (R7).
type Document struct {
	ID      string
	Rev     db.Rev
	Deleted bool
	// Body is the text of the JSON object as it was written, without the top-level members that begin with an
	// underscore. It is at least `{}`.
	Body []byte
	// Large is set instead of Body if the body is large and the read was asked to leave large bodies in the store.
	Large       *LargeBody
	Attachments []Attachment // in the order given by the writer

	Revs             []db.Rev // for revs: newest first, beginning with Rev
	RevsInfo         []Info   // for revs_info
	Conflicts        []db.Rev // for conflicts: live leaves except the winner, best first
	DeletedConflicts []db.Rev // for deleted_conflicts
	LocalSeq         db.Seq   // for local_seq; otherwise zero
}

// Info reports whether the body of a revision exists: "available", "missing" or "deleted".
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
	Length        int64  // of the decoded content
	Encoding      string // "gzip" if the client sent it so, otherwise empty
	EncodedLength int64  // as stored; equals Length if Encoding is empty
	ID            [16]byte
}

// GetOptions are the options of Get and EachOpenRev.
type GetOptions struct {
	Rev    db.Rev // zero means the winner
	Latest bool   // with Rev: the leaf or leaves that descend from it
	// Large leaves large bodies in the store (Document.Large).
	Large bool

	Revs, RevsInfo, Conflicts, DeletedConflicts, LocalSeq bool
}

// OpenRev is one answer of EachOpenRev: a document or a missing revision.
type OpenRev struct {
	Rev db.Rev
	Doc *Document // nil if missing
}

// DocRef identifies a document and optionally a revision.
type DocRef struct {
	ID  string
	Rev db.Rev // zero means every leaf, as in CouchDB's _bulk_get
}

// BulkGetRow answers one DocRef.
type BulkGetRow struct {
	Ref  DocRef
	Docs []OpenRev
	More bool  // the next row has more documents of the same DocRef
	Err  error // for this row alone, such as NotFound
}

// Edit is one change to one document.
type Edit struct {
	ID string
	// Rev is the parent of an interactive edit, or zero for a new document. In a replicated edit it is the new revision
	// itself.
	Rev db.Rev
	// Ancestors of a replicated edit's Rev, newest first, at consecutive positions from Rev.Pos-1 down.
	Ancestors []db.Rev
	Deleted   bool
	Body      []byte // as Document.Body; nil keeps the parent's body, or means {} if there is none
	// Attachments of the new revision. An attachment of the parent is kept only if it is listed as a stub. ParseEdit
	// sets nil only if the text has no member _attachments.
	Attachments []AttachmentEdit
	// KeepAttachments keeps all of the parent's attachments. PUT and DELETE of a single attachment use it, with
	// Attachments or RemoveAttachment.
	KeepAttachments  bool
	RemoveAttachment string
}

// AttachmentEdit is one attachment of an Edit: a stub that refers to the parent revision, data in memory, or a finished
// upload.
type AttachmentEdit struct {
	Name        string
	ContentType string
	Encoding    string
	RevPos      int64 // 0 means the new revision's position
	Stub        bool
	Digest      string // of a stub, or sent by the client; checked unless empty
	Data        []byte // inline
	Upload      *Upload
	// Follows marks data that follows in a later part of a multipart body. It has Length bytes as stored, or -1 if the
	// client has not sent a length. The caller uploads the data and sets Upload before it writes the edit. Put and Bulk
	// reject edits without the data.
	Follows bool
	Length  int64
}

// Upload is attachment data that is in the store but not yet part of a document.
type Upload struct {
	ID                    [16]byte
	DocID                 string
	Digest                string
	Length, EncodedLength int64

	Encoding string
	Hour     int64 // the hour in which it began; part of its entry's key
}

// WriteOptions are the options of Put and Bulk.
type WriteOptions struct {
	// Replicated is new_edits=false.
	Replicated bool
	// User is the writer, for validate_doc_update. With nil, as in internal writes, nothing is validated.
	User *db.UserCtx
	// Atomic makes Bulk write all edits or none, in one transaction (all_or_nothing). If they exceed its limits, Bulk
	// returns TooLarge.
	Atomic bool
}

// EditResult answers one Edit of Bulk.
type EditResult struct {
	ID  string
	Rev db.Rev
	Err error
}

// Approximate memory use of a revision and of an attachment in an edit, in bytes.
const (
	RevSize        = 40
	attachmentSize = 200
)

// Held returns the approximate memory use of the edit, without its body and the text that it was parsed from.
func (e *Edit) Held() int {
	n := RevSize*len(e.Ancestors) + attachmentSize*len(e.Attachments)
	for i := range e.Attachments {
		n += len(e.Attachments[i].Data)
	}
	return n
}

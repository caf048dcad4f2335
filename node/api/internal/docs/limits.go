package docs

import (
	"math"
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
)

// maxUser is the maximum size of a document in the users' database, including its inline attachments, since every login
// reads it as a whole.
const maxUser = 1 << 20

// DocumentLimit returns the limit of a document as JSON.
func (h *Handlers) DocumentLimit(q *call.Request) (int64, error) {
	most := h.Limits.Request
	if !auth.IsUsersDatabase(q.Path[0]) || q.Part(1) == "_local" {
		return most, fault.TooLarge
	}
	id := ""
	if len(q.Path) > 1 {
		id = docID(q)
	}
	return min(most, maxUser), &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: id}
}

// DocumentBodyLimit returns the limit of a document that may be followed by its attachments. Then the document and
// each of them have their own limits too. A replication by this node may bring more attachments than a client may send
// at once: documents can get them one by one.
func (h *Handlers) DocumentBodyLimit(q *call.Request) (int64, error) {
	switch call.MediaType(q.R.Header.Get("Content-Type")) {
	case "multipart/related", "multipart/form-data":
		if q.User.Own {
			return math.MaxInt64, fault.TooLarge
		}
		return h.Limits.Multipart, fault.TooLarge
	}
	return h.DocumentLimit(q)
}

// AttachmentLimit returns the limit of an attachment that is sent alone.
func (h *Handlers) AttachmentLimit(q *call.Request) (int64, error) {
	return h.Limits.Attachment, attachmentTooLarge(attachmentName(q))
}

func attachmentTooLarge(name string) error {
	return &fault.Fault{Status: http.StatusRequestEntityTooLarge, Name: "attachment_too_large", Reason: name}
}

// fits returns an error if a document, or an attachment in it, is too large.
func (l Limits) fits(e *layer.Edit) error {
	if int64(len(e.Body)) > l.Document {
		return &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: e.ID}
	}
	for i := range e.Attachments {
		if a := &e.Attachments[i]; int64(len(a.Data)) > l.Attachment {
			return attachmentTooLarge(a.Name)
		}
	}
	return nil
}

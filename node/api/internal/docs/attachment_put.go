package docs

import (
	"net/http"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// PutAttachment answers PUT of an attachment. It streams the data into the store, then writes a new revision of the
// document with the attachment.
func (h *Handlers) PutAttachment(q *call.Request) error {
	id, name := docID(q), attachmentName(q)
	if err := layer.ValidateAttachmentName(name); err != nil {
		return err
	}
	encoding := strings.ToLower(strings.TrimSpace(q.R.Header.Get("Content-Encoding")))
	switch encoding {
	case "identity":
		encoding = ""
	case "", "gzip":
	default:
		return fault.BadContentType("Only gzip and identity content-encodings are supported")
	}
	rev, err := explicitRev(q)
	if err != nil {
		return err
	}
	if err := layer.ValidateID(id); err != nil {
		return err
	}
	contentType := q.R.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	if err := admitID(q, id); err != nil {
		return err
	}
	doc, err := h.documentAt(q, id, rev)
	if err != nil {
		return err
	}
	if err := q.Body.Uploads(q.R.ContentLength); err != nil {
		return err
	}
	e := layer.Edit{
		ID: id, Rev: rev, Body: doc.Body, Deleted: doc.Deleted, KeepAttachments: true,
		Attachments: []layer.AttachmentEdit{{Name: name, ContentType: contentType, Encoding: encoding}},
	}
	a := &e.Attachments[0]
	if err := upload(q, h.Settings, id, a, q.R.Body, q.R.ContentLength, announcedDigest); err != nil {
		q.DB.Discard(q.Ctx(), &e)
		return err
	}
	written, err := h.write(q, e, false)
	if err != nil {
		return err
	}
	q.Location(q.Path[0], id, name)
	return q.SendJSON(http.StatusCreated, appendWritten(nil, id, written))
}

// announcedDigest returns the body's Content-MD5, from its header or its trailer, or "".
func announcedDigest(q *call.Request) string {
	for _, h := range []http.Header{q.R.Header, q.Body.Trailer()} {
		if sum := h.Get("Content-MD5"); sum != "" {
			return "md5-" + strings.TrimSpace(sum)
		}
	}
	return ""
}

// documentAt reads the revision that a new one continues. Without a revision it assumes a new document, and the write
// conflicts if that is wrong.
func (h *Handlers) documentAt(q *call.Request, id string, rev layer.Rev) (*layer.Document, error) {
	if rev.IsZero() {
		return &layer.Document{ID: id, Body: []byte("{}")}, nil
	}
	doc, err := h.Read(q, id, layer.GetOptions{Rev: rev})
	return doc, missingRev(err)
}

// missingRev replaces the error for a missing parent revision by the one that CouchDB returns when attachments are
// changed: a conflict with another name.
func missingRev(err error) error {
	if err != nil && layer.KindOf(err) == layer.NotFound {
		return &fault.Fault{Status: http.StatusConflict, Name: "not_found", Reason: "missing_rev"}
	}
	return err
}

// DeleteAttachment answers DELETE of an attachment.
func (h *Handlers) DeleteAttachment(q *call.Request) error {
	if err := layer.ValidateAttachmentName(attachmentName(q)); err != nil {
		return err
	}
	rev, err := explicitRev(q)
	if err != nil {
		return err
	}
	doc, a, err := h.findAttachment(q, layer.GetOptions{Rev: rev})
	if err != nil && !rev.IsZero() {
		err = missingRev(err)
	}
	if err != nil {
		return err
	}
	if rev.IsZero() {
		return &layer.Error{Kind: layer.Conflict}
	}
	e := layer.Edit{ID: doc.ID, Rev: rev, Body: doc.Body, Deleted: doc.Deleted, KeepAttachments: true,
		RemoveAttachment: a.Name}
	written, err := h.write(q, e, false)
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, appendWritten(nil, doc.ID, written))
}

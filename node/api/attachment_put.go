package api

import (
	"net/http"
	"strings"

	"github.com/divandb/divan/layer"
)

// putAttachment answers PUT of an attachment: its data goes into the store as it comes, then a new revision of the document takes it up.
func (q *request) putAttachment() error {
	id, name := q.docID(), q.attachmentName()
	if err := layer.ValidateAttachmentName(name); err != nil {
		return err
	}
	encoding := strings.ToLower(strings.TrimSpace(q.r.Header.Get("Content-Encoding")))
	switch encoding {
	case "identity":
		encoding = ""
	case "", "gzip":
	default:
		return badContentType("Only gzip and identity content-encodings are supported")
	}
	rev, err := q.explicitRev()
	if err != nil {
		return err
	}
	if err := layer.ValidateID(id); err != nil {
		return err
	}
	contentType := q.r.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	if err := q.admitID(id); err != nil {
		return err
	}
	doc, err := q.documentAt(id, rev)
	if err != nil {
		return err
	}
	if err := q.uploads(q.r.ContentLength); err != nil {
		return err
	}
	upload, err := q.db.Upload(q.ctx(), id, q.r.Body, q.r.ContentLength, encoding)
	if err != nil {
		return err
	}
	e := layer.Edit{
		ID: id, Rev: rev, Body: doc.Body, Deleted: doc.Deleted, KeepAttachments: true,
		Attachments: []layer.AttachmentEdit{{Name: name, ContentType: contentType, Encoding: encoding, Digest: q.announcedDigest(), Upload: upload}},
	}
	written, err := q.write(e, false)
	if err != nil {
		return err
	}
	q.location(q.path[0], id, name)
	return q.sendJSON(http.StatusCreated, appendWritten(nil, id, written))
}

// announcedDigest is what Content-MD5 says of the body, in its header or behind it; empty where it says nothing.
func (q *request) announcedDigest() string {
	for _, h := range []http.Header{q.r.Header, q.body.of.Trailer} {
		if sum := h.Get("Content-MD5"); sum != "" {
			return "md5-" + strings.TrimSpace(sum)
		}
	}
	return ""
}

// documentAt reads the revision that a new one continues; without a revision there is none yet, and the write will conflict if that is not so.
func (q *request) documentAt(id string, rev layer.Rev) (*layer.Document, error) {
	if rev.IsZero() {
		return &layer.Document{ID: id, Body: []byte("{}")}, nil
	}
	doc, err := q.readDocument(id, layer.GetOptions{Rev: rev})
	return doc, missingRev(err)
}

// missingRev says that the revision to be continued is not there as CouchDB does to who changes attachments: a conflict by another name.
func missingRev(err error) error {
	if err != nil && layer.KindOf(err) == layer.NotFound {
		return &fault{status: http.StatusConflict, name: "not_found", reason: "missing_rev"}
	}
	return err
}

// deleteAttachment answers DELETE of an attachment.
func (q *request) deleteAttachment() error {
	if err := layer.ValidateAttachmentName(q.attachmentName()); err != nil {
		return err
	}
	rev, err := q.explicitRev()
	if err != nil {
		return err
	}
	doc, a, err := q.findAttachment(layer.GetOptions{Rev: rev})
	if err != nil && !rev.IsZero() {
		err = missingRev(err)
	}
	if err != nil {
		return err
	}
	if rev.IsZero() {
		return &layer.Error{Kind: layer.Conflict}
	}
	e := layer.Edit{ID: doc.ID, Rev: rev, Body: doc.Body, Deleted: doc.Deleted, KeepAttachments: true, RemoveAttachment: a.Name}
	written, err := q.write(e, false)
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, appendWritten(nil, doc.ID, written))
}

package api

import (
	"net/http"
	"strings"

	"github.com/divandb/divan/layer"
)

// putDocument answers PUT of a document, JSON or multipart/related.
func (q *request) putDocument() error {
	d, err := q.docQuery()
	if err != nil {
		return err
	}
	id := q.docID()
	if err := layer.ValidateID(id); err != nil {
		return err
	}
	if err := q.admitID(id); err != nil {
		return err
	}
	if _, err := q.headerRev(); err != nil {
		return err
	}
	var e layer.Edit
	settle := func(e *layer.Edit) error {
		if err := q.reconcileRev(e, d.get.Rev); err != nil {
			return err
		}
		if d.replicated && e.Rev.IsZero() {
			return errNoRevision
		}
		e.ID = id
		return nil
	}
	if mediaType(q.r.Header.Get("Content-Type")) == "multipart/related" {
		e, err = q.readRelated(d.replicated, settle)
	} else if e, err = q.readEdit(d.replicated); err == nil {
		err = settle(&e)
	}
	if err != nil {
		return err
	}
	if q.params.get("batch", "") == "ok" {
		return q.putBatch(e, d.replicated)
	}
	rev, err := q.write(e, d.replicated)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if e.Deleted {
		status = http.StatusOK
	}
	q.location(q.path[0], id)
	return q.sendWritten(status, id, rev)
}

var errNoRevision = badRequest("When `new_edits: false`, the document needs `_rev` or `_revisions` specified")

// readEdit reads a JSON document from the body.
func (q *request) readEdit(replicated bool) (layer.Edit, error) {
	text, err := q.wholeBody()
	if err != nil {
		return layer.Edit{}, err
	}
	return layer.ParseEdit(text, replicated)
}

// reconcileRev settles the revision that an edit continues: the body's, the query's and If-Match's must be the same where there are several.
func (q *request) reconcileRev(e *layer.Edit, query layer.Rev) error {
	if !e.Rev.IsZero() && !query.IsZero() && e.Rev != query {
		return badRequest("Document rev from request body and query string have different values")
	}
	explicit := e.Rev
	if explicit.IsZero() {
		explicit = query
	}
	header, err := q.headerRev()
	switch {
	case err != nil:
		return err
	case explicit.IsZero():
		explicit = header
	case !header.IsZero() && header != explicit:
		return badRequest("Document rev and etag have different values")
	}
	e.Rev = explicit
	return nil
}

// write stores one edit for the request's user.
func (q *request) write(e layer.Edit, replicated bool) (layer.Rev, error) {
	if err := q.admit(&e); err != nil {
		q.db.Discard(q.ctx(), &e)
		return layer.Rev{}, err
	}
	if isLocal(e.ID) {
		return q.writeLocal(e)
	}
	return q.db.Put(q.ctx(), e, layer.WriteOptions{Replicated: replicated, User: q.userCtx()})
}

// writeLocal stores a _local document. They have no attachments; CouchDB drops what comes with one, and clients rely on the write.
func (q *request) writeLocal(e layer.Edit) (layer.Rev, error) {
	q.db.Discard(q.ctx(), &e)
	e.Attachments = nil
	return q.db.PutLocal(q.ctx(), e)
}

// admit checks what a user may write beside what validation functions say: design documents are for the database's admins, and the users' database has its
// own rules.
func (q *request) admit(e *layer.Edit) error {
	if err := q.admitID(e.ID); err != nil {
		return err
	}
	if int64(len(e.Body)) > q.srv.o.Limits.Document { // before anybody looks into it
		return &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: e.ID}
	}
	if q.path[0] != usersDatabase || q.srv.o.Users == nil || isLocal(e.ID) {
		return nil
	}
	if len(e.Body) > maxUser {
		return &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: e.ID}
	}
	admin, err := q.isDatabaseAdmin()
	if err != nil {
		return err
	}
	return q.srv.o.Users.BeforeWrite(q.ctx(), q.user, admin, e)
}

// admitID is what admit can say before there is a document.
func (q *request) admitID(id string) error {
	if !isDesign(id) {
		return nil
	}
	return q.requireDatabaseAdmin()
}

// putBatch is batch=ok: 202 without a revision, and nobody is told of a conflict. The write is as durable as any, since the answer waits for it; what clients
// can rely on is the same as in CouchDB, which writes later.
func (q *request) putBatch(e layer.Edit, replicated bool) error {
	if _, err := q.write(e, replicated); err != nil {
		switch layer.KindOf(err) {
		case layer.Conflict, layer.Forbidden, layer.Unauthorized:
			q.srv.log.Debug("batched write refused", "database", q.path[0], "error", err)
		default:
			return err
		}
	}
	b := appendStringMember([]byte(`{"ok":true`), "id", e.ID)
	return q.sendJSON(http.StatusAccepted, append(b, '}'))
}

// sendWritten answers a successful write.
func (q *request) sendWritten(status int, id string, rev layer.Rev) error {
	q.w.Header()["Etag"] = []string{`"` + rev.String() + `"`}
	return q.sendJSON(status, appendWritten(nil, id, rev))
}

func appendWritten(dst []byte, id string, rev layer.Rev) []byte {
	dst = appendString(append(dst, `{"ok":true,"id":`...), id)
	dst = appendRev(append(dst, `,"rev":`...), rev)
	return append(dst, '}')
}

// postDocument answers POST /{db}: a document whose id may be missing.
func (q *request) postDocument() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	e, err := q.readEdit(false)
	if err != nil {
		return err
	}
	if e.ID == "" {
		e.ID = q.srv.uuids.next()
	}
	if q.params.get("batch", "") == "ok" {
		return q.putBatch(e, false)
	}
	rev, err := q.write(e, false)
	if err != nil {
		return err
	}
	q.location(q.path[0], e.ID)
	return q.sendJSON(http.StatusCreated, appendWritten(nil, e.ID, rev))
}

// deleteDocument answers DELETE of a document. An unknown one is 404, one whose revision is not named 409. The document is read only where the
// store refused or cannot be asked.
func (q *request) deleteDocument() error {
	id := q.docID()
	rev, err := q.explicitRev()
	if err != nil {
		return err
	}
	if rev.IsZero() {
		if _, err := q.readDocument(id, layer.GetOptions{}); err != nil {
			return err
		}
		return &layer.Error{Kind: layer.Conflict}
	}
	written, err := q.write(layer.Edit{ID: id, Rev: rev, Deleted: true, Body: []byte("{}")}, false)
	if layer.KindOf(err) == layer.Conflict {
		if _, gone := q.readDocument(id, layer.GetOptions{}); layer.KindOf(gone) == layer.NotFound {
			return gone
		}
	}
	if err != nil {
		return err
	}
	return q.sendWritten(http.StatusOK, id, written)
}

// copyDocument answers COPY: a document under another id, with its attachments.
func (q *request) copyDocument() error {
	from, err := q.explicitRev()
	if err != nil {
		return err
	}
	to, over, err := q.destination()
	if err != nil {
		return err
	}
	if err := layer.ValidateID(to); err != nil {
		return err
	}
	doc, err := q.readDocument(q.docID(), layer.GetOptions{Rev: from})
	if err != nil {
		return err
	}
	e := layer.Edit{ID: to, Rev: over, Body: doc.Body, Deleted: doc.Deleted}
	if e.Attachments, err = q.copyAttachments(to, doc); err != nil {
		return err
	}
	rev, err := q.write(e, false)
	if err != nil {
		return err
	}
	q.location(q.path[0], to)
	return q.sendWritten(http.StatusCreated, to, rev)
}

// destination reads COPY's Destination header: ID or ID?rev=REV, relative, escaped.
func (q *request) destination() (id string, rev layer.Rev, err error) {
	header := q.r.Header.Get("Destination")
	switch {
	case header == "":
		return "", rev, badRequest("Destination header is mandatory for COPY.")
	case strings.HasPrefix(header, "http://"), strings.HasPrefix(header, "https://"):
		return "", rev, badRequest("Destination URL must be relative.")
	}
	name, query, hasQuery := strings.Cut(header, "?")
	id, ok := unescape(name)
	if !ok {
		return "", rev, badRequest("invalid_url_encoding")
	}
	if hasQuery {
		_, text, _ := strings.Cut(query, "=")
		rev, err = parseRev(text)
	}
	return id, rev, err
}

// copyAttachments stores a document's attachments once more, for another document.
func (q *request) copyAttachments(to string, doc *layer.Document) ([]layer.AttachmentEdit, error) {
	var copies []layer.AttachmentEdit
	for _, a := range doc.Attachments {
		stored, err := q.db.OpenAttachment(q.ctx(), doc.ID, a, 0, -1)
		if err != nil {
			q.db.Discard(q.ctx(), &layer.Edit{ID: to, Attachments: copies})
			return nil, err
		}
		upload, err := q.db.Upload(q.ctx(), to, stored, a.EncodedLength, a.Encoding)
		stored.Close()
		if err != nil {
			q.db.Discard(q.ctx(), &layer.Edit{ID: to, Attachments: copies})
			return nil, err
		}
		copies = append(copies, layer.AttachmentEdit{Name: a.Name, ContentType: a.ContentType, Encoding: a.Encoding, Upload: upload})
	}
	return copies, nil
}

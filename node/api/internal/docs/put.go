package docs

import (
	"net/http"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
)

// PutDocument answers PUT of a document, JSON or multipart/related.
func (h *Handlers) PutDocument(q *call.Request) error {
	d, err := readDocQuery(q)
	if err != nil {
		return err
	}
	id, err := writableID(q)
	if err != nil {
		return err
	}
	if _, err := headerRev(q); err != nil {
		return err
	}
	var e layer.Edit
	settle := func(e *layer.Edit) error {
		if err := reconcileRev(q, e, d.get.Rev); err != nil {
			return err
		}
		if d.replicated && e.Rev.IsZero() {
			return errNoRevision
		}
		e.ID = id
		return nil
	}
	if call.MediaType(q.R.Header.Get("Content-Type")) == "multipart/related" {
		e, err = h.readRelated(q, d.replicated, settle)
	} else if e, err = readEdit(q, d.replicated); err == nil {
		err = settle(&e)
	}
	if err != nil {
		return err
	}
	if q.Params.Get("batch", "") == "ok" {
		return h.putBatch(q, e, d.replicated)
	}
	rev, err := h.write(q, e, d.replicated)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if e.Deleted {
		status = http.StatusOK
	}
	q.Location(q.Path[0], id)
	return sendWritten(q, status, id, rev)
}

var errNoRevision = fault.BadRequest("When `new_edits: false`, the document needs `_rev` or `_revisions` specified")

// readEdit reads a JSON document from the body.
func readEdit(q *call.Request, replicated bool) (layer.Edit, error) {
	text, err := q.Body.Whole()
	if err != nil {
		return layer.Edit{}, err
	}
	return layer.ParseEdit(text, replicated)
}

// reconcileRev determines the revision that an edit continues. Revisions in the body, the query and If-Match must
// agree.
func reconcileRev(q *call.Request, e *layer.Edit, query layer.Rev) error {
	if !e.Rev.IsZero() && !query.IsZero() && e.Rev != query {
		return fault.BadRequest("Document rev from request body and query string have different values")
	}
	explicit := e.Rev
	if explicit.IsZero() {
		explicit = query
	}
	header, err := headerRev(q)
	switch {
	case err != nil:
		return err
	case explicit.IsZero():
		explicit = header
	case !header.IsZero() && header != explicit:
		return fault.BadRequest("Document rev and etag have different values")
	}
	e.Rev = explicit
	return nil
}

// write stores one edit for the request's user.
func (h *Handlers) write(q *call.Request, e layer.Edit, replicated bool) (layer.Rev, error) {
	if err := h.admit(q, &e); err != nil {
		q.DB.Discard(q.Ctx(), &e)
		return layer.Rev{}, err
	}
	if isLocal(e.ID) {
		return writeLocal(q, e)
	}
	return q.DB.Put(q.Ctx(), e, layer.WriteOptions{Replicated: replicated, User: q.Author()})
}

// writeLocal stores a _local document. It has no attachments: CouchDB drops those sent with it, and clients rely on the
// write.
func writeLocal(q *call.Request, e layer.Edit) (layer.Rev, error) {
	q.DB.Discard(q.Ctx(), &e)
	e.Attachments = nil
	return q.DB.PutLocal(q.Ctx(), e)
}

// admit prepares an edit for the store, and returns an error if the user may not make it.
func (h *Handlers) admit(q *call.Request, e *layer.Edit) error {
	if err := h.allow(q, e); err != nil {
		return err
	}
	return compressInline(h.Settings, e)
}

// allow checks what a user may write, apart from validation functions: design documents are for the database's admins,
// and the databases of users and of replications have their own rules.
func (h *Handlers) allow(q *call.Request, e *layer.Edit) error {
	if err := admitID(q, e.ID); err != nil {
		return err
	}
	if err := h.Limits.fits(e); err != nil { // before the body is parsed
		return err
	}
	if !auth.IsUsersDatabase(q.Path[0]) || h.Users == nil || isLocal(e.ID) || isDesign(e.ID) {
		return h.admitReplication(q, e)
	}
	if len(e.Body) > maxUser {
		return &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: e.ID}
	}
	admin, err := q.IsDatabaseAdmin()
	if err != nil {
		return err
	}
	return h.Users.BeforeWrite(q.Ctx(), q.Path[0], q.User, admin, e)
}

// writableID returns the id in the path, if it is valid and the user may write such a document.
func writableID(q *call.Request) (string, error) {
	id := docID(q)
	if err := layer.ValidateID(id); err != nil {
		return "", err
	}
	return id, admitID(q, id)
}

// admitID makes the checks of admit that need only the id.
func admitID(q *call.Request, id string) error {
	if !isDesign(id) {
		return nil
	}
	return q.RequireDatabaseAdmin()
}

// putBatch implements batch=ok: 202 without a revision, and no report of a conflict. The write is as durable as any
// other, because the response waits for it. Clients can rely on the same as in CouchDB, which writes later.
func (h *Handlers) putBatch(q *call.Request, e layer.Edit, replicated bool) error {
	if _, err := h.write(q, e, replicated); err != nil {
		switch layer.KindOf(err) {
		case layer.Conflict, layer.Forbidden, layer.Unauthorized:
			h.Log.Debug("batched write refused", "database", q.Path[0], "error", err)
		default:
			return err
		}
	}
	b := encode.StringMember([]byte(`{"ok":true`), "id", e.ID)
	return q.SendJSON(http.StatusAccepted, append(b, '}'))
}

// sendWritten answers a successful write.
func sendWritten(q *call.Request, status int, id string, rev layer.Rev) error {
	q.W.Header()["Etag"] = []string{`"` + rev.String() + `"`}
	return q.SendJSON(status, appendWritten(nil, id, rev))
}

func appendWritten(dst []byte, id string, rev layer.Rev) []byte {
	dst = jsontext.AppendQuoted(append(dst, `{"ok":true,"id":`...), id)
	dst = encode.Rev(append(dst, `,"rev":`...), rev)
	return append(dst, '}')
}

// PostDocument answers POST /{db}: a document whose id may be missing.
func (h *Handlers) PostDocument(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	e, err := readEdit(q, false)
	if err != nil {
		return err
	}
	if e.ID == "" {
		e.ID = h.IDs.Next()
	}
	if q.Params.Get("batch", "") == "ok" {
		return h.putBatch(q, e, false)
	}
	rev, err := h.write(q, e, false)
	if err != nil {
		return err
	}
	q.Location(q.Path[0], e.ID)
	return q.SendJSON(http.StatusCreated, appendWritten(nil, e.ID, rev))
}

// DeleteDocument answers DELETE of a document. An unknown document is 404, and a request without a revision 409. The
// document is read only if the store refuses the write or the request has no revision.
func (h *Handlers) DeleteDocument(q *call.Request) error {
	id := docID(q)
	rev, err := explicitRev(q)
	if err != nil {
		return err
	}
	if rev.IsZero() && !isLocal(id) { // CouchDB deletes a _local document whatever its revision is
		if _, err := h.Read(q, id, layer.GetOptions{}); err != nil {
			return err
		}
		return &layer.Error{Kind: layer.Conflict}
	}
	written, err := h.write(q, layer.Edit{ID: id, Rev: rev, Deleted: true, Body: []byte("{}")}, false)
	if layer.KindOf(err) == layer.Conflict {
		if _, gone := h.Read(q, id, layer.GetOptions{}); layer.KindOf(gone) == layer.NotFound {
			return gone
		}
	}
	if err != nil {
		return err
	}
	return sendWritten(q, http.StatusOK, id, written)
}

// CopyDocument answers COPY: it writes a document under another id, with its attachments.
func (h *Handlers) CopyDocument(q *call.Request) error {
	from, err := explicitRev(q)
	if err != nil {
		return err
	}
	to, over, err := destination(q)
	if err != nil {
		return err
	}
	if err := layer.ValidateID(to); err != nil {
		return err
	}
	doc, err := h.Read(q, docID(q), layer.GetOptions{Rev: from})
	if err != nil {
		return err
	}
	e := layer.Edit{ID: to, Rev: over, Body: doc.Body, Deleted: doc.Deleted}
	if e.Attachments, err = copyAttachments(q, to, doc); err != nil {
		return err
	}
	rev, err := h.write(q, e, false)
	if err != nil {
		return err
	}
	q.Location(q.Path[0], to)
	return sendWritten(q, http.StatusCreated, to, rev)
}

// destination parses COPY's Destination header: ID or ID?rev=REV, relative, escaped.
func destination(q *call.Request) (id string, rev layer.Rev, err error) {
	header := q.R.Header.Get("Destination")
	switch {
	case len(q.R.Header.Values("Destination")) == 0:
		return "", rev, fault.BadRequest("Destination header is mandatory for COPY.")
	case header == "":
		return "", rev, &layer.Error{Kind: layer.Invalid, Name: "illegal_docid",
			Reason: "Document id must not be empty"}
	case strings.HasPrefix(header, "http://"), strings.HasPrefix(header, "https://"):
		return "", rev, fault.BadRequest("Destination URL must be relative.")
	}
	name, query, hasQuery := strings.Cut(header, "?")
	id, ok := call.Unescape(name)
	if !ok {
		return "", rev, fault.BadRequest("invalid_url_encoding")
	}
	if hasQuery {
		_, text, _ := strings.Cut(query, "=")
		rev, err = parseRev(text)
	}
	return id, rev, err
}

// copyAttachments stores a copy of a document's attachments for another document.
func copyAttachments(q *call.Request, to string, doc *layer.Document) ([]layer.AttachmentEdit, error) {
	var copies []layer.AttachmentEdit
	for _, a := range doc.Attachments {
		stored, err := q.DB.OpenAttachment(q.Ctx(), doc.ID, a, 0, -1)
		if err != nil {
			q.DB.Discard(q.Ctx(), &layer.Edit{ID: to, Attachments: copies})
			return nil, err
		}
		upload, err := q.DB.Upload(q.Ctx(), to, stored, a.EncodedLength, a.Encoding)
		stored.Close()
		if err != nil {
			q.DB.Discard(q.Ctx(), &layer.Edit{ID: to, Attachments: copies})
			return nil, err
		}
		copies = append(copies, layer.AttachmentEdit{Name: a.Name, ContentType: a.ContentType, Encoding: a.Encoding,
			Upload: upload})
	}
	return copies, nil
}

package docs

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// maxFormRev is the maximum size of the field _rev of a form, in bytes.
const maxFormRev = 1 << 10

// Forms answers forms that are posted to documents.
type Forms struct{ Docs *Handlers }

// PostForm answers POST of a form to a document, as a page of this server can send it: a file for each field
// _attachments, and either the document as the field _doc, or the revision as _rev, which keeps the document. As in
// CouchDB, the page must be on the same host: other sites can make a browser send forms too.
func (h *Forms) PostForm(q *call.Request) error {
	if err := sameHost(q); err != nil {
		return err
	}
	id, err := writableID(q)
	if err != nil {
		return err
	}
	kind, params, err := mime.ParseMediaType(q.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return fault.BadContentType("Content-Type must be multipart/form-data")
	}
	f := form{h: h.Docs, q: q, edit: layer.Edit{ID: id}}
	if err := f.read(multipart.NewReader(q.R.Body, params["boundary"])); err != nil {
		q.DB.Discard(q.Ctx(), &layer.Edit{ID: id, Attachments: f.files})
		return err
	}
	e := f.edit
	written, err := h.Docs.write(q, e, false)
	if err != nil {
		return err
	}
	return sendWritten(q, http.StatusCreated, id, written)
}

// sameHost refuses requests from pages of other hosts.
func sameHost(q *call.Request) error {
	referer := q.R.Header.Get("Referer")
	if referer == "" {
		return fault.BadRequest("Referer header required.")
	}
	from, err := url.Parse(referer)
	if err != nil || !strings.EqualFold(from.Host, q.R.Host) {
		return fault.BadRequest("Referer header must match host.")
	}
	return nil
}

// form is what a form has sent.
type form struct {
	h     *Handlers
	q     *call.Request
	edit  layer.Edit
	given bool // the form has the document
	files []layer.AttachmentEdit
}

// read reads the fields and completes the edit. Files are streamed into the store.
func (f *form) read(parts *multipart.Reader) error {
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // as multipart documents
			return f.complete()
		}
		if err != nil {
			return brokenMultipart(err)
		}
		switch part.FormName() {
		case "_doc":
			err = f.takeDoc(part)
		case "_rev":
			err = f.takeRev(part)
		case "_attachments":
			err = f.takeFile(part)
		}
		if err != nil {
			return brokenMultipart(err)
		}
	}
}

func (f *form) takeDoc(part *multipart.Part) error {
	most, _ := f.h.DocumentLimit(f.q)
	text, err := f.q.Body.Take(part, -1, most)
	if err != nil {
		return err
	}
	id := f.edit.ID
	if f.edit, err = layer.ParseEdit(text, false); err != nil {
		return err
	}
	f.edit.ID, f.given = id, true
	return nil
}

func (f *form) takeRev(part *multipart.Part) error {
	text, err := io.ReadAll(io.LimitReader(part, maxFormRev))
	if err != nil {
		return err
	}
	rev, err := parseRev(strings.TrimSpace(string(text)))
	if err == nil && !f.given {
		f.edit.Rev = rev
	}
	return err
}

func (f *form) takeFile(part *multipart.Part) error {
	a := layer.AttachmentEdit{Name: part.FileName(), ContentType: part.Header.Get("Content-Type")}
	if err := layer.ValidateAttachmentName(a.Name); err != nil {
		return err
	}
	if err := f.q.Body.Uploads(-1); err != nil {
		return err
	}
	err := upload(f.q, f.h.Settings, f.edit.ID, &a, part, -1, func(*call.Request) string { return "" })
	if a.Upload != nil {
		f.files = append(f.files, a)
	}
	return err
}

// complete adds the files to the document, in place of those with their names. Without a document in the form it
// is that of the revision.
func (f *form) complete() error {
	e := &f.edit
	if !f.given {
		if e.Rev.IsZero() {
			return fault.BadRequest("The form has neither _doc nor _rev.")
		}
		doc, err := f.h.documentAt(f.q, e.ID, e.Rev)
		if err != nil {
			return err
		}
		e.Body, e.Deleted, e.KeepAttachments = doc.Body, doc.Deleted, true
	}
	e.Attachments = slices.DeleteFunc(e.Attachments, func(a layer.AttachmentEdit) bool {
		return slices.ContainsFunc(f.files, func(file layer.AttachmentEdit) bool { return file.Name == a.Name })
	})
	e.Attachments = append(e.Attachments, f.files...)
	return nil
}

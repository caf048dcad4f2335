package docs

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/settings"
)

// readRelated reads a document that is followed by its attachments: PUT with multipart/related. settle sets the edit's
// id and revision, or refuses it. Then each part is streamed into the store. The document is not written before all
// parts have arrived.
func (h *Handlers) readRelated(q *call.Request, replicated bool, settle func(*layer.Edit) error) (layer.Edit, error) {
	_, params, err := mime.ParseMediaType(q.R.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return layer.Edit{}, fault.BadRequest("Content-Type multipart/related needs a boundary")
	}
	parts := multipart.NewReader(q.R.Body, params["boundary"])
	first, err := parts.NextRawPart()
	if err != nil {
		return layer.Edit{}, brokenMultipart(err)
	}
	if call.MediaType(first.Header.Get("Content-Type")) != "application/json" {
		return layer.Edit{}, fault.BadContentType("Content-Type must be application/json")
	}
	most, _ := h.DocumentLimit(q)
	text, err := q.Body.Take(first, -1, most)
	if err != nil {
		return layer.Edit{}, brokenMultipart(err)
	}
	e, err := layer.ParseEdit(text, replicated)
	if err == nil {
		err = settle(&e)
	}
	if err != nil {
		return layer.Edit{}, err
	}
	return e, takeParts(q, h.Settings, e.ID, &e, parts)
}

// takeParts uploads the parts with the edit's attachments: by file name if a part has one, otherwise in the order of
// the document.
func takeParts(q *call.Request, s *settings.Settings, id string, e *layer.Edit, parts *multipart.Reader) (err error) {
	defer func() {
		if err != nil {
			q.DB.Discard(q.Ctx(), e)
		}
	}()
	for {
		waiting := nextFollowing(e)
		if waiting == nil {
			return drain(parts)
		}
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return fault.BadRequest("attachment shorter than expected")
		}
		if err != nil {
			return brokenMultipart(err)
		}
		a := following(e, part.FileName())
		if a == nil {
			a = waiting
		}
		if a.Encoding == "" && strings.EqualFold(part.Header.Get("Content-Encoding"), "gzip") {
			a.Encoding = "gzip"
		}
		if err := q.Body.Uploads(a.Length); err != nil {
			return err
		}
		given := a.Digest
		if err := upload(q, s, id, a, part, a.Length, func(*call.Request) string { return given }); err != nil {
			return brokenMultipart(err)
		}
		a.Follows = false
	}
}

// nextFollowing returns the first attachment whose data has not arrived, or nil.
func nextFollowing(e *layer.Edit) *layer.AttachmentEdit {
	for i := range e.Attachments {
		if e.Attachments[i].Follows {
			return &e.Attachments[i]
		}
	}
	return nil
}

// following returns the attachment of that name if its data has not arrived, or nil.
func following(e *layer.Edit, name string) *layer.AttachmentEdit {
	for i := range e.Attachments {
		if a := &e.Attachments[i]; a.Follows && a.Name == name {
			return a
		}
	}
	return nil
}

// drain reads what follows the last attachment, so that the connection can be reused.
func drain(parts *multipart.Reader) error {
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return nil //nolint:nilerr // the document is complete, whatever follows it
		}
		if _, err := io.Copy(io.Discard, part); err != nil {
			return nil //nolint:nilerr // as above
		}
	}
}

// brokenMultipart turns errors of an incomplete or invalid multipart body into client errors, and leaves those of the
// store as they are.
func brokenMultipart(err error) error {
	var e *layer.Error
	var f *fault.Fault
	var header textproto.ProtocolError
	switch {
	case errors.As(err, &e), errors.As(err, &f):
		return err
	case errors.As(err, &header):
		return fault.BadRequest("Malformed header of a part of the multipart body")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fault.BadRequest("attachment shorter than expected")
	case strings.HasPrefix(err.Error(), "multipart:"):
		return fault.BadRequest("Malformed multipart body")
	}
	return err
}

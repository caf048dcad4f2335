package api

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"

	"github.com/divandb/divan/layer"
)

// How documents are written: without attachment data by the layer alone, with data streamed from the store into the answer, so that a gigabyte costs a
// buffer.

// sinceRev is the position of the newest of the document's revisions that the client has, by atts_since; 0 where it has none. doc.Revs must be there.
func (r *rendering) sinceRev(doc *layer.Document) int64 {
	for _, rev := range doc.Revs {
		if slices.Contains(r.since, rev) {
			return rev.Pos
		}
	}
	return 0
}

// split says which of the document's attachments are shown with their data.
func (r *rendering) split(doc *layer.Document) (data []bool) {
	data = make([]bool, len(doc.Attachments))
	since := int64(0)
	if len(r.since) > 0 {
		since = r.sinceRev(doc)
	}
	for i := range data {
		data[i] = r.attachments && doc.Attachments[i].RevPos > since
	}
	return data
}

// appendStubs appends a document without any data.
func (r *rendering) appendStubs(dst []byte, doc *layer.Document) []byte {
	if !r.encodingInfo {
		return doc.AppendJSON(dst)
	}
	return doc.AppendJSONWith(dst, func(dst []byte, a *layer.Attachment) []byte {
		dst = layer.AppendStub(dst, a)
		return append(r.appendEncoding(dst[:len(dst)-1], a), '}')
	})
}

func (r *rendering) appendEncoding(dst []byte, a *layer.Attachment) []byte {
	if r.encodingInfo && a.Encoding != "" {
		dst = appendStringMember(dst, "encoding", a.Encoding)
		dst = appendIntMember(dst, "encoded_length", a.EncodedLength)
	}
	return dst
}

// appendFollowing appends a document whose data comes in the parts of a multipart answer that follow.
func (r *rendering) appendFollowing(dst []byte, doc *layer.Document, data []bool) []byte {
	shown := rendering{encodingInfo: true}
	i := -1
	return doc.AppendJSONWith(dst, func(dst []byte, a *layer.Attachment) []byte {
		if i++; !data[i] {
			return layer.AppendStub(dst, a)
		}
		dst = layer.AppendAttachmentMembers(dst, a)
		dst = appendIntMember(dst, "length", a.Length)
		dst = append(dst, `,"follows":true`...)
		return append(shown.appendEncoding(dst, a), '}')
	})
}

// document appends a document, with data where the rendering wants it. doc.Revs must be there for atts_since.
func (s *stream) document(doc *layer.Document, r *rendering) error {
	return s.documentWith(doc, r, r.split(doc))
}

func (s *stream) documentWith(doc *layer.Document, r *rendering, data []bool) error {
	if !slices.Contains(data, true) || r.fields != nil && !r.fields.Whole("_attachments") {
		s.buf = r.choose(s.buf, func(dst []byte) []byte { return r.appendStubs(dst, doc) })
		return s.full()
	}
	bare := *doc
	bare.Attachments = nil
	s.buf = r.choose(s.buf, bare.AppendJSON)
	s.buf = append(appendMember(s.buf[:len(s.buf)-1], "_attachments"), '{')
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		s.buf = appendMember(s.buf, a.Name)
		if !data[i] {
			s.buf = layer.AppendStub(s.buf, a)
			s.buf = append(r.appendEncoding(s.buf[:len(s.buf)-1], a), '}')
			continue
		}
		s.buf = layer.AppendAttachmentMembers(s.buf, a)
		s.buf = append(s.buf, `,"data":"`...)
		if err := s.base64(doc.ID, a); err != nil {
			return err
		}
		s.buf = append(s.buf, '"')
		s.buf = append(r.appendEncoding(s.buf, a), '}')
	}
	s.buf = append(s.buf, '}', '}')
	return s.full()
}

// choose appends what is to be shown of a document that appendAll appends.
func (r *rendering) choose(dst []byte, appendAll func([]byte) []byte) []byte {
	if r.fields == nil {
		return appendAll(dst)
	}
	return r.fields.Append(dst, appendAll(nil))
}

// base64 copies an attachment's content into the answer.
func (s *stream) base64(docID string, a *layer.Attachment) error {
	content, err := s.q.openContent(docID, a)
	if err != nil {
		return err
	}
	defer content.Close()
	encoder := base64.NewEncoder(base64.StdEncoding, s)
	if _, err := io.Copy(encoder, content); err != nil {
		return err
	}
	return encoder.Close()
}

// openContent opens an attachment decoded.
func (q *request) openContent(docID string, a *layer.Attachment) (io.ReadCloser, error) {
	stored, err := q.db.OpenAttachment(q.ctx(), docID, *a, 0, -1)
	if err != nil || a.Encoding == "" {
		return stored, err
	}
	unzipped, err := gzip.NewReader(stored)
	if err != nil {
		stored.Close()
		return nil, err
	}
	return decoded{unzipped, stored}, nil
}

// decoded reads from a decompressor and closes what is under it.
type decoded struct {
	io.Reader
	io.Closer
}

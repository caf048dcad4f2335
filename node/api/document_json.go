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

// appendStub appends an attachment without its data.
func (r *rendering) appendStub(dst []byte, a *layer.Attachment) []byte {
	dst = layer.AppendStub(dst, a)
	if r.encodingInfo {
		dst = append(r.appendEncoding(dst[:len(dst)-1], a), '}')
	}
	return dst
}

// attachmentJSON appends one of a document's attachments.
type attachmentJSON func(dst []byte, a *layer.Attachment) []byte

// writeJSON writes a document.
func (s *stream) writeJSON(doc *layer.Document, attachment attachmentJSON) error {
	if err := s.putJSON(doc, attachment); err != nil {
		return err
	}
	return s.full()
}

// putJSON appends a document to the buffer, in which its end stays. A body that was left in the store is copied from
// there, so that it costs a buffer however large it is.
func (s *stream) putJSON(doc *layer.Document, attachment attachmentJSON) error {
	if doc.Large == nil {
		s.buf = doc.AppendJSONWith(s.buf, attachment)
		return nil
	}
	s.buf = doc.AppendHead(s.buf)
	left := doc.Large.Size
	err := doc.Large.Copy(s.q.ctx(), func(text []byte) error {
		if left == doc.Large.Size {
			text[0] = ',' // for the brace
		}
		if left -= len(text); left == 0 {
			text = text[:len(text)-1]
		}
		_, err := s.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	s.buf = doc.AppendTail(s.buf, attachment)
	return nil
}

// jsonLength is how much writeJSON writes.
func jsonLength(doc *layer.Document, attachment attachmentJSON) int64 {
	if doc.Large == nil {
		return int64(len(doc.AppendJSONWith(nil, attachment)))
	}
	return int64(len(doc.AppendTail(doc.AppendHead(nil), attachment)) + doc.Large.Size - 1)
}

func (r *rendering) appendEncoding(dst []byte, a *layer.Attachment) []byte {
	if r.encodingInfo && a.Encoding != "" {
		dst = appendStringMember(dst, "encoding", a.Encoding)
		dst = appendIntMember(dst, "encoded_length", a.EncodedLength)
	}
	return dst
}

// dataFollows renders attachments whose data comes in the parts of a multipart answer that follow, where data says so.
// It is for one rendering of the document.
func dataFollows(data []bool) attachmentJSON {
	shown := rendering{encodingInfo: true}
	i := -1
	return func(dst []byte, a *layer.Attachment) []byte {
		if i++; !data[i] {
			return layer.AppendStub(dst, a)
		}
		dst = layer.AppendAttachmentMembers(dst, a)
		dst = appendIntMember(dst, "length", a.Length)
		dst = append(dst, `,"follows":true`...)
		return append(shown.appendEncoding(dst, a), '}')
	}
}

// document appends a document, with data where the rendering wants it. doc.Revs must be there for atts_since.
func (s *stream) document(doc *layer.Document, r *rendering) error {
	return s.documentWith(doc, r, r.split(doc))
}

func (s *stream) documentWith(doc *layer.Document, r *rendering, data []bool) error {
	withData := slices.Contains(data, true)
	switch bare := *doc; {
	case r.fields != nil && (!withData || !r.fields.Whole("_attachments")):
		s.buf = r.fields.Append(s.buf, doc.AppendJSONWith(nil, r.appendStub))
		return s.full()
	case !withData:
		return s.writeJSON(doc, r.appendStub)
	case r.fields != nil:
		bare.Attachments = nil
		s.buf = r.fields.Append(s.buf, bare.AppendJSON(nil))
		s.buf = append(appendMember(s.buf[:len(s.buf)-1], "_attachments"), '{')
	default:
		bare.Attachments = nil
		if err := s.putJSON(&bare, nil); err != nil {
			return err
		}
		s.buf = append(s.buf[:len(s.buf)-1], `,"_attachments":{`...)
	}
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

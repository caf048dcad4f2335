package render

import (
	"encoding/base64"
	"io"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
)

// Documents without attachment data are written by the layer alone. Attachment data is streamed from the store.

// sinceRev returns the position of the newest of the document's revisions that the client has, according to atts_since,
// or 0 if it has none. doc.Revs must be set.
func (r *Options) sinceRev(doc *layer.Document) int64 {
	for _, rev := range doc.Revs {
		if slices.Contains(r.Since, rev) {
			return rev.Pos
		}
	}
	return 0
}

// Split reports for each of the document's attachments whether it is shown with its data.
func (r *Options) Split(doc *layer.Document) (data []bool) {
	data = make([]bool, len(doc.Attachments))
	since := int64(0)
	if len(r.Since) > 0 {
		since = r.sinceRev(doc)
	}
	for i := range data {
		data[i] = r.Attachments && doc.Attachments[i].RevPos > since
	}
	return data
}

// AppendStub appends an attachment without its data.
func (r *Options) AppendStub(dst []byte, a *layer.Attachment) []byte {
	dst = layer.AppendStub(dst, a)
	if r.EncodingInfo {
		dst = append(r.appendEncoding(dst[:len(dst)-1], a), '}')
	}
	return dst
}

// AttachmentFunc appends one of a document's attachments.
type AttachmentFunc func(dst []byte, a *layer.Attachment) []byte

// WriteJSON writes a document.
func WriteJSON(s *call.Stream, doc *layer.Document, attachment AttachmentFunc) error {
	if err := PutJSON(s, doc, attachment); err != nil {
		return err
	}
	return s.Full()
}

// PutJSON appends a document to the buffer and leaves its end there. A body that is still in the store is copied from
// there, so it only needs a buffer however large it is.
func PutJSON(s *call.Stream, doc *layer.Document, attachment AttachmentFunc) error {
	if doc.Large == nil {
		s.Buf = doc.AppendJSONWith(s.Buf, attachment)
		return nil
	}
	s.Buf = doc.AppendHead(s.Buf)
	left := doc.Large.Size
	err := doc.Large.Copy(s.Q.Ctx(), func(text []byte) error {
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
	s.Buf = doc.AppendTail(s.Buf, attachment)
	return nil
}

// JSONLength returns how many bytes WriteJSON writes.
func JSONLength(doc *layer.Document, attachment AttachmentFunc) int64 {
	if doc.Large == nil {
		return int64(len(doc.AppendJSONWith(nil, attachment)))
	}
	return int64(len(doc.AppendTail(doc.AppendHead(nil), attachment)) + doc.Large.Size - 1)
}

func (r *Options) appendEncoding(dst []byte, a *layer.Attachment) []byte {
	if r.EncodingInfo && a.Encoding != "" {
		dst = encode.StringMember(dst, "encoding", a.Encoding)
		dst = encode.IntMember(dst, "encoded_length", a.EncodedLength)
	}
	return dst
}

// DataFollows returns a function that renders attachments, for one rendering of a document. Those with data[i] set
// follow in later parts of a multipart response.
func DataFollows(data []bool) AttachmentFunc {
	shown := Options{EncodingInfo: true}
	i := -1
	return func(dst []byte, a *layer.Attachment) []byte {
		if i++; !data[i] {
			return shown.AppendStub(dst, a)
		}
		dst = layer.AppendAttachmentMembers(dst, a)
		dst = encode.IntMember(dst, "length", a.Length)
		dst = append(dst, `,"follows":true`...)
		return append(shown.appendEncoding(dst, a), '}')
	}
}

// Document appends a document, with attachment data as r asks. doc.Revs must be set for atts_since.
func Document(s *call.Stream, doc *layer.Document, r *Options) error {
	return DocumentWith(s, doc, r, r.Split(doc))
}

// DocumentWith is Document with the result of Options.Split already known.
func DocumentWith(s *call.Stream, doc *layer.Document, r *Options, data []bool) error {
	withData := slices.Contains(data, true)
	switch bare := *doc; {
	case r.Fields != nil && (!withData || !r.Fields.Whole("_attachments")):
		s.Buf = r.Fields.Append(s.Buf, doc.AppendJSONWith(nil, r.AppendStub))
		return s.Full()
	case !withData:
		return WriteJSON(s, doc, r.AppendStub)
	case r.Fields != nil:
		bare.Attachments = nil
		s.Buf = r.Fields.Append(s.Buf, bare.AppendJSON(nil))
		s.Buf = append(encode.Member(s.Buf[:len(s.Buf)-1], "_attachments"), '{')
	default:
		bare.Attachments = nil
		if err := PutJSON(s, &bare, nil); err != nil {
			return err
		}
		s.Buf = append(s.Buf[:len(s.Buf)-1], `,"_attachments":{`...)
	}
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		s.Buf = encode.Member(s.Buf, a.Name)
		if !data[i] {
			s.Buf = layer.AppendStub(s.Buf, a)
			s.Buf = append(r.appendEncoding(s.Buf[:len(s.Buf)-1], a), '}')
			continue
		}
		s.Buf = layer.AppendAttachmentMembers(s.Buf, a)
		s.Buf = append(s.Buf, `,"data":"`...)
		if err := writeBase64(s, doc.ID, a); err != nil {
			return err
		}
		s.Buf = append(s.Buf, '"')
		s.Buf = append(r.appendEncoding(s.Buf, a), '}')
	}
	s.Buf = append(s.Buf, '}', '}')
	return s.Full()
}

// writeBase64 copies an attachment's content into the response.
func writeBase64(s *call.Stream, docID string, a *layer.Attachment) error {
	content, err := OpenContent(s.Q, docID, a)
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

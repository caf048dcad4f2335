package api

import (
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/divandb/divan/layer"
)

// Multipart answers, laid out byte for byte as CouchDB does (couch_httpd_multipart): its replicator and others parse them by position. Attachments are sent
// as they are stored, compressed ones with their Content-Encoding.

// sendRelated answers with one document and the data of its attachments as multipart/related. The length is known beforehand.
func (q *request) sendRelated(doc *layer.Document, data []bool) error {
	boundary := randomHex()
	q.w.Header().Set("Content-Type", `multipart/related; boundary="`+boundary+`"`)
	q.w.Header().Set("Content-Length",
		strconv.FormatInt(relatedLength(boundary, jsonLength(doc, dataFollows(data)), doc, data), 10))
	q.w.Header()["Cache-Control"] = []string{"must-revalidate"}
	s := q.stream(http.StatusOK)
	defer s.drop()
	if err := s.related(boundary, doc, data); err != nil {
		return err
	}
	return s.flush()
}

// related writes the parts: the document, then each attachment that data marks.
func (s *stream) related(boundary string, doc *layer.Document, data []bool) error {
	s.buf = append(append(append(s.buf, "--"...), boundary...), relatedHead...)
	if err := s.putJSON(doc, dataFollows(data)); err != nil {
		return err
	}
	s.buf = append(append(s.buf, "\r\n--"...), boundary...)
	for i := range doc.Attachments {
		if !data[i] {
			continue
		}
		a := &doc.Attachments[i]
		s.buf = appendPartHeader(s.buf, a)
		if err := s.copyStored(doc.ID, a); err != nil {
			return err
		}
		s.buf = append(append(s.buf, "\r\n--"...), boundary...)
	}
	s.buf = append(s.buf, "--"...)
	return s.full()
}

const relatedHead = "\r\nContent-Type: application/json\r\n\r\n"

func appendPartHeader(dst []byte, a *layer.Attachment) []byte {
	dst = append(dst, "\r\nContent-Disposition: attachment; filename=\""...)
	dst = append(dst, headerText(a.Name)...)
	dst = append(dst, "\"\r\nContent-Type: "...)
	dst = append(dst, headerText(a.ContentType)...)
	dst = append(dst, "\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, a.EncodedLength, 10)
	if a.Encoding != "" {
		dst = append(append(dst, "\r\nContent-Encoding: "...), a.Encoding...)
	}
	return append(dst, "\r\n\r\n"...)
}

// headerText keeps line breaks, which a client may have put into a name or a content type, out of a part's header.
func headerText(s string) string {
	clean := []byte(s)
	for i, c := range clean {
		if c == '\r' || c == '\n' {
			clean[i] = ' '
		}
	}
	return string(clean)
}

func relatedLength(boundary string, json int64, doc *layer.Document, data []bool) int64 {
	n := json + int64(len("--")+len(boundary)+len(relatedHead)+len("\r\n--")+len(boundary)+len("--"))
	for i := range doc.Attachments {
		if data[i] {
			a := &doc.Attachments[i]
			n += int64(len(appendPartHeader(nil, a))) + a.EncodedLength + int64(len("\r\n--")+len(boundary))
		}
	}
	return n
}

// copyStored copies an attachment's stored bytes into the answer.
func (s *stream) copyStored(docID string, a *layer.Attachment) error {
	stored, err := s.q.db.OpenAttachment(s.q.ctx(), docID, *a, 0, -1)
	if err != nil {
		return err
	}
	defer stored.Close()
	_, err = io.Copy(s, stored)
	return err
}

// sendMixed answers open_revs as multipart/mixed: each leaf a part, multipart/related itself where it has data.
func (q *request) sendMixed(found iter.Seq2[layer.OpenRev, error], d *docQuery) error {
	outer, inner := randomHex(), randomHex()
	d.render.attachments = true
	q.w.Header().Set("Content-Type", `multipart/mixed; boundary="`+outer+`"`)
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(append(s.buf, "--"...), outer...)
	for one, err := range found {
		if err != nil {
			return err
		}
		if one.Doc == nil {
			s.buf = append(s.buf, "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n"...)
			s.buf = append(appendRev(append(s.buf, `{"missing":`...), one.Rev), '}')
		} else {
			data := d.render.split(one.Doc)
			q.hideRevs(one.Doc, d)
			if err := s.mixedPart(inner, one.Doc, data); err != nil {
				return err
			}
		}
		s.buf = append(append(s.buf, "\r\n--"...), outer...)
		if err := s.full(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "--"...)
	return s.end()
}

// mixedPart writes a document with its part header: application/json where no data comes with it.
func (s *stream) mixedPart(boundary string, doc *layer.Document, data []bool) error {
	if !slices.Contains(data, true) {
		s.buf = append(s.buf, "\r\nContent-Type: application/json\r\n\r\n"...)
		if err := s.putJSON(doc, dataFollows(data)); err != nil {
			return err
		}
		return s.full()
	}
	s.buf = append(s.buf, "\r\nContent-Type: multipart/related; boundary=\""...)
	s.buf = append(append(s.buf, boundary...), "\"\r\n\r\n"...)
	return s.related(boundary, doc, data)
}

package docs

import (
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/render"
)

// Multipart responses have byte for byte the layout of CouchDB's (couch_httpd_multipart), because its replicator and
// other clients parse them by position. Attachments are sent as stored, compressed ones with their Content-Encoding.

// sendRelated answers with one document and the data of its attachments as multipart/related. The length is known in
// advance.
func sendRelated(q *call.Request, doc *layer.Document, data []bool) error {
	boundary := render.RandomHex()
	q.W.Header().Set("Content-Type", `multipart/related; boundary="`+boundary+`"`)
	q.W.Header().Set("Content-Length",
		strconv.FormatInt(relatedLength(boundary, render.JSONLength(doc, render.DataFollows(data)), doc, data), 10))
	q.W.Header()["Cache-Control"] = []string{"must-revalidate"}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := related(s, boundary, doc, data); err != nil {
		return err
	}
	return s.Flush()
}

// related writes the parts: the document, then each attachment with data[i] set.
func related(s *call.Stream, boundary string, doc *layer.Document, data []bool) error {
	s.Buf = append(append(append(s.Buf, "--"...), boundary...), relatedHead...)
	if err := render.PutJSON(s, doc, render.DataFollows(data)); err != nil {
		return err
	}
	s.Buf = append(append(s.Buf, "\r\n--"...), boundary...)
	for i := range doc.Attachments {
		if !data[i] {
			continue
		}
		a := &doc.Attachments[i]
		s.Buf = appendPartHeader(s.Buf, a)
		if err := render.CopyStored(s, doc.ID, a); err != nil {
			return err
		}
		s.Buf = append(append(s.Buf, "\r\n--"...), boundary...)
	}
	s.Buf = append(s.Buf, "--"...)
	return s.Full()
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

// headerText removes line breaks, which a client may have put into a name or a content type, from a part's header.
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

// sendMixed answers open_revs with multipart/mixed: each leaf is a part, itself multipart/related if it has data.
func sendMixed(q *call.Request, found iter.Seq2[layer.OpenRev, error], d *docQuery) error {
	outer, inner := render.RandomHex(), render.RandomHex()
	d.render.Attachments = true
	q.W.Header().Set("Content-Type", `multipart/mixed; boundary="`+outer+`"`)
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(append(s.Buf, "--"...), outer...)
	for one, err := range found {
		if err != nil {
			return err
		}
		if one.Doc == nil {
			s.Buf = append(s.Buf, "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n"...)
			s.Buf = append(encode.Rev(append(s.Buf, `{"missing":`...), one.Rev), '}')
		} else {
			data := d.render.Split(one.Doc)
			hideRevs(q, one.Doc, d)
			if err := mixedPart(s, inner, one.Doc, data); err != nil {
				return err
			}
		}
		s.Buf = append(append(s.Buf, "\r\n--"...), outer...)
		if err := s.Full(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "--"...)
	return s.End()
}

// mixedPart writes a document with its part header: application/json if it comes without data.
func mixedPart(s *call.Stream, boundary string, doc *layer.Document, data []bool) error {
	if !slices.Contains(data, true) {
		s.Buf = append(s.Buf, "\r\nContent-Type: application/json\r\n\r\n"...)
		if err := render.PutJSON(s, doc, render.DataFollows(data)); err != nil {
			return err
		}
		return s.Full()
	}
	s.Buf = append(s.Buf, "\r\nContent-Type: multipart/related; boundary=\""...)
	s.Buf = append(append(s.Buf, boundary...), "\"\r\n\r\n"...)
	return related(s, boundary, doc, data)
}

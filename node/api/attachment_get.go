package api

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
)

// attachmentName is the rest of the path after the document: names may have slashes.
func (q *request) attachmentName() string {
	from := 2
	if q.path[1] == "_design" {
		from = 3
	}
	return strings.Join(q.path[from:], "/")
}

// findAttachment reads the document of the path and picks the attachment.
func (q *request) findAttachment(o layer.GetOptions) (*layer.Document, *layer.Attachment, error) {
	doc, err := q.readDocument(q.docID(), o)
	if err != nil {
		return nil, nil, err
	}
	name := q.attachmentName()
	for i := range doc.Attachments {
		if doc.Attachments[i].Name == name {
			return doc, &doc.Attachments[i], nil
		}
	}
	return nil, nil, notFound("Document is missing attachment")
}

// getAttachment answers GET and HEAD of an attachment, whole or in ranges.
func (q *request) getAttachment() error {
	d, err := q.docQuery()
	if err != nil {
		return err
	}
	doc, a, err := q.findAttachment(layer.GetOptions{Rev: d.get.Rev, Latest: d.get.Latest, Large: true})
	if err != nil {
		return err
	}
	encoded := a.Encoding != "" && q.acceptsEncoding(a.Encoding)
	h := q.w.Header()
	h["Cache-Control"] = mustRevalidate
	h.Set("Content-Type", headerText(a.ContentType))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("Accept-Ranges", "none")
	if a.Encoding == "" {
		h.Set("Accept-Ranges", "bytes")
	}
	if encoded {
		h.Set("Content-Encoding", a.Encoding)
	}
	if sum, ok := strings.CutPrefix(a.Digest, "md5-"); ok {
		if a.Encoding == "" || encoded {
			h.Set("Content-MD5", sum)
		}
		if q.notModified(`"` + sum + `"`) {
			return nil
		}
	}
	if a.Encoding == "" {
		ranges, err := parseRanges(q.r.Header.Get("Range"), a.Length)
		if err != nil {
			return err
		}
		if len(ranges) == 1 {
			return q.sendRange(doc.ID, a, ranges[0])
		}
		if len(ranges) > 1 {
			return q.sendRanges(doc.ID, a, ranges)
		}
	}
	return q.sendAttachment(doc.ID, a, encoded)
}

// sendAttachment sends all of an attachment: as stored where the client takes that, decoded otherwise.
func (q *request) sendAttachment(docID string, a *layer.Attachment, encoded bool) error {
	if a.Encoding == "" || encoded {
		return q.sendStored(http.StatusOK, docID, a, 0, a.EncodedLength)
	}
	if a.Length != a.EncodedLength { // otherwise only the stored length is known
		q.w.Header().Set("Content-Length", strconv.FormatInt(a.Length, 10))
	}
	if q.isHead() {
		q.w.WriteHeader(http.StatusOK)
		return nil
	}
	content, err := q.openContent(docID, a)
	if err != nil {
		return err
	}
	defer content.Close()
	return q.copyOut(http.StatusOK, content)
}

// sendStored sends n stored bytes from off on, with their length.
func (q *request) sendStored(status int, docID string, a *layer.Attachment, off, n int64) error {
	q.w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	if q.isHead() {
		q.w.WriteHeader(status)
		return nil
	}
	stored, err := q.db.OpenAttachment(q.ctx(), docID, *a, off, n)
	if err != nil {
		return err
	}
	defer stored.Close()
	return q.copyOut(status, stored)
}

func (q *request) copyOut(status int, from io.Reader) error {
	s := q.stream(status)
	defer s.drop()
	if _, err := io.Copy(s, from); err != nil {
		return err
	}
	return s.flush()
}

// acceptsEncoding reads Accept-Encoding.
func (q *request) acceptsEncoding(encoding string) bool {
	for _, one := range strings.Split(q.r.Header.Get("Accept-Encoding"), ",") {
		name, options, _ := strings.Cut(one, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		if (name == encoding || name == "*") && !refusedQuality(options) {
			return true
		}
	}
	return false
}

// byteRange is the bytes from..to, both inclusive.
type byteRange struct{ from, to int64 }

func (r byteRange) contentRange(length int64) string {
	return "bytes " + strconv.FormatInt(r.from, 10) + "-" + strconv.FormatInt(r.to, 10) + "/" + strconv.FormatInt(length, 10)
}

// maxRanges is how many ranges are served one by one: with more, CouchDB sends everything.
const maxRanges = 9

// parseRanges reads a Range header (RFC 9110, section 14.2). What is malformed asks for nothing; a range that no byte satisfies is 416.
func parseRanges(header string, length int64) ([]byteRange, error) {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return nil, nil
	}
	var ranges []byteRange
	for _, one := range strings.Split(list, ",") {
		r, ok, err := parseRange(strings.TrimSpace(one), length)
		if !ok || err != nil {
			return nil, err
		}
		if r.from == 0 && r.to == length-1 && strings.HasSuffix(one, "-") {
			return nil, nil // "0-": everything, as if no range was asked for
		}
		ranges = append(ranges, r)
	}
	if len(ranges) > maxRanges {
		return nil, nil
	}
	return ranges, nil
}

var errRange = &fault{
	status: http.StatusRequestedRangeNotSatisfiable, name: "requested_range_not_satisfiable", reason: "Requested range not satisfiable",
}

func parseRange(text string, length int64) (r byteRange, ok bool, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return r, false, nil
	}
	if first == "" { // the last n bytes
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return r, false, nil //nolint:nilerr // a malformed range asks for nothing
		}
		r = byteRange{max(length-n, 0), length - 1}
	} else {
		if r.from, err = strconv.ParseInt(first, 10, 64); err != nil || r.from < 0 {
			return r, false, nil //nolint:nilerr // as above
		}
		r.to = length - 1
		if last != "" {
			to, err := strconv.ParseInt(last, 10, 64)
			if err != nil {
				return r, false, nil //nolint:nilerr // as above
			}
			if to < r.from {
				return r, false, errRange
			}
			r.to = min(to, length-1)
		}
	}
	if r.from > r.to {
		return r, false, errRange
	}
	return r, true, nil
}

func (q *request) sendRange(docID string, a *layer.Attachment, r byteRange) error {
	h := q.w.Header()
	h.Set("Content-Range", r.contentRange(a.Length))
	h.Del("Content-Md5")
	return q.sendStored(http.StatusPartialContent, docID, a, r.from, r.to-r.from+1)
}

// sendRanges sends several ranges as multipart/byteranges.
func (q *request) sendRanges(docID string, a *layer.Attachment, ranges []byteRange) error {
	boundary := randomHex()
	h := q.w.Header()
	h.Set("Content-Type", `multipart/byteranges; boundary="`+boundary+`"`)
	h.Del("Content-Md5")
	s := q.stream(http.StatusPartialContent)
	defer s.drop()
	s.buf = append(append(s.buf, "--"...), boundary...)
	for _, r := range ranges {
		s.buf = append(append(s.buf, "\r\nContent-Type: "...), headerText(a.ContentType)...)
		s.buf = append(append(s.buf, "\r\nContent-Range: "...), r.contentRange(a.Length)...)
		s.buf = append(s.buf, "\r\n\r\n"...)
		if err := s.copyRange(docID, a, r); err != nil {
			return err
		}
		s.buf = append(append(s.buf, "\r\n--"...), boundary...)
	}
	s.buf = append(s.buf, "--"...)
	return s.end()
}

func (s *stream) copyRange(docID string, a *layer.Attachment, r byteRange) error {
	stored, err := s.q.db.OpenAttachment(s.q.ctx(), docID, *a, r.from, r.to-r.from+1)
	if err != nil {
		return err
	}
	defer stored.Close()
	_, err = io.Copy(s, stored)
	return err
}

package docs

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// attachmentName returns the rest of the path after the document. Names may contain slashes.
func attachmentName(q *call.Request) string {
	from := 2
	if q.Path[1] == "_design" {
		from = 3
	}
	return strings.Join(q.Path[from:], "/")
}

// findAttachment reads the document of the path and returns the attachment.
func (h *Handlers) findAttachment(q *call.Request, o layer.GetOptions) (*layer.Document, *layer.Attachment, error) {
	doc, err := h.Read(q, docID(q), o)
	if err != nil {
		return nil, nil, err
	}
	name := attachmentName(q)
	for i := range doc.Attachments {
		if doc.Attachments[i].Name == name {
			return doc, &doc.Attachments[i], nil
		}
	}
	return nil, nil, fault.NotFound("Document is missing attachment")
}

// GetAttachment answers GET and HEAD of an attachment, whole or in ranges.
func (h *Handlers) GetAttachment(q *call.Request) error {
	d, err := readDocQuery(q)
	if err != nil {
		return err
	}
	doc, a, err := h.findAttachment(q, layer.GetOptions{Rev: d.get.Rev, Latest: d.get.Latest, Large: true})
	if err != nil {
		return err
	}
	encoded := a.Encoding != "" && q.AcceptsEncoding(a.Encoding)
	header := q.W.Header()
	header["Cache-Control"] = call.MustRevalidate
	header.Set("Content-Type", headerText(a.ContentType))
	if policy := call.ContentPolicy(q, "attachments", "sandbox"); policy != "" {
		header.Set("Content-Security-Policy", policy)
	}
	header.Set("Accept-Ranges", "none")
	if a.Encoding == "" {
		header.Set("Accept-Ranges", "bytes")
	}
	if encoded {
		header.Set("Content-Encoding", a.Encoding)
	}
	if sum, ok := strings.CutPrefix(a.Digest, "md5-"); ok {
		if a.Encoding == "" || encoded {
			header.Set("Content-MD5", sum)
		}
		if q.NotModified(`"` + sum + `"`) {
			return nil
		}
	}
	if a.Encoding == "" {
		ranges, err := parseRanges(q.R.Header.Get("Range"), a.Length)
		if err != nil {
			return err
		}
		if len(ranges) == 1 {
			return sendRange(q, doc.ID, a, ranges[0])
		}
		if len(ranges) > 1 {
			return sendRanges(q, doc.ID, a, ranges)
		}
	}
	return sendAttachment(q, doc.ID, a, encoded)
}

// sendAttachment sends a whole attachment, as stored if the client accepts that, otherwise decompressed.
func sendAttachment(q *call.Request, docID string, a *layer.Attachment, encoded bool) error {
	if a.Encoding == "" || encoded {
		return sendStored(q, http.StatusOK, docID, a, 0, a.EncodedLength)
	}
	if a.Length != a.EncodedLength { // otherwise only the stored length is known
		q.W.Header().Set("Content-Length", strconv.FormatInt(a.Length, 10))
	}
	if q.IsHead() {
		q.W.WriteHeader(http.StatusOK)
		return nil
	}
	content, err := render.OpenContent(q, docID, a)
	if err != nil {
		return err
	}
	defer content.Close()
	return copyOut(q, http.StatusOK, content)
}

// sendStored sends n stored bytes from offset off, with their length.
func sendStored(q *call.Request, status int, docID string, a *layer.Attachment, off, n int64) error {
	q.W.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	if q.IsHead() {
		q.W.WriteHeader(status)
		return nil
	}
	stored, err := q.DB.OpenAttachment(q.Ctx(), docID, *a, off, n)
	if err != nil {
		return err
	}
	defer stored.Close()
	return copyOut(q, status, stored)
}

func copyOut(q *call.Request, status int, from io.Reader) error {
	s := q.Stream(status)
	defer s.Drop()
	if _, err := io.Copy(s, from); err != nil {
		return err
	}
	return s.Flush()
}

// byteRange is the bytes from..to, both inclusive.
type byteRange struct{ from, to int64 }

func (r byteRange) contentRange(length int64) string {
	return "bytes " + strconv.FormatInt(r.from, 10) + "-" + strconv.FormatInt(r.to, 10) + "/" +
		strconv.FormatInt(length, 10)
}

// maxRanges is how many ranges are served separately. With more, CouchDB sends everything.
const maxRanges = 9

// parseRanges parses a Range header (RFC 9110, section 14.2). A malformed header is ignored. If no range can be
// satisfied, the error is 416.
func parseRanges(header string, length int64) ([]byteRange, error) {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return nil, nil
	}
	var ranges []byteRange
	for _, one := range strings.Split(list, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue // lists may have empty elements
		}
		r, ok, err := parseRange(one, length)
		if !ok || err != nil {
			return nil, err
		}
		if r.from == 0 && r.to == length-1 && strings.HasSuffix(one, "-") {
			return nil, nil // "0-" means everything, as without a range
		}
		ranges = append(ranges, r)
	}
	if len(ranges) > maxRanges {
		return nil, nil
	}
	return ranges, nil
}

var errRange = &fault.Fault{
	Status: http.StatusRequestedRangeNotSatisfiable, Name: "requested_range_not_satisfiable",
	Reason: "Requested range not satisfiable",
}

func parseRange(text string, length int64) (r byteRange, ok bool, err error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return r, false, nil
	}
	if first == "" { // the last n bytes
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return r, false, nil //nolint:nilerr // a malformed range is ignored
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

func sendRange(q *call.Request, docID string, a *layer.Attachment, r byteRange) error {
	h := q.W.Header()
	h.Set("Content-Range", r.contentRange(a.Length))
	h.Del("Content-Md5")
	return sendStored(q, http.StatusPartialContent, docID, a, r.from, r.to-r.from+1)
}

// sendRanges sends several ranges as multipart/byteranges.
func sendRanges(q *call.Request, docID string, a *layer.Attachment, ranges []byteRange) error {
	boundary := render.RandomHex()
	h := q.W.Header()
	h.Set("Content-Type", `multipart/byteranges; boundary="`+boundary+`"`)
	h.Del("Content-Md5")
	s := q.Stream(http.StatusPartialContent)
	defer s.Drop()
	s.Buf = append(append(s.Buf, "--"...), boundary...)
	for _, r := range ranges {
		s.Buf = append(append(s.Buf, "\r\nContent-Type: "...), headerText(a.ContentType)...)
		s.Buf = append(append(s.Buf, "\r\nContent-Range: "...), r.contentRange(a.Length)...)
		s.Buf = append(s.Buf, "\r\n\r\n"...)
		if err := copyRange(s, docID, a, r); err != nil {
			return err
		}
		s.Buf = append(append(s.Buf, "\r\n--"...), boundary...)
	}
	s.Buf = append(s.Buf, "--"...)
	return s.End()
}

func copyRange(s *call.Stream, docID string, a *layer.Attachment, r byteRange) error {
	stored, err := s.Q.DB.OpenAttachment(s.Q.Ctx(), docID, *a, r.from, r.to-r.from+1)
	if err != nil {
		return err
	}
	defer stored.Close()
	_, err = io.Copy(s, stored)
	return err
}

package api

import (
	"math"
	"net/http"

	"github.com/divandb/divan/layer"
)

// bodyLimit returns how many bytes an endpoint takes of a body, and the error for a longer one.
type bodyLimit func(q *request) (most int64, tooLarge error)

const (
	// maxCommand is the largest body that holds a number or a name.
	maxCommand = 64 << 10
	// maxConfigBody is the largest body that holds a setting: one of maxSetting bytes, with every byte escaped.
	maxConfigBody = 8 * maxSetting
)

// bound sets the limit of the request's body. A body that declares to be longer is refused before anything reads it:
// the client is neither asked for it (100 Continue) nor waited for.
func (q *request) bound(e *endpoint) error {
	if q.method != http.MethodPut && q.method != http.MethodPost {
		return nil // the body is not read
	}
	q.most, q.tooLarge = q.srv.o.Limits.Request, errTooLarge
	if e.limit != nil {
		q.most, q.tooLarge = e.limit(q)
	}
	if q.r.ContentLength > q.most {
		return q.tooLarge
	}
	return nil
}

// atMost is the limit of an endpoint that takes n bytes.
func atMost(n int64) bodyLimit {
	return func(q *request) (int64, error) { return min(n, q.srv.o.Limits.Request), errTooLarge }
}

// unlimited is for bodies that are kept in files.
func unlimited(*request) (int64, error) { return math.MaxInt64, errTooLarge }

// maxUser is the size of the largest document of the users' database, its inline attachments included: it is read whole
// with each log-in.
const maxUser = 1 << 20

// documentLimit is the limit of a document as JSON.
func (q *request) documentLimit() (int64, error) {
	most := q.srv.o.Limits.Request
	if q.path[0] != usersDatabase || q.part(1) == "_local" {
		return most, errTooLarge
	}
	id := ""
	if len(q.path) > 1 {
		id = q.docID()
	}
	return min(most, maxUser), &layer.Error{Kind: layer.TooLarge, Name: "document_too_large", Reason: id}
}

// documentBodyLimit is the limit of a document that may bring its attachments behind it. Each of these has a limit of
// its own, and their number has none here.
func (q *request) documentBodyLimit() (int64, error) {
	most, tooLarge := q.documentLimit()
	if mediaType(q.r.Header.Get("Content-Type")) == "multipart/related" {
		most = math.MaxInt64
	}
	return most, tooLarge
}

// attachmentLimit is the limit of an attachment that comes alone.
func (q *request) attachmentLimit() (int64, error) {
	return q.srv.o.Limits.Attachment,
		&fault{status: http.StatusRequestEntityTooLarge, name: "attachment_too_large", reason: q.attachmentName()}
}

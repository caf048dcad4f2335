package api

import (
	"math"
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/couchopts"
)

// bodyLimit returns the maximum size of an endpoint's body, and the error for a larger one.
type bodyLimit func(q *call.Request) (most int64, tooLarge error)

const (
	// maxCommand is the maximum size of a body with a number or a name.
	maxCommand = 64 << 10
	// maxConfigBody is the maximum size of a body with a setting: maxSetting bytes, each of them escaped.
	maxConfigBody = 8 * couchopts.MaxValue
)

// bound sets the limit of the request's body, or refuses a body whose declared length is larger.
func (s *Server) bound(q *call.Request, e *endpoint) error {
	if q.Method != http.MethodPut && q.Method != http.MethodPost && e.any == nil {
		return nil // the body is not read
	}
	most, tooLarge := s.o.Limits.Request, fault.TooLarge
	if e.limit != nil {
		most, tooLarge = e.limit(q)
	}
	return q.Body.Bound(most, tooLarge)
}

// atMost returns a limit of n bytes.
func (s *Server) atMost(n int64) bodyLimit {
	return func(*call.Request) (int64, error) { return min(n, s.o.Limits.Request), fault.TooLarge }
}

// unlimited is for bodies that are stored in files.
func unlimited(*call.Request) (int64, error) { return math.MaxInt64, fault.TooLarge }

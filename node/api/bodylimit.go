package api

import (
	"math"
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/settings"
)

// bodyLimit returns how many bytes an endpoint takes of a body, and the error for a longer one.
type bodyLimit func(q *call.Request) (most int64, tooLarge error)

const (
	// maxCommand is the largest body that holds a number or a name.
	maxCommand = 64 << 10
	// maxConfigBody is the largest body that holds a setting: one of maxSetting bytes, with every byte escaped.
	maxConfigBody = 8 * settings.MaxSetting
)

// bound sets the limit of the request's body, or refuses one that declares to be longer.
func (s *Server) bound(q *call.Request, e *endpoint) error {
	if q.Method != http.MethodPut && q.Method != http.MethodPost {
		return nil // the body is not read
	}
	most, tooLarge := s.o.Limits.Request, fault.TooLarge
	if e.limit != nil {
		most, tooLarge = e.limit(q)
	}
	return q.Body.Bound(most, tooLarge)
}

// atMost is the limit of an endpoint that takes n bytes.
func (s *Server) atMost(n int64) bodyLimit {
	return func(*call.Request) (int64, error) { return min(n, s.o.Limits.Request), fault.TooLarge }
}

// unlimited is for bodies that are kept in files.
func unlimited(*call.Request) (int64, error) { return math.MaxInt64, fault.TooLarge }

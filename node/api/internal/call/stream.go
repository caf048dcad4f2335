package call

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// flushSize is how much of a response is buffered before it is written. flushAge is how long a finished row may be
	// buffered.
	flushSize = 32 << 10
	flushAge  = 50 * time.Millisecond
)

// ErrHeadDone ends a handler after the header of a response to HEAD.
var ErrHeadDone = errors.New("head answered")

// Stream writes a long response. Handlers append to Buf and call Row after each row. Nothing is sent before flushSize
// or flushAge, so that an early error still becomes an error response, and a short response gets a Content-Length. A
// Stream is not safe for concurrent use. It is pooled: do not keep it after End or Drop.
type Stream struct {
	Q         *Request
	Buf       []byte
	status    int
	Sent      bool // the header and perhaps part of the body
	lastWrite time.Time
	control   *http.ResponseController
	unflushed bool // something written may not have reached the client yet
	// hold, unless 0, bounds a buffer that is never sent; full is the error of a larger one.
	hold int
	full error
}

// Hold returns a Stream that is only a buffer, of at most most bytes: more is the error full.
func Hold(q *Request, most int, full error) *Stream {
	return &Stream{Q: q, Buf: (*buffers.Get().(*[]byte))[:0], hold: most, full: full}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*flushSize); return &b }}

// Stream begins a JSON response. Set other headers before.
func (q *Request) Stream(status int) *Stream {
	return &Stream{
		Q: q, status: status, Buf: (*buffers.Get().(*[]byte))[:0],
		lastWrite: time.Now(), control: http.NewResponseController(q.W),
	}
}

// SetStatus sets the status of a response that has not begun.
func (s *Stream) SetStatus(status int) { s.status = status }

// Row ends a row. It sends the buffer if it is large enough or the last write is long ago.
func (s *Stream) Row() error {
	if s.hold > 0 {
		return s.Full()
	}
	if len(s.Buf) < flushSize && time.Since(s.lastWrite) < flushAge {
		return nil
	}
	return s.Flush()
}

// Full is Row for responses with long rows: it sends only when the buffer is full.
func (s *Stream) Full() error {
	if s.hold > 0 {
		if len(s.Buf) > s.hold {
			return s.full
		}
		return nil
	}
	if len(s.Buf) < flushSize {
		return nil
	}
	return s.send()
}

// Flush sends everything to the client. It does nothing if nothing is new, because a filtered feed is woken by many
// changes that it does not show.
func (s *Stream) Flush() error {
	if s.Sent && len(s.Buf) == 0 && !s.unflushed {
		return nil
	}
	if err := s.send(); err != nil {
		return err
	}
	s.unflushed = false
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (s *Stream) send() error {
	s.lastWrite = time.Now()
	if !s.Sent {
		s.Sent = true
		s.Q.setDefaultHeaders()
		s.Q.W.WriteHeader(s.status)
	}
	if s.Q.IsHead() {
		return ErrHeadDone
	}
	if len(s.Buf) == 0 {
		return nil
	}
	_, err := s.Q.W.Write(s.Buf)
	s.Buf, s.unflushed = s.Buf[:0], true
	return err
}

// End sends the rest. The stream must not be used afterwards.
func (s *Stream) End() error {
	defer s.Drop()
	if !s.Sent {
		s.Q.W.Header()["Content-Length"] = []string{strconv.Itoa(len(s.Buf))}
	}
	return s.send()
}

// Drop gives the buffer back, also after an error. It may be called twice.
func (s *Stream) Drop() {
	if cap(s.Buf) >= 2*flushSize && cap(s.Buf) <= 16*flushSize {
		b := s.Buf[:0]
		buffers.Put(&b)
	}
	s.Buf = nil
}

// Rest flushes and gives the buffer back for now, because thousands of responses may wait for hours.
func (s *Stream) Rest() error {
	err := s.Flush()
	if len(s.Buf) == 0 {
		s.Drop()
	}
	return err
}

// Write implements io.Writer, for copying bodies into the response.
func (s *Stream) Write(p []byte) (int, error) {
	s.Buf = append(s.Buf, p...)
	return len(p), s.Full()
}

// Separate writes a comma, except the first time.
func (s *Stream) Separate(first *bool) {
	if !*first {
		s.Buf = append(s.Buf, ',')
	}
	*first = false
}

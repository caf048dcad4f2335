package call

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// flushSize is how much of an answer is collected before it is written; flushAge how long a finished row may wait
	// for that.
	flushSize = 32 << 10
	flushAge  = 50 * time.Millisecond
)

// ErrHeadDone ends a handler whose answer to HEAD is complete with its header.
var ErrHeadDone = errors.New("head answered")

// Stream writes a long answer. Handlers append to buf and call row after each row; nothing is sent before flushSize or
// flushAge, so that an error at the beginning still becomes an error answer, and a short answer gets a Content-Length.
// Not safe for concurrent use. It is pooled: do not keep it after end or drop.
type Stream struct {
	Q         *Request
	Buf       []byte
	status    int
	Sent      bool // the header and perhaps some of the body
	lastWrite time.Time
	control   *http.ResponseController
	unflushed bool // something was written that may still be on its way to the client
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*flushSize); return &b }}

// Stream begins an answer of JSON; set other headers before.
func (q *Request) Stream(status int) *Stream {
	return &Stream{
		Q: q, status: status, Buf: (*buffers.Get().(*[]byte))[:0],
		lastWrite: time.Now(), control: http.NewResponseController(q.W),
	}
}

// Row ends a row: it is sent when enough has come together or the last write is long ago.
func (s *Stream) Row() error {
	if len(s.Buf) < flushSize && time.Since(s.lastWrite) < flushAge {
		return nil
	}
	return s.Flush()
}

// Full is row for answers with long rows: it sends when the buffer is full, and only then.
func (s *Stream) Full() error {
	if len(s.Buf) < flushSize {
		return nil
	}
	return s.send()
}

// Flush sends all there is down to the client. Where nothing is new it does nothing: a feed with a filter is woken by
// many changes that it does not show.
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

// Rest is flush, and gives the buffer back for now: of answers that wait for hours there may be thousands.
func (s *Stream) Rest() error {
	err := s.Flush()
	if len(s.Buf) == 0 {
		s.Drop()
	}
	return err
}

// Write makes the stream an io.Writer for bodies that are copied into the answer.
func (s *Stream) Write(p []byte) (int, error) {
	s.Buf = append(s.Buf, p...)
	return len(p), s.Full()
}

// Separate writes a comma, but for the first time.
func (s *Stream) Separate(first *bool) {
	if !*first {
		s.Buf = append(s.Buf, ',')
	}
	*first = false
}

package api

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// flushSize is how much of an answer is collected before it is written; flushAge how long a finished row may wait for that.
	flushSize = 32 << 10
	flushAge  = 50 * time.Millisecond
)

// errHeadDone ends a handler whose answer to HEAD is complete with its header.
var errHeadDone = errors.New("head answered")

// stream writes a long answer. Handlers append to buf and call row after each row; nothing is sent before flushSize or flushAge, so that an error at
// the beginning still becomes an error answer, and a short answer gets a Content-Length. Not safe for concurrent use. It is pooled: do not
// keep it after end or drop.
type stream struct {
	q         *request
	buf       []byte
	status    int
	sent      bool // the header and perhaps some of the body
	lastWrite time.Time
	control   *http.ResponseController
	unflushed bool // something was written that may still be on its way to the client
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2*flushSize); return &b }}

// stream begins an answer of JSON; set other headers before.
func (q *request) stream(status int) *stream {
	return &stream{
		q: q, status: status, buf: (*buffers.Get().(*[]byte))[:0],
		lastWrite: time.Now(), control: http.NewResponseController(q.w),
	}
}

// row ends a row: it is sent when enough has come together or the last write is long ago.
func (s *stream) row() error {
	if len(s.buf) < flushSize && time.Since(s.lastWrite) < flushAge {
		return nil
	}
	return s.flush()
}

// full is row for answers with long rows: it sends when the buffer is full, and only then.
func (s *stream) full() error {
	if len(s.buf) < flushSize {
		return nil
	}
	return s.send()
}

// flush sends all there is down to the client. Where nothing is new it does nothing: a feed with a filter is woken by many changes that it does not show.
func (s *stream) flush() error {
	if s.sent && len(s.buf) == 0 && !s.unflushed {
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

func (s *stream) send() error {
	s.lastWrite = time.Now()
	if !s.sent {
		s.sent = true
		s.q.setDefaultHeaders()
		s.q.w.WriteHeader(s.status)
	}
	if s.q.isHead() {
		return errHeadDone
	}
	if len(s.buf) == 0 {
		return nil
	}
	_, err := s.q.w.Write(s.buf)
	s.buf, s.unflushed = s.buf[:0], true
	return err
}

// end sends the rest. The stream must not be used afterwards.
func (s *stream) end() error {
	defer s.drop()
	if !s.sent {
		s.q.w.Header()["Content-Length"] = []string{strconv.Itoa(len(s.buf))}
	}
	return s.send()
}

// drop gives the buffer back, also after an error. It may be called twice.
func (s *stream) drop() {
	if cap(s.buf) >= 2*flushSize && cap(s.buf) <= 16*flushSize {
		b := s.buf[:0]
		buffers.Put(&b)
	}
	s.buf = nil
}

// rest is flush, and gives the buffer back for now: of answers that wait for hours there may be thousands.
func (s *stream) rest() error {
	err := s.flush()
	if len(s.buf) == 0 {
		s.drop()
	}
	return err
}

// Write makes the stream an io.Writer for bodies that are copied into the answer.
func (s *stream) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), s.full()
}

package couch

import (
	"errors"
	"io"
	"mime/multipart"
	"sync"
)

// partSource yields the parts of a document, one after the other. Its error is read while package http may still read
// the request's body.
type partSource struct {
	parts *multipart.Reader

	mu  sync.Mutex
	err error
}

func (s *partSource) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *partSource) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

// partReader reads the data of one part, which must have left bytes.
type partReader struct {
	from *partSource
	part *multipart.Part // nil before the first read
	left int64
}

var (
	errPartShort = errors.New("the data of an attachment are shorter than the document says")
	errPartLong  = errors.New("the data of an attachment are longer than the document says")
)

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	if r.part == nil {
		part, err := r.from.parts.NextRawPart()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errPartShort
			}
			return 0, r.from.fail(err)
		}
		r.part = part
	}
	n, err := r.part.Read(p)
	r.left -= int64(n)
	switch {
	case r.left < 0:
		return 0, r.from.fail(errPartLong)
	case errors.Is(err, io.EOF) && r.left > 0:
		return n, r.from.fail(errPartShort)
	case err != nil && !errors.Is(err, io.EOF):
		return n, r.from.fail(err)
	}
	return n, err
}

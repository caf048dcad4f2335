package sqlreads

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// stream makes exec.Rows of a sequence of the layer's, row by row, without reading ahead.
//
// A portal outlives the statement that opened it, so the read lives under a context of its own until Close; each Next
// lends it the end of its context.
type stream[R any] struct {
	cancel  context.CancelFunc
	next    func() (R, error, bool)
	stop    func()
	fill    func(r R, row *exec.Row) (bool, error) // false leaves the row out
	skip    int64
	skipped int64
	left    int64 // rows that may still come, below zero for no limit
}

// newStream opens a read and streams what fill makes of its rows. skip and limit are applied here, limit 0 being none.
func newStream[R any](
	ctx context.Context, skip, limit int64,
	open func(ctx context.Context) (iter.Seq2[R, error], error),
	fill func(r R, row *exec.Row) (bool, error),
) (exec.Rows, error) {
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	lent := context.AfterFunc(ctx, cancel)
	rows, err := open(reading)
	if !lent() || err != nil {
		cancel()
		if err == nil {
			err = context.Cause(ctx)
		}
		return nil, readError(err)
	}
	s := &stream[R]{cancel: cancel, fill: fill, skip: skip, left: limit}
	if limit == 0 {
		s.left = -1
	}
	s.next, s.stop = iter.Pull2(rows)
	return s, nil
}

// Next implements exec.Rows.
func (s *stream[R]) Next(ctx context.Context, row *exec.Row) error {
	if s.left == 0 {
		return io.EOF
	}
	defer context.AfterFunc(ctx, s.cancel)()
	for {
		r, err, ok := s.next()
		switch {
		case !ok && ctx.Err() != nil:
			return readError(ctx.Err())
		case !ok:
			return io.EOF
		case errors.Is(err, exec.ErrIdle):
			return exec.ErrIdle // not the end
		case err != nil:
			return readError(err)
		}
		*row = exec.Row{}
		keep, err := s.fill(r, row)
		if err != nil {
			return readError(err)
		}
		if !keep {
			continue
		}
		if s.skip > 0 {
			s.skip--
			s.skipped++
			continue
		}
		s.left--
		return nil
	}
}

// Skipped implements exec.Skipper.
func (s *stream[R]) Skipped() int64 { return s.skipped }

// Close implements exec.Rows.
func (s *stream[R]) Close() error {
	s.cancel()
	s.stop()
	return nil
}

// body is a document as HTTP answers it, in bytes that nobody writes to again; nil for none.
func body(doc *layer.Document) []byte {
	if doc == nil {
		return nil
	}
	return doc.AppendJSON(nil)
}

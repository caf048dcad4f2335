package sqlreads

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// stream turns a sequence of the layer into exec.Rows, row by row, without reading ahead.
//
// A portal outlives the statement that opened it, so the read has a context of its own until Close. Each Next also ends
// it when that call's context ends.
type stream[R any] struct {
	cancel  context.CancelFunc
	next    func() (R, error, bool)
	stop    func()
	fill    func(r R, row *exec.Row) (bool, error) // returns false to leave the row out
	skip    int64
	skipped int64
	left    int64 // rows still allowed; negative: no limit
}

// newStream opens a read and streams the rows that fill makes of it. It applies skip and limit; a limit of 0 means
// none.
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
			return exec.ErrIdle // the feed goes on after this
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

// body returns a document as HTTP answers it, in bytes that are never written to again, or nil for no document.
func body(doc *layer.Document) []byte {
	if doc == nil {
		return nil
	}
	return doc.AppendJSON(nil)
}

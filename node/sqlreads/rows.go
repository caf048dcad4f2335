package sqlreads

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// Rows are handed over in batches, since each handing over costs about as much as a row does. The first batches are
// small, because a reader may want a few rows only.
const (
	batchRows = 64
	// batchBytes is the size of keys, values and documents after which a batch is not made longer.
	batchBytes = 64 << 10
)

// stream turns a sequence of the layer into exec.Rows. It reads at most a batch ahead.
//
// A portal outlives the statement that opened it, so the read has a context of its own until Close. Each Next also ends
// it when that call's context ends.
type stream[R any] struct {
	cancel  context.CancelFunc
	next    func() ([]exec.Row, error, bool)
	stop    func()
	batch   []exec.Row                             // rows that have not been returned
	fill    func(r R, row *exec.Row) (bool, error) // returns false to leave the row out
	skip    int64
	skipped int64
	left    int64 // rows still allowed; negative: no limit
	most    int
}

// newStream opens a read and streams the rows that fill makes of it. It applies skip and limit; a limit of 0 means
// none. most is the number of rows in a batch: batchRows, or 1 if a row may come much later than the one before.
func newStream[R any](
	ctx context.Context, most int, skip, limit int64,
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
		return nil, Error(err)
	}
	s := &stream[R]{cancel: cancel, fill: fill, skip: skip, left: limit, most: most}
	if limit == 0 {
		s.left = -1
	}
	s.next, s.stop = iter.Pull2(s.batches(rows))
	return s, nil
}

// batches fills batches of rows. Each uses the memory of the last one.
func (s *stream[R]) batches(rows iter.Seq2[R, error]) iter.Seq2[[]exec.Row, error] {
	return func(yield func([]exec.Row, error) bool) {
		var batch []exec.Row
		size, held := 1, 0
		for r, err := range rows {
			var keep bool
			if err == nil {
				batch = append(batch, exec.Row{})
				row := &batch[len(batch)-1]
				if keep, err = s.fill(r, row); !keep || err != nil || s.skip > 0 {
					batch = batch[:len(batch)-1]
				} else {
					held += len(row.Key) + len(row.Value) + len(row.Doc)
				}
			}
			switch {
			case err != nil:
				if len(batch) > 0 && !yield(batch, nil) || !yield(nil, err) {
					return
				}
				batch, held = batch[:0], 0
				continue // only ErrIdle has rows after it
			case !keep:
				continue
			case s.skip > 0:
				s.skip--
				s.skipped++
				continue
			}
			s.left--
			if len(batch) < min(size, s.most) && held < batchBytes && s.left != 0 {
				continue
			}
			if !yield(batch, nil) || s.left == 0 {
				return
			}
			clear(batch)
			batch, held, size = batch[:0], 0, min(4*size, batchRows)
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// Next implements exec.Rows.
func (s *stream[R]) Next(ctx context.Context, row *exec.Row) error {
	if len(s.batch) == 0 {
		batch, err := s.Batch(ctx)
		if err != nil {
			return err
		}
		s.batch = batch
	}
	*row, s.batch = s.batch[0], s.batch[1:]
	return nil
}

// Batch implements exec.Batcher.
func (s *stream[R]) Batch(ctx context.Context) ([]exec.Row, error) {
	if batch := s.batch; len(batch) > 0 {
		s.batch = nil
		return batch, nil
	}
	defer context.AfterFunc(ctx, s.cancel)()
	batch, err, ok := s.next()
	switch {
	case !ok && ctx.Err() != nil:
		return nil, Error(ctx.Err())
	case !ok:
		return nil, io.EOF
	case errors.Is(err, exec.ErrIdle):
		return nil, exec.ErrIdle // the feed goes on after this
	case err != nil:
		return nil, Error(err)
	}
	return batch, nil
}

// Skipped implements exec.Skipper.
func (s *stream[R]) Skipped() int64 { return s.skipped }

// Close implements exec.Rows.
func (s *stream[R]) Close() error {
	s.cancel()
	s.stop()
	return nil
}

// memory holds the bytes of rows in large pieces, which are allocated less often than rows. Bytes in it are never
// written to again.
type memory struct{ piece []byte }

// room makes room for about n bytes.
func (m *memory) room(n int) {
	if cap(m.piece)-len(m.piece) < n {
		m.piece = make([]byte, 0, max(n, min(2*cap(m.piece)+512, batchBytes/4)))
	}
}

// clone returns a copy of b, or nil for nil.
func (m *memory) clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	m.room(len(b))
	from := len(m.piece)
	m.piece = append(m.piece, b...)
	return m.piece[from:len(m.piece):len(m.piece)]
}

// body returns a document as HTTP answers it, or nil for no document.
func (m *memory) body(doc *layer.Document) []byte {
	if doc == nil {
		return nil
	}
	const head = 80 // the names and the revision
	m.room(len(doc.ID) + len(doc.Body) + head)
	from := len(m.piece)
	m.piece = doc.AppendJSON(m.piece) // in a new piece if it is longer
	return m.piece[from:len(m.piece):len(m.piece)]
}

// body is memory.body for a single document.
func body(doc *layer.Document) []byte {
	var m memory
	return m.body(doc)
}

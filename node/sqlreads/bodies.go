package sqlreads

import (
	"context"
	"errors"
	"io"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// bodies is a scan that needs no revisions, and of documents only their members.
type bodies struct {
	read   *layer.Bodies
	cancel context.CancelFunc
	batch  []exec.Row      // rows that have not been returned by Next
	left   []layer.BodyRow // rows that have been read and are in no batch yet
	rows   []exec.Row      // memory of batches, few enough to stay in the processor's cache
}

// newBodies opens a scan. It returns nil if the store cannot do one, or read needs more than that.
func (d *database) newBodies(ctx context.Context, read exec.DocsRead) (*bodies, error) {
	if read.IDs != nil || read.Descending || read.WithRev || read.Skip > 0 || read.WithDoc && !read.Members {
		return nil, nil
	}
	o := layer.BodiesOptions{Limit: atMost(read.Limit, 0), WithoutDesigns: read.NoDesigns, NoBodies: !read.WithDoc}
	if read.Low != "" {
		o.Start = &read.Low
	}
	if read.High != "" {
		o.End = &read.High
	}
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	lent := context.AfterFunc(ctx, cancel)
	rows, ok, err := d.db.Bodies(reading, o)
	if lent() && ok && err == nil {
		return &bodies{read: rows, cancel: cancel}, nil
	}
	if rows != nil {
		rows.Close()
	}
	cancel()
	if err == nil && ok {
		err = context.Cause(ctx)
	}
	return nil, Error(err)
}

// Batch implements exec.Batcher.
func (b *bodies) Batch(ctx context.Context) ([]exec.Row, error) {
	if batch := b.batch; len(batch) > 0 {
		b.batch = nil
		return batch, nil
	}
	if len(b.left) == 0 {
		if err := b.more(ctx); err != nil {
			return nil, err
		}
	}
	n := min(len(b.left), batchRows)
	if len(b.rows) < n {
		b.rows = make([]exec.Row, n)
	}
	batch := b.rows[:n]
	for i := range batch {
		batch[i].ID, batch[i].Doc = b.left[i].ID, b.left[i].Body
	}
	b.left = b.left[n:]
	return batch, nil
}

// more reads rows.
func (b *bodies) more(ctx context.Context) (err error) {
	defer context.AfterFunc(ctx, b.cancel)()
	b.left, err = b.read.Next()
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil && ctx.Err() != nil:
		return Error(ctx.Err())
	}
	return Error(err)
}

// Next implements exec.Rows.
func (b *bodies) Next(ctx context.Context, row *exec.Row) error {
	batch, err := b.Batch(ctx)
	if err == nil {
		*row, b.batch = batch[0], batch[1:]
	}
	return err
}

// Skipped implements exec.Skipper: a read that skips rows is done in the other way.
func (b *bodies) Skipped() int64 { return 0 }

// Close implements exec.Rows.
func (b *bodies) Close() error {
	b.cancel()
	b.read.Close()
	return nil
}

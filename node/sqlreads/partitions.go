package sqlreads

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/divandb/divan/query/exec"
)

// partitions reads a view of a partitioned design document in all partitions, one after the other in the order of their
// names. It finds the partitions by their documents, since only partitions with documents have rows. It holds one read
// at a time.
type partitions struct {
	db *database
	// open reads the view in a partition: up to limit rows, or all if limit is 0. For the first partition it also
	// brings the index up to date as asked.
	open func(ctx context.Context, partition string, limit int64, first bool) (exec.Rows, error)

	from    string // where to look for the next partition
	first   bool
	rows    exec.Rows // of the current partition
	skip    int64
	skipped int64
	left    int64 // rows still allowed; negative: no limit
}

func newPartitions(db *database, skip, limit int64,
	open func(ctx context.Context, partition string, limit int64, first bool) (exec.Rows, error)) *partitions {
	if limit == 0 {
		limit = -1
	}
	return &partitions{db: db, open: open, first: true, skip: skip, left: limit}
}

// Next implements exec.Rows.
func (p *partitions) Next(ctx context.Context, row *exec.Row) error {
	for p.left != 0 {
		if p.rows == nil {
			if err := p.begin(ctx); err != nil {
				return err
			}
		}
		err := p.rows.Next(ctx, row)
		switch {
		case errors.Is(err, io.EOF):
			if err := p.Close(); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case p.skip > 0:
			p.skip--
			p.skipped++
			continue
		}
		p.left = max(p.left-1, -1)
		return nil
	}
	return io.EOF
}

// begin opens the next partition that has documents.
func (p *partitions) begin(ctx context.Context) error {
	ids, err := p.db.AllDocs(ctx, exec.DocsRead{Low: p.from, NoDesigns: true, Limit: 1})
	if err != nil {
		return err
	}
	defer ids.Close()
	var doc exec.Row
	if err := ids.Next(ctx, &doc); err != nil {
		return err
	}
	name, _, _ := strings.Cut(doc.ID, ":")
	p.from = name + ";" // ';' follows ':': behind all ids of the partition
	limit := int64(0)
	if p.left > 0 {
		limit = p.left + p.skip
	}
	p.rows, err = p.open(ctx, name, limit, p.first)
	p.first = false
	return err
}

// Skipped implements exec.Skipper.
func (p *partitions) Skipped() int64 { return p.skipped }

// Close implements exec.Rows.
func (p *partitions) Close() error {
	if p.rows == nil {
		return nil
	}
	err := p.rows.Close()
	p.rows = nil
	return err
}

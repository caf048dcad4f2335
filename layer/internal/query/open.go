package query

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
)

// opening is the first reads of a query, which are begun together with its stream.
type opening struct {
	keys  index.Keys
	at    func() (index.IndexAt, error)
	total func() (int64, error) // nil if it is not wanted
}

// begin begins the reads, once more if the stream has a new configuration.
func (o *opening) begin(ix *index.Index, s *rev.Stream, view int, q *index.ViewQuery) {
	o.end()
	o.keys = ix.Keys(s.Keys)
	o.at = ix.ReadAt(s, &o.keys, q.Current)
	if view >= 0 {
		o.total = o.keys.ViewCounter(s.R, keyspace.ViewRowCount, view)
	}
}

// end releases the counter's iterator.
func (o *opening) end() {
	if o.total != nil {
		_, _ = o.total() // nobody wants it
		o.total = nil
	}
}

// count returns the number of rows, or nil if it was not read.
func (o *opening) count() (*int64, error) {
	if o.total == nil {
		return nil, nil
	}
	n, err := o.total()
	o.total = nil
	return &n, err
}

// read begins a query. view is the view whose rows are to be counted, or -1. With docs, the rows go with the documents
// that they were made from; otherwise documents are read as they are now.
func read(ctx context.Context, ix *index.Index, view int, q *index.ViewQuery, docs bool) (*index.Reading, error) {
	if q.Ahead && ix.Design().Slow() {
		return nil, index.ErrBehind()
	}
	if q.Ahead {
		return readInTransactions(ctx, ix, q)
	}
	var first opening
	defer first.end()
	s, err := rev.OpenStreamAhead(ctx, ix.Db, func(s *rev.Stream) { first.begin(ix, s, view, q) })
	if err != nil {
		return nil, err
	}
	if !s.Exact() {
		r, err := readOverlaid(ix, s, q, docs)
		if err != nil {
			s.Close()
		}
		return r, err
	}
	r := &index.Reading{Rows: s, Docs: s, Close: s.Close}
	at, err := first.at()
	if err == nil {
		r.Total, err = first.count()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	r.Keys = first.keys
	r.Seq, r.Empty = at.Seq, at.Seq.IsZero()
	if q.Fresh && r.Empty {
		if err := removedMeanwhile(s); err != nil {
			s.Close()
			return nil, err
		}
	}
	if at.Interactive {
		return r, nil
	}
	all := index.PublishedOf(ix.Db.Store)
	held := all.Take(index.Publication{Database: s.Core.Number, Signature: ix.Design().Signature}, at.Seq)
	// Current is as of the documents' version.
	if docs && q.Fresh && !q.Current && !r.Empty && (held == nil || held.Docs == nil) {
		newer, err := index.NewerThan(s, at.Seq)
		if err != nil || newer {
			if held != nil {
				all.Done(held)
			}
			s.Close()
		}
		if err != nil {
			return nil, err
		}
		if newer {
			return readInTransactions(ctx, ix, q)
		}
	}
	r.Decided = !at.Building || at.Kept || held != nil && held.Rows != nil
	// Another node may be building.
	if at.Kept && (held == nil || held.Rows == nil) {
		r.Rows = index.At(s, s.Snap)
		index.LayOver(r.Rows, &r.Keys)
	}
	if held == nil {
		return r, nil
	}
	if docs && held.Docs != nil {
		r.Docs = index.At(s, held.Docs)
	}
	if held.Rows != nil {
		r.Rows, r.Total = index.At(s, held.Rows), nil
		err = r.Keys.Find(held.Rows)() // the snapshot may have another number than the one just read
	}
	end := sync.OnceFunc(func() {
		all.Done(held)
		s.Close()
	})
	stop := context.AfterFunc(ctx, end)
	r.Close = func() {
		stop()
		end()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// removedMeanwhile returns an IndexBehind error if an index without a sequence lacks changes. The caller of a Fresh
// query has had it built, so it was removed since: by Rebuild, or because its design document was replaced long ago.
func removedMeanwhile(s *rev.Stream) error {
	newer, err := index.NewerThan(s, db.Seq{})
	if err == nil && newer {
		err = index.ErrBehind()
	}
	return err
}

// readInTransactions is read for the case that this node has no snapshot of the documents at the index's sequence,
// because another node built the index. As on engines without snapshots, the query itself applies the missing changes
// to the rows.
func readInTransactions(ctx context.Context, ix *index.Index, q *index.ViewQuery) (*index.Reading, error) {
	s, err := rev.OpenTransactions(ctx, ix.Db)
	if err != nil {
		return nil, err
	}
	r, err := readOverlaid(ix, s, q, true)
	if err != nil {
		s.Close()
	}
	return r, err
}

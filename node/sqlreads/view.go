package sqlreads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var _ exec.Reducer = (*database)(nil)

// View implements exec.Database.
func (d *database) View(ctx context.Context, read exec.ViewRead) (exec.Rows, error) {
	ix, err := d.index(ctx, read.Design, read.Update)
	if err != nil {
		return nil, readError(err)
	}
	q := viewQuery(read.View, read.Low, read.High, read.Keys, read.Descending)
	q.Limit, q.IncludeDocs = atMost(read.Limit, read.Skip), read.WithDoc
	if err := d.partition(&q, ix, read.Partition); err != nil {
		return nil, err
	}
	d.freshness(&q, read.Update)
	open := func(ctx context.Context) (iter.Seq2[layer.ViewRow, error], error) {
		result, err := begin(ctx, d, ix, read.Update, func() (*layer.ViewResult, error) { return ix.Query(ctx, q) })
		if isEmptyRange(err) {
			return nothing[layer.ViewRow], nil
		}
		if err != nil {
			return nil, err
		}
		return result.Rows, nil
	}
	return newStream(ctx, read.Skip, read.Limit, open, func(r layer.ViewRow, row *exec.Row) (bool, error) {
		row.ID, row.Key, row.Value = r.ID, bytes.Clone(r.Key), bytes.Clone(r.Value)
		if read.WithDoc {
			row.Doc = body(r.Doc)
		}
		return true, nil
	})
}

// Reduce implements exec.Reducer. The layer groups each of several keys by itself, so that there is no one row for all of them.
func (d *database) Reduce(ctx context.Context, read exec.ReduceRead) (exec.Rows, error) {
	if read.Keys != nil && read.GroupLevel == 0 {
		return nil, &exec.ReadError{Kind: exec.Unsupported, Message: "a reduction of several keys needs groups"}
	}
	ix, err := d.index(ctx, read.Design, read.Update)
	if err != nil {
		return nil, readError(err)
	}
	q := layer.ReduceQuery{ViewQuery: viewQuery(read.View, read.Low, read.High, read.Keys, read.Descending), GroupLevel: read.GroupLevel}
	q.Limit = atMost(read.Limit, read.Skip)
	if err := d.partition(&q.ViewQuery, ix, read.Partition); err != nil {
		return nil, err
	}
	d.freshness(&q.ViewQuery, read.Update)
	open := func(ctx context.Context) (iter.Seq2[layer.ReduceRow, error], error) {
		result, err := begin(ctx, d, ix, read.Update, func() (*layer.ReduceResult, error) { return ix.Reduce(ctx, q) })
		if isEmptyRange(err) {
			return nothing[layer.ReduceRow], nil
		}
		if err != nil {
			return nil, err
		}
		return result.Rows, nil
	}
	return newStream(ctx, read.Skip, read.Limit, open, func(r layer.ReduceRow, row *exec.Row) (bool, error) {
		if r.Err != nil {
			return false, readError(r.Err)
		}
		row.Value = bytes.Clone(r.Value)
		if read.GroupLevel != 0 {
			row.Key = bytes.Clone(r.Key)
		}
		return true, nil
	})
}

// index opens an index, brought up to date as asked.
func (d *database) index(ctx context.Context, name string, mode exec.UpdateMode) (*layer.Index, error) {
	design, err := d.db.Design(ctx, designPrefix+name)
	if err != nil {
		return nil, err
	}
	ix := d.db.Index(design)
	return ix, d.ensure(ctx, ix, mode)()
}

// partition names the partition that a view is read in, where its design document is partitioned.
func (d *database) partition(q *layer.ViewQuery, ix *layer.Index, name string) error {
	if !ix.Design().Partitioned {
		return nil
	}
	if name == "" {
		return &exec.ReadError{Kind: exec.Unsupported, Message: "the view is partitioned: SET divan.partition = '...' names " +
			"the partition to read; options.partitioned = false in the design document makes a view of the whole database"}
	}
	q.Partition = name
	return nil
}

// ensure brings an index up to date. A snapshot's stays as it was.
func (d *database) ensure(ctx context.Context, ix *layer.Index, mode exec.UpdateMode) func() error {
	return func() error {
		if d.pin != nil {
			return nil
		}
		return d.source.Ensure(ctx, d.db, ix.Design(), mode)
	}
}

// freshness says which rows an answer may be of.
func (d *database) freshness(q *layer.ViewQuery, mode exec.UpdateMode) {
	if d.pin == nil {
		q.Fresh = mode == exec.UpdateTrue
	} else {
		q.Current = mode == exec.UpdateTrue && d.pin.exact
	}
}

// begin begins a query. Where a snapshot was taken before the index was up to date, it is brought up to date for the
// next one.
func begin[R any](ctx context.Context, d *database, ix *layer.Index, mode exec.UpdateMode,
	query func() (R, error)) (R, error) {
	if d.pin == nil {
		return layer.BeginEnsured(d.ensure(ctx, ix, mode), query)
	}
	result, err := query()
	var e *layer.Error
	if errors.As(err, &e) && e.Name == layer.IndexBehind {
		_ = d.source.Ensure(ctx, d.pin.live, ix.Design(), exec.UpdateLazy) // the error says what matters
		err = stale(strings.TrimPrefix(ix.Design().ID, designPrefix))
	}
	return result, err
}

// viewQuery turns a range whose ends do not depend on the direction, or keys in the order of the read, into the layer's.
func viewQuery(view string, low, high json.RawMessage, keys []json.RawMessage, descending bool) layer.ViewQuery {
	q := layer.ViewQuery{View: view, StartKey: low, EndKey: high, Descending: descending}
	if descending {
		q.StartKey, q.EndKey = high, low
	}
	if keys != nil {
		q.Keys = make([][]byte, len(keys))
		for i, key := range keys {
			q.Keys[i] = key
		}
		q.StartKey, q.EndKey, q.Descending = nil, nil, false
	}
	return q
}

// isEmptyRange tells a range from end to start, an error over HTTP and empty in SQL.
func isEmptyRange(err error) bool {
	var e *layer.Error
	return errors.As(err, &e) && e.Name == "query_parse_error"
}

func nothing[R any](func(R, error) bool) {}

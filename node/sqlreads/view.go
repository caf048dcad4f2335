package sqlreads

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var (
	_ exec.Reducer = (*database)(nil)
	_ exec.Counter = (*database)(nil)
)

// View implements exec.Database.
func (d *database) View(ctx context.Context, read exec.ViewRead) (exec.Rows, error) {
	ix, err := d.index(ctx, read.Design, read.Update)
	if err != nil {
		return nil, Error(err)
	}
	if whole(ix, read.Partition) {
		return newPartitions(d, read.Skip, read.Limit,
			func(ctx context.Context, name string, limit int64, first bool) (exec.Rows, error) {
				in := read
				in.Partition, in.Skip, in.Limit, in.Update = name, 0, limit, onceUpdated(read.Update, first)
				return d.View(ctx, in)
			}), nil
	}
	q := viewQuery(read.View, read.Low, read.High, read.Keys, read.Descending)
	for _, r := range read.Ranges {
		one := layer.KeyRange{StartKey: r.Low, EndKey: r.High}
		if read.Descending {
			one.StartKey, one.EndKey = r.High, r.Low
		}
		q.Ranges = append(q.Ranges, one)
	}
	q.Limit, q.IncludeDocs = atMost(read.Limit, read.Skip), read.WithDoc
	inPartition(&q, ix, read.Partition)
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
	var m memory
	return newStream(ctx, batchRows, read.Skip, read.Limit, open, func(r layer.ViewRow, row *exec.Row) (bool, error) {
		row.ID, row.Key, row.Value = r.ID, m.clone(r.Key), m.clone(r.Value)
		if read.WithDoc && r.Doc != nil {
			row.Doc, row.Rev = m.body(r.Doc), r.Doc.Rev.String()
		}
		return true, nil
	})
}

// Reduce implements exec.Reducer. The layer groups each of several keys separately, so a reduction of several keys to a
// single row is refused.
func (d *database) Reduce(ctx context.Context, read exec.ReduceRead) (exec.Rows, error) {
	if read.Keys != nil && read.GroupLevel == 0 {
		return nil, &exec.ReadError{Kind: exec.Unsupported, Message: "a reduction of several keys must be grouped"}
	}
	ix, err := d.index(ctx, read.Design, read.Update)
	if err != nil {
		return nil, Error(err)
	}
	if whole(ix, read.Partition) {
		return newPartitions(d, read.Skip, read.Limit,
			func(ctx context.Context, name string, limit int64, first bool) (exec.Rows, error) {
				in := read
				in.Partition, in.Skip, in.Limit, in.Update = name, 0, limit, onceUpdated(read.Update, first)
				return d.Reduce(ctx, in)
			}), nil
	}
	q := layer.ReduceQuery{ViewQuery: viewQuery(read.View, read.Low, read.High, read.Keys, read.Descending),
		GroupLevel: read.GroupLevel, Count: read.Count}
	q.Limit = atMost(read.Limit, read.Skip)
	for _, r := range read.Ranges {
		q.Ranges = append(q.Ranges, layer.KeyRange{StartKey: r.Low, EndKey: r.High})
	}
	inPartition(&q.ViewQuery, ix, read.Partition)
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
	var m memory
	return newStream(ctx, batchRows, read.Skip, read.Limit, open, func(r layer.ReduceRow, row *exec.Row) (bool, error) {
		if r.Err != nil {
			return false, Error(r.Err)
		}
		if read.Count {
			var err error
			if row.Count, err = strconv.ParseInt(string(r.Value), 10, 64); err != nil {
				return false, err
			}
		} else {
			row.Value = m.clone(r.Value)
		}
		if read.GroupLevel != 0 {
			row.Key = m.clone(r.Key)
		}
		return true, nil
	})
}

// index opens an index after bringing it up to date as asked.
func (d *database) index(ctx context.Context, name string, mode exec.UpdateMode) (*layer.Index, error) {
	design, err := d.db.Design(ctx, designPrefix+name)
	if err != nil {
		return nil, err
	}
	ix := d.db.Index(design)
	return ix, d.ensure(ctx, ix, mode)()
}

// whole reports whether a view is to be read in all partitions.
func whole(ix *layer.Index, partition string) bool { return ix.Design().Partitioned && partition == "" }

// inPartition sets the partition of a query if the design document is partitioned.
func inPartition(q *layer.ViewQuery, ix *layer.Index, name string) {
	if ix.Design().Partitioned {
		q.Partition = name
	}
}

// onceUpdated returns the mode for one of several reads of a view. Only the first brings it up to date.
func onceUpdated(mode exec.UpdateMode, first bool) exec.UpdateMode {
	if first {
		return mode
	}
	return exec.UpdateFalse
}

// ensure returns a function that brings an index up to date, but not that of a snapshot.
func (d *database) ensure(ctx context.Context, ix *layer.Index, mode exec.UpdateMode) func() error {
	return func() error {
		if d.pin != nil {
			return nil
		}
		return d.source.Ensure(ctx, d.db, ix.Design(), mode)
	}
}

// freshness sets how up to date the rows must be.
func (d *database) freshness(q *layer.ViewQuery, mode exec.UpdateMode) {
	if d.pin == nil {
		q.Fresh = mode == exec.UpdateTrue
	} else {
		q.Current = mode == exec.UpdateTrue && d.pin.exact
	}
}

// begin starts a query. If a snapshot was taken before the index was up to date, begin requests an update, so that the
// next snapshot finds it up to date, and returns an error.
func begin[R any](ctx context.Context, d *database, ix *layer.Index, mode exec.UpdateMode,
	query func() (R, error)) (R, error) {
	if d.pin == nil {
		return layer.BeginEnsured(d.ensure(ctx, ix, mode), query)
	}
	result, err := query()
	var e *layer.Error
	if errors.As(err, &e) && e.Name == layer.IndexBehind {
		_ = d.source.Ensure(ctx, d.pin.live, ix.Design(), exec.UpdateLazy) // the error below matters more
		err = stale(strings.TrimPrefix(ix.Design().ID, designPrefix))
	}
	return result, err
}

// viewQuery returns the layer's query for a range, whose ends do not depend on the direction, or for keys in the order
// of the read.
func viewQuery(view string, low, high json.RawMessage, keys []json.RawMessage, descending bool) layer.ViewQuery {
	q := layer.ViewQuery{View: view, StartKey: low, EndKey: high, Descending: descending, WithoutTotal: true}
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

// isEmptyRange reports whether err is about a range whose start is behind its end. HTTP returns that error; in SQL such
// a range is empty.
func isEmptyRange(err error) bool {
	var e *layer.Error
	return errors.As(err, &e) && e.Name == "query_parse_error"
}

func nothing[R any](func(R, error) bool) {}

package sqlreads

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// View implements exec.Database.
func (d *database) View(ctx context.Context, read exec.ViewRead) (exec.Rows, error) {
	design, err := d.db.Design(ctx, designPrefix+read.Design)
	if err != nil {
		return nil, readError(err)
	}
	if err := d.source.Ensure(ctx, d.db, design, read.Update); err != nil {
		return nil, readError(err)
	}
	q := layer.ViewQuery{
		View: read.View, StartKey: read.Low, EndKey: read.High, Descending: read.Descending,
		Limit: atMost(read.Limit, read.Skip), IncludeDocs: read.WithDoc,
	}
	if read.Descending {
		q.StartKey, q.EndKey = read.High, read.Low
	}
	if read.Keys != nil {
		q.Keys = make([][]byte, len(read.Keys))
		for i, key := range read.Keys {
			q.Keys[i] = key
		}
		q.StartKey, q.EndKey = nil, nil
		q.Descending = false // the keys come in the order of the read already
	}
	open := func(ctx context.Context) (iter.Seq2[layer.ViewRow, error], error) {
		result, err := d.db.Index(design).Query(ctx, q)
		var e *layer.Error
		if errors.As(err, &e) && e.Name == "query_parse_error" { // a range from end to start: an error over HTTP, empty in SQL
			return func(func(layer.ViewRow, error) bool) {}, nil
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

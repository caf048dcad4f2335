package sqlreads

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// leaf is a leaf of a document other than its winner.
type leaf struct {
	id      string
	rev     layer.Rev
	deleted bool
}

// Conflicts implements exec.Database. It leaves out deleted documents: if the winner is a tombstone, no conflict is
// visible.
func (d *database) Conflicts(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	ids := read
	ids.WithDoc, ids.Limit, ids.Skip = false, 0, 0
	rows, err := d.allDocs(ctx, ids, layer.Everything)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context) (iter.Seq2[exec.Row, error], error) {
		return func(yield func(exec.Row, error) bool) {
			defer rows.Close()
			for {
				var winner exec.Row
				err := rows.Next(ctx, &winner)
				if errors.Is(err, io.EOF) {
					return
				}
				var losers []exec.Row
				if err == nil {
					losers, err = d.losers(ctx, winner.ID, read)
				}
				if err != nil {
					yield(exec.Row{}, err)
					return
				}
				for _, row := range losers {
					if !yield(row, nil) {
						return
					}
				}
			}
		}, nil
	}
	return newStream(ctx, batchRows, read.Skip, read.Limit, open, func(r exec.Row, row *exec.Row) (bool, error) {
		*row = r
		return true, nil
	})
}

// losers returns the leaves of one document except the winner, by revision. It returns none if the document was deleted
// meanwhile.
func (d *database) losers(ctx context.Context, id string, read exec.DocsRead) ([]exec.Row, error) {
	doc, err := d.db.Get(ctx, id, layer.GetOptions{Conflicts: true, DeletedConflicts: true})
	if is(err, layer.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var leaves []leaf
	for _, rev := range doc.Conflicts {
		leaves = append(leaves, leaf{id, rev, false})
	}
	for _, rev := range doc.DeletedConflicts {
		leaves = append(leaves, leaf{id, rev, true})
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		order := cmp.Or(cmp.Compare(a.rev.Pos, b.rev.Pos), cmp.Compare(a.rev.ID, b.rev.ID))
		if read.Descending {
			return -order
		}
		return order
	})
	rows := make([]exec.Row, 0, len(leaves))
	for _, l := range leaves {
		row := exec.Row{ID: id, Rev: l.rev.String(), Deleted: l.deleted}
		if read.WithDoc {
			doc, err := d.db.Get(ctx, id, layer.GetOptions{Rev: l.rev})
			if is(err, layer.NotFound) { // resolved meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			row.Doc = body(doc)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

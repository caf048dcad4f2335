package sqlreads

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// leaf is a leaf of a document other than its winner.
type leaf struct {
	rev     layer.Rev
	deleted bool
}

// Conflicts implements exec.Database. It leaves out deleted documents: if the winner is a tombstone, no conflict is
// visible.
func (d *database) Conflicts(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	o := layer.AllDocsOptions{Keys: read.IDs, Descending: read.Descending && read.IDs == nil, Limit: -1,
		RowConflicts: true}
	if read.IDs == nil {
		idRange(&o, read)
	}
	open := func(ctx context.Context) (iter.Seq2[exec.Row, error], error) {
		winners, err := d.db.AllDocs(ctx, o)
		if err != nil {
			return nil, err
		}
		return func(yield func(exec.Row, error) bool) {
			for winner, err := range winners.Rows {
				switch {
				case is(winner.Err, layer.NotFound), winner.Deleted, read.High != "" && winner.ID >= read.High:
					continue
				case err == nil:
					err = winner.Err
				}
				var losers []exec.Row
				if err == nil {
					losers, err = d.losers(ctx, &winner, read)
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

// losers returns the leaves of one document except the winner, by revision.
func (d *database) losers(ctx context.Context, winner *layer.AllDocsRow, read exec.DocsRead) ([]exec.Row, error) {
	id := winner.ID
	leaves := make([]leaf, 0, len(winner.Conflicts)+len(winner.DeletedConflicts))
	for _, rev := range winner.Conflicts {
		leaves = append(leaves, leaf{rev, false})
	}
	for _, rev := range winner.DeletedConflicts {
		leaves = append(leaves, leaf{rev, true})
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

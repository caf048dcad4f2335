package sqlreads

import (
	"context"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var _ exec.Indexer = (*database)(nil)

// smallLag is the number of changes that a statement waits for before it uses an index that it does not name.
const smallLag = 1000

// IndexState implements exec.Indexer.
func (d *database) IndexState(ctx context.Context, name, view string, want exec.IndexCounts) (exec.IndexState, error) {
	design, err := d.db.Design(ctx, designPrefix+name)
	if err != nil {
		return exec.IndexState{}, Error(err)
	}
	at, err := d.db.Index(design).StateForView(ctx, view, layer.ViewCounts(want))
	if err != nil || len(at.Views) == 0 {
		return exec.IndexState{}, Error(err)
	}
	v := at.Views[0]
	out := exec.IndexState{Usable: at.Current(), Skipped: v.Errors, Rows: v.Rows,
		Unambiguous: v.Strings.Unambiguous, Letters: v.Strings.Parts, NoControls: v.Strings.NoControls}
	if want.Rows {
		info, err := d.db.Info(ctx)
		if err != nil {
			return exec.IndexState{}, Error(err)
		}
		out.Docs = info.DocCount
	}
	if out.Usable || d.pin != nil {
		return out, nil
	}
	if !at.Seq.IsZero() && at.Creation.IsZero() {
		lag, err := behind(ctx, d.db, layer.ChangesOptions{Since: at.Seq})
		if err != nil {
			return out, Error(err)
		}
		out.Usable = lag <= smallLag
	}
	if !out.Usable {
		// The statement does without it; a later one may find it.
		_ = d.source.Ensure(ctx, d.db, design, exec.UpdateLazy)
	}
	return out, nil
}

package sqlreads

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// snapshotAttempts is how often the views of a snapshot are brought up to date again because writes came in between.
const snapshotAttempts = 30

// optionalAttempts is the same for views that the statement can do without.
const optionalAttempts = 3

// snapshot is a database as of one moment.
type snapshot struct {
	*database
	release func()
}

// pin marks a database that belongs to a snapshot.
type pin struct {
	live  *layer.Database // the current database, for which indexes are built
	exact bool
}

func (s snapshot) Close() { s.release() }

// Snapshot implements exec.Snapshotter.
func (d *database) Snapshot(ctx context.Context, views []exec.ViewUse, exact bool) (exec.Snapshot, error) {
	for attempt := 1; ; attempt++ {
		for _, v := range views {
			if v.Update != exec.UpdateTrue {
				continue
			}
			if _, err := d.index(ctx, v.Design, v.Update); err != nil && (!v.Optional || ctx.Err() != nil) {
				return nil, Error(err)
			}
		}
		store, release, err := d.source.Store.Pin(ctx, layer.PinOptions{Moves: !exact})
		if err != nil {
			return nil, Error(err)
		}
		s := snapshot{&database{source: d.source, catalog: d.catalog, name: d.name,
			pin: &pin{live: d.db, exact: exact}}, release}
		behind := ""
		if s.db, err = store.Database(ctx, d.name); err == nil {
			behind, err = s.behind(ctx, views, attempt < optionalAttempts)
		}
		switch {
		case err != nil:
			release()
			return nil, Error(err)
		case behind == "" || !exact && attempt == snapshotAttempts:
			return s, nil
		}
		release()
		if attempt == snapshotAttempts {
			return nil, stale(behind)
		}
	}
}

// behind returns a design document whose index was not up to date when the snapshot was taken, or "". Indexes that the
// statement can do without count only if optional is set.
func (s snapshot) behind(ctx context.Context, views []exec.ViewUse, optional bool) (string, error) {
	for _, v := range views {
		if v.Update != exec.UpdateTrue || v.Optional && !optional {
			continue
		}
		design, err := s.db.Design(ctx, designPrefix+v.Design)
		if err != nil {
			return "", err
		}
		at, err := s.db.Index(design).BriefState(ctx)
		if err != nil || !at.Current() {
			return v.Design, err
		}
	}
	return "", nil
}

func stale(design string) error {
	return &exec.ReadError{Kind: exec.Stale, Message: fmt.Sprintf(
		"the views of %q were not up to date when the transaction's snapshot was taken; try the transaction again",
		design)}
}

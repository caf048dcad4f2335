package globalchanges

import (
	"bytes"
	"context"
	"strings"

	"github.com/divandb/divan/layer"
)

// compare finds events that were not recorded: databases whose newest change is newer than their entry, and entries of
// databases that are gone without one that says so. It costs a few reads for each database.
func (r *Recorder) compare(ctx context.Context, store *layer.Store) error {
	db, err := store.Database(ctx, layer.GlobalChangesDatabase)
	if err != nil {
		if layer.KindOf(err) == layer.NotFound {
			return nil
		}
		return err
	}
	there := map[string]bool{}
	for name, err := range store.Names(ctx, layer.NamesOptions{Limit: -1}) {
		if err != nil {
			return err
		}
		there[name] = true
		if name == layer.GlobalChangesDatabase {
			continue
		}
		missed, err := missedUpdate(ctx, store, db, name)
		switch {
		case err != nil && !layer.Local(err) && layer.KindOf(err) != layer.NotFound:
			return err
		case err == nil && missed:
			r.Happened(layer.DatabaseUpdated, name)
		}
	}
	return r.compareDeleted(ctx, db, there)
}

// missedUpdate reports whether a database has a change that is newer than its entry.
func missedUpdate(ctx context.Context, store *layer.Store, entries *layer.Database, name string) (bool, error) {
	d, err := store.Database(ctx, name)
	if err != nil {
		return false, err
	}
	info, err := d.Info(ctx)
	if err != nil || info.DocCount+info.DocDelCount == 0 {
		return false, err
	}
	entry, err := entries.Get(ctx, Event{layer.DatabaseUpdated, name}.id(), layer.GetOptions{LocalSeq: true})
	if err != nil {
		if layer.KindOf(err) == layer.NotFound {
			return true, nil
		}
		return false, err
	}
	return bytes.Compare(version(info.UpdateSeq), version(entry.LocalSeq)) > 0, nil
}

// version returns the part of a sequence by which those of different databases can be compared: the store's version of
// its commit.
func version(seq layer.Seq) []byte { return seq.Stamp[:8] }

// compareDeleted finds databases that have entries but are gone.
func (r *Recorder) compareDeleted(ctx context.Context, db *layer.Database, there map[string]bool) error {
	pass, err := db.Changes(ctx, layer.ChangesOptions{Limit: -1})
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for change, err := range pass.Rows {
		if err != nil {
			return err
		}
		what, name, ok := strings.Cut(change.ID, ":")
		if !ok || there[name] || change.Deleted {
			continue
		}
		switch layer.DatabaseEvent(what) {
		case layer.DatabaseDeleted:
			delete(gone, name)
		case layer.DatabaseCreated, layer.DatabaseUpdated:
			gone[name] = true
		}
	}
	for name := range gone {
		r.Happened(layer.DatabaseDeleted, name)
	}
	return nil
}

package sqlreads

import (
	"context"
	"iter"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

// Changes implements exec.Database.
func (d *database) Changes(ctx context.Context, read exec.ChangesRead) (exec.Rows, error) {
	since, err := sequence(read.Since)
	if err != nil {
		return nil, Error(err)
	}
	o := layer.ChangesOptions{
		Since: since, Shard: layer.ShardID(read.Shard), Descending: read.Descending, Limit: atMost(read.Limit, 0),
		IncludeDocs: read.WithDoc,
	}
	open := func(ctx context.Context) (iter.Seq2[layer.Change, error], error) { return d.present(ctx, o) }
	if read.Follow && d.pin != nil {
		return nil, &exec.ReadError{Kind: exec.Unsupported,
			Message: "an endless feed cannot be read in a snapshot: use READ COMMITTED, or changes"}
	}
	most := batchRows
	if read.Follow {
		o.Limit, most = -1, 1
		open = func(ctx context.Context) (iter.Seq2[layer.Change, error], error) { return d.follow(ctx, o), nil }
	}
	var m memory
	return newStream(ctx, most, 0, read.Limit, open, func(r layer.Change, row *exec.Row) (bool, error) {
		row.Seq, row.Shard, row.ID, row.Deleted = r.Seq.String(), string(r.Shard), r.ID, r.Deleted
		if read.WithRev {
			row.Rev = r.Rev.String()
		}
		if read.WithDoc {
			row.Doc = m.body(r.Doc)
		}
		return true, nil
	})
}

func sequence(text string) (layer.Seq, error) {
	if text == "" {
		return layer.Seq{}, nil
	}
	return layer.ParseSeq(text)
}

// present returns the feed up to now. A shard that never existed has no rows.
func (d *database) present(ctx context.Context, o layer.ChangesOptions) (iter.Seq2[layer.Change, error], error) {
	pass, err := d.db.Changes(ctx, o)
	if o.Shard != "" && is(err, layer.NotFound) {
		if _, gone := d.db.LastSeq(ctx); gone != nil {
			return nil, gone // the database does not exist
		}
		return func(func(layer.Change, error) bool) {}, nil
	}
	if err != nil {
		return nil, err
	}
	return pass.Rows, nil
}

// follow returns the endless feed, which only ends if it is for one shard and that shard is replaced. It subscribes
// before it reads, so that it misses no commit in between.
func (d *database) follow(ctx context.Context, o layer.ChangesOptions) iter.Seq2[layer.Change, error] {
	return func(yield func(layer.Change, error) bool) {
		var (
			shards []layer.ShardID
			woken  <-chan struct{}
			cancel = func() {}
			idle   bool // ErrIdle has been yielded since the last row
		)
		defer func() { cancel() }()
		for {
			now, err := d.shards(ctx, o)
			if err != nil {
				yield(layer.Change{}, err)
				return
			}
			if !slices.Equal(now, shards) {
				cancel()
				woken, cancel = d.source.Listen(d.db, now...)
				shards = now
			}
			pass, err := d.db.Changes(ctx, o)
			if err != nil {
				yield(layer.Change{}, err)
				return
			}
			for change, err := range pass.Rows {
				idle = false
				if !yield(change, err) || err != nil {
					return
				}
			}
			o.Since = pass.LastSeq()
			if o.Shard != "" && pass.Resharded() != nil {
				return
			}
			// Only once per wait: a wake-up without rows is not reported again.
			if !idle && !yield(layer.Change{}, exec.ErrIdle) {
				return
			}
			idle = true
			select {
			case <-woken:
			case <-ctx.Done():
				yield(layer.Change{}, ctx.Err())
				return
			}
			// The user may have lost the permission to read during the wait.
			if err := d.catalog.again(ctx, d.name); err != nil {
				yield(layer.Change{}, err)
				return
			}
		}
	}
}

// shards returns the shards to subscribe to.
func (d *database) shards(ctx context.Context, o layer.ChangesOptions) ([]layer.ShardID, error) {
	if o.Shard != "" {
		return []layer.ShardID{o.Shard}, nil
	}
	maps, err := d.db.ShardMaps(ctx, o.Since)
	if err != nil || len(maps) == 0 {
		return nil, err
	}
	return maps[len(maps)-1].Shards, nil
}

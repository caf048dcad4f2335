package sqlreads

import (
	"context"

	"github.com/divandb/divan/layer"
)

// lagCounted bounds how many changes are counted to find a lag: what lies further behind is shown as this many.
const lagCounted = 10_000

// Index is one design document's index, for divan.indexes and the dashboard.
type Index struct {
	Design *layer.Design
	State  layer.IndexState
	// Lag is how many changes are not in it yet, up to lagCounted.
	Lag int64
}

// Shard is one shard of the current map.
type Shard struct {
	ID    layer.ShardID
	Since layer.Seq
	// Lag is how many changes of the shard are not in every index yet, up to lagCounted in all.
	Lag int64
}

// Standing reads where a database's indexes and current shards stand. Where all indexes are up to date it costs a few reads each; where one is behind, also
// a bounded pass over the changes since.
func Standing(ctx context.Context, db *layer.Database) (indexes []Index, shards []Shard, err error) {
	maps, err := db.ShardMaps(ctx, layer.Seq{})
	if err != nil {
		return nil, nil, err
	}
	if len(maps) > 0 {
		now := maps[len(maps)-1]
		for _, id := range now.Shards {
			shards = append(shards, Shard{ID: id, Since: now.Since})
		}
	}
	designs, err := db.Designs(ctx)
	if err != nil {
		return nil, nil, err
	}
	var oldest *layer.Seq
	for _, d := range designs {
		if len(d.Views) == 0 {
			continue
		}
		state, err := db.Index(d).State(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !state.Current() && (oldest == nil || state.Seq.Compare(*oldest) < 0) {
			oldest = &state.Seq
		}
		indexes = append(indexes, Index{Design: d, State: state})
	}
	if oldest != nil {
		err = count(ctx, db, *oldest, indexes, shards)
	}
	return indexes, shards, err
}

// count adds up the lags by one pass from the sequence of the index that is furthest behind.
func count(ctx context.Context, db *layer.Database, from layer.Seq, indexes []Index, shards []Shard) error {
	pass, err := db.Changes(ctx, layer.ChangesOptions{Since: from, Limit: lagCounted})
	if err != nil {
		return err
	}
	for change, err := range pass.Rows {
		if err != nil {
			return err
		}
		for i := range indexes {
			if change.Seq.Compare(indexes[i].State.Seq) > 0 {
				indexes[i].Lag++
			}
		}
		for i := range shards {
			if shards[i].ID == change.Shard {
				shards[i].Lag++
			}
		}
	}
	return nil
}

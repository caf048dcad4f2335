package sqlreads

import (
	"context"

	"github.com/divandb/divan/layer"
)

// Index is one design document's index, for divan.indexes and the dashboard.
type Index struct {
	Design *layer.Design
	State  layer.IndexState
	// Lag is how many changes the index has not processed.
	Lag int64
}

// Shard is one shard of the current map.
type Shard struct {
	ID    layer.ShardID
	Since layer.Seq
	// Lag is how many changes of the shard are not yet in every index.
	Lag int64
}

// Lags reads how far a database's indexes and current shards are. It costs a few reads per index, and a few more
// for each that is behind, however far.
func Lags(ctx context.Context, db *layer.Database) (indexes []Index, shards []Shard, err error) {
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

// count sets the lags. oldest is the position of the index that is furthest behind.
func count(ctx context.Context, db *layer.Database, oldest layer.Seq, indexes []Index, shards []Shard) (err error) {
	known := map[layer.Seq]int64{} // indexes built together have the same sequence
	for i := range indexes {
		ix := &indexes[i]
		if ix.State.Current() {
			continue
		}
		lag, ok := known[ix.State.Seq]
		if !ok {
			if lag, err = behind(ctx, db, layer.ChangesOptions{Since: ix.State.Seq}); err != nil {
				return err
			}
			known[ix.State.Seq] = lag
		}
		ix.Lag = lag
	}
	for i := range shards {
		shards[i].Lag, err = behind(ctx, db, layer.ChangesOptions{Since: oldest, Shard: shards[i].ID})
		if err != nil {
			return err
		}
	}
	return nil
}

// behind returns how many changes a read with these options would find. The store adds up its counts and reads only a
// few blocks and what it has not counted yet, so the cost does not grow with the lag.
func behind(ctx context.Context, db *layer.Database, o layer.ChangesOptions) (int64, error) {
	pass, err := db.Changes(ctx, o) // the limit is 0, so it yields no rows
	if err != nil {
		return 0, err
	}
	for _, err := range pass.Rows {
		if err != nil {
			return 0, err
		}
	}
	return pass.Pending(ctx)
}

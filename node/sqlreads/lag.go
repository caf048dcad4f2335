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

// Indexes reads how far a database's indexes are. It costs a few reads per index, and a few more for those that are
// behind, however far.
func Indexes(ctx context.Context, db *layer.Database) (indexes []Index, err error) {
	list, err := db.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	known := map[layer.Seq]int64{} // indexes built together have the same sequence
	for _, ix := range list {
		state, err := ix.State(ctx)
		if err != nil {
			return nil, err
		}
		lag, ok := known[state.Seq]
		if !ok && !state.Current() {
			if lag, err = behind(ctx, db, layer.ChangesOptions{Since: state.Seq}); err != nil {
				return nil, err
			}
			known[state.Seq] = lag
		}
		if state.Current() {
			lag = 0
		}
		indexes = append(indexes, Index{Design: ix.Design(), State: state, Lag: lag})
	}
	return indexes, nil
}

// ShardsOf returns how far the shards of a database's current map are. It costs a few reads per index, and if one is
// behind, a few more for each shard.
func ShardsOf(ctx context.Context, db *layer.Database, now *layer.ShardMap) (shards []Shard, err error) {
	oldest, err := oldestIndex(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, id := range now.Shards {
		s := Shard{ID: id, Since: now.Since}
		if oldest != nil {
			if s.Lag, err = behind(ctx, db, layer.ChangesOptions{Since: *oldest, Shard: id}); err != nil {
				return nil, err
			}
		}
		shards = append(shards, s)
	}
	return shards, nil
}

// oldestIndex returns the position of the index that is furthest behind; nil if none is.
func oldestIndex(ctx context.Context, db *layer.Database) (oldest *layer.Seq, err error) {
	list, err := db.Indexes(ctx)
	if err != nil {
		return nil, err
	}
	for _, ix := range list {
		state, err := ix.BriefState(ctx)
		if err != nil {
			return nil, err
		}
		if !state.Current() && (oldest == nil || state.Seq.Compare(*oldest) < 0) {
			oldest = &state.Seq
		}
	}
	return oldest, nil
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

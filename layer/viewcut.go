package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// errNoCut says that a build needs a cut of the feed (cuts.go), and there is none.
var errNoCut = errf(Conflict, "job_lost", "the feed is not kept as of where the index build goes")

// cut has the feed cut for the build.
func (b *Build) cut(ctx context.Context) error {
	_, _, err := transact(ctx, b.Index.db, func(t *txn) (struct{}, error) {
		old, err := parseStatus(t.Get(b.keys.infoKey(keyspace.ViewStatus)))
		if err != nil {
			return struct{}{}, err
		}
		if old != nil && old.token > b.Token {
			return struct{}{}, errf(Conflict, "job_lost", "a newer build of the index is under way")
		}
		t.cutFeed(b.keys.signature)
		return struct{}{}, nil
	})
	return err
}

// checkCut refuses to go on without the cut that the build began with: it ends with the build, or where no job has the
// build any more.
func (b *Build) checkCut(cfg *config) error {
	if at, _ := cfg.cutOf(b.keys.signature); !b.cutAt.IsZero() && at != b.cutAt {
		return errNoCut
	}
	return nil
}

// unindexed are the entries of whose documents an index has nothing.
func unindexed(r kv.Reader, k *indexKeys, entries []entry) ([]entry, error) {
	views := len(k.design.Views)
	reads := make([]kv.Future[[]byte], 0, len(entries)*views)
	for i := range entries {
		for v := range views {
			reads = append(reads, r.Get(k.idKey(entries[i].id, v)))
		}
	}
	left := entries[:0]
	for i := range entries {
		there := false
		for v := range views {
			value, err := reads[i*views+v].Wait()
			if err != nil {
				return nil, err
			}
			there = there || value != nil
		}
		if !there {
			left = append(left, entries[i])
		}
	}
	return left, nil
}

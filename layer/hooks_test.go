package layer

import (
	"context"
	"math"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
)

// CountMoved counts the copies of entries that are kept for builds, and the parts of their conflicts.
func CountMoved(ctx context.Context, d *Database) (int, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (int, error) {
		return aggregate.CountRows(t.Snapshot(), db.PrefixRange(t.Keys.Sub(nil, keyspace.Moved)), math.MaxInt32)
	})
}

// CacheTreesFrom caches the trees of documents with at least that many branches, until the returned function is called.
func CacheTreesFrom(branches int) (restore func()) {
	old := rev.CachedBranches
	rev.CachedBranches = branches
	return func() { rev.CachedBranches = old }
}

// TreesOf builds full trees of histories up to that many bytes, and partial trees for the edits above that.
func TreesOf(bytes int) (restore func()) {
	old := rev.MaxTreeBytes
	rev.MaxTreeBytes = bytes
	return func() { rev.MaxTreeBytes = old }
}

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

// CacheTreesFrom keeps the trees of documents with so many branches, until the function that it returns is called.
func CacheTreesFrom(branches int) (restore func()) {
	old := rev.CachedBranches
	rev.CachedBranches = branches
	return func() { rev.CachedBranches = old }
}

// TreesOf makes trees of histories of up to so many bytes, and of what edits have to do with where there are more.
func TreesOf(bytes int) (restore func()) {
	old := rev.MaxTreeBytes
	rev.MaxTreeBytes = bytes
	return func() { rev.MaxTreeBytes = old }
}

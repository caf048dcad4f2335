package layer

import (
	"context"
	"math"

	"github.com/divandb/divan/layer/keyspace"
)

// CountMoved counts the copies of entries that are kept for builds, and the parts of their conflicts.
func CountMoved(ctx context.Context, d *Database) (int, error) {
	return read(ctx, d, func(t *txn) (int, error) {
		return countRows(t.Snapshot(), prefixRange(t.keys.sub(nil, keyspace.Moved)), math.MaxInt32)
	})
}

// CacheTreesFrom keeps the trees of documents with so many branches, until the function that it returns is called.
func CacheTreesFrom(branches int) (restore func()) {
	old := cachedBranches
	cachedBranches = branches
	return func() { cachedBranches = old }
}

// TreesOf makes trees of histories of up to so many bytes, and of what edits have to do with where there are more.
func TreesOf(bytes int) (restore func()) {
	old := maxTreeBytes
	maxTreeBytes = bytes
	return func() { maxTreeBytes = old }
}

// Package room measures free disk space, keeps a reserve, and admits commits, delays them or refuses them. Package
// compact does the compaction that frees space.
package room

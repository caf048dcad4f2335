// Package upkeep has the actors for the store's upkeep jobs: compaction of databases, and removal of indexes that no
// design document has (clause V8). Each has its own turns and metrics. Upkeep within a single Store belongs to the
// layer.
package upkeep

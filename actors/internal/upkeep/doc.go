// Package upkeep has the actors that take the store's jobs of upkeep: compaction of databases, and the removal of
// indexes that no design document has (clause V8). Each has its own turns, and metrics. What a single Store looks after
// by itself is the layer's business.
package upkeep

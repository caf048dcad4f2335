// Package indexing builds indexes and keeps them up to date (clauses V3, V9 and P8). Ensure is a request that waits for
// an index. An indexer is the actor of a job that builds an index shard by shard, together with other nodes if it is
// large. A warm actor follows the changes of a database. Rows are written by the layer.
package indexing

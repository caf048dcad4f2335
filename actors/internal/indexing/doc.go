// Package indexing builds indexes and keeps them up to date (clauses V3, V9 and P8): Ensure is a request that waits for
// one, an indexer is the actor of a job that builds one, shard by shard and with other nodes where it is large, and a
// warm actor follows the changes of a database. Rows are the layer's business.
package indexing

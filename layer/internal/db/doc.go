// Package db is what every room of the layer stands on: the store and its databases, their configuration, transactions
// and how they are tried again and divided, keys, sequences and shards, counters. It knows nothing of documents.
//
// docs/design/resharding.md explains maps of shards, and the stamp that every transaction conflicts with.
package db

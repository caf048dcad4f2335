// Package db is the base of all packages below layer/internal: the store and its databases, their configuration,
// transactions with retries and division of work, keys, sequences, shards and counters. It knows nothing about
// documents.
//
// docs/design/resharding.md explains shard maps, and the stamp that every transaction conflicts with.
package db

// Package db is what every room of the layer stands on: the store and its databases, their configuration, transactions
// and how they are tried again and divided, keys, sequences and shards, counters.
package db

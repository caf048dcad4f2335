// Package txn implements kv.Transaction and kv.Snapshot: when a call is legal, which version is read, and what
// conflicts with what. How rows are read is in package versions, and how a commit gets to the disk in package commit.
package txn

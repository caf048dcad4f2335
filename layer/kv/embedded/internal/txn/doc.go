// Package txn implements kv.Transaction and kv.Snapshot: which calls are legal, which version is read, and what
// conflicts with what. Package versions reads the rows, and package commit writes to disk.
package txn

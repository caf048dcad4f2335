// Package commit writes transactions to disk. The sequencer orders commits, checks their reads and applies them; the
// syncer waits for the disk, publishes the version and answers. Package txn builds the requests, and package conflict
// finds conflicts.
//
// A transaction becomes a request. The requests that arrive while a group syncs form the next group. A group has one
// version and one sync.
package commit

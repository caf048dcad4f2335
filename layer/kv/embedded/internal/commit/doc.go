// Package commit is the way of writes to the disk: the sequencer puts commits in order, checks their reads and applies
// them, and the syncer waits for the disk, makes the version readable and answers. What transactions ask for is
// gathered in package txn, and conflicts are found in package conflict.
//
// A transaction becomes a request, requests that come while others sync become a group, and a group has one version and
// one sync.
package commit

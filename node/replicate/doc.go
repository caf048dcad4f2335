// Package replicate keeps the replications of a server. Each is a job in the store's queue, so that any node can run
// it, and another goes on from its checkpoint if that node dies. The package reads what asks for a replication, opens
// both ends, runs package transfer, and writes what became of it: to the job's record, and at the end to the document.
//
// A job's record has all that is shown of it (record.go), so that every node shows the same.
package replicate

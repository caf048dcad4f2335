// Package globalchanges keeps the database _global_changes, which /_db_updates reads: a document for each thing that
// can happen to a database as a whole, "created:NAME", "updated:NAME" and "deleted:NAME", written anew whenever it does
// happen. As in CouchDB, this is only done if the database exists.
//
// Each node records what its own commits do, at most twice a second, so that many writes to a database are one entry.
// What a node could not record before it was killed is found by comparing the databases with the entries, which a
// Recorder does when it starts and when it is asked to.
package globalchanges

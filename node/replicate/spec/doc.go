// Package spec reads what asks for a replication: a document of a _replicator database, or the body of POST
// /_replicate. It checks it as CouchDB 3.5 does, and computes the replication's id. It does no I/O.
package spec

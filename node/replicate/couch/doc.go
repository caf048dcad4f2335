// Package couch is a client of CouchDB's replication protocol: one end of a replication, over HTTP. It retries what may
// be retried, never waits for a silent server longer than the connection timeout, reads lists as streams, and has no
// passwords in its errors.
package couch

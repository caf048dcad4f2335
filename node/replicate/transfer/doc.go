// Package transfer is one run of a replication: it reads the changes of a source, writes to a target what that does not
// have, and records checkpoints at both that CouchDB's replicator understands. It knows the ends only as interfaces.
package transfer

package jobs

import (
	"encoding/json"
	"net/url"
	"strings"
)

// ReplicationJobs is the type of jobs that replicate databases. A write to a _replicator database enqueues the job of
// its document, in the same transaction.
const ReplicationJobs = "replication"

// ReplicationJob is the data of a job that replicates.
type ReplicationJob struct {
	// Database and Document are the document that describes the replication. Both are empty if Request does, the body
	// of POST /_replicate.
	Database string `json:"database,omitempty"`
	Document string `json:"document,omitempty"`
	// Rev is the document's revision when the job was enqueued last, if a write did that.
	Rev     string          `json:"rev,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	// User and Roles are those of whoever sent Request.
	User  string   `json:"user,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// Encode returns the job's data.
func (j ReplicationJob) Encode() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // cannot happen: Request is JSON
	}
	return b
}

// ReplicationJobID returns the id of the job of a document. With an empty name of a database, document is the id of a
// replication without a document. The jobs of a database are sorted by the ids of their documents.
func ReplicationJobID(database, document string) string {
	return url.PathEscape(database) + "/" + document
}

// IsReplicator reports whether the documents of a database describe replications.
func IsReplicator(database string) bool {
	return database == "_replicator" || strings.HasSuffix(database, "/_replicator")
}

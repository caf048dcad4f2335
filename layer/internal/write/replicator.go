package write

import (
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/jsontext"
)

// replicate enqueues the job of a document that describes a replication. Documents whose replication has ended have
// none; a deleted one has a job that ends the replication.
func (m *move) replicate() error {
	name := m.t.Db.Name()
	if !jobs.IsReplicator(name) {
		return nil
	}
	if !m.winner.Deleted {
		body, err := m.winnerBody()
		if err != nil {
			return err
		}
		values, err := jsontext.ExactMembers(body, "_replication_state")
		if err != nil {
			return err
		}
		switch string(values[0]) {
		case `"completed"`, `"failed"`:
			return nil
		}
	}
	data := jobs.ReplicationJob{Database: name, Document: m.id, Rev: m.winner.Rev.String()}.Encode()
	return jobs.Enqueue(m.t.Db.Store, m.t, jobs.ReplicationJobs, jobs.ReplicationJobID(name, m.id), data, 0)
}

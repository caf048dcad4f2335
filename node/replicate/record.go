package replicate

import (
	"encoding/json"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/spec"
	"github.com/divandb/divan/node/replicate/transfer"
)

// record is what is known about a replication: the progress of its job. It has no passwords.
type record struct {
	ID          string    `json:"id,omitempty"`  // of the replication; "" if it is not known yet
	DocRev      string    `json:"rev,omitempty"` // of the document that the rest is about
	Source      string    `json:"source"`
	Target      string    `json:"target"`
	SourceProxy string    `json:"source_proxy,omitempty"`
	TargetProxy string    `json:"target_proxy,omitempty"`
	Continuous  bool      `json:"continuous,omitempty"`
	Began       time.Time `json:"began"`
	Changed     time.Time `json:"changed"` // when its state changed last
	History     []event   `json:"history"` // newest first
	Errors      int       `json:"errors,omitempty"`
	// Broken is why there is no replication id, for the state "error".
	Broken string `json:"broken,omitempty"`
	Node   string `json:"node,omitempty"` // that ran it last

	Stats      *transfer.Stats `json:"stats,omitempty"`
	Pending    *int64          `json:"pending,omitempty"`
	SourceSeq  json.RawMessage `json:"source_seq,omitempty"`
	ThroughSeq json.RawMessage `json:"through_seq,omitempty"`
	Recorded   json.RawMessage `json:"recorded_seq,omitempty"`
	Interval   int64           `json:"checkpoint_interval,omitempty"` // milliseconds
	Updated    time.Time       `json:"updated,omitzero"`              // when the figures above were taken
	// Trouble is the error of a request of the run that has failed and is repeated.
	Trouble string `json:"trouble,omitempty"`

	// Result is the answer to a POST /_replicate that has ended, or Fault its error.
	Result json.RawMessage `json:"result,omitempty"`
	Fault  *Fault          `json:"fault,omitempty"`
}

// Fault is the error that POST /_replicate answers.
type Fault struct {
	Status int    `json:"status"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (f *Fault) Error() string { return f.Name + ": " + f.Reason }

// event is an entry of a history.
type event struct {
	Type   string    `json:"type"` // added, started, stopped or crashed
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // of a crash
}

func parseRecord(progress []byte) *record {
	r := &record{}
	if json.Unmarshal(progress, r) != nil { // there is none, or it has another format
		return &record{}
	}
	return r
}

func (r *record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		return []byte("{}") // cannot happen: its raw messages are JSON
	}
	return b
}

// waitsAfter returns the failure after which the replication waits to be tried again, or nil if it does not.
func (r *record) waitsAfter() *event {
	if len(r.History) > 0 && r.History[0].Type == "crashed" {
		return &r.History[0]
	}
	return nil
}

// happened adds to the history.
func (r *record) happened(typ, reason string, most int) {
	now := time.Now().UTC()
	r.Changed = now
	r.History = append([]event{{typ, now, reason}}, r.History...)
	r.History = r.History[:min(len(r.History), max(most, 1))]
}

// describe notes what a specification says.
func (r *record) describe(s *spec.Spec) {
	r.Source, r.Target = s.Source.Shown(), s.Target.Shown()
	r.SourceProxy, r.TargetProxy = s.Source.ShownProxy(), s.Target.ShownProxy()
	r.Continuous = s.Continuous
}

// figures notes how far a run is.
func (r *record) figures(s transfer.Status, pending *int64) {
	r.Trouble = s.Trouble
	if r.Stats == nil && s.Stats == (transfer.Stats{}) && s.ThroughSeq == nil {
		return // nothing has happened yet
	}
	r.Stats = &s.Stats
	r.Pending = pending
	r.SourceSeq, r.ThroughSeq, r.Recorded = s.SourceSeq, s.ThroughSeq, s.Checkpointed
	r.Interval = s.CheckpointInterval.Milliseconds()
	r.Updated = time.Now().UTC()
}

// The states of replications.
const (
	Initializing = "initializing" // not looked at yet
	Broken       = "error"        // could not be made a replication, and will be tried again
	Running      = "running"
	Pending      = "pending"  // waits for its turn
	Crashing     = "crashing" // has failed and waits for another attempt
	Completed    = "completed"
	FailedState  = "failed" // will not be tried again
)

// States are all of them, in CouchDB's order.
var States = []string{Initializing, Broken, Running, Pending, Crashing, Completed, FailedState}

// state returns the state of a job.
func (r *record) state(j *layer.Job) string {
	last := ""
	if len(r.History) > 0 {
		last = r.History[0].Type
	}
	switch {
	case r.Broken != "":
		return Broken
	case r.ID == "":
		return Initializing
	case j.State == layer.JobRunning && last == "started":
		return Running
	case last == "crashed":
		return Crashing
	}
	return Pending
}

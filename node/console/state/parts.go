package state

import "time"

// Storage is what a node says about its store. What is not known is absent.
type Storage struct {
	Node   string `json:"node"`
	Engine string `json:"engine"`
	// Error is why the store does not answer the node, or empty.
	Error string `json:"error,omitempty"`
	// Free and Size are the bytes left on the disk of the node's own store, and those that its files have.
	Free *int64 `json:"free,omitempty"`
	Size *int64 `json:"size,omitempty"`
	// Commits, Conflicts and Retries count since the node started. P50 and P99 are the last latencies of commits, in
	// milliseconds.
	Commits   *int64     `json:"commits,omitempty"`
	Conflicts *int64     `json:"conflicts,omitempty"`
	Retries   *int64     `json:"retries,omitempty"`
	P50       *float64   `json:"p50,omitempty"`
	P99       *float64   `json:"p99,omitempty"`
	Reasons   []string   `json:"reasons"` // why the store needs an operator
	Compact   Compaction `json:"compaction"`
}

// Compaction is what a node does to remove superseded revisions, since it started.
type Compaction struct {
	Auto      bool          `json:"auto"` // without being asked
	Runs      int64         `json:"runs"`
	Failures  int64         `json:"failures"`
	Bodies    int64         `json:"bodies"` // removed
	Bytes     int64         `json:"bytes"`  // removed
	LastError string        `json:"last_error,omitempty"`
	LastAt    *time.Time    `json:"last_at,omitempty"`      // of LastError
	Queue     int64         `json:"queue"`                  // bodies that can be removed, as far as known
	Waiting   []Compactable `json:"waiting"`                // the databases with most of them
	More      int           `json:"more_waiting,omitempty"` // how many databases are not in Waiting
}

// Compactable is a database with superseded bodies.
type Compactable struct {
	Database string  `json:"database"`
	Bodies   int64   `json:"bodies"`
	Bytes    int64   `json:"bytes"`
	Oldest   float64 `json:"oldest"` // in seconds
	Asked    bool    `json:"asked"`  // its compaction was asked for
}

// Scripts is what a node does in JavaScript. Limits, Stopped, Refused and Seconds count since it started.
type Scripts struct {
	Node     string `json:"node"`
	Runtimes int    `json:"runtimes"` // in memory
	Idle     int    `json:"idle"`     // of them
	Most     int    `json:"most"`     // may be in memory
	Running  int    `json:"running"`  // calls
	Paused   int    `json:"paused"`   // long calls that let others go first
	Waiting  int    `json:"waiting"`  // calls
	// Limits are the calls that were ended at a limit, by its name, Stopped those that were ended to begin again later,
	// and Refused those that waited too long.
	Limits  map[string]int64 `json:"limits"`
	Stopped int64            `json:"stopped"`
	Refused int64            `json:"refused"`
	Seconds float64          `json:"seconds"` // of processors
	// Databases are those that used most within the last seconds.
	Databases []ScriptUse `json:"databases"`
}

// ScriptUse is what one database uses. Seconds decay with a half-life of five seconds.
type ScriptUse struct {
	Database string  `json:"database"`
	Seconds  float64 `json:"seconds"`
	Waiting  int     `json:"waiting"`
}

// Setting is a setting in force.
type Setting struct {
	Name  string `json:"name"`  // "http.listen"
	Value string `json:"value"` // "(secret)" if it must not be shown
	// Default is the value that it has if it is not set, and Changed whether Value differs from it.
	Default string   `json:"default"`
	Changed bool     `json:"changed"`
	Nodes   []string `json:"nodes"` // where it has this value
}

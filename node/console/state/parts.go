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

// StoreCluster is what FoundationDB says about itself. What it does not say is absent.
type StoreCluster struct {
	At        time.Time `json:"at"`
	Available bool      `json:"available"`
	// Health is the state of the data, such as "healthy" or "healing", with Description in words if there are any.
	Health      string `json:"health"`
	Description string `json:"description,omitempty"`
	Redundancy  string `json:"redundancy"` // "triple"
	Engine      string `json:"engine"`     // "ssd-2"
	Processes   int    `json:"processes"`
	Machines    int    `json:"machines"`
	// Coordinators is how many there are, and Reachable how many of them the node reaches.
	Coordinators int `json:"coordinators"`
	Reachable    int `json:"reachable"`
	// SpareData and SpareAccess are how many machines may fail before data, or access to it, is lost.
	SpareData   *int `json:"spare_data,omitempty"`
	SpareAccess *int `json:"spare_access,omitempty"`
	// Bytes of keys and values, of files, of data that is moved between servers, and free on the fullest server.
	Data   *int64 `json:"data,omitempty"`
	Disk   *int64 `json:"disk,omitempty"`
	Moving *int64 `json:"moving,omitempty"`
	Free   *int64 `json:"free,omitempty"`
	// Start, Read and Commit are latencies of the cluster's own probes, in milliseconds.
	Start  *float64 `json:"start,omitempty"`
	Read   *float64 `json:"read,omitempty"`
	Commit *float64 `json:"commit,omitempty"`
	// Transactions per second.
	Started    *float64 `json:"started,omitempty"`
	Committed  *float64 `json:"committed,omitempty"`
	Conflicted *float64 `json:"conflicted,omitempty"`
	// Limit says what limits the rate of transactions, and Lag is how many seconds the slowest server is behind.
	Limit    string   `json:"limit"`
	Lag      *float64 `json:"lag,omitempty"`
	Messages []string `json:"messages,omitempty"` // for its operator
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

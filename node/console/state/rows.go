package state

import (
	"encoding/json"
	"time"
)

// Node is one node of the cluster.
type Node struct {
	Name string `json:"name"`
	// State is "ok", "degraded", "unavailable" (its store does not answer, so that requests get 503, as /_up says),
	// "draining" (it has given its shards and jobs to others), "silent" (it may be dead), "absent" (it does not answer
	// questions) or "gone".
	State string `json:"state"`
	// GivenUp says that a node that is gone did not announce it.
	GivenUp bool `json:"given_up,omitempty"`
	// Text says in plain words what State means now.
	Text    string   `json:"text"`
	Self    bool     `json:"self"` // it answers the request
	HTTP    string   `json:"http"`
	SQL     string   `json:"sql"`
	Gossip  string   `json:"gossip"`
	Version string   `json:"version"`
	Roles   []string `json:"roles"`
	// GoneSince is when a node that is gone was seen to go.
	GoneSince *time.Time `json:"gone_since,omitempty"`
	// LastAnswer is when an absent node last answered; nil if never.
	LastAnswer *time.Time `json:"last_answer,omitempty"`
	Report
}

// Answers reports whether the node answers questions and is not drained. Whether it has its store is another question.
func (n *Node) Answers() bool {
	return n.State == "ok" || n.State == "degraded" || n.State == "unavailable"
}

// Report is what a node says about itself. It is zero for a node that does not answer.
type Report struct {
	Engine  string     `json:"engine,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// Skew is by how many seconds the node's clock is ahead of that of the node asked.
	Skew float64 `json:"skew,omitempty"`
	// Reasons are why the node needs an operator: "name: what is wrong and what to do".
	Reasons []string `json:"reasons,omitempty"`
	// Skips are indexes that lack documents, used or not: at most MaxSkips, those of most documents. Skipping is how
	// many there are.
	Skips    []Skips `json:"skips,omitempty"`
	Skipping int     `json:"skipping,omitempty"`
	// Unread is of how many databases the node has not read the indexes since it started, or negative if it does not
	// know how many there are.
	Unread int `json:"unread,omitempty"`
	// Store is why the store does not answer the node, or empty.
	Store string `json:"store,omitempty"`
	// LogLevel is the level that an operator has set for the node's log until LogUntil; absent if none has.
	LogLevel string     `json:"log_level,omitempty"`
	LogUntil *time.Time `json:"log_until,omitempty"`
	// Now has the last value of each series that has one.
	Now map[string]float64 `json:"now,omitempty"`
	// Lines are small plots of some series.
	Lines map[string]Line `json:"lines,omitempty"`
}

// MaxSkips bounds Report.Skips.
const MaxSkips = 5

// Skips says that the views of a design document skip documents.
type Skips struct {
	Database  string `json:"database"`
	Design    string `json:"design"`
	Documents int64  `json:"documents"`
	Why       string `json:"why"` // the failure of one of them
}

// Verdict says how the cluster is. See Overview.
type Verdict struct {
	Now   time.Time `json:"now"`
	Node  string    `json:"node"`
	State string    `json:"state"`
	Text  string    `json:"text"`
	// Worst is how bad the worst is that needs attention, if State is "degraded".
	Worst Severity `json:"worst,omitempty"`
	User  string   `json:"user"` // who asks
	// Others are some other nodes that answer: their consoles can be opened when this one is gone.
	Others []Door `json:"others"`
}

// Door is where a node answers HTTP.
type Door struct {
	Name string `json:"name"`
	HTTP string `json:"http"`
}

// Overview is the first screen.
type Overview struct {
	Now  time.Time `json:"now"`
	Node string    `json:"node"` // that was asked
	// State is "ok", "working", "degraded" or "failed", and Text what that means now.
	State string `json:"state"`
	Text  string `json:"text"`
	// Attention are what an operator should know, the worst first, and Lately what was so and is over.
	Attention []Attention `json:"attention"`
	Lately    []Attention `json:"lately"`
	Nodes     []Node      `json:"nodes"`
	// Tasks are the first builds and compactions, and Working is how many there are.
	Tasks   []Task `json:"tasks"`
	Working int    `json:"working"`
	// Jobs are the numbers of jobs by state. Failing is how many of them have failed and not advanced since. Databases
	// is how many there are. Jobs and Databases are nil if the node asked has never read them.
	Jobs      map[string]int `json:"jobs"`
	Failing   int            `json:"failing"`
	Databases *int           `json:"databases"`
	// Read is when Jobs and Databases were last read; absent if that was just now. They are older while the store does
	// not answer.
	Read   *time.Time `json:"read,omitempty"`
	Events []Event    `json:"events"` // the last ones
	Absent []Absent   `json:"absent"`
}

// Attention is something that an operator should know.
type Attention struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Node     string   `json:"node,omitempty"`
	// Link is the address of the page about it: "events", "databases/orders".
	Link  string     `json:"link,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Story *Story     `json:"story,omitempty"`
	// More is how many things it stands for, if these are several.
	More int `json:"-"`
}

// Database is a row of the list of databases. What is not known is absent.
type Database struct {
	Name    string `json:"name"`
	Docs    *int64 `json:"docs,omitempty"`
	Deleted *int64 `json:"deleted,omitempty"`
	Bytes   *int64 `json:"bytes,omitempty"`
	Shards  *int   `json:"shards,omitempty"`
	// Indexes is how many design documents with views it has.
	Indexes *int   `json:"indexes,omitempty"`
	Error   string `json:"error,omitempty"` // why it cannot be read
	// Rates per second, of all nodes.
	Writes  float64 `json:"writes"`
	Refused float64 `json:"refused"`
	Reads   float64 `json:"reads"`
	Feed    float64 `json:"feed"`
	// WriteLine and FeedLine are small plots of them; absent if nothing was done lately.
	WriteLine *Line `json:"write_line,omitempty"`
	FeedLine  *Line `json:"feed_line,omitempty"`
}

// ConflictsPage says how many documents of databases are in conflict. Databases that were not read in time are missing.
type ConflictsPage struct {
	Now       time.Time   `json:"now"`
	Databases []Conflicts `json:"databases"`
}

// Conflicts is how many documents of a database are in conflict.
type Conflicts struct {
	Database string `json:"database"`
	// Documents is how many are in conflict; absent if they were not counted: there are too many documents, or Error.
	Documents *int64 `json:"documents,omitempty"`
	// At is when they were counted, if the database has changed since, and Large is that there are so many documents
	// that they are only counted if somebody asks.
	At    *time.Time `json:"at,omitempty"`
	Large bool       `json:"large,omitempty"`
	// Entries is how many documents are read to count them, deleted ones too.
	Entries int64  `json:"entries"`
	Error   string `json:"error,omitempty"`
}

// Shard is a changes shard that a node watches.
type Shard struct {
	Node     string `json:"node"`
	Database string `json:"database"`
	Shard    string `json:"shard"`
	Owner    string `json:"owner"` // the node that its actor is placed on
	State    string `json:"state"`
	Seq      string `json:"seq"`
	// Listeners are the waiting feeds on Node, and Upkeep its own listeners, which keep indexes warm.
	Listeners int   `json:"listeners"`
	Upkeep    int   `json:"upkeep"`
	Followers int   `json:"followers"`
	Wakes     int64 `json:"wakes"`
	// Lag is for how many seconds there may have been changes that the listeners were not told of.
	Lag   float64 `json:"lag"`
	Error string  `json:"error,omitempty"`
	// Look, unless nil, sets the fields from Owner on but State, which are then absent: for many shards they take long.
	Look func(*Shard) `json:"-"`
}

// Seen returns the shard when it has been looked at.
func (s *Shard) Seen() *Shard {
	if look := s.Look; look != nil {
		s.Look = nil
		look(s)
	}
	return s
}

// Index is the index of a design document.
type Index struct {
	Database string   `json:"database"`
	Design   string   `json:"design"`
	Views    []string `json:"views"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Errors   int64    `json:"errors"`
	Skipped  string   `json:"skipped,omitempty"`
	Building bool     `json:"building"`
	Current  bool     `json:"current"`
	// Lag is how many seconds it is behind; negative if it was never built.
	Lag float64 `json:"lag"`
	// Task is its build, if one is under way, and Nodes are those that work on it.
	Task  *Task    `json:"task,omitempty"`
	Nodes []string `json:"nodes,omitempty"`
	// Failures is how often its build has failed in a row, and Failure the last reason.
	Failures int    `json:"failures,omitempty"`
	Failure  string `json:"failure,omitempty"`
	// Job is the id of the job that builds it, if there is one.
	Job string `json:"-"`
}

// Task is an index build or a compaction.
type Task struct {
	Node     string    `json:"node"`
	Type     string    `json:"type"`
	Database string    `json:"database"`
	Design   string    `json:"design,omitempty"`
	Shard    string    `json:"shard,omitempty"`
	Progress int       `json:"progress"` // percent
	Done     int64     `json:"done"`
	Total    int64     `json:"total"` // 0 if unknown; then so is the progress
	Rows     int64     `json:"rows"`
	Rate     float64   `json:"rate"`           // documents per second since this run began
	Left     *float64  `json:"left,omitempty"` // seconds to go
	Started  time.Time `json:"started"`
	Error    string    `json:"error,omitempty"`
	// Raw is the task as GET /_active_tasks answers it.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Job is a job of the store's queue.
type Job struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Database and Design are those of the index that it builds, if it does.
	Database string `json:"database,omitempty"`
	Design   string `json:"design,omitempty"`
	State    string `json:"state"`
	Worker   string `json:"worker,omitempty"`
	Token    int64  `json:"token"`
	Failures int    `json:"failures"`
	Error    string `json:"error,omitempty"`
	// FailedAt is when it last failed, and Advanced reports that it has done work since.
	FailedAt *time.Time `json:"failed_at,omitempty"`
	Advanced bool       `json:"advanced,omitempty"`
	Due      *time.Time `json:"due,omitempty"`
	Updated  *time.Time `json:"updated,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	// Lease is for how many seconds the worker of a running job may be silent before another node takes the job.
	Lease float64 `json:"lease,omitempty"`
}

// Failing reports whether a job has failed and not advanced since.
func (j *Job) Failing() bool { return j.Failures > 0 && !j.Advanced }

// Replication is a replication by the server. One that has ended is listed as long as its document is there.
type Replication struct {
	ID     string `json:"id,omitempty"` // not known at first
	State  string `json:"state"`        // as in GET /_scheduler/jobs
	Source string `json:"source"`
	Target string `json:"target"`
	// Database and Document ask for it; both are empty for POST /_replicate.
	Database   string     `json:"database,omitempty"`
	Document   string     `json:"document,omitempty"`
	User       string     `json:"user,omitempty"`
	Node       string     `json:"node,omitempty"` // that ran it last
	Continuous bool       `json:"continuous"`
	Started    *time.Time `json:"started,omitempty"`
	Changed    *time.Time `json:"changed,omitempty"` // when State changed
	Read       int64      `json:"read"`              // documents
	Written    int64      `json:"written"`
	Failed     int64      `json:"failed"`            // documents that the target refused
	Pending    *int64     `json:"pending,omitempty"` // changes that are left
	Errors     int        `json:"errors"`            // in a row
	Error      string     `json:"error,omitempty"`   // the last one
}

// Actor is an actor of a node. Since is when its life began, Restarts counts restarts after failures and on request,
// and LastFailure is that of the last failure, if there was one.
type Actor struct {
	Node          string          `json:"node"`
	ID            string          `json:"id"`
	Parent        string          `json:"parent,omitempty"`
	Kind          string          `json:"kind"`
	Name          string          `json:"name"`
	State         string          `json:"state"`
	Since         time.Time       `json:"since"`
	Mailbox       int             `json:"mailbox"`
	Restarts      int             `json:"restarts"`
	Recent        int             `json:"recent"` // failures within the last minute
	LastFailure   string          `json:"last_failure,omitempty"`
	LastFailureAt *time.Time      `json:"last_failure_at,omitempty"`
	Facts         json.RawMessage `json:"facts,omitempty"`
	// Look, unless nil, returns the Facts, which are then absent: for many actors they take long.
	Look func() json.RawMessage `json:"-"`
	// Below is how many actors are below it in the supervision tree, and Unwell how many of them restart or have failed
	// within the last minute. They are only known where the tree is asked for.
	Below  int `json:"below,omitempty"`
	Unwell int `json:"unwell,omitempty"`
}

// Session is an SQL session.
type Session struct {
	Node        string     `json:"node"`
	PID         int64      `json:"pid"`
	User        string     `json:"user"`
	Database    string     `json:"database"`
	Application string     `json:"application"`
	Remote      string     `json:"remote"`
	TLS         bool       `json:"tls"`
	State       string     `json:"state"`
	Statement   string     `json:"statement"`
	Cut         bool       `json:"cut,omitempty"` // the statement is longer
	Since       time.Time  `json:"since"`
	Began       *time.Time `json:"began,omitempty"` // the statement
	Rows        int64      `json:"rows"`            // sent in total
	// Of a statement that runs: the rows sent, and, after a second, the rows that its reads have examined, and its plan
	// as EXPLAIN (ANALYZE) shows it, with the counts so far.
	Returned int64  `json:"returned,omitempty"`
	Examined int64  `json:"examined,omitempty"`
	Plan     string `json:"plan,omitempty"`
}

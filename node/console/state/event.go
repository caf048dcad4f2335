package state

import "time"

// Event is something that happened, as one node saw it.
type Event struct {
	// ID is unique in the cluster.
	ID string `json:"id"`
	// At is when it happened, by the clock of the node that answers the request: clocks of other nodes are corrected.
	At   time.Time `json:"at"`
	Node string    `json:"node"` // that saw it
	Kind EventKind `json:"kind"`
	// Severity is "info", "good", "warning" or "error".
	Severity Severity `json:"severity"`
	// Text is one sentence in plain words.
	Text string `json:"text"`
	// What it is about. Each may be empty.
	Member   string `json:"member,omitempty"`
	Database string `json:"database,omitempty"`
	Object   string `json:"object,omitempty"` // a design document, a setting, the name of a reason, what was acted on
	Job      string `json:"job,omitempty"`
	Actor    string `json:"actor,omitempty"`
	User     string `json:"user,omitempty"`    // who did it
	Address  string `json:"address,omitempty"` // where it came from
	From     string `json:"from,omitempty"`    // a node
	To       string `json:"to,omitempty"`      // a node
	Token    int64  `json:"token,omitempty"`   // the fencing token of a job
	Part     string `json:"part,omitempty"`    // the id of the job_taken of all jobs that were taken at the same time
	// Since is when what it is about began, for example a member's silence, and Seconds how long that lasted.
	Since   *time.Time `json:"since,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
	// Items identifies what was moved, without naming it, so that reports of several nodes can be added up.
	Items []string `json:"items,omitempty"`
	// Count is how many there were: moved shards, rows, documents.
	Count int64 `json:"count,omitempty"`
	// Examined is how many rows a slow statement has read to return Count of them.
	Examined int64 `json:"examined,omitempty"`
	// Repeated is how often the same kind happened again until Until, too often to be listed one by one.
	Repeated int        `json:"repeated,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	// Detail is an error, a stack, or a statement with its plan, cut to 4 KB.
	Detail string `json:"detail,omitempty"`
	// Also has the other nodes that reported the same.
	Also []string `json:"also,omitempty"`
}

// Severity is how much an event matters.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Good    Severity = "good" // a trouble is over
	Warning Severity = "warning"
	Error   Severity = "error"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	NodeStarted    EventKind = "started"  // began to start at Since
	Draining       EventKind = "draining" // it has given its work to others
	MemberJoined   EventKind = "joined"
	MemberSilent   EventKind = "suspected" // has not answered since Since
	MemberAnswers  EventKind = "answers"   // after it was suspected
	MemberDead     EventKind = "dead"      // was given up; silent since Since, absent if unknown
	MemberLeft     EventKind = "left"      // announced it; up since Since
	MemberReturned EventKind = "returned"  // was last heard, or left, at Since
	MemberRestart  EventKind = "restarted" // before it was given up
	NodePaused     EventKind = "paused"    // Member, which tells it, did not run since Since
	WrongSecret    EventKind = "wrong_secret"
	NameClash      EventKind = "name_clash"
	ShardsMoved    EventKind = "shards_moved" // Count changes shards, from From to To
	ActorFailed    EventKind = "actor_failed"
	JobTaken       EventKind = "job_taken" // From has left it, To goes on with it, under Token; or Count since Since
	Resharded      EventKind = "resharded"
	StoreLost      EventKind = "store_lost" // does not answer since Since; From has it, if that is another node
	StoreBack      EventKind = "store_back"
	SlowStatement  EventKind = "slow_statement"
	IndexErrors    EventKind = "index_error" // Count documents are skipped by views of a design document
	DiskLow        EventKind = "disk_low"
	Degraded       EventKind = "degraded"  // Object is the name of the reason
	Recovered      EventKind = "recovered" // Object is the name of the reason
	SettingChanged EventKind = "setting_changed"
	LoginRefused   EventKind = "login_refused"
	ActionDone     EventKind = "action" // of User, in the console
	ActionRefused  EventKind = "action_refused"

	// ReplicationFailed is about the replication of the document Object, or of that id, from From to To. It has failed
	// Count times in a row, and is tried again after Seconds, or never.
	ReplicationFailed EventKind = "replication_failed"
)

// Story is what one cause led to, on several nodes.
type Story struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"` // Good when it is over
	Over     bool     `json:"over"`
	Member   string   `json:"member,omitempty"` // that went
	// Stores are the nodes that the store did not answer meanwhile.
	Stores []string  `json:"stores,omitempty"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"` // of the last line
	// Text is the whole story in one line, with times of day in UTC.
	Text  string      `json:"text"`
	Lines []StoryLine `json:"lines"`
}

// StoryLine is one step of a Story.
type StoryLine struct {
	At time.Time `json:"at"`
	// After is how many seconds after the beginning it happened.
	After float64  `json:"after"`
	Text  string   `json:"text"`
	Nodes []string `json:"nodes"` // that reported it
	// Until is when the last of several jobs was taken over that At is of the first of, and Jobs are some of them.
	Until *time.Time `json:"until,omitempty"`
	Jobs  []string   `json:"jobs,omitempty"`
}

// EventPage is a part of the list of events, newest first.
type EventPage struct {
	Now     time.Time `json:"now"`
	Events  []Event   `json:"events"`
	Stories []Story   `json:"stories"`
	// Next continues the list after the last event, or is empty at its end.
	Next string `json:"next"`
	// Since is from when on no event is missing of the nodes that have answered: each keeps its events in memory since
	// it was started, and not too many of them. Absent if that is not known.
	Since *time.Time `json:"since,omitempty"`
	// Absent are the nodes that have not answered.
	Absent []Absent `json:"absent"`
}

// Absent is a member that has not answered.
type Absent struct {
	Node string `json:"node"`
	// Since is when it last answered this node; zero if never.
	Since  *time.Time `json:"since,omitempty"`
	Reason string     `json:"reason"`
}

package runtime

import (
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Node is an actor in the supervision tree, with its descendants (GET /_actors, SQL's divan.actors).
type Node struct {
	ID    string `json:"id"`   // unique on this node: the path from the root
	Kind  string `json:"kind"` // node, databases, database, shard, jobs, indexer ...
	Name  string `json:"name"` // name of the database, the shard or the index
	State string `json:"state"`
	// Facts describe the actor's state, depending on its kind. See the facts types.
	Facts any `json:"facts,omitempty"`
	// Look returns the Facts. Only Tree.Each sets it, and leaves Facts out: for many actors they take long.
	Look     func() any `json:"-"`
	Since    time.Time  `json:"since"` // of the first start
	Mailbox  int        `json:"mailbox"`
	Restarts int        `json:"restarts"`
	// LastFailure is the reason of the last restart, or "".
	LastFailure   string     `json:"last_failure,omitempty"`
	LastFailureAt *time.Time `json:"last_failure_at,omitempty"`
	Children      []Node     `json:"children,omitempty"`
}

// The states set by the shell. Other states come from the actor's behavior.
const (
	stateStarting   = "starting"
	stateRestarting = "restarting"
	stateStopping   = "stopping"
)

// Record is the state of one actor across its restarts. Actors write it, and snapshots read it.
type Record struct {
	ID, kind, Name string
	Parent         *Record
	since          time.Time
	mailbox        actor.Mailbox       // set before the actor runs
	live           func(facts any) any // Spec.Live
	// begun is when the actor received its current message, in nanoseconds since the first start; 0 if there is none.
	begun   atomic.Int64
	looking atomic.Bool // a LookAgain waits
	// process is the actor's, and lives how many lives it has begun. process is nil before the first one.
	process atomic.Pointer[actor.PID]
	lives   atomic.Int64

	mu struct {
		sync.Mutex
		state       string
		facts       any
		restarts    int
		lastFailure string
		lastAt      time.Time
		recent      []time.Time // failures within FailureWindow, oldest first
		children    map[string]*Record
	}
}

// FailureWindow is how long a failure counts towards the pause before the next restart.
const FailureWindow = time.Minute

func newRecord(parent *Record, kind, name string, now time.Time) *Record {
	id := kind
	if name != "" {
		id += ":" + name
	}
	if parent != nil && parent.Parent != nil {
		id = parent.ID + "/" + id
	}
	r := &Record{ID: id, kind: kind, Name: name, Parent: parent, since: now}
	r.mu.state = stateStarting
	r.mu.children = map[string]*Record{}
	return r
}

// attach makes r visible below its parent, detach removes it.
func (r *Record) attach() {
	if p := r.Parent; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.children[r.ID] = r
	}
}

func (r *Record) detach() {
	if p := r.Parent; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.children[r.ID] == r {
			delete(p.mu.children, r.ID)
		}
	}
}

// clear makes all below r invisible.
func (r *Record) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.mu.children)
}

// begin and end record that the actor works on a message. The time since the first start is monotonic.
func (r *Record) begin(now time.Time) { r.begun.Store(max(1, int64(now.Sub(r.since)))) }
func (r *Record) end()                { r.begun.Store(0) }

// busy returns how long the actor has been working on its current message.
func (r *Record) busy(now time.Time) time.Duration {
	begun := r.begun.Load()
	if begun == 0 {
		return 0
	}
	return now.Sub(r.since) - time.Duration(begun)
}

func (r *Record) set(state string, facts any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.state, r.mu.facts = state, facts
}

// restarts returns how often the actor was restarted.
func (r *Record) restarts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.restarts
}

// failed records a failure and returns how long to wait before the restart: zero for the first failure in a while, then
// longer and longer. An actor is always restarted: its work has to be done, and its parent could do nothing better.
func (r *Record) failed(now time.Time, reason string) (pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.state = stateRestarting
	r.mu.restarts++
	r.mu.lastFailure, r.mu.lastAt = reason, now
	r.mu.recent = slices.DeleteFunc(r.mu.recent, func(t time.Time) bool { return now.Sub(t) > FailureWindow })
	r.mu.recent = append(r.mu.recent, now)
	if n := len(r.mu.recent); n > 1 {
		pause = min(10*time.Millisecond<<min(n-2, 10), 5*time.Second)
	}
	return pause
}

// own returns the actor itself, without its children.
func (r *Record) own() Node {
	n := r.bare()
	n.Facts, n.Look = n.Look(), nil
	return n
}

// bare is own without facts.
func (r *Record) bare() Node {
	r.mu.Lock()
	n := Node{ID: r.ID, Kind: r.kind, Name: r.Name, State: r.mu.state, Look: r.look, Since: r.since,
		Restarts: r.mu.restarts, LastFailure: r.mu.lastFailure}
	if !r.mu.lastAt.IsZero() {
		at := r.mu.lastAt
		n.LastFailureAt = &at
	}
	r.mu.Unlock()
	if r.mailbox != nil {
		n.Mailbox = r.mailbox.UserMessageCount()
	}
	return n
}

// look returns the actor's facts.
func (r *Record) look() any {
	r.mu.Lock()
	facts := r.mu.facts
	r.mu.Unlock()
	if r.live != nil && facts != nil {
		return r.live(facts)
	}
	return facts
}

// Snapshot returns the tree below an actor, with the children of each by id.
func (r *Record) Snapshot() Node {
	n := r.own()
	children := r.below()
	slices.SortFunc(children, func(a, b *Record) int { return strings.Compare(a.ID, b.ID) })
	for _, c := range children {
		n.Children = append(n.Children, c.Snapshot())
	}
	return n
}

// crash is a panic in an actor's I/O, with its stack.
type crash struct {
	value any
	stack []byte
}

// recovered turns a recovered panic into a crash.
func recovered(p any) crash {
	if c, ok := p.(crash); ok {
		return c
	}
	return crash{value: p, stack: debug.Stack()}
}

// walk visits the records below r.
func (r *Record) walk(visit func(*Record)) {
	for _, c := range r.below() {
		visit(c)
		c.walk(visit)
	}
}

// below returns the children.
func (r *Record) below() []*Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.mu.children))
}

// failures returns how often the actor has failed within FailureWindow, and the last reason.
func (r *Record) failures(now time.Time) (n int, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.mu.recent {
		if now.Sub(at) <= FailureWindow {
			n++
		}
	}
	return n, r.mu.lastFailure
}

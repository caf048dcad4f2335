package runtime

import (
	"iter"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/btree"
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
	Since    time.Time  `json:"since"` // when its life began: that of the start or of the last restart
	Mailbox  int        `json:"mailbox"`
	Restarts int        `json:"restarts"` // after failures and on request
	// LastFailure is the reason of the last restart after a failure, or "".
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
	since          time.Time           // when it was made
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
		begun       time.Time // when its life began
		restarts    int
		lastFailure string
		lastAt      time.Time
		recent      []time.Time            // failures within FailureWindow, oldest first
		children    *btree.BTreeG[*Record] // by ID; nil if there has been none
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
	r.mu.state, r.mu.begun = stateStarting, now
	return r
}

// lifeBegins notes that the actor begins to live, for the first time or again.
func (r *Record) lifeBegins(now time.Time) {
	r.mu.Lock()
	r.mu.begun = now
	r.mu.Unlock()
	r.lives.Add(1)
}

// restarted counts a restart on request.
func (r *Record) restarted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.state = stateRestarting
	r.mu.restarts++
}

// attach makes r visible below its parent, detach removes it.
func (r *Record) attach() {
	if p := r.Parent; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.children == nil {
			p.mu.children = btree.NewG(childrenDegree, func(a, b *Record) bool { return a.ID < b.ID })
		}
		p.mu.children.ReplaceOrInsert(r)
	}
}

func (r *Record) detach() {
	if p := r.Parent; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.children == nil {
			return // it was never attached
		}
		if there, _ := p.mu.children.Get(r); there == r {
			p.mu.children.Delete(r)
		}
	}
}

// clear makes all below r invisible.
func (r *Record) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.children = nil
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
	n := Node{ID: r.ID, Kind: r.kind, Name: r.Name, State: r.mu.state, Look: r.look, Since: r.mu.begun,
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
	for c := range r.below() {
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
	r.walkAfter(nil, func(c *Record) bool {
		visit(c)
		return true
	})
}

// walkAfter visits the records below r, each before those below it, until visit returns false. Records with the same
// parent are in the order of their ids. It begins behind the record at a path from r (pathFrom), whether or not that
// record is still there. A walk that begins anywhere costs no more than what it visits.
func (r *Record) walkAfter(path []string, visit func(*Record) bool) bool {
	last := ""
	if len(path) > 0 {
		last = path[0]
		if c := r.child(last); c != nil && !c.walkAfter(path[1:], visit) {
			return false
		}
	}
	for c := range r.childrenAfter(last) {
		if !visit(c) || !c.walkAfter(nil, visit) {
			return false
		}
	}
	return true
}

// pathFrom returns the ids of the records from the one below top down to r.
func (r *Record) pathFrom(top *Record) (path []string) {
	for ; r != top; r = r.Parent {
		path = append(path, r.ID)
	}
	slices.Reverse(path)
	return path
}

// child returns the child with an id, or nil.
func (r *Record) child(id string) *Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.children == nil {
		return nil
	}
	c, _ := r.mu.children.Get(&Record{ID: id})
	return c
}

// below returns the children, by id.
func (r *Record) below() iter.Seq[*Record] { return r.childrenAfter("") }

// childrenAfter returns the children whose ids are after one, by id. Those that come or go meanwhile may be among them.
func (r *Record) childrenAfter(id string) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		part := make([]*Record, 0, 1)
		for {
			part = r.partAfter(id, part[:0])
			for _, c := range part {
				if !yield(c) {
					return
				}
				id = c.ID
			}
			if len(part) < cap(part) {
				return
			}
			part = make([]*Record, 0, min(2*cap(part), childrenAtOnce))
		}
	}
}

// partAfter appends the next children after an id to part, up to its capacity.
func (r *Record) partAfter(id string, part []*Record) []*Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.children == nil {
		return part
	}
	r.mu.children.AscendGreaterOrEqual(&Record{ID: id}, func(c *Record) bool {
		if c.ID != id {
			part = append(part, c)
		}
		return len(part) < cap(part)
	})
	return part
}

const (
	childrenDegree = 16
	childrenAtOnce = 256 // how many a walk takes before it lets the actors change them
)

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

package build

import (
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/fault"
)

// state is the state of a build. Only enter changes it, along the transitions below. The code of each state is in
// start.go (with takeover.go), purge.go, step.go or finish.go.
type state int32

const (
	starting state = iota // finding the index's sequence and the goal; also during JoinBuild
	cutting               // the feed has been cut; the start runs again, up to the cut
	creating              // an interactive index has been cleared; the start runs again, up to its new creation
	purging               // removing the rows of documents purged up to the goal
	stepping              // steps write rows, several shards at a time
	finished              // the index is as of the goal
	closed                // the snapshot is released
)

var stateNames = [...]string{"starting", "cutting", "creating", "purging", "stepping", "finished", "closed"}

func (s state) String() string { return stateNames[s] }

// transition is a change of state, with the reason for it.
type transition struct {
	from, to state
	when     string
}

// transitions lists all changes of state. The start runs a second time after a cut or a creation, because their
// sequences are assigned by the commit of the transaction that makes them. Each happens at most once in a build.
var transitions = [...]transition{
	{starting, stepping, "the goal is known, and no document was purged up to it"},
	{starting, purging, "the goal is known, and the index may have rows of purged documents"},
	{starting, cutting, "the engine holds no snapshots, other nodes take part in the build, or it takes several turns"},
	{starting, creating, "the index is interactive, and its rows were in an older collation"},
	{cutting, stepping, "the goal is the cut, and no document was purged up to it"},
	{cutting, purging, "the goal is the cut, and the index may have rows of purged documents"},
	{cutting, creating, "the index has become interactive in the meantime"},
	{creating, stepping, "the goal is the creation, and there are no rows of purged documents"},
	{creating, purging, "another build has written rows since the creation"},
	{purging, stepping, "no rows of purged documents are left"},
	{stepping, finished, "all shards are at the goal, and the last transaction is committed"},
	{starting, closed, "the start failed"},
	{cutting, closed, "the start failed"},
	{creating, closed, "the start failed"},
	{purging, closed, "the start failed"},
	{stepping, closed, "the build is abandoned, or was one worker's part of a shared build"},
	{finished, closed, "the build is done"},
}

// machine holds the state of a build. It is safe for concurrent use.
type machine struct{ now atomic.Int32 }

func (m *machine) state() state { return state(m.now.Load()) }

// enter changes the state. It returns a Conflict if there is no such transition, because another call has ended the
// build.
func (m *machine) enter(to state) error {
	for {
		from := m.state()
		if !allowed(from, to) {
			return fault.Errf(fault.Conflict, "job_lost", "the index build is %s and cannot become %s", from, to)
		}
		if m.now.CompareAndSwap(int32(from), int32(to)) {
			return nil
		}
	}
}

func allowed(from, to state) bool {
	for _, t := range transitions {
		if t.from == from && t.to == to {
			return true
		}
	}
	return false
}

// in returns a Conflict unless the build is in state s.
func (m *machine) in(s state) error {
	if now := m.state(); now != s {
		return fault.Errf(fault.Conflict, "job_lost", "the index build is %s, not %s", now, s)
	}
	return nil
}

// reading is how the steps of a build read the feed as of the goal.
type reading int

const (
	fromNothing  reading = iota // the index is already at the goal
	fromSnapshot                // from a snapshot that this node holds
	fromCut                     // from a cut, which all nodes can read (feed/cuts.go)
	// besideWriters is for an interactive index: steps read the feed as it is now, and skip documents that have changed
	// since, because their writers have indexed them.
	besideWriters
)

// writing is how steps treat the rows that documents already have in the index.
type writing int32

const (
	// replacing reads a document's old rows and removes them.
	replacing writing = iota
	// adding does not read old rows, because the index had none when the build began. After a step that failed, which
	// may have written some rows, the build continues with replacing.
	adding
	// keeping replaces rows, and keeps the old ones beside them for readers (index/before.go).
	keeping
)

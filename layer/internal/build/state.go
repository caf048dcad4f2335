package build

import (
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/fault"
)

// state is what a build is at. A build is a machine of these states; enter is the one place that changes them, by the
// transitions below. What a state does is in the file of its name: start.go, purge.go, step.go, finish.go.
type state int32

const (
	starting state = iota // finding out where the index stands and where the build goes; JoinBuild too
	cutting               // the start has cut the feed: it runs again, up to the cut
	creating              // the start has cleared an interactive index: it runs again, up to the new creation
	purging               // taking out of the index what was purged up to the goal
	stepping              // steps write rows, of several shards at the same time
	finished              // the index is as of the goal
	closed                // the snapshot is released
)

var stateNames = [...]string{"starting", "cutting", "creating", "purging", "stepping", "finished", "closed"}

func (s state) String() string { return stateNames[s] }

// transition is a change of state, and when it happens.
type transition struct {
	from, to state
	when     string
}

// transitions are all changes of state that there are. The two that run the start again are taken once at most: the
// sequence of a cut, and of a creation, is that of the transaction that makes it, so that only the next one knows it.
var transitions = [...]transition{
	{starting, stepping, "the goal is known, and nothing was purged up to it"},
	{starting, purging, "the goal is known, and the index may have rows of purged documents"},
	{starting, cutting, "this node can hold no snapshot of the feed, or others are to read it too"},
	{starting, creating, "writers keep the index, and its rows were in an older order"},
	{cutting, stepping, "the goal is the cut, and nothing was purged up to it"},
	{cutting, purging, "the goal is the cut, and the index may have rows of purged documents"},
	{cutting, creating, "writers have begun to keep the index meanwhile"},
	{creating, stepping, "the goal is the creation: there are no rows of what was purged"},
	{creating, purging, "another build has made rows since the creation"},
	{purging, stepping, "nothing that was purged is left in the index"},
	{stepping, finished, "all shards are at the goal, and the last transaction is committed"},
	{starting, closed, "the start has failed"},
	{cutting, closed, "the start has failed"},
	{creating, closed, "the start has failed"},
	{purging, closed, "the start has failed"},
	{stepping, closed, "it is given up, or was one worker's part of a shared build"},
	{finished, closed, "it is done"},
}

// machine is the state of a build. Safe for concurrent use.
type machine struct{ now atomic.Int32 }

func (m *machine) state() state { return state(m.now.Load()) }

// enter changes the state. Conflict where there is no such transition: another call has ended the build.
func (m *machine) enter(to state) error {
	for {
		from := m.state()
		if !allowed(from, to) {
			return fault.Errf(fault.Conflict, "job_lost", "the index build is %s, and cannot be %s", from, to)
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

// in is a Conflict where the build is in another state.
func (m *machine) in(s state) error {
	if now := m.state(); now != s {
		return fault.Errf(fault.Conflict, "job_lost", "the index build is %s, not %s", now, s)
	}
	return nil
}

// reading is how the steps of a build read the feed as of the goal.
type reading int

const (
	fromNothing  reading = iota // the index is at the goal already
	fromSnapshot                // in a snapshot that this node holds
	fromCut                     // by a cut, which readers on all nodes can use (feed/cuts.go)
	// besideWriters is for an interactive index, which writers keep: the feed is read as it is, and documents that have
	// moved are left to those who have moved them.
	besideWriters
)

// writing is what steps do about what documents had in the index.
type writing int32

const (
	// replacing reads what they had, and takes it out.
	replacing writing = iota
	// adding does not read it: the index had nothing when the build began. A step that failed may have written some of
	// its documents, so that the build goes on replacing.
	adding
	// keeping replaces, and leaves what there was beside the rows, for readers (index/before.go).
	keeping
)

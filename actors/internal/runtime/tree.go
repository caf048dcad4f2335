package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Tree is the supervision tree of a node and what its actors run on: protoactor, the goroutines of their I/O, the state
// of each actor, and metrics by kind. It is safe for concurrent use.
type Tree struct {
	Log *slog.Logger
	// Failed, if not nil, is called after each failure of an actor. It must not block. Set it before Start.
	Failed func(ActorFailure)
	proto  *actor.ActorSystem
	kinds  *kinds

	Running context.Context // ends when the tree begins to stop
	Stop    context.CancelFunc
	io      sync.WaitGroup // goroutines of actors, and others that work for them
	top     *Record        // above the root; not shown
	root    *actor.PID
	working *gate        // shut when the tree has ended
	serial  atomic.Int64 // makes process names unique
}

// ActorFailure is a failure of an actor, which is then restarted.
type ActorFailure struct {
	Actor, Reason, Stack string
	Restarts             int // including the one that follows
}

// NewTree returns a tree without actors. Start starts it.
func NewTree(proto *actor.ActorSystem, log *slog.Logger) *Tree {
	t := &Tree{Log: log, proto: proto, kinds: newKinds(proto), working: newGate()}
	t.Running, t.Stop = context.WithCancel(context.Background())
	t.top = newRecord(nil, "system", "", t.Now())
	return t
}

// Start starts the root, which starts the other actors.
func (t *Tree) Start(root Spec) error {
	root.Live = func(any) any { return t.kinds.facts() }
	props := t.props(t.top, root).Configure(actor.WithGuardian(&supervision{t}))
	t.root = t.proto.NewLocalPID("divan") // set before its children run, since they send to it
	if _, err := t.proto.Root.SpawnNamed(props, t.root.Id); err != nil {
		t.Stop()
		t.kinds.close()
		return fmt.Errorf("actors: start the root: %w", err)
	}
	return nil
}

// End ends all actors and waits until none of them works on a message and their I/O has ended. They work on no message
// that comes later. Spec.Ended is not called. Stop may have been called before.
//
// The actors are not told, because that would take several messages to and from each, for which a busy machine with
// very many actors has no time. protoactor keeps them until its system is released.
func (t *Tree) End() {
	t.Stop()
	t.working.shut()
	t.io.Wait()
	t.top.clear()
	t.kinds.close()
}

// Now returns the time that actors use.
func (t *Tree) Now() time.Time { return time.Now() }

// Run runs f in a goroutine that End waits for.
func (t *Tree) Run(f func()) { t.io.Go(f) }

// toChild is a message that the root passes on to one of its children.
type toChild struct {
	key     string
	message any
}

// Tell sends a message to a child of the root. Before the child is up, the message waits in the root's mailbox. After
// the end of the tree it is lost.
func (t *Tree) Tell(key string, message any) {
	t.proto.Root.Send(t.root, toChild{key: key, message: message})
}

// TellIfRoom is Tell for messages that a sender can repeat: it drops the message and returns false if most messages
// already wait for a child of the root, the only one of its kind. So a sender that is faster than the actor, or an
// actor that is stuck, takes no memory.
func (t *Tree) TellIfRoom(key, kind string, message any, most int) bool {
	if t.waiting(kind) >= most {
		return false
	}
	t.Tell(key, message)
	return true
}

// waiting returns how many messages wait for the root, which passes them on, and for its children of a kind.
func (t *Tree) waiting(kind string) (n int) {
	count := func(r *Record) {
		if r.mailbox != nil {
			n += r.mailbox.UserMessageCount()
		}
	}
	for root := range t.top.below() {
		count(root)
		for c := range root.below() {
			if c.kind == kind {
				count(c)
			}
		}
	}
	return n
}

// Snapshot returns the current tree, with at most most children of each actor; those that have failed recently come
// first. most = 0 means all.
func (t *Tree) Snapshot() Node {
	all := t.top.Snapshot().Children
	if len(all) == 0 {
		return Node{ID: "node", Kind: "node", State: stateStopping, Mailbox: 0}
	}
	return all[0]
}

// rootBehavior starts its children and keeps them running.
type rootBehavior struct{ children []Spawn }

// RootSpec returns the top of the tree. Its children are the actors that every node has, under their keys.
func RootSpec(node string, children []Spawn) Spec {
	return Spec{Kind: "node", Name: node, Make: func() Behavior { return &rootBehavior{children: children} }}
}

func (b *rootBehavior) Step(_ time.Time, message any) []Effect {
	switch m := message.(type) {
	case Started:
		var e []Effect
		for _, c := range b.children {
			e = append(e, c)
		}
		return e
	case ChildGone:
		for _, c := range b.children {
			if c.Key == m.Key {
				return []Effect{c}
			}
		}
	case toChild:
		return []Effect{Tell{Key: m.key, Message: m.message}}
	}
	return nil
}

// Status leaves the facts to the tree, which knows them (Tree.Start).
func (b *rootBehavior) Status() (string, any) { return "running", NodeFacts{} }

// Each calls visit for each actor, without its children and with Look in place of Facts, until it returns false. Then
// it returns the place of that actor, behind which another Each begins, in the order of the tree. An Each without a
// place begins at the root. parent is the id of the actor's parent, or "". recent is how often the actor has failed
// within the last minute.
func (t *Tree) Each(behind Place, visit func(n Node, parent string, recent int) bool) (at Place) {
	now := t.Now()
	t.top.walkAfter(behind, func(r *Record) bool {
		parent := ""
		if r.Parent != t.top {
			parent = r.Parent.ID
		}
		recent, _ := r.failures(now)
		if visit(r.bare(), parent, recent) {
			return true
		}
		at = r.pathFrom(t.top)
		return false
	})
	return at
}

// Place is where an actor is or was in the tree: the ids of the actors above it, from the root, and its own.
type Place []string

// EachOfKind calls visit for each actor of a kind as Each does, with the name of its parent, until it returns false.
func (t *Tree) EachOfKind(kind string, visit func(n Node, parent string) bool) {
	t.top.walkAfter(nil, func(r *Record) bool { return r.kind != kind || visit(r.bare(), r.Parent.Name) })
}

package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// tree is the supervision tree of a node, and what its actors run on: protoactor, the goroutines of their I/O, what is
// known of each, and what is counted by kind. Safe for concurrent use.
type tree struct {
	log   *slog.Logger
	proto *actor.ActorSystem
	kinds *kinds

	running context.Context // ends when the tree begins to end
	stop    context.CancelFunc
	io      sync.WaitGroup // goroutines of actors, and others that work for them
	top     *record        // holds the root, is not shown
	root    *actor.PID
	serial  atomic.Int64 // makes process names new
}

func newTree(proto *actor.ActorSystem, log *slog.Logger) *tree {
	t := &tree{log: log, proto: proto, kinds: newKinds(proto)}
	t.running, t.stop = context.WithCancel(context.Background())
	t.top = newRecord(nil, "system", "", t.now())
	return t
}

// start starts the root, which starts the others.
func (t *tree) start(root spec) error {
	props := t.props(t.top, root).Configure(actor.WithGuardian(&supervision{t}))
	t.root = t.proto.NewLocalPID("divan") // before its children run, which send to it
	if _, err := t.proto.Root.SpawnNamed(props, t.root.Id); err != nil {
		t.stop()
		t.kinds.close()
		return fmt.Errorf("actors: start the root: %w", err)
	}
	return nil
}

// end ends all actors and waits for them and their I/O. stop may come before.
func (t *tree) end() error {
	t.stop()
	err := t.proto.Root.StopFuture(t.root).Wait()
	t.io.Wait()
	t.kinds.close()
	return err
}

func (t *tree) now() time.Time { return time.Now() }

// run runs f in a goroutine that end waits for.
func (t *tree) run(f func()) { t.io.Go(f) }

// toChild is passed on by the root to one of its children.
type toChild struct {
	key     string
	message any
}

// tell sends a message to a child of the root. Before it is up the message waits in the root's mailbox; after the end
// of the tree it is lost.
func (t *tree) tell(key string, message any) { t.proto.Root.Send(t.root, toChild{key: key, message: message}) }

// snapshot is the tree at this moment, with no more than most children of each actor, those first that have failed of
// late; most is 0 for all.
func (t *tree) snapshot(most int) Node {
	all := t.top.snapshot(t.now(), most).Children
	if len(all) == 0 {
		return Node{ID: "node", Kind: "node", State: stateStopping, Mailbox: 0}
	}
	return all[0]
}

// rootBehavior starts its children and keeps them.
type rootBehavior struct{ children []spawn }

// rootSpec is the top of the tree: the actors that every node has are its children, under their keys.
func rootSpec(node string, children []spawn) spec {
	return spec{kind: "node", name: node, make: func() behavior { return &rootBehavior{children: children} }}
}

func (b *rootBehavior) Step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
		var e []effect
		for _, c := range b.children {
			e = append(e, c)
		}
		return e
	case childGone:
		for _, c := range b.children {
			if c.key == m.key {
				return []effect{c}
			}
		}
	case toChild:
		return []effect{tell{key: m.key, message: m.message}}
	}
	return nil
}

func (b *rootBehavior) Status() (string, any) { return "running", nil }

// ofKind lists the actors of a kind.
func (t *tree) ofKind(kind string) (all []*record) {
	t.top.walk(func(r *record) {
		if r.kind == kind {
			all = append(all, r)
		}
	})
	return all
}

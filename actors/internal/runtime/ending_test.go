package runtime

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// crowdBehavior has many children.
type crowdBehavior struct{ members []Spawn }

func (b *crowdBehavior) Step(_ time.Time, message any) (e []Effect) {
	if _, ok := message.(Started); ok {
		for _, m := range b.members {
			e = append(e, m)
		}
	}
	return e
}

func (b *crowdBehavior) Status() (string, any) { return "crowded", nil }

// The end of a tree costs no message for any actor: with very many actors, a busy machine has no time for them.
func TestTree_End(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	const many = 1000
	looks, ended := 0, 0
	let := make(chan struct{})
	var members []Spawn
	for i := range many {
		members = append(members, Spawn{Key: fmt.Sprint(i), Spec: Spec{Kind: "member", Name: fmt.Sprint(i),
			Make: func() Behavior { return slowChild{let, &looks} }, Ended: func() { ended++ }}})
	}
	crowd := Spawn{Key: "crowd", Spec: Spec{Kind: "crowd",
		Make: func() Behavior { return &crowdBehavior{members} }}}
	if err := tree.Start(RootSpec("n1", []Spawn{crowd})); err != nil {
		t.Fatal(err)
	}
	messages := func() (n int64) {
		list, _ := tree.Metrics()
		for _, k := range list {
			n += k.Durations.Count
		}
		return n
	}
	const started = many + 2 // with the root and their parent
	for deadline := time.Now().Add(time.Minute); messages() < started; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages, and actors have not begun", messages())
		}
	}
	tree.End()
	if n := messages() - started; n != 0 || ended != 0 {
		t.Errorf("the end took %d messages, and was told to %d of %d actors", n, ended, many)
	}
	if top := tree.Snapshot(); top.State != stateStopping || len(top.Children) != 0 {
		t.Errorf("after the end there is %+v", top)
	}
	tree.Tell("crowd", LookAgain{})
	tree.End() // a second time it has nothing to do
}

// The end waits for an actor that works on a message, and for what this message begins. Nothing begins later.
func TestTree_End_waits(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	looks, let, works := 0, make(chan struct{}), make(chan struct{}, 1)
	child := Spawn{Key: "c", Spec: Spec{Kind: "slow",
		Make: func() Behavior { return heldChild{slowChild{let, &looks}, works} }}}
	if err := tree.Start(RootSpec("n1", []Spawn{child})); err != nil {
		t.Fatal(err)
	}
	tree.Tell("c", wait{})
	<-works
	tree.Tell("c", LookAgain{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		tree.End()
	}()
	for tree.working.state.Load() < gateShut { // a busy machine may not have begun to end it
		time.Sleep(time.Millisecond)
	}
	select {
	case <-over:
		t.Fatal("the tree has ended, and an actor works")
	case <-time.After(50 * time.Millisecond):
	}
	close(let)
	<-over
	if looks != 0 {
		t.Error("an actor took a message after the end began")
	}
}

// A gate lets in nobody once it is shut, and is shut only when all have left.
func TestGate(t *testing.T) {
	g := newGate()
	var inside, refused atomic.Int64
	shut := make(chan struct{})
	var workers []chan struct{}
	for range 8 {
		done := make(chan struct{})
		workers = append(workers, done)
		go func() {
			defer close(done)
			for g.enter() {
				inside.Add(1)
				select {
				case <-shut:
					t.Error("somebody is inside a gate that is shut")
				default:
				}
				inside.Add(-1)
				g.leave()
			}
			refused.Add(1)
		}()
	}
	time.Sleep(10 * time.Millisecond)
	g.shut()
	if n := inside.Load(); n != 0 {
		t.Errorf("%d are inside", n)
	}
	close(shut)
	g.shut()
	for _, done := range workers {
		<-done
	}
	if refused.Load() != 8 {
		t.Errorf("%d were refused", refused.Load())
	}
}

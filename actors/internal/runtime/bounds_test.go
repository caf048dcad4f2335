package runtime

import (
	"log/slog"
	"testing"
	"time"
)

// slowChild is stuck in its first message until let is closed.
type slowChild struct {
	let   chan struct{}
	looks *int
}

type wait struct{}

func (b slowChild) Step(_ time.Time, message any) []Effect {
	switch message.(type) {
	case wait:
		<-b.let
	case LookAgain:
		*b.looks++
	}
	return nil
}

func (slowChild) Status() (string, any) { return "slow", nil }

// heldChild tells when it works on wait.
type heldChild struct {
	slowChild
	works chan struct{} // capacity 1: receives then
}

func (b heldChild) Step(now time.Time, message any) []Effect {
	if _, ok := message.(wait); ok {
		select {
		case b.works <- struct{}{}:
		default:
		}
	}
	return b.slowChild.Step(now, message)
}

// Senders that outrun an actor leave a bounded number of messages: those that can be repeated are dropped.
func TestTree_TellIfRoom(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	let, looks, works := make(chan struct{}), 0, make(chan struct{}, 1)
	child := Spawn{Key: "c", Spec: Spec{Kind: "slow",
		Make: func() Behavior { return heldChild{slowChild{let, &looks}, works} }}}
	if err := tree.Start(RootSpec("n1", []Spawn{child})); err != nil {
		t.Fatal(err)
	}
	tree.Tell("c", wait{})
	<-works
	const most = 10
	told := 0
	for range 1000 {
		if tree.TellIfRoom("c", "slow", wait{}, most) {
			told++
		}
	}
	// A message that the root is passing on at this moment is counted nowhere.
	if told < most || told > most+1 {
		t.Errorf("%d messages wait, not %d", told, most)
	}
	for range 1000 {
		tree.Tell("c", LookAgain{})
	}
	close(let)
	tree.End()
	if looks > 1 {
		t.Errorf("%d messages say the same", looks)
	}
}

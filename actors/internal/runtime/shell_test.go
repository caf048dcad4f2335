package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// clumsy is a behavior that panics on request, and does I/O that panics.
type clumsy struct{ lives *int }

type (
	panicNow struct{}
	panicIO  struct{}
	answerMe struct{}
	answer   struct{ lives int }
)

func (b *clumsy) Step(_ time.Time, message any) []Effect {
	switch message.(type) {
	case Started:
		*b.lives++
	case panicNow:
		panic(errors.New("told to"))
	case panicIO, answerMe:
		return []Effect{message}
	}
	return nil
}

func (b *clumsy) Status() (string, any) { return "clumsy", nil }

// A message at which an actor fails is not delivered again, and the tree keeps what it was. The actor's budget of
// restarts is limited.
func TestTree_parked(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	if err := tree.Start(RootSpec("n1", nil)); err != nil {
		t.Fatal(err)
	}
	defer tree.End()
	lives := 0
	exhausted := make(chan struct{}, 10)
	pid := tree.proto.Root.Spawn(tree.props(tree.top, Spec{Kind: "clumsy", Name: "c",
		Make:      func() Behavior { return &clumsy{&lives} },
		Exhausted: func() { exhausted <- struct{}{} }}).Configure(actor.WithGuardian(&supervision{tree})))
	const messages = restartBudget + 2
	for range messages {
		tree.proto.Root.Send(pid, panicNow{})
	}
	for range messages - restartBudget {
		select {
		case <-exhausted:
		case <-time.After(10 * time.Second):
			t.Fatal("the budget of restarts has no end")
		}
	}
	list := tree.kinds.facts().Parked
	if len(list) != messages {
		t.Fatalf("%d messages are parked: %+v", len(list), list)
	}
	got := list[0]
	if got.Actor != "clumsy:c" || got.Message != "runtime.panicNow" || got.Reason != "told to" || got.At.IsZero() {
		t.Errorf("parked: %+v", got)
	}
	r := newRecord(tree.top, "clumsy", "many", tree.Now())
	for range 2 * mostParked {
		tree.park(r, panicNow{}, "again")
	}
	if n := len(tree.kinds.facts().Parked); n != mostParked {
		t.Errorf("%d messages are parked", n)
	}
	select {
	case <-exhausted:
		t.Error("the budget was exceeded more often than the actor failed")
	default:
	}
}

// A requester gets an error at once if the actor fails over its request, and the actor answers the next one.
func TestShell_RequesterHearsOfAFailure(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	if err := tree.Start(RootSpec("n1", nil)); err != nil {
		t.Fatal(err)
	}
	defer tree.End()
	lives := 0
	pid := tree.proto.Root.Spawn(tree.props(tree.top, Spec{
		Kind: "clumsy", Make: func() Behavior { return &clumsy{&lives} },
		Perform: func(sh *Shell, e Effect) {
			switch e.(type) {
			case panicIO:
				sh.Do(func(context.Context) any { panic("in its I/O") })
			case answerMe:
				sh.context.Respond(answer{lives})
			}
		},
	}))
	ask := func(message any) any {
		t.Helper()
		reply, err := tree.proto.Root.RequestFuture(pid, message, 5*time.Second).Result()
		if err != nil {
			t.Fatalf("%T: %v", message, err)
		}
		return reply
	}
	if got := ask(answerMe{}); got != (answer{1}) {
		t.Errorf("answer %v", got)
	}
	failure, ok := ask(panicNow{}).(*FailureError)
	if !ok || failure.Reason != "told to" || !strings.Contains(failure.Error(), "clumsy") {
		t.Errorf("failure %v", failure)
	}
	if got := ask(answerMe{}); got != (answer{2}) {
		t.Errorf("answer %v", got)
	}
	tree.proto.Root.Send(pid, panicIO{})
	deadline := time.Now().Add(5 * time.Second)
	for ask(answerMe{}) != (answer{3}) {
		if time.Now().After(deadline) {
			t.Fatal("no restart after a panic in its I/O")
		}
	}
	if err := tree.proto.Root.StopFuture(pid).Wait(); err != nil {
		t.Error(err)
	}
}

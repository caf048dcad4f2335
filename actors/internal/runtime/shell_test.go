package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
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

// A requester gets an error at once if the actor fails over its request, and the actor answers the next one.
func TestShell_RequesterHearsOfAFailure(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	if err := tree.Start(RootSpec("n1", nil)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tree.End(); err != nil {
			t.Error(err)
		}
	}()
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

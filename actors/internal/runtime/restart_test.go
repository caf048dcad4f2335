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

// slowBehavior counts its lives, and works on a message until it is let go.
type slowBehavior struct {
	lives *int
	begun chan struct{} // closed when it works
	let   chan struct{} // closed to let it go
}

type workNow struct{}

func (b *slowBehavior) Step(_ time.Time, message any) []Effect {
	switch message.(type) {
	case Started:
		*b.lives++
	case workNow:
		close(b.begun)
		<-b.let
	}
	return nil
}

func (b *slowBehavior) Status() (string, any) { return "waiting", nil }

// An actor is restarted on request, withdraws what others rely on before, and is not taken for one that fails.
func TestTree_Restart(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	lives, ended := 0, 0
	begun, let := make(chan struct{}), make(chan struct{})
	slow := Spec{Kind: "slow", Make: func() Behavior { return &slowBehavior{&lives, begun, let} },
		Ended: func() { ended++ }}
	if err := tree.Start(RootSpec("n1", []Spawn{{Key: "slow", Spec: slow}})); err != nil {
		t.Fatal(err)
	}
	const id = "node:n1/slow"
	deadline := time.Now().Add(10 * time.Second)
	for errors.Is(tree.Restart(t.Context(), id), ErrNoActor) { // it may not have begun
		if time.Now().After(deadline) {
			t.Fatal("the actor does not begin")
		}
		time.Sleep(time.Millisecond)
	}
	shown := func() Node { return tree.Snapshot().Children[0] }
	before := shown()
	time.Sleep(time.Millisecond)
	if err := tree.Restart(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if len(tree.Degraded()) > 0 {
		t.Errorf("degraded: %v", tree.Degraded())
	}
	after := shown()
	if after.Restarts != before.Restarts+1 || !after.Since.After(before.Since) || after.LastFailure != "" {
		t.Errorf("after a restart %+v, before %+v", after, before)
	}
	kinds, _ := tree.Metrics()
	for _, k := range kinds {
		if k.Restarted != 0 {
			t.Errorf("a restart on request counts as a failure of %s", k.Kind)
		}
	}
	if err := tree.Restart(t.Context(), "node:n1/quick"); !errors.Is(err, ErrNoActor) {
		t.Errorf("an actor that is not there: %v", err)
	}

	tree.Tell("slow", workNow{})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := tree.Restart(ctx, id); err == nil || !strings.Contains(err.Error(), "busy with one message") {
		t.Errorf("a busy actor: %v", err)
	}
	close(let)
	if err := tree.Restart(t.Context(), id); err != nil {
		t.Error(err)
	}
	tree.End()
	// After the end, nothing runs that reads or writes these.
	if lives < 4 || ended != lives-1 { // the end of the tree ends the last one
		t.Errorf("%d lives, %d of them ended before", lives, ended)
	}
}

// Messages to actors that have ended are counted and shown at the top of the tree.
func TestTree_deadLetters(t *testing.T) {
	tree := NewTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	if err := tree.Start(RootSpec("n1", nil)); err != nil {
		t.Fatal(err)
	}
	defer tree.End()
	pid := tree.proto.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	if err := tree.proto.Root.StopFuture(pid).Wait(); err != nil {
		t.Fatal(err)
	}
	tree.proto.Root.Send(pid, workNow{})
	deadline := time.Now().Add(10 * time.Second)
	for {
		facts, ok := tree.Snapshot().Facts.(NodeFacts) // nil until the root has begun
		if ok && facts.DeadLetters == 1 && strings.HasPrefix(facts.LastDeadLetter, "runtime.workNow to ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("facts %+v", facts)
		}
		time.Sleep(time.Millisecond)
	}
}

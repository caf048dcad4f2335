package actors

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// clumsy is a behavior that panics when told to, and does I/O that panics.
type clumsy struct{ lives *int }

type (
	panicNow struct{}
	panicIO  struct{}
	answerMe struct{}
	answer   struct{ lives int }
)

func (b *clumsy) step(_ time.Time, message any) []effect {
	switch message.(type) {
	case started:
		*b.lives++
	case panicNow:
		panic(errors.New("told to"))
	case panicIO, answerMe:
		return []effect{message}
	}
	return nil
}

func (b *clumsy) status() (string, any) { return "clumsy", nil }

// What asks an actor that fails over the question is told so at once; and the actor answers the next one.
func TestShell_RequesterHearsOfAFailure(t *testing.T) {
	tree := newTree(NewActorSystem(slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	if err := tree.start(rootSpec("n1", nil)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tree.end(); err != nil {
			t.Error(err)
		}
	}()
	lives := 0
	pid := tree.proto.Root.Spawn(tree.props(tree.top, spec{
		kind: "clumsy", make: func() behavior { return &clumsy{&lives} },
		perform: func(sh *shell, e effect) {
			switch e.(type) {
			case panicIO:
				sh.do(func(context.Context) any { panic("in its I/O") })
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

// The pauses before restarts grow while failures follow each other, and are forgotten after a while.
func TestRecord_Failed(t *testing.T) {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	now := time.Unix(1000, 0)
	var last time.Duration
	for i := range 20 {
		pause := r.failed(now.Add(time.Duration(i)*time.Second), "again")
		switch {
		case i == 0 && pause != 0:
			t.Errorf("the first failure waits %v", pause)
		case i > 0 && (pause < last || pause == 0 || pause > 5*time.Second):
			t.Errorf("failure %d waits %v after %v", i, pause, last)
		}
		last = pause
	}
	if pause := r.failed(now.Add(time.Hour), "later"); pause != 0 {
		t.Errorf("a failure an hour later waits %v", pause)
	}
	for at, want := range map[time.Duration]int{19 * time.Second: 20, failureWindow + 9*time.Second: 11, failureWindow + time.Minute: 0} {
		if n, reason := recordWith(20).failures(now.Add(at)); n != want || reason != "again" {
			t.Errorf("after %v: %d failures (%s), want %d", at, n, reason, want)
		}
	}
	if n := r.snapshot(now, 0); n.Restarts != 21 || n.LastFailure != "later" || n.State != stateRestarting {
		t.Errorf("snapshot %+v", n)
	}
}

// recordWith is an actor that has failed so many times, once a second.
func recordWith(failures int) *record {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	for i := range failures {
		r.failed(time.Unix(1000+int64(i), 0), "again")
	}
	return r
}

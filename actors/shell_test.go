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
	s, err := Start(Options{Store: idleStore{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	lives := 0
	pid := s.proto.Root.Spawn(s.props(s.tree, spec{kind: "clumsy", make: func() behavior { return &clumsy{&lives} },
		perform: func(sh *shell, e effect) {
			switch e.(type) {
			case panicIO:
				sh.do(func(context.Context) any { panic("in its I/O") })
			case answerMe:
				sh.context.Respond(answer{lives})
			}
		}}))
	ask := func(message any) any {
		t.Helper()
		reply, err := s.proto.Root.RequestFuture(pid, message, 5*time.Second).Result()
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
	s.proto.Root.Send(pid, panicIO{})
	deadline := time.Now().Add(5 * time.Second)
	for ask(answerMe{}) != (answer{3}) {
		if time.Now().After(deadline) {
			t.Fatal("no restart after a panic in its I/O")
		}
	}
	if err := s.proto.Root.StopFuture(pid).Wait(); err != nil {
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

// An actor that is at work on one message for long keeps no promise, and the listeners look by themselves meanwhile.
func TestHub_AStuckActor(t *testing.T) {
	db, start := namedDatabase{}, time.Unix(1000, 0)
	h := newHub()
	r := newRecord(nil, "shard", "a", start)
	ch := make(chan struct{}, 1)
	h.add(db, "a", ch)
	h.vouch(db, "a", vouchWatched, r, start)
	nobody := func(time.Time, shardKey) bool { return false }
	woken := func(at time.Duration) bool {
		h.wakeUnheard(start.Add(at), time.Second, nobody)
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	told := func(at time.Duration, reached bool) bool {
		st, _ := h.follow(db, "a", "n2", follower{key: 1}, reached, start.Add(at))
		return st.Watched
	}
	if !told(time.Second, true) || told(time.Second, false) {
		t.Error("a follower is told otherwise than that the actor watches where the store can be reached")
	}
	r.begin(start.Add(10 * time.Second))
	if !told(10*time.Second+armingLimit/2, true) || told(11*time.Second, true) {
		t.Error("a follower is told that a stuck actor watches")
	}
	for at, want := range []bool{10: false, 11: false, 12: true, 13: true} {
		if got := at >= 10 && woken(time.Duration(at)*time.Second); got != want {
			t.Errorf("woken at %d s: %v", at, got)
		}
	}
	r.end()
	if !told(14*time.Second, true) || woken(14*time.Second) || woken(16*time.Second) {
		t.Error("the actor is not relied on any more after it went on")
	}
	h.vouch(db, "a", vouchNothing, nil, start.Add(20*time.Second))
	if told(20*time.Second, true) || woken(20*time.Second) || !woken(21*time.Second) {
		t.Error("the promise of an actor that failed holds")
	}
}

// namedDatabase is a database that has nothing but a name.
type namedDatabase struct{ Database }

func (namedDatabase) Name() string { return "cities" }

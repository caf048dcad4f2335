package feeds

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// The behavior is tested from inside: it is a state machine without an API of its own.
func TestShardBehavior(t *testing.T) {
	seq := func(n byte) layer.Seq { return layer.Seq{Stamp: [12]byte{11: n}} }
	gone := &layer.Error{Kind: layer.NotFound, Reason: "missing"}
	// Names of effects, in order; pauses without their length.
	names := func(effects []runtime.Effect) string {
		var list []string
		for _, e := range effects {
			list = append(list, effectName(e))
		}
		return strings.Join(list, " ")
	}
	type turn struct {
		at      time.Duration
		message any
		nobody  bool // there is no subscriber
		want    string
		phase   shardPhase
		owner   string // result of elsewhere, if not empty; a trailing ! means that it can be relied on
	}
	const gap = minWakeGap
	cases := []struct {
		name  string
		turns []turn
	}{
		{"a watch wakes when it is armed, and not again when arming is done", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{time.Second, watchFired{}, false, "report arm", shardArming, ""},
			{time.Second, watchArmed{seen: seq(2)}, false, "await report", shardWatching, ""},
		}},
		{"a reshard fires the watch and does not change the sequence", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{time.Second, watchFired{}, false, "report arm", shardArming, ""},
			{time.Second, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
		}},
		{"a stream of commits wakes once per gap", []turn{
			{time.Second, runtime.Started{}, false, "arm", shardArming, ""},
			{time.Second, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{time.Second + 10, watchFired{}, false, "report after", shardPausing, ""},
			{time.Second + minWakeGap, armNow{}, false, "arm", shardArming, ""},
			{time.Second + minWakeGap, watchArmed{seen: seq(9)}, false, "await report", shardWatching, ""},
		}},
		{"with many listeners the gap is longer, and a commit after it wakes at once", []turn{
			{time.Second, runtime.Started{}, false, "arm", shardArming, ""},
			{time.Second, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{time.Second + 5*gap, crowded(3300), false, "", shardWatching, ""},
			{time.Second + 9*gap, watchFired{}, false, "report after", shardPausing, ""},
			{time.Second + 10*gap, armNow{}, false, "arm", shardArming, ""},
			{time.Second + 10*gap, watchArmed{seen: seq(2)}, false, "await report", shardWatching, ""},
			{time.Second + 20*gap, watchFired{}, false, "report arm", shardArming, ""},
			{time.Second + 20*gap, watchArmed{seen: seq(3)}, false, "await report", shardWatching, ""},
			{time.Second + 21*gap, crowded(1_000_000), false, "", shardWatching, ""},
			{time.Second + 40*gap, watchFired{}, false, "report arm", shardArming, ""},
		}},
		{"a failing store wakes listeners with pauses", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{err: errors.New("no")}, false, "report wakeThem after", shardRetrying, ""},
			{time.Second, armNow{}, false, "arm", shardArming, ""},
			{time.Second, watchArmed{err: errors.New("no")}, false, "report wakeThem after", shardRetrying, ""},
			{2 * time.Second, armNow{}, false, "arm", shardArming, ""},
			{2 * time.Second, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{3 * time.Second, watchFired{err: errors.New("no")}, false, "report wakeThem after", shardRetrying, ""},
			{4 * time.Second, armNow{}, false, "arm", shardArming, ""},
			{4 * time.Second, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
		}},
		{"a deleted database wakes listeners, so that they notice", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{err: gone}, false, "report wakeThem after", shardGone, ""},
		}},
		{"without subscribers it ends after a while, unless a new one comes", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{seen: seq(1)}, false, "await report", shardWatching, ""},
			{2, runtime.LookAgain{}, true, "report after", shardWatching, ""},
			{3, runtime.LookAgain{}, true, "report", shardWatching, ""},
			{4, runtime.LookAgain{}, false, "report", shardWatching, ""},
			{5, idleOver{1}, false, "", shardWatching, ""},
			{6, runtime.LookAgain{}, true, "report after", shardWatching, ""},
			{7, idleOver{1}, true, "", shardWatching, ""},
			{8, idleOver{2}, true, "stopSelf", shardWatching, ""},
		}},
		{"no watch is needed if the owner answers in time", []turn{
			{0, runtime.Started{}, false, "follow after", shardAsking, "n2"},
			{1, runtime.LookAgain{}, false, "", shardAsking, "n2"},
			{2, runtime.LookAgain{}, false, "wakeThem", shardFollowing, "n2!"},
			{3, askedLong{0}, false, "", shardFollowing, "n2!"},
			{3, runtime.LookAgain{}, false, "", shardFollowing, "n2!"},
		}},
		{"an owner that does not answer is followed nevertheless, in addition to a watch", []turn{
			{0, runtime.Started{}, false, "follow after", shardAsking, "n2"},
			{gap, askedLong{1}, false, "arm", shardArming, "n2"},
			{gap, watchArmed{seen: seq(1), watch: never{}}, false, "await report", shardWatching, "n2"},
			{time.Second, watchFired{}, false, "report arm", shardArming, "n2"},
			{time.Second, watchArmed{seen: seq(2), watch: never{}}, false, "await report", shardWatching, "n2"},
			{2 * time.Second, runtime.LookAgain{}, false, "report dropWatch wakeThem", shardFollowing, "n2!"},
			{3 * time.Second, watchFired{epoch: -1}, false, "", shardFollowing, "n2!"},
			{3 * time.Second, armNow{epoch: -1}, false, "", shardFollowing, "n2!"},
			{3 * time.Second, watchArmed{epoch: -1, watch: never{}}, false, "dropWatch", shardFollowing, "n2!"},
		}},
		{"while the owner is in doubt, this node watches, which wakes", []turn{
			{0, runtime.Started{}, false, "follow after", shardAsking, "n2"},
			{1, runtime.LookAgain{}, false, "wakeThem", shardFollowing, "n2!"},
			{2, runtime.LookAgain{}, false, "arm", shardArming, "n2"},
			{3, watchArmed{seen: seq(1), watch: never{}}, false, "await report", shardWatching, "n2"},
			{4, runtime.LookAgain{}, false, "report dropWatch wakeThem", shardFollowing, "n2!"},
			{5, runtime.LookAgain{}, false, "arm", shardArming, "n2"},
			{6, watchArmed{seen: seq(1), watch: never{}}, false, "await report", shardWatching, "n2"},
		}},
		{"another placement: the next owner is asked; where it is this node, it watches", []turn{
			{0, runtime.Started{}, false, "follow after", shardAsking, "n2"},
			{1, runtime.LookAgain{}, false, "wakeThem", shardFollowing, "n2!"},
			{2, runtime.LookAgain{}, false, "follow after", shardAsking, "n3"},
			{3, runtime.LookAgain{}, false, "wakeThem", shardFollowing, "n3!"},
			{4, runtime.LookAgain{}, false, "unfollow arm", shardArming, ""},
			{5, watchArmed{seen: seq(1), watch: never{}}, false, "await report", shardWatching, ""},
			{6, runtime.LookAgain{}, false, "follow", shardWatching, "n2"},
			{7, runtime.LookAgain{}, false, "report dropWatch wakeThem", shardFollowing, "n2!"},
		}},
		{"a restarted actor whose owner watches wakes once and follows", []turn{
			{0, runtime.Started{}, false, "follow after wakeThem", shardFollowing, "n2!"},
		}},
		{"the store fails here but not at the owner", []turn{
			{0, runtime.Started{}, false, "arm", shardArming, ""},
			{1, watchArmed{err: errors.New("no")}, false, "report wakeThem after", shardRetrying, ""},
			{2, runtime.LookAgain{}, false, "follow", shardRetrying, "n2"},
			{3, runtime.LookAgain{}, false, "wakeThem", shardFollowing, "n2!"},
			{4, armNow{epoch: -1}, false, "", shardFollowing, "n2!"},
		}},
		{"without subscribers following ends too", []turn{
			{0, runtime.Started{}, false, "follow after wakeThem", shardFollowing, "n2!"},
			{1, runtime.LookAgain{}, true, "after", shardFollowing, "n2!"},
			{2, idleOver{1}, true, "unfollow stopSelf", shardFollowing, "n2!"},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			listening := true
			var owner string
			crowd := crowded(1)
			b := &shardBehavior{
				ending:    func() bool { return false },
				wanted:    func() bool { return listening },
				linger:    time.Second,
				backoff:   runtime.NewBackoff(time.Millisecond, time.Second),
				listeners: func() int { return int(crowd) },
				elsewhere: func() (string, bool) {
					return strings.TrimSuffix(owner, "!"), strings.HasSuffix(owner, "!")
				},
			}
			start := time.Unix(1000, 0)
			for i, turn := range tc.turns {
				listening, owner = !turn.nobody, turn.owner
				if n, ok := turn.message.(crowded); ok {
					crowd = n
				}
				got := names(b.Step(start.Add(turn.at), ofEpoch(turn.message, b.epoch)))
				if phase, _ := b.Status(); got != turn.want || phase != string(turn.phase) {
					t.Fatalf("turn %d, %T: %q in phase %q, want %q in %q", i, turn.message, got, phase, turn.want,
						turn.phase)
				}
				// Listeners can rely on a watch here or on the node that is followed, and on nothing else.
				sure := turn.phase == shardWatching || turn.phase == shardFollowing
				if sure != b.facts.unsure.IsZero() {
					t.Fatalf("turn %d: in phase %q, unsure since %v", i, turn.phase, b.facts.unsure)
				}
			}
		})
	}
}

// An engine with too many watches returns one that fails at once: pauses grow nevertheless, until a watch has fired, or
// has lasted.
func TestShardBehavior_WatchesThatFailAtOnce(t *testing.T) {
	b := &shardBehavior{
		ending:    func() bool { return false },
		wanted:    func() bool { return true },
		listeners: func() int { return 1 },
		elsewhere: func() (string, bool) { return "", false },
		backoff:   runtime.NewBackoff(minPause, maxPause),
	}
	now := time.Unix(1000, 0)
	b.Step(now, runtime.Started{})
	// ends returns the pause after a watch that has ended some time after it was armed.
	ends := func(after time.Duration, err error) (pause time.Duration) {
		b.Step(now, watchArmed{epoch: b.epoch, watch: never{}})
		now = now.Add(after)
		for _, e := range b.Step(now, watchFired{b.epoch, err}) {
			if a, ok := e.(runtime.After); ok {
				pause = a.Delay
			}
		}
		now = now.Add(pause)
		b.Step(now, armNow{b.epoch})
		return pause
	}
	full := errors.New("too many watches")
	attempts := 0
	for begun := now; now.Sub(begun) < time.Minute; attempts++ {
		ends(0, full)
	}
	if attempts > 150 {
		t.Errorf("%d attempts in a minute", attempts)
	}
	for _, c := range []struct {
		after time.Duration
		err   error
	}{{time.Second, nil}, {time.Hour, full}} {
		for range 20 {
			ends(0, full)
		}
		ends(c.after, c.err)
		if pause := ends(0, full); pause > 4*minPause {
			t.Errorf("%v after a watch that ended with %v after %v", pause, c.err, c.after)
		}
	}
}

// effectName returns the name of an effect of any package.
func effectName(e runtime.Effect) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", e), ".")
	return strings.ToLower(name[:1]) + name[1:]
}

// crowded is not a message of the actor: it sets the number of listeners.
type crowded int

// ofEpoch sets the epoch of a message, as the shell would, unless the case says that it is late.
func ofEpoch(message any, epoch int) any {
	switch m := message.(type) {
	case watchArmed:
		if m.epoch == 0 {
			m.epoch = epoch
		}
		return m
	case watchFired:
		if m.epoch == 0 {
			m.epoch = epoch
		}
		return m
	case armNow:
		if m.epoch == 0 {
			m.epoch = epoch
		}
		return m
	}
	return message
}

// never is a watch that does not fire.
type never struct{}

func (never) Done() <-chan struct{} { return nil }
func (never) Err() error            { return nil }
func (never) Cancel()               {}

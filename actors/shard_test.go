package actors

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// The behavior is tested from inside: it is a state machine without a face of its own.
func TestShardBehavior(t *testing.T) {
	seq := func(n byte) layer.Seq { return layer.Seq{Stamp: [12]byte{11: n}} }
	gone := &layer.Error{Kind: layer.NotFound, Reason: "missing"}
	// names of effects, in order; pauses without their length.
	names := func(effects []effect) string {
		var list []string
		for _, e := range effects {
			list = append(list, strings.TrimPrefix(fmt.Sprintf("%T", e), "actors."))
		}
		return strings.Join(list, " ")
	}
	type turn struct {
		at      time.Duration
		message any
		nobody  bool // listens
		want    string
		phase   shardPhase
	}
	cases := []struct {
		name  string
		turns []turn
	}{
		{"the first watch wakes those who came before it was armed, later ones only for news", []turn{
			{0, started{}, false, "arm", shardArming},
			{1, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
			{time.Second, watchFired{}, false, "arm", shardArming},
			{time.Second, watchArmed{seen: seq(2)}, false, "await wakeThem", shardWatching},
		}},
		{"a reshard fires the watch and leaves the sequence: listeners are woken", []turn{
			{0, started{}, false, "arm", shardArming},
			{1, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
			{time.Second, watchFired{}, false, "arm", shardArming},
			{time.Second, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
		}},
		{"a stream of commits wakes once in a gap", []turn{
			{0, started{}, false, "arm", shardArming},
			{time.Second, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
			{time.Second + 10, watchFired{}, false, "after", shardPausing},
			{time.Second + minWakeGap, armNow{}, false, "arm", shardArming},
			{time.Second + minWakeGap, watchArmed{seen: seq(9)}, false, "await wakeThem", shardWatching},
		}},
		{"a failing store wakes listeners at pauses, and news after it", []turn{
			{0, started{}, false, "arm", shardArming},
			{1, watchArmed{err: errors.New("no")}, false, "wakeThem after", shardRetrying},
			{time.Second, armNow{}, false, "arm", shardArming},
			{time.Second, watchArmed{err: errors.New("no")}, false, "wakeThem after", shardRetrying},
			{2 * time.Second, armNow{}, false, "arm", shardArming},
			{2 * time.Second, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
			{3 * time.Second, watchFired{err: errors.New("no")}, false, "wakeThem after", shardRetrying},
			{4 * time.Second, armNow{}, false, "arm", shardArming},
			{4 * time.Second, watchArmed{seen: seq(1)}, false, "await", shardWatching},
		}},
		{"a deleted database wakes listeners, so that they notice", []turn{
			{0, started{}, false, "arm", shardArming},
			{1, watchArmed{err: gone}, false, "wakeThem after", shardGone},
		}},
		{"nobody listening ends it after a while, unless somebody comes", []turn{
			{0, started{}, false, "arm", shardArming},
			{1, watchArmed{seen: seq(1)}, false, "await wakeThem", shardWatching},
			{2, lookAgain{}, true, "after", shardWatching},
			{3, lookAgain{}, true, "", shardWatching},
			{4, lookAgain{}, false, "", shardWatching},
			{5, idleOver{1}, false, "", shardWatching},
			{6, lookAgain{}, true, "after", shardWatching},
			{7, idleOver{1}, true, "", shardWatching},
			{8, idleOver{2}, true, "stopSelf", shardWatching},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			listening := true
			b := &shardBehavior{wanted: func() bool { return listening }, linger: time.Second, backoff: newBackoff(time.Millisecond, time.Second)}
			start := time.Unix(1000, 0)
			for i, turn := range tc.turns {
				listening = !turn.nobody
				got := names(b.step(start.Add(turn.at), turn.message))
				if phase, _ := b.status(); got != turn.want || phase != string(turn.phase) {
					t.Fatalf("turn %d, %T: %q in phase %q, want %q in %q", i, turn.message, got, phase, turn.want, turn.phase)
				}
			}
		})
	}
}

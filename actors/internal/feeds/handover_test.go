package feeds

import (
	"log/slog"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
)

// A member that is asked late in the time for which it refuses a shard is not left out for as long again.
func TestExchange_refusing(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	f := New(runtime.NewTree(runtime.NewActorSystem(log), log), Options{Node: "n2", Peers: nobody{},
		Beat: time.Second, Changed: func(ports.Database) {}})
	k := shardKey{numberedDatabase{}, "s"}
	const left = 20 * time.Second
	for name, c := range map[string]struct {
		says    func(key int64) position
		atLeast time.Duration
		atMost  time.Duration
	}{
		"a member": {func(key int64) position {
			f.exchange.refuses(time.Now().Add(left-refusedFor), k, "n2", refusedFor)
			return f.orRefused(position{Key: key, Watched: true}, k)
		}, 1, left + 2*time.Millisecond},
		"one of an earlier version": {func(key int64) position { return position{Key: key, Refused: true} },
			refusedFor, refusedFor},
		"one that has nothing to say": {func(key int64) position {
			return position{Key: key, Refused: true, RefusedFor: 1 << 60}
		}, refusedFor, refusedFor},
	} {
		now := time.Now()
		x := newExchange(time.Second, now)
		x.follow(k, "n2")
		key := x.tellNews(now)[0].Follow[0].Key
		sent := message{Positions: []position{c.says(key)}}
		answer, err := decodeMessage(sent.encode())
		if err != nil {
			t.Fatal(err)
		}
		x.answered(now, "n2", answer)
		if d := x.refusing(now, k)["n2"]; d < c.atLeast || d > c.atMost {
			t.Errorf("%s is left out for %v", name, d)
		}
		if d := x.refusing(now.Add(refusedFor), k)["n2"]; d != 0 {
			t.Errorf("%s is still left out for %v", name, d)
		}
	}
}

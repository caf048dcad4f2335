package feeds

import (
	"log/slog"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// listened is a database that only has listeners.
type listened struct {
	ports.Database
	name string
}

func (d *listened) Name() string { return d.name }

// While a node stops, listeners that go make no actor look: with very many shards that took longer than the stop may.
func TestFeeds_Ending(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	changed := 0
	f := New(runtime.NewTree(runtime.NewActorSystem(log), log), Options{Changed: func(ports.Database) { changed++ }})
	defer f.Close()
	shards := []layer.ShardID{"a", "b", "c"}
	var cancels []func()
	for _, name := range []string{"one", "two", "three"} {
		_, cancel := f.Listen(&listened{name: name}, shards...)
		cancels = append(cancels, cancel)
	}
	cancels[0]()
	if changed != 4 { // three came and one went
		t.Fatalf("%d changes before the end", changed)
	}
	f.Ending()
	cancels[1]()
	cancels[2]()
	if changed != 4 || len(f.Databases()) != 0 {
		t.Errorf("%d changes, and listeners of %d databases are left", changed, len(f.Databases()))
	}
	if _, cancel := f.Listen(&listened{name: "late"}, shards...); changed != 5 {
		t.Error("a listener that comes late is not looked after")
	} else {
		cancel()
	}
}

// A shard's actor does not look for a node to follow while its own ends.
func TestShardBehavior_ending(t *testing.T) {
	looks, ending := 0, false
	b := &shardBehavior{
		ending:    func() bool { return ending },
		wanted:    func() bool { return true },
		listeners: func() int { return 1 },
		elsewhere: func() (string, bool) { looks++; return "", false },
		backoff:   runtime.NewBackoff(minPause, maxPause),
	}
	now := time.Unix(1000, 0)
	b.Step(now, runtime.Started{})
	b.Step(now, watchArmed{epoch: b.epoch, watch: never{}})
	b.Step(now, runtime.LookAgain{})
	before := looks
	ending = true
	if e := b.Step(now, runtime.LookAgain{}); looks != before || len(e) != 0 || before < 2 {
		t.Errorf("%d looks, then %d and %v", before, looks, e)
	}
}

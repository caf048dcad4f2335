package layer

import (
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// storeClock tells the time by the store's versions, which all nodes share and which grow by a million a second, on
// FoundationDB as on the embedded engine. Where nothing is written versions may stand still, so the time since the
// newest one was first seen is added. On FoundationDB they jump ahead by some 100 s when the cluster recovers: what
// goes by this clock may happen earlier by as much. No clock of another machine counts.
type storeClock struct {
	mu      sync.Mutex
	version int64
	seen    time.Time // when version was first seen
}

const versionsPerSecond = 1_000_000

// saw notes a version that the store has reached; what is not above zero is none.
func (c *storeClock) saw(version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version, c.seen = version, time.Now()
	}
}

// now is the version that the store is at, roughly.
func (c *storeClock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == 0 {
		return 0
	}
	return c.version + time.Since(c.seen).Microseconds()
}

// at is now, in a transaction that reads at a version, which may be that of a write long ago.
func (c *storeClock) at(version int64) int64 {
	c.saw(version)
	return max(version, c.now())
}

// until is how long it takes until the store is at a version; negative where it is past it.
func (c *storeClock) until(version int64) time.Duration {
	return time.Duration(version-c.now()) * time.Second / versionsPerSecond
}

// hour numbers the hours by this clock.
func (c *storeClock) hour() int64 { return hourOfVersion(c.now()) }

func hourOfVersion(version int64) int64 { return version / (3600 * versionsPerSecond) }

// afterVersion is the version some time after another one, or before it.
func afterVersion(version int64, d time.Duration) int64 { return max(1, version+d.Microseconds()) }

// hours is the present, for sweeps of what is kept by the hour.
type hours struct {
	store int64 // by the store's clock
	wall  int64 // by this node's
}

// wallHours divides hours of the store's clock from those that earlier versions of Divan wrote, which counted hours
// since 1970 by a node's own clock. No FoundationDB is so many hours old. The versions of the embedded engine began as
// microseconds since 1970, so there both are the same.
const wallHours = 400_000

func (s *dbStore) hours() hours {
	return hours{store: s.clock.hour(), wall: s.wall().Unix() / 3600}
}

// before reports whether an hour that was noted is more than some hours ago.
func (h hours) before(noted, ago int64) bool {
	if noted >= wallHours && h.store < wallHours {
		return noted < h.wall-ago
	}
	return noted < h.store-ago
}

// ranges are the keys under a prefix that begin with such an hour.
func (h hours) ranges(prefix []byte, ago int64) []kv.KeyRange {
	key := func(hour int64) []byte { return tuple.AppendInt(append([]byte(nil), prefix...), hour) }
	list := []kv.KeyRange{{Begin: key(0), End: key(max(0, h.store-ago))}}
	if h.store < wallHours {
		list = append(list, kv.KeyRange{Begin: key(wallHours), End: key(max(wallHours, h.wall-ago))})
	}
	return list
}

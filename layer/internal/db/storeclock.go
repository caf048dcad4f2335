package db

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

const VersionsPerSecond = 1_000_000

// Saw notes a version that the store has reached; what is not above zero is none.
func (c *storeClock) Saw(version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version, c.seen = version, time.Now()
	}
}

// Now is the version that the store is at, roughly.
func (c *storeClock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == 0 {
		return 0
	}
	return c.version + time.Since(c.seen).Microseconds()
}

// At is now, in a transaction that reads at a version, which may be that of a write long ago.
func (c *storeClock) At(version int64) int64 {
	c.Saw(version)
	return max(version, c.Now())
}

// Until is how long it takes until the store is at a version; negative where it is past it.
func (c *storeClock) Until(version int64) time.Duration {
	return time.Duration(version-c.Now()) * time.Second / VersionsPerSecond
}

// Hour numbers the hours by this clock.
func (c *storeClock) Hour() int64 { return hourOfVersion(c.Now()) }

func hourOfVersion(version int64) int64 { return version / (3600 * VersionsPerSecond) }

// AfterVersion is the version some time after another one, or before it.
func AfterVersion(version int64, d time.Duration) int64 { return max(1, version+d.Microseconds()) }

// Hours is the present, for sweeps of what is kept by the hour.
type Hours struct {
	Store int64 // by the store's clock
	Wall  int64 // by this node's
}

// wallHours divides hours of the store's clock from those that earlier versions of Divan wrote, which counted hours
// since 1970 by a node's own clock. No FoundationDB is so many hours old. The versions of the embedded engine began as
// microseconds since 1970, so there both are the same.
const wallHours = 400_000

func (s *Store) Hours() Hours {
	return Hours{Store: s.Clock.Hour(), Wall: s.Wall().Unix() / 3600}
}

// Before reports whether an hour that was noted is more than some hours ago.
func (h Hours) Before(noted, ago int64) bool {
	if noted >= wallHours && h.Store < wallHours {
		return noted < h.Wall-ago
	}
	return noted < h.Store-ago
}

// ranges are the keys under a prefix that begin with such an hour.
func (h Hours) ranges(prefix []byte, ago int64) []kv.KeyRange {
	key := func(hour int64) []byte { return tuple.AppendInt(append([]byte(nil), prefix...), hour) }
	list := []kv.KeyRange{{Begin: key(0), End: key(max(0, h.Store-ago))}}
	if h.Store < wallHours {
		list = append(list, kv.KeyRange{Begin: key(wallHours), End: key(max(wallHours, h.Wall-ago))})
	}
	return list
}

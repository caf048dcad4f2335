package db

import (
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// storeClock tells the time by the store's versions, which all nodes share and which advance by a million a second,
// both on FoundationDB and on the embedded engine. Versions may stand still while nothing is written, so the time since
// the newest version was first seen is added. When a FoundationDB cluster recovers, versions jump ahead by about 100 s;
// timeouts by this clock may then fire earlier by as much. It does not depend on the clocks of other machines.
type storeClock struct {
	mu      sync.Mutex
	version int64
	seen    time.Time // when version was first seen
}

const VersionsPerSecond = 1_000_000

// Saw reports a version that the store has reached. Versions that are not positive are ignored.
func (c *storeClock) Saw(version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version > c.version {
		c.version, c.seen = version, time.Now()
	}
}

// Now returns the approximate current version of the store.
func (c *storeClock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == 0 {
		return 0
	}
	return c.version + time.Since(c.seen).Microseconds()
}

// At returns the current version, given the read version of a transaction, which may be much older.
func (c *storeClock) At(version int64) int64 {
	c.Saw(version)
	return max(version, c.Now())
}

// Until returns how long it takes until the store reaches a version. It is negative if the version has passed.
func (c *storeClock) Until(version int64) time.Duration { return Passing(version - c.Now()) }

// Passing returns how long the store takes for that many versions.
func Passing(versions int64) time.Duration {
	return time.Duration(versions) * (time.Second / VersionsPerSecond) // in this order, it does not overflow
}

// Hour returns the number of the current hour by this clock.
func (c *storeClock) Hour() int64 { return hourOfVersion(c.Now()) }

func hourOfVersion(version int64) int64 { return version / (3600 * VersionsPerSecond) }

// AfterVersion returns the version d after another version, or before it if d is negative.
func AfterVersion(version int64, d time.Duration) int64 { return max(1, version+d.Microseconds()) }

// Hours is the current time in hours, for sweeps of data that is kept by the hour.
type Hours struct {
	Store int64 // by the store's clock
	Wall  int64 // by this node's clock
}

// wallHours separates hours of the store's clock from those written by earlier versions of Divan, which counted hours
// since 1970 by a node's own clock. No FoundationDB cluster is that many hours old. Versions of the embedded engine
// began as microseconds since 1970, so there both are the same.
const wallHours = 400_000

// Hours returns the current time in hours.
func (s *Store) Hours() Hours {
	return Hours{Store: s.Clock.Hour(), Wall: s.Wall().Unix() / 3600}
}

// Before reports whether a recorded hour is more than ago hours in the past.
func (h Hours) Before(noted, ago int64) bool {
	if noted >= wallHours && h.Store < wallHours {
		return noted < h.Wall-ago
	}
	return noted < h.Store-ago
}

// ranges returns the keys under a prefix that begin with an hour more than ago hours in the past.
func (h Hours) ranges(prefix []byte, ago int64) []kv.KeyRange {
	key := func(hour int64) []byte { return tuple.AppendInt(append([]byte(nil), prefix...), hour) }
	list := []kv.KeyRange{{Begin: key(0), End: key(max(0, h.Store-ago))}}
	if h.Store < wallHours {
		list = append(list, kv.KeyRange{Begin: key(wallHours), End: key(max(wallHours, h.Wall-ago))})
	}
	return list
}

package commit

import "time"

// clock issues commit versions. They are microseconds of wall time at the opening of the store, advanced by the
// monotonic clock, so that a step of the wall clock cannot turn them back; and always above the last version of the
// store, so that a restart cannot either.
//
// Not safe for concurrent use: the sequencer owns it.
type clock struct {
	start time.Time // includes the monotonic reading
	base  int64     // version at start
	last  int64     // the last version issued
}

func newClock(lastCommitted int64) *clock {
	now := time.Now()
	return &clock{start: now, base: max(lastCommitted, now.UnixMicro()), last: lastCommitted}
}

// next returns the version of a commit now. Each is higher than the one before.
func (c *clock) next() int64 {
	c.last = max(c.last+1, c.base+time.Since(c.start).Microseconds())
	return c.last
}

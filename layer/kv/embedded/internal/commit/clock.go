package commit

import "time"

// clock gives commit versions. They are microseconds of wall time as it was when the store was opened, carried on by
// the monotonic clock, so that a step of the wall clock cannot turn them back; and always above the last version of the
// store, so that a restart cannot either.
//
// Not safe for concurrent use: the sequencer owns it.
type clock struct {
	start time.Time // with its monotonic reading
	base  int64     // version at start
	last  int64     // the last version given
}

func newClock(lastCommitted int64) *clock {
	now := time.Now()
	return &clock{start: now, base: max(lastCommitted, now.UnixMicro()), last: lastCommitted}
}

// next is the version of a commit now. Each is higher than the one before.
func (c *clock) next() int64 {
	c.last = max(c.last+1, c.base+time.Since(c.start).Microseconds())
	return c.last
}

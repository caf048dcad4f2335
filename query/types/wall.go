package types

import "time"

// instant is the moment at which the clocks of a zone show a wall clock, given as microseconds of UTC. A wall clock
// that there is twice, when summer time ends, is the later one; one that there is not is as if the clocks had not been
// moved. That is PostgreSQL's choice (DetermineTimeZoneOffset in its datetime.c); package time leaves it open.
func instant(wall int64, loc *time.Location) int64 {
	u := time.UnixMicro(wall).UTC()
	t := time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), loc)
	start, end := t.ZoneBounds()
	for _, change := range []time.Time{start, end} {
		if change.IsZero() {
			continue
		}
		_, was := change.Add(-time.Nanosecond).Zone()
		_, is := change.Zone()
		at, before, after := change.UnixMicro(), wall-int64(was)*1e6, wall-int64(is)*1e6
		switch {
		case before >= at && after < at:
			return before
		case before < at && after >= at:
			return after
		}
	}
	return t.UnixMicro()
}

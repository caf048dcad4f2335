package types

import (
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

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

// toWall turns a moment into the wall clock of the session's zone, fromWall back.
func toWall(micros int64, env *Env) int64 {
	if infinite(micros) {
		return micros
	}
	_, off := time.UnixMicro(micros).In(env.location()).Zone()
	return micros + int64(off)*1e6
}

// WallClock is a moment as the wall clock of the session's zone, and Instant the way back.
func WallClock(micros int64, env *Env) int64 { return toWall(micros, env) }

// Instant is the moment at which the clocks of a zone show a wall clock.
func Instant(wall int64, loc *time.Location) int64 { return instant(wall, loc) }

func fromWall(micros int64, env *Env) int64 {
	if infinite(micros) {
		return micros
	}
	return instant(micros, env.location())
}

// LocationFor is the zone in which days and months are added to a type: the session's for timestamptz, none for
// timestamp.
func LocationFor(typ OID, env *Env) *time.Location {
	if typ == TimestampTZ {
		return env.location()
	}
	return time.UTC
}

// InZone is AT TIME ZONE: a moment as the wall clock of a zone (toWall), or a wall clock of the zone as a moment.
func InZone(micros int64, zone string, wall bool) (int64, error) {
	loc, ok := parseZone(zone)
	if !ok {
		return 0, sqlstate.New(sqlstate.InvalidParameterValue, "time zone %q not recognized", excerpt(zone))
	}
	if zone[0] == '+' || zone[0] == '-' {
		// A bare offset counts westward here (POSIX), unlike in a timestamp.
		_, off := time.Time{}.In(loc).Zone()
		loc = time.FixedZone("", -off)
	}
	env := &Env{Location: loc}
	if wall {
		return toWall(micros, env), nil
	}
	return fromWall(micros, env), nil
}

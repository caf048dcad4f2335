package types

import (
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Day is how many microseconds a day has.
const Day = 86400e6

// appendClock writes a time of day.
func appendClock(dst []byte, micros int64) []byte {
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", micros/3600e6, micros/60e6%60, micros/1e6%60)
	if us := micros % 1e6; us != 0 {
		dst = append(dst, strings.TrimRight(fmt.Sprintf(".%06d", us), "0")...)
	}
	return dst
}

// parseTimeOfDay reads a time: hh:mm[:ss[.f]], hhmmss, am and pm, alone or behind a date; a zone is left out.
func parseTimeOfDay(text string) (int64, error) {
	bad := sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type time: %q", excerpt(text))
	if len(text) > maxTimeText {
		return 0, bad
	}
	s := strings.ToLower(strings.TrimSpace(text))
	switch s {
	case "allballs":
		return 0, nil
	case "now":
		n := time.Now().UTC()
		return n.UnixMicro() - n.Truncate(24*time.Hour).UnixMicro(), nil
	}
	if i := strings.IndexAny(s, "t "); i > 0 {
		if _, _, _, ok := parseYMD(s[:i]); ok {
			s = strings.TrimSpace(s[i+1:])
		}
	}
	s = strings.TrimPrefix(s, "t")
	half := int64(-1)
	for suffix, h := range map[string]int64{"am": 0, "pm": 12} {
		if t, ok := strings.CutSuffix(s, suffix); ok {
			s, half = strings.TrimSpace(t), h
		}
	}
	clock := s
	if i := strings.IndexAny(s, "+-z "); i > 0 {
		zone := strings.TrimSpace(s[i:])
		if _, ok := parseZone(zone); !ok {
			return 0, bad
		}
		clock = s[:i]
	}
	if !strings.Contains(clock, ":") {
		whole, fraction, _ := strings.Cut(clock, ".")
		if strings.Trim(whole, "0123456789") != "" || len(whole) != 4 && len(whole) != 6 {
			return 0, bad
		}
		clock = whole[:2] + ":" + whole[2:4]
		if len(whole) == 6 {
			clock += ":" + whole[4:]
		}
		if fraction != "" {
			clock += "." + fraction
		}
	}
	micros, ok := parseClock(clock)
	if !ok || clock == "" {
		if _, shape := parseHours(clock, maxHours); shape || clockShape(clock) {
			return 0, sqlstate.New("22008", "date/time field value out of range: %q", text)
		}
		return 0, bad
	}
	if half >= 0 {
		if micros >= 13*3600e6 {
			return 0, sqlstate.New("22008", "date/time field value out of range: %q", text)
		}
		micros = micros%(12*3600e6) + half*3600e6
	}
	return micros, nil
}

// clockShape says that a text is numbers with colons between them.
func clockShape(s string) bool {
	return strings.Count(s, ":") > 0 && strings.Count(s, ":") < 3 && strings.Trim(s, "0123456789:.") == ""
}

// toClock is the time of day of a timestamp, or an interval's within a day.
func toClock(d Datum, from OID, env *Env) (Datum, error) {
	us := d.I
	switch {
	case d.K == KInterval:
		us = d.Span().Micros
	case d.K != KTime:
		return Null, CannotCast(from, Time)
	case infinite(d.I):
		return Null, nil
	case from == TimestampTZ:
		us = toWall(d.I, env)
	}
	return NewClock(us - floorDiv(us, Day)*Day), nil
}

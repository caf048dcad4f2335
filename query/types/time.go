package types

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Infinite timestamps, as PostgreSQL keeps them. Infinite dates have the same numbers here; on the wire they are those of 32 bits.
const (
	timeInfinity    = math.MaxInt64
	timeNegInfinity = math.MinInt64
	// PostgreSQL's timestamps go from 4713 BC to 294276 AD; ours, which count from 1970, end a little earlier.
	minYear, maxYear = -4712, 290000
)

// appendTime writes a timestamp (local as stored) or timestamptz (in the session's zone) in ISO style.
func appendTime(dst []byte, micros int64, typ OID, env *Env) []byte {
	return appendStamp(dst, micros, typ, env, ' ', false)
}

func appendTimeISO(dst []byte, micros int64, typ OID, env *Env) []byte {
	return appendStamp(dst, micros, typ, env, 'T', true)
}

func appendStamp(dst []byte, micros int64, typ OID, env *Env, sep byte, iso bool) []byte {
	switch micros {
	case timeInfinity:
		return append(dst, "infinity"...)
	case timeNegInfinity:
		return append(dst, "-infinity"...)
	}
	t := time.UnixMicro(micros).UTC()
	if typ == TimestampTZ {
		t = t.In(env.location())
	}
	year, bc := t.Year(), false
	if year <= 0 {
		year, bc = 1-year, true
	}
	dst = fmt.Appendf(dst, "%04d-%02d-%02d%c%02d:%02d:%02d", year, t.Month(), t.Day(), sep, t.Hour(), t.Minute(), t.Second())
	if us := t.Nanosecond() / 1000; us != 0 {
		dst = append(dst, strings.TrimRight(fmt.Sprintf(".%06d", us), "0")...)
	}
	if typ == TimestampTZ {
		_, off := t.Zone()
		sign := byte('+')
		if off < 0 {
			sign, off = '-', -off
		}
		dst = fmt.Appendf(dst, "%c%02d", sign, off/3600)
		if m := off % 3600 / 60; m != 0 || iso {
			dst = fmt.Appendf(dst, ":%02d", m)
		}
		if s := off % 60; s != 0 {
			dst = fmt.Appendf(dst, ":%02d", s)
		}
	}
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// Infinite says that a timestamp or date is none of the calendar.
func Infinite(d Datum) bool { return (d.K == KTime || d.K == KDate) && infinite(d.I) }

// InfiniteTime is the timestamp behind all others, or in front of them.
func InfiniteTime(behind bool) Datum {
	if behind {
		return NewTime(timeInfinity)
	}
	return NewTime(timeNegInfinity)
}

func infinite(n int64) bool { return n == timeInfinity || n == timeNegInfinity }

func appendDate(dst []byte, days int64) []byte {
	if infinite(days) {
		return appendTime(dst, days, Timestamp, nil)
	}
	t := time.Unix(days*86400, 0).UTC()
	year, bc := t.Year(), false
	if year <= 0 {
		year, bc = 1-year, true
	}
	dst = fmt.Appendf(dst, "%04d-%02d-%02d", year, t.Month(), t.Day())
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// DateMicros is midnight of a date, as a timestamp.
func DateMicros(days int64) int64 {
	if infinite(days) {
		return days
	}
	return days * 86400e6
}

// AddDays adds days to a date. An infinite one stays so.
func AddDays(days, n int64) int64 {
	if infinite(days) {
		return days
	}
	return days + n
}

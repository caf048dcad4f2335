// Package datetime is PostgreSQL's calendar: it reads and writes dates, times, zones and intervals as text, and
// computes with them. Moments are microseconds and dates are days since 2000-01-01, as PostgreSQL stores them. Years
// are astronomical: 0 is 1 BC. SQL values are in package types.
package datetime

import (
	"math"
	"time"
)

// Infinite moments and dates, which sort after and before all others.
const (
	Infinity    = math.MaxInt64
	NegInfinity = math.MinInt64
)

// Lengths in microseconds.
const (
	Second int64 = 1e6
	Minute       = 60 * Second
	Hour         = 60 * Minute
	Day          = 24 * Hour
)

const (
	// epochUnix is 2000-01-01 in seconds since 1970.
	epochUnix = 946684800
	// EpochJulian is the Julian day of 2000-01-01.
	EpochJulian = 2451545
	// minDays is 4714-11-24 BC, the Julian day 0. endDays and endMoment are the first that are too late.
	minDays = -EpochJulian
	endDays = 2147483494 - EpochJulian
)

var (
	minMoment = minDays * Day
	endMoment = DaysOf(294277, 1, 1) * Day
)

// IsInfinite reports whether a moment or date is infinity or -infinity.
func IsInfinite(n int64) bool { return n == Infinity || n == NegInfinity }

// ValidMoment reports whether a moment is infinite or in PostgreSQL's range.
func ValidMoment(n int64) bool { return IsInfinite(n) || n >= minMoment && n < endMoment }

// ValidDate reports whether a date is infinite or in PostgreSQL's range.
func ValidDate(n int64) bool { return IsInfinite(n) || n >= minDays && n < endDays }

// DaysOf returns the date of a year, month and day. The month and the day may be out of their usual range.
func DaysOf(year, month, day int) int64 {
	return FloorDiv(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()-epochUnix, 86400)
}

// DateOf returns the year, month and day of a date.
func DateOf(days int64) (year, month, day int) {
	y, m, d := TimeOf(days, 0).Date()
	return y, int(m), d
}

// TimeOf returns the time that is the given days and microseconds after 2000-01-01 in UTC.
func TimeOf(days, micros int64) time.Time {
	secs := FloorDiv(micros, Second)
	return time.Unix(epochUnix+days*86400+secs, (micros-secs*Second)*1000).UTC()
}

// Time converts a moment to a time.Time. Moment is its inverse.
func Time(moment int64) time.Time { return TimeOf(0, moment) }

// Moment returns t in microseconds since 2000-01-01.
func Moment(t time.Time) int64 { return (t.Unix()-epochUnix)*Second + int64(t.Nanosecond()/1000) }

// FloorDiv returns a / b rounded down, for a positive b.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// daysIn returns the number of days in a month.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

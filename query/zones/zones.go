// Package zones finds the time zones that the setting TimeZone may name. The rules of a zone are in package datetime.
package zones

import (
	_ "embed" // names.txt
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Check checks a time zone and returns the name that SHOW prints.
func Check(v string) (string, error) {
	_, name, err := Location(v)
	return name, err
}

// Location finds a time zone by name, by hours east of UTC, or by an interval as SET TIME ZONE passes it.
func Location(v string) (*time.Location, string, error) {
	if text, ok := strings.CutPrefix(v, zoneInterval); ok {
		return intervalZone(strings.TrimSuffix(text, "'"))
	}
	if h, err := strconv.ParseFloat(v, 64); err == nil && math.Abs(h) <= maxZoneHours {
		return fixedZone(int(math.Round(h * 3600)))
	}
	l, ok := datetime.FindPlace(v)
	if !ok {
		return nil, "", errZone(v)
	}
	if time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).In(l).Second() != 0 {
		// PostgreSQL takes only zones whose clocks show whole minutes (pg_tz_acceptable in pgtz.c).
		return nil, "", sqlstate.New(sqlstate.InvalidParameterValue, `time zone "%s" appears to use leap seconds`, v).
			WithDetail("PostgreSQL does not support leap seconds.")
	}
	return l, datetime.CanonicalZone(v), nil
}

// zoneInterval precedes the text of SET TIME ZONE INTERVAL; a quote follows it.
const zoneInterval = "INTERVAL '"

// maxZoneHours is the largest distance of a zone from UTC (MAX_TZDISP_HOUR in PostgreSQL's timestamp.h).
const maxZoneHours = 15

func errZone(v string) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidParameterValue, `invalid value for parameter "TimeZone": "%s"`, v)
}

func intervalZone(text string) (*time.Location, string, error) {
	s, err := datetime.ParseInterval(text, "", datetime.Fields{})
	if err != nil {
		return nil, "", err
	}
	shown := zoneInterval + types.TextOf(types.NewInterval(s), types.Interval, nil) + "'"
	switch {
	case s.Months != 0:
		return nil, "", errZone(shown).WithDetail("Cannot specify months in time zone interval.")
	case s.Days != 0:
		return nil, "", errZone(shown).WithDetail("Cannot specify days in time zone interval.")
	case s.Micros < -maxZoneHours*3600e6, s.Micros > maxZoneHours*3600e6:
		return nil, "", errZone(shown).WithDetail("UTC timezone offset is out of range.")
	}
	return fixedZone(int(s.Micros / 1e6))
}

// fixedZone returns a zone with a fixed offset in seconds east of UTC. Its name is in POSIX's form, where the number
// has the opposite sign.
func fixedZone(east int) (*time.Location, string, error) {
	if east == 0 {
		return time.FixedZone("+00", 0), "<+00>-00", nil
	}
	sign, other, n := '+', '-', east
	if n < 0 {
		sign, other, n = '-', '+', -n
	}
	text := fmt.Sprintf("%02d", n/3600)
	if n%3600 != 0 {
		text += fmt.Sprintf(":%02d", n/60%60)
	}
	if n%60 != 0 {
		text += fmt.Sprintf(":%02d", n%60)
	}
	return time.FixedZone(string(sign)+text, east), fmt.Sprintf("<%c%s>%c%s", sign, text, other, text), nil
}

// names are the names of the IANA's database, as pg_timezone_names lists them.
//
//go:embed names.txt
var names string

// Names returns the names of the time zones that are known here.
func Names() []string { return strings.Fields(names) }

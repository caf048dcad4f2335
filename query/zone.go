package query

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Time zones of the setting TimeZone.

// zone checks a time zone, and answers the name that SHOW gives.
func zone(v string) (string, error) {
	_, name, err := location(v)
	return name, err
}

// location finds a time zone by name, by hours east of UTC, or by an interval as SET TIME ZONE passes it.
func location(v string) (*time.Location, string, error) {
	switch strings.ToLower(v) {
	case "utc", "gmt", "z", "default", "local", "zulu", "etc/utc":
		return time.UTC, strings.ToUpper(v[:1]) + v[1:], nil
	}
	if text, ok := strings.CutPrefix(v, zoneInterval); ok {
		return intervalZone(strings.TrimSuffix(text, "'"))
	}
	if h, err := strconv.ParseFloat(v, 64); err == nil && math.Abs(h) <= maxZoneHours {
		return fixedZone(int(math.Round(h * 3600)))
	}
	if m := namedOffset.FindStringSubmatch(v); m != nil {
		return posixZone(m[1:], v)
	}
	l, err := time.LoadLocation(v)
	if err != nil || strings.HasPrefix(v, "/") {
		return nil, "", errZone(v)
	}
	return l, v, nil
}

// zoneInterval is in front of the text of SET TIME ZONE INTERVAL, and a quote behind it.
const zoneInterval = "INTERVAL '"

// maxZoneHours is how far a zone may be from UTC (MAX_TZDISP_HOUR in PostgreSQL's timestamp.h).
const maxZoneHours = 15

func errZone(v string) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidParameterValue, "invalid value for parameter \"TimeZone\": %q", v)
}

func intervalZone(text string) (*time.Location, string, error) {
	s, err := types.ParseInterval(text)
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

// fixedZone is a zone so many seconds east of UTC. Its name is one of POSIX, where the number has the other sign.
func fixedZone(east int) (*time.Location, string, error) {
	if east == 0 {
		return time.FixedZone("", 0), "<+00>-00", nil
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
	return time.FixedZone("", east), fmt.Sprintf("<%c%s>%c%s", sign, text, other, text), nil
}

// namedOffset is a zone of POSIX without daylight saving time.
var namedOffset = regexp.MustCompile(`^(?:<[+-]?[A-Za-z0-9:]+>|[A-Za-z]{3,})([+-]?)(\d{1,2})(?::(\d\d))?(?::(\d\d))?$`)

func posixZone(parts []string, name string) (*time.Location, string, error) {
	west := 0
	for i, unit := range []int{3600, 60, 1} {
		n, _ := strconv.Atoi("0" + parts[i+1])
		west += n * unit
	}
	if west > maxZoneHours*3600+59*60+59 {
		return nil, "", errZone(name)
	}
	if parts[0] == "-" {
		west = -west
	}
	return time.FixedZone("", -west), name, nil
}

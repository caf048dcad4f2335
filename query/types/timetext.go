package types

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// maxTimeText is how long the text of a time, an interval or a zone may be. The longest that means something has some
// hundred bytes.
const maxTimeText = 1 << 10

// ParseTime reads a timestamp, timestamptz or date in ISO 8601's forms (a space or T between date and time, any
// precision, Z, an offset or a zone's name), "epoch", "infinity", "now", "today", "yesterday", "tomorrow".
func ParseTime(text string, typ OID, env *Env, now time.Time) (int64, error) {
	if len(text) > maxTimeText {
		return 0, sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type %s: %q", inputName(typ),
			excerpt(text))
	}
	s := strings.TrimSpace(text)
	loc := time.UTC
	if typ == TimestampTZ {
		loc = env.location()
	}
	today := now.In(env.location())
	midnight := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, loc)
	switch strings.ToLower(s) {
	case "epoch":
		return 0, nil
	case "infinity":
		return timeInfinity, nil
	case "-infinity":
		return timeNegInfinity, nil
	case "now":
		return LocalMicros(now, typ, env), nil
	case "today":
		return midnight.UnixMicro(), nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1).UnixMicro(), nil
	case "tomorrow":
		return midnight.AddDate(0, 0, 1).UnixMicro(), nil
	}
	t, ok := parseStamp(s, loc, typ == TimestampTZ, env)
	if !ok {
		t, ok = parseFields(s, loc, typ == TimestampTZ, env)
	}
	if !ok {
		if fieldShape.MatchString(s) || basicDate.MatchString(s) {
			if year, _, _ := strings.Cut(s, "-"); len(year) == 6 && year > strconv.Itoa(maxYear) {
				return 0, timeOutOfRange(typ, text)
			}
			return 0, sqlstate.New("22008", "date/time field value out of range: %q", text)
		}
		return 0, sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type %s: %q", inputName(typ),
			excerpt(text))
	}
	if t.Year() < minYear || t.Year() > maxYear {
		return 0, timeOutOfRange(typ, text)
	}
	return t.UnixMicro(), nil
}

// inputName is what PostgreSQL calls a type of times where it cannot read one.
func inputName(typ OID) string {
	switch typ {
	case Timestamp:
		return "timestamp"
	case Time:
		return "time"
	}
	return NameOf(typ)
}

func timeOutOfRange(typ OID, text string) error {
	what := "timestamp"
	if typ == Date {
		what = "date"
	}
	return sqlstate.New("22008", "%s out of range: %q", what, text)
}

// fieldShape tells a date that does not exist from a text that is no date.
var fieldShape = regexp.MustCompile(`(?i)^\d{1,6}[-/.]\d{1,2}[-/.]\d{1,6}` +
	`([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?)?$`)

// LocalMicros is a moment as a timestamptz, or as the wall clock of the session's zone for a timestamp.
func LocalMicros(t time.Time, typ OID, env *Env) int64 {
	if typ == TimestampTZ {
		return t.UnixMicro()
	}
	_, off := t.In(env.location()).Zone()
	return t.UnixMicro() + int64(off)*1e6
}

// parseStamp cuts a text into date, time and zone.
func parseStamp(s string, loc *time.Location, zoned bool, env *Env) (time.Time, bool) {
	bc := false
	if t, found := strings.CutSuffix(s, " BC"); found {
		s, bc = t, true
	}
	if iso, ok := isoDate(s, env); ok {
		s = iso
	}
	date, rest := s, ""
	if i := strings.IndexAny(s, "T "); i > 0 {
		date, rest = s[:i], strings.TrimSpace(s[i+1:])
	}
	y, m, d, ok := parseYMD(date)
	if !ok {
		return time.Time{}, false
	}
	if bc {
		y = 1 - y
	}
	clock, zone := rest, ""
	if i := strings.IndexAny(rest, "+-Zz "); i >= 0 && !halfDay.MatchString(rest) {
		clock, zone = rest[:i], strings.TrimSpace(rest[i:])
	}
	micros, ok := parseClock(clock)
	if !ok {
		return time.Time{}, false
	}
	if zone != "" {
		l, ok := parseZone(zone)
		if !ok {
			return time.Time{}, false
		}
		if zoned {
			loc = l
		}
	}
	wall := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).UnixMicro() + micros
	return time.UnixMicro(instant(wall, loc)).In(loc), true
}

func parseYMD(s string) (y, m, d int, ok bool) {
	if len(s) == 8 && strings.IndexByte(s, '-') < 0 {
		s = s[:4] + "-" + s[4:6] + "-" + s[6:]
	}
	parts := strings.Split(strings.ReplaceAll(s, "/", "-"), "-")
	if len(parts) != 3 || len(parts[0]) < 3 || len(parts[0]) > 6 {
		return 0, 0, 0, false
	}
	var err error
	for i, p := range []*int{&y, &m, &d} {
		if *p, err = strconv.Atoi(parts[i]); err != nil || parts[i][0] == '+' || i > 0 && len(parts[i]) > 2 {
			return 0, 0, 0, false
		}
	}
	if y > maxYear || m < 1 || m > 12 || d < 1 || d > time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return 0, 0, 0, false
	}
	return y, m, d, true
}

// parseClock reads hh:mm[:ss[.ffffff]] as microseconds since midnight; an empty text is midnight.
func parseClock(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	micros, ok := parseHours(s, 24)
	return micros, ok && micros <= 86400e6
}

// maxHours is how many hours an interval's microseconds can hold.
const maxHours = math.MaxInt64 / 3_600_000_000

// parseHours reads hh:mm[:ss[.ffffff]] as microseconds, with so many hours at most.
func parseHours(s string, most int64) (int64, bool) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	h, err1 := strconv.ParseUint(parts[0], 10, 62)
	m, err2 := strconv.ParseUint(parts[1], 10, 8)
	if err1 != nil || err2 != nil || h > uint64(most) || m > 59 {
		return 0, false
	}
	micros := (int64(h)*3600 + int64(m)*60) * 1e6
	if len(parts) == 3 {
		f, err := strconv.ParseFloat(parts[2], 64)
		if err != nil || f < 0 || f > 60 || strings.Trim(parts[2], "0123456789.") != "" {
			return 0, false
		}
		micros += int64(math.Round(f * 1e6))
	}
	return micros, micros >= 0
}

func parseZone(s string) (*time.Location, bool) {
	if s == "" || len(s) > maxTimeText || strings.HasPrefix(s, "/") {
		return nil, false
	}
	if s == "Z" || s == "z" || strings.EqualFold(s, "utc") || strings.EqualFold(s, "gmt") {
		return time.UTC, true
	}
	if s[0] == '+' || s[0] == '-' {
		h, m, _ := strings.Cut(s[1:], ":")
		if m == "" && len(h) == 4 {
			h, m = h[:2], h[2:]
		}
		hours, err := strconv.ParseUint(h, 10, 8)
		var minutes uint64
		if err == nil && m != "" {
			minutes, err = strconv.ParseUint(m, 10, 8)
		}
		if err != nil || hours > 15 || minutes > 59 {
			return nil, false
		}
		off := int(hours*3600 + minutes*60)
		if s[0] == '-' {
			off = -off
		}
		return time.FixedZone("", off), true
	}
	if hours, ok := zoneOffsets[strings.ToLower(s)]; ok {
		return time.FixedZone("", hours*3600), true
	}
	if strings.EqualFold(s, "local") {
		return nil, false // the machine's, to Go
	}
	l, err := time.LoadLocation(s)
	return l, err == nil
}

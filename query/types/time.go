package types

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Env is what text forms depend on in a session.
type Env struct {
	// Location is the session's time zone; nil is UTC.
	Location *time.Location
	// ByteaEscape selects bytea_output = escape.
	ByteaEscape bool
	// DateOrder is how 1/2/2024 is read: "MDY", which "" is too, "DMY", or "YMD", in which it is no date.
	DateOrder string
	// IntervalStyle is PostgreSQL's setting; "" is postgres.
	IntervalStyle string
	// LooseJSON reads what is compared with a jsonb: a text that is not valid JSON is the string that it spells.
	LooseJSON bool
}

func (e *Env) intervalStyle() string {
	if e == nil {
		return ""
	}
	return e.IntervalStyle
}

func (e *Env) location() *time.Location {
	if e == nil || e.Location == nil {
		return time.UTC
	}
	return e.Location
}

// Infinite timestamps, as PostgreSQL keeps them. Infinite dates have the same numbers here; on the wire they are those of 32 bits.
const (
	timeInfinity    = math.MaxInt64
	timeNegInfinity = math.MinInt64
	// PostgreSQL's timestamps go from 4713 BC to 294276 AD; ours, which count from 1970, end a little earlier.
	minYear, maxYear = -4712, 290000
)

// Span is an interval.
type Span struct {
	Months, Days int32
	Micros       int64
}

// Cmp orders intervals with months of 30 days, as PostgreSQL does.
func (s Span) Cmp(o Span) int {
	a, b := s.total(), o.total()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (s Span) total() float64 {
	return (float64(s.Months)*30+float64(s.Days))*86400e6 + float64(s.Micros)
}

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

// maxTimeText is how long the text of a time, an interval or a zone may be. The longest that means something has some
// hundred bytes.
const maxTimeText = 1 << 10

// ParseTime reads a timestamp, timestamptz or date in ISO 8601's forms (a space or T between date and time, any precision, Z, an offset
// or a zone's name), "epoch", "infinity", "now", "today", "yesterday", "tomorrow".
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
		return 0, sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type %s: %q", inputName(typ), excerpt(text))
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
var fieldShape = regexp.MustCompile(`(?i)^\d{1,6}[-/.]\d{1,2}[-/.]\d{1,6}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?)?$`)

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

var intervalUnits = map[string]struct {
	months, days int32
	micros       int64
}{
	"microsecond": {0, 0, 1}, "us": {0, 0, 1}, "usec": {0, 0, 1}, "millisecond": {0, 0, 1000}, "ms": {0, 0, 1000}, "msec": {0, 0, 1000},
	"second": {0, 0, 1e6}, "sec": {0, 0, 1e6}, "s": {0, 0, 1e6}, "minute": {0, 0, 60e6}, "min": {0, 0, 60e6}, "m": {0, 0, 60e6},
	"hour": {0, 0, 3600e6}, "hr": {0, 0, 3600e6}, "h": {0, 0, 3600e6}, "day": {0, 1, 0}, "d": {0, 1, 0}, "week": {0, 7, 0}, "w": {0, 7, 0},
	"month": {1, 0, 0}, "mon": {1, 0, 0}, "year": {12, 0, 0}, "yr": {12, 0, 0}, "y": {12, 0, 0},
	"decade": {120, 0, 0}, "dec": {120, 0, 0}, "century": {1200, 0, 0}, "centurie": {1200, 0, 0}, "cent": {1200, 0, 0},
	"c": {1200, 0, 0}, "millennium": {12000, 0, 0}, "millennia": {12000, 0, 0}, "mil": {12000, 0, 0},
}

// yearsMonths is an interval in the form of SQL's standard, and clockNext what makes the number before it one of days.
var (
	yearsMonths = regexp.MustCompile(`^([+-]?)(\d{1,9})-(\d{1,9})$`)
	clockNext   = regexp.MustCompile(`^[+-]?\d+:`)
)

func parseYearsMonths(sign, years, months string) (float64, bool) {
	y, _ := strconv.Atoi(years)
	m, _ := strconv.Atoi(months)
	if m > 11 {
		return 0, false
	}
	n := float64(y)*12 + float64(m)
	if sign == "-" {
		n = -n
	}
	return n, true
}

// ParseInterval reads "1 day 02:03:04", "-3 hours", "1h30m", "2 weeks ago".
func ParseInterval(text string) (Span, error) {
	bad := sqlstate.New(sqlstate.InvalidDatetimeFormat, "invalid input syntax for type interval: %q", excerpt(text))
	if len(text) > maxTimeText {
		return Span{}, bad
	}
	s := strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(s, "p") {
		return parseISOInterval(s, bad)
	}
	s = strings.TrimPrefix(s, "@") // of style postgres_verbose
	s, ago := strings.CutSuffix(s, " ago")
	var months, days, micros float64
	var clock int64 // more digits than a float64 has
	bare := false   // there was a number without a unit
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		n := len(s) - len(strings.TrimLeft(s, "+-0123456789.:"))
		number := s[:n]
		s = strings.TrimLeft(s[n:], " ")
		if p := yearsMonths.FindStringSubmatch(number); p != nil {
			m, ok := parseYearsMonths(p[1], p[2], p[3])
			if !ok {
				return Span{}, sqlstate.New("22015", "interval field value out of range: %q", text)
			}
			months += m
			continue
		}
		if strings.Contains(number, ":") {
			sign := int64(1)
			if number[0] == '-' || number[0] == '+' {
				if number[0] == '-' {
					sign = -1
				}
				number = number[1:]
			}
			us, ok := parseHours(number, maxHours)
			if !ok {
				return Span{}, bad
			}
			clock += sign * us
			if math.Abs(float64(clock)) > math.MaxInt64/2 {
				return Span{}, sqlstate.New("22008", "interval out of range: %q", text)
			}
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return Span{}, bad
		}
		w := len(s) - len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))
		name := s[:w]
		s = s[w:]
		unit, ok := intervalUnits[name]
		if !ok {
			unit, ok = intervalUnits[strings.TrimSuffix(name, "s")]
		}
		switch {
		case name == "" && clockNext.MatchString(s):
			unit, ok = intervalUnits["day"], true
		case name == "" && bare:
			return Span{}, bad
		case name == "":
			unit, ok, bare = intervalUnits["second"], true, true
		}
		if !ok {
			return Span{}, bad
		}
		months += f * float64(unit.months)
		days += f * float64(unit.days)
		micros += f * float64(unit.micros)
	}
	if text == "" {
		return Span{}, bad
	}
	r, err := span(months, days, micros, text)
	if err != nil {
		return Span{}, err
	}
	r.Micros += clock
	if ago {
		r = r.Neg()
	}
	return r, nil
}

// span is an interval of fields with fractions: that of a month is days, that of a day is time.
func span(months, days, micros float64, text string) (Span, error) {
	whole, frac := math.Modf(months)
	days += frac * 30
	wholeDays, fracDays := math.Modf(days)
	micros += fracDays * 86400e6
	if math.Abs(whole) > math.MaxInt32 || math.Abs(wholeDays) > math.MaxInt32 || math.Abs(micros) > math.MaxInt64/2 {
		return Span{}, sqlstate.New("22008", "interval out of range: %q", text)
	}
	return Span{Months: int32(whole), Days: int32(wholeDays), Micros: int64(math.Round(micros))}, nil
}

// Neg returns -s.
func (s Span) Neg() Span { return Span{-s.Months, -s.Days, -s.Micros} }

// AddSpan adds an interval to a moment: months by the calendar, clipped to the month's length, then days, then time.
func AddSpan(micros int64, s Span, loc *time.Location) int64 {
	if infinite(micros) {
		return micros
	}
	if s.Months == 0 && s.Days == 0 {
		return micros + s.Micros
	}
	// On the wall clock, which is taken for one of UTC.
	_, off := time.UnixMicro(micros).In(loc).Zone()
	t := time.UnixMicro(micros + int64(off)*1e6).UTC()
	if s.Months != 0 {
		first := time.Date(t.Year(), t.Month()+time.Month(s.Months), 1, t.Hour(), t.Minute(), t.Second(),
			t.Nanosecond(),
			time.UTC)
		last := time.Date(first.Year(), first.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		t = first.AddDate(0, 0, min(t.Day(), last)-1)
	}
	return instant(t.AddDate(0, 0, int(s.Days)).UnixMicro(), loc) + s.Micros
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

// SubtractTimes is the interval between two timestamps, an error where one is infinite.
func SubtractTimes(a, b int64) (Span, error) {
	if infinite(a) || infinite(b) {
		return Span{}, sqlstate.New("22008", "cannot subtract infinite timestamps")
	}
	d := a - b
	return Span{Days: int32(d / 86400e6), Micros: d % 86400e6}, nil
}

// SubtractDates is the number of days between two dates, an error where one is infinite.
func SubtractDates(a, b int64) (int64, error) {
	if infinite(a) || infinite(b) {
		return 0, sqlstate.New("22008", "cannot subtract infinite dates")
	}
	return a - b, nil
}

// LocationFor is the zone in which days and months are added to a type: the session's for timestamptz, none for timestamp.
func LocationFor(typ OID, env *Env) *time.Location {
	if typ == TimestampTZ {
		return env.location()
	}
	return time.UTC
}

// Scale multiplies an interval; fractions of months become days, fractions of days become time (interval_mul).
func (s Span) Scale(f float64) (Span, error) {
	return s.times(func(x float64) float64 { return x * f })
}

// Divide divides an interval in the same way (interval_div).
func (s Span) Divide(f float64) (Span, error) {
	return s.times(func(x float64) float64 { return x / f })
}

func (s Span) times(f func(float64) float64) (Span, error) {
	const day = 86400.0
	round := func(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
	bad := sqlstate.New("22008", "interval out of range")
	months, days := f(float64(s.Months)), f(float64(s.Days))
	if !(math.Abs(months) < math.MaxInt32 && math.Abs(days) < math.MaxInt32) {
		return Span{}, bad
	}
	out := Span{Months: int32(months), Days: int32(days)}
	rest := round((months - float64(out.Months)) * 30)
	secs := round((days - float64(out.Days) + rest - math.Trunc(rest)) * day)
	if math.Abs(secs) >= day {
		out.Days += int32(secs / day)
		secs -= math.Trunc(secs/day) * day
	}
	out.Days += int32(rest)
	micros := math.RoundToEven(f(float64(s.Micros)) + secs*1e6)
	if !(micros >= math.MinInt64 && micros < math.MaxInt64) {
		return Span{}, bad
	}
	out.Micros = int64(micros)
	return out, nil
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

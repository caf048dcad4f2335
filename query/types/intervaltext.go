package types

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

var intervalUnits = map[string]struct {
	months, days int32
	micros       int64
}{
	"microsecond": {0, 0, 1}, "us": {0, 0, 1}, "usec": {0, 0, 1}, "millisecond": {0, 0, 1000}, "ms": {0, 0,
		1000}, "msec": {0, 0, 1000},
	"second": {0, 0, 1e6}, "sec": {0, 0, 1e6}, "s": {0, 0, 1e6}, "minute": {0, 0, 60e6}, "min": {0, 0, 60e6}, "m": {0,
		0, 60e6},
	"hour": {0, 0, 3600e6}, "hr": {0, 0, 3600e6}, "h": {0, 0, 3600e6}, "day": {0, 1, 0}, "d": {0, 1, 0}, "week": {0, 7,
		0}, "w": {0, 7, 0},
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

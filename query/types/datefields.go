package types

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The forms of dates and timestamps that are fields in nearly any order: Fri Jan 05 04:05:06 2024 PST, 1/8/99,
// 8-Jan-99, 1.2.2024, 2024.036, J2451187, 990108, 04:05 PM, BC (PostgreSQL 15, appendix B.1).

// halfDay says that a time of day ends with AM or PM.
var halfDay = regexp.MustCompile(`(?i)\d\s*[ap]m\b`)

var (
	fieldForms = regexp.MustCompile(`(?i)^(?:` +
		`(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d*)?)?)` +
		`|(?P<julian>j\d{5,8})` +
		`|(?P<yearday>\d{4}\.\d{3})` +
		`|(?P<short>\d{6})` +
		`|(?P<basic>\d{8})` +
		`|(?P<date>\d+[-/.](?:\d+|[a-z]{3,9})[-/.]\d+|[a-z]{3,9}[-/.]\d+[-/.]\d+)` +
		`|(?P<number>\d+)` +
		`|(?P<word>[a-z]+)` +
		`)$`)
	fieldSplit = regexp.MustCompile(`(?i)[a-z]{3,9}-\d+-\d+|[^\s,]+`)
	halfStuck  = regexp.MustCompile(`(?i)^([\d:.]*\d)(am|pm)$`)
	zoneStuck  = regexp.MustCompile(`^(\d{1,2}:\d{2}(?::\d{2}(?:\.\d*)?)?)([-+].*|[zZ])$`)
)

// dateParts are what the fields of a text say.
type dateParts struct {
	numbers []string // of the date, in the order in which they stand
	month   int      // where it is a word
	wordAt  int      // how many numbers stand before that word
	date    time.Time
	dated   bool
	clock   string
	half    string
	zone    string
	bc      bool
}

// parseFields reads a text of fields.
func parseFields(s string, loc *time.Location, zoned bool, env *Env) (time.Time, bool) {
	var p dateParts
	for _, f := range fieldSplit.FindAllString(s, -1) {
		if m := halfStuck.FindStringSubmatch(f); m != nil {
			f, p.half = m[1], strings.ToLower(m[2])
		}
		if m := zoneStuck.FindStringSubmatch(f); m != nil {
			f, p.zone = m[1], m[2]
		}
		if !p.field(f) {
			return time.Time{}, false
		}
	}
	if p.dated && p.bc || !p.dated && !p.order(env) {
		return time.Time{}, false
	}
	micros, ok := parseClock(p.clock)
	if !ok {
		return time.Time{}, false
	}
	if p.half != "" {
		if p.clock == "" || micros >= 13*3600e6 {
			return time.Time{}, false
		}
		if micros %= 12 * 3600e6; p.half == "pm" {
			micros += 12 * 3600e6
		}
	}
	if p.zone != "" {
		l, ok := parseZone(p.zone)
		if !ok {
			return time.Time{}, false
		}
		if zoned {
			loc = l
		}
	}
	return time.UnixMicro(instant(p.date.UnixMicro()+micros, loc)).In(loc), true
}

// field takes one field, and answers false where there can be none like it.
func (p *dateParts) field(f string) bool {
	m := fieldForms.FindStringSubmatch(f)
	if m == nil {
		if p.zone == "" && p.clock != "" {
			p.zone = f
			return true
		}
		return false
	}
	at := func(name string) string { return m[fieldForms.SubexpIndex(name)] }
	switch lower := strings.ToLower(f); {
	case at("clock") != "":
		if p.clock != "" {
			return false
		}
		p.clock = f
	case at("julian") != "":
		n, err := strconv.ParseInt(f[1:], 10, 64)
		return err == nil && p.set(time.Unix((n-2440588)*86400, 0).UTC())
	case at("yearday") != "":
		y, _ := strconv.Atoi(f[:4])
		d, _ := strconv.Atoi(f[5:])
		t := time.Date(y, 1, d, 0, 0, 0, 0, time.UTC)
		return t.Year() == y && p.set(t)
	case at("short") != "" && len(p.numbers) == 0 && p.month == 0:
		return p.ymd(f[:2], f[2:4], f[4:])
	case at("basic") != "":
		return p.ymd(f[:4], f[4:6], f[6:])
	case at("date") != "":
		for _, part := range strings.FieldsFunc(f, func(r rune) bool { return strings.ContainsRune("-/.", r) }) {
			if !p.part(part) {
				return false
			}
		}
	case at("number") != "", at("short") != "":
		return p.part(f)
	case lower == "bc" || lower == "ad":
		p.bc = lower == "bc"
	case lower == "am" || lower == "pm":
		p.half = lower
	case dayOfWeek(lower):
	case monthOf(lower) > 0:
		return p.part(f)
	case p.zone == "" && p.clock != "":
		p.zone = f
	default:
		return false
	}
	return true
}

// part takes a number of a date, or the month's name.
func (p *dateParts) part(f string) bool {
	if m := monthOf(strings.ToLower(f)); m > 0 {
		if p.month > 0 {
			return false
		}
		p.month, p.wordAt = m, len(p.numbers)
		return true
	}
	p.numbers = append(p.numbers, f)
	return len(p.numbers) <= 3 && f[0] >= '0' && f[0] <= '9'
}

func (p *dateParts) set(t time.Time) bool {
	ok := !p.dated
	p.date, p.dated = t, true
	return ok
}

// order decides which number is what.
func (p *dateParts) order(env *Env) bool {
	n := p.numbers
	if p.month > 0 {
		if len(n) != 2 {
			return false
		}
		y, d := n[1], n[0]
		// A number of three digits or more is the year, and so is the first one where years come first.
		if len(n[0]) > 2 || env != nil && env.DateOrder == "YMD" && p.wordAt == 1 && len(n[1]) <= 2 {
			y, d = n[0], n[1]
		}
		return p.ymd(y, strconv.Itoa(p.month), d)
	}
	switch {
	case len(n) != 3:
		return false
	case len(n[0]) > 2 || env != nil && env.DateOrder == "YMD":
		return p.ymd(n[0], n[1], n[2])
	case env != nil && env.DateOrder == "DMY":
		return p.ymd(n[2], n[1], n[0])
	}
	return p.ymd(n[2], n[0], n[1])
}

// ymd sets a date. A year of two digits is one of 1970 to 2069.
func (p *dateParts) ymd(year, month, day string) bool {
	y, err1 := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	d, err3 := strconv.Atoi(day)
	if err1 != nil || err2 != nil || err3 != nil || len(day) > 2 || len(month) > 2 || y > maxYear {
		return false
	}
	switch {
	case p.bc:
		y = 1 - y
	case len(year) <= 2 && y < 70:
		y += 2000
	case len(year) <= 2:
		y += 1900
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return m >= 1 && m <= 12 && d >= 1 && t.Day() == d && !(year == "0" || year == "0000") && p.set(t)
}

func dayOfWeek(name string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		full := strings.ToLower(d.String())
		if name == full || name == full[:3] || len(name) >= 4 && strings.HasPrefix(full, name) {
			return true
		}
	}
	return false
}

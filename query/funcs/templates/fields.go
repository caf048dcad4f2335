package templates

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/query/sqlstate"
)

// dateReader reads a text by a template (DCH_from_char in PostgreSQL's formatting.c).
type dateReader struct {
	whole, text string // all, and what has not been read
	exact       bool   // FX: nothing is skipped
	// skipped counts the spaces and separators that were skipped without one in the template.
	skipped int
	mode    dateMode
	dateFields
}

// dateFields are the values that were read. A value of 0 counts as missing.
type dateFields struct {
	hour, minute, second, dayseconds int
	half, pm                         int // half is set for the clock of 12 hours
	millis, micros, precision        int
	year, yearDigits, century, bc    int
	month, day, weekday, yearday     int
	week, monthweek, julian          int
	zoneSign, zoneHours, zoneMinutes int
}

func invalidDate(format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidDatetimeFormat, format, args...)
}

const maxDateText = 4096

func readDate(text, template string) (*dateReader, error) {
	if len(text) > maxDateText || len(template) > maxDateText {
		return nil, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"date or format is longer than the limit of %d bytes", maxDateText)
	}
	r := &dateReader{whole: text, text: text}
	nodes := parseTemplate(template)
	for i := range nodes {
		if r.text == "" {
			break
		}
		n := &nodes[i]
		if !r.exact && !(n.field != nil && n.id == "FX") && (n.field != nil || i == 0) {
			r.skipSpaces()
		}
		if n.field == nil {
			r.skip(n)
			continue
		}
		if err := r.setMode(n.mode); err != nil {
			return nil, err
		}
		if err := r.read(n, nodes[i+1:]); err != nil {
			return nil, err
		}
		if !r.exact {
			r.skipped = 0
			r.skipSpaces()
		}
	}
	return r, nil
}

func (r *dateReader) skipSpaces() {
	for r.text != "" && isSpace(r.text[0]) {
		r.text = r.text[1:]
		r.skipped++
	}
}

// skip passes a character of the template. Unless the template is exact, a separator matches one or none in the text,
// and other characters count for those that were skipped before.
func (r *dateReader) skip(n *node) {
	switch {
	case r.exact:
		r.pass()
	case n.separator:
		r.skipped--
		if r.text != "" && (isSpace(r.text[0]) || isSeparator(r.text[0])) {
			r.text = r.text[1:]
			r.skipped++
		}
	case r.skipped > 0:
		r.skipped--
	default:
		r.pass()
	}
}

// pass skips one character.
func (r *dateReader) pass() {
	_, size := utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
}

func (r *dateReader) setMode(mode dateMode) error {
	if mode != anyMode && r.mode != anyMode && r.mode != mode {
		return invalidDate("invalid combination of date conventions").
			WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
	}
	r.mode = max(r.mode, mode)
	return nil
}

// read reads a field. after are the parts behind it.
func (r *dateReader) read(n *node, after []node) error {
	switch n.id {
	case "FX":
		r.exact = true
		return nil
	case "TZ", "OF":
		return sqlstate.New(sqlstate.FeatureNotSupported, `formatting field "%s" is only supported in to_char`, n.name)
	case "A.M.", "P.M.", "AM", "PM":
		r.half = 1
		return r.word(n, &r.pm, halfDays(n.id))
	case "A.D.", "B.C.", "AD", "BC":
		return r.word(n, &r.bc, eras(n.id))
	case "MONTH", "MON":
		return r.word(n, &r.month, monthNames(n.id))
	case "DAY", "DY":
		return r.word(n, &r.weekday, dayNames(n.id))
	case "RM":
		return r.word(n, &r.month, romanNames)
	case "Y,YYY":
		if err := r.commaYear(n); err != nil {
			return err
		}
	default:
		if err := r.numberField(n, after); err != nil || n.id == "TZH" || n.id == "TZM" {
			return err
		}
	}
	if n.th {
		r.pass()
		r.pass()
	}
	return nil
}

// numberField reads a field of digits.
func (r *dateReader) numberField(n *node, after []node) error {
	// number reads a field of a width, and returns the number of bytes read.
	number := func(to *int, width int) (int, error) { return r.number(n, after, to, width) }
	var err error
	switch n.id {
	case "HH", "HH12":
		r.half = 1
		_, err = number(&r.hour, 2)
	case "HH24":
		_, err = number(&r.hour, 2)
	case "MS":
		err = r.fraction(&r.millis, 3, number)
	case "US":
		err = r.fraction(&r.micros, 6, number)
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		r.precision = int(n.id[2] - '0')
		width := r.precision
		err = r.fraction(&r.micros, 6, func(to *int, _ int) (int, error) { return number(to, width) })
	case "TZH":
		r.zoneSign = 1
		if c := r.text[0]; c == '+' || c == '-' || c == ' ' {
			if c == '-' {
				r.zoneSign = -1
			}
			r.text = r.text[1:]
		} else if r.skipped > 0 && r.whole[len(r.whole)-len(r.text)-1] == '-' {
			r.zoneSign = -1 // it was taken for a separator
		}
		_, err = number(&r.zoneHours, 2)
	case "TZM":
		if r.zoneSign == 0 {
			r.zoneSign = 1
		}
		_, err = number(&r.zoneMinutes, 2)
	case "ID":
		// Sunday is the first day, as for D.
		if _, err = number(&r.weekday, 1); err == nil {
			if r.weekday++; r.weekday > 7 {
				r.weekday = 1
			}
		}
	case "IDDD":
		_, err = number(&r.yearday, 3)
	case "YYYY", "IYYY", "YYY", "IYY", "YY", "IY", "Y", "I":
		r.yearDigits = len(n.id)
		var size int
		if size, err = number(&r.year, len(n.id)); err == nil && size < 4 && len(n.id) < 4 {
			r.year = nearYear(r.year)
		}
	default:
		_, err = number(r.plain(n.id), len(n.id))
	}
	return err
}

// plain returns where the number of a field is kept that is as wide as its name; nil if it is ignored.
func (r *dateReader) plain(id string) *int {
	return map[string]*int{"MI": &r.minute, "SS": &r.second, "SSSS": &r.dayseconds, "SSSSS": &r.dayseconds,
		"MM": &r.month, "DDD": &r.yearday, "DD": &r.day, "D": &r.weekday, "WW": &r.week, "IW": &r.week,
		"CC": &r.century,
		"W":  &r.monthweek, "J": &r.julian}[id]
}

// fraction reads digits behind the point, and scales them to a number of digits.
func (r *dateReader) fraction(to *int, digits int, number func(*int, int) (int, error)) error {
	size, err := number(to, digits)
	for ; err == nil && size < digits; size++ {
		*to *= 10
	}
	return err
}

// nearYear completes a year of fewer than four digits to the one nearest to 2020.
func nearYear(year int) int {
	switch {
	case year < 70:
		return year + 2000
	case year < 100:
		return year + 1900
	case year < 520:
		return year + 2000
	case year < 1000:
		return year + 1000
	}
	return year
}

func (r *dateReader) set(n *node, to *int, value int) error {
	if *to != 0 && *to != value {
		return invalidDate(`conflicting values for "%s" field in formatting string`, n.name).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*to = value
	return nil
}

// number reads a number of width bytes, or of any if no digits can follow, and returns how many it has read. to is nil
// for a number that is ignored.
func (r *dateReader) number(n *node, after []node, to *int, width int) (int, error) {
	start := r.text
	trimmed := strings.TrimLeft(start, " \t\n\v\f\r")
	item := trimmed[:min(width, len(trimmed))]
	const hint = `If your source string is not fixed-width, try using the "FM" modifier.`
	value, inRange := 0, false
	if n.fill || notDigits(n, after) {
		var size int
		if value, size, inRange = scanInt(trimmed); size > 0 {
			r.text = trimmed[size:]
		}
	} else {
		if len(trimmed) < width {
			return 0, invalidDate(`source string too short for "%s" formatting field`, n.name).WithDetail(
				"Field requires %d characters, but only %d remain.", width, len(trimmed)).WithHint(hint)
		}
		var size int
		value, size, inRange = scanInt(item)
		if size > 0 && size < width {
			return 0, invalidDate(`invalid value "%s" for "%s"`, item, n.name).WithDetail(
				"Field requires %d characters, but only %d could be parsed.", width, size).WithHint(hint)
		}
		r.text = trimmed[size:]
	}
	switch {
	case len(r.text) == len(start):
		return 0, invalidDate(`invalid value "%s" for "%s"`, strings.ToValidUTF8(item, ""), n.name).
			WithDetail("Value must be an integer.")
	case !inRange:
		return 0, sqlstate.New(sqlstate.DatetimeOverflow, `value for "%s" in source string is out of range`, n.name).
			WithDetail("Value must be in the range %d to %d.", math.MinInt32, math.MaxInt32)
	case to != nil:
		if err := r.set(n, to, value); err != nil {
			return 0, err
		}
	}
	return len(start) - len(r.text), nil
}

// scanInt reads an integer at the beginning of a text as C's strtol does. size is 0 if there is none.
func scanInt(s string) (value, size int, inRange bool) {
	at := len(s) - len(strings.TrimLeft(s, " \t\n\v\f\r"))
	digits := at
	if digits < len(s) && (s[digits] == '+' || s[digits] == '-') {
		digits++
	}
	end := digits
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if end == digits {
		return 0, 0, true
	}
	v, err := strconv.ParseInt(s[at:end], 10, 32)
	return int(v), end, err == nil
}

// notDigits reports whether the field ends at the next character that is no digit, because no digits can follow it.
func notDigits(n *node, after []node) bool {
	switch {
	case n.th, len(after) == 0:
		return true
	case after[0].field != nil:
		return !after[0].digit
	}
	return !isDigit(after[0].char[0])
}

// commaYear reads thousands, a comma, and up to three digits.
func (r *dateReader) commaYear(n *node) error {
	bad := invalidDate(`invalid input string for "Y,YYY"`)
	thousands, size, ok := scanInt(r.text)
	rest := r.text[size:]
	if size == 0 || !ok || rest == "" || rest[0] != ',' {
		return bad
	}
	rest = strings.TrimLeft(rest[1:], " \t\n\v\f\r")
	years, size, ok := scanInt(rest[:min(3, len(rest))])
	if size == 0 || !ok {
		return bad
	}
	total := int64(thousands)*1000 + int64(years)
	if total != int64(int32(total)) {
		return sqlstate.New(sqlstate.DatetimeOverflow, `value for "Y,YYY" in source string is out of range`)
	}
	r.text, r.yearDigits = rest[size:], 4
	return r.set(n, &r.year, int(total))
}

// wordList has the words that a field may have, in the order in which they are tried.
type wordList struct {
	words []string
	value func(i int) int
}

var romanNames = wordList{strings.Fields("xii xi x ix viii vii vi v iv iii ii i"), func(i int) int { return 12 - i }}

func halfDays(id string) wordList {
	if id == "AM" || id == "PM" {
		return wordList{[]string{"am", "pm"}, func(i int) int { return i }}
	}
	return wordList{[]string{"a.m.", "p.m."}, func(i int) int { return i }}
}

func eras(id string) wordList {
	if id == "AD" || id == "BC" {
		return wordList{[]string{"ad", "bc"}, func(i int) int { return i }}
	}
	return wordList{[]string{"a.d.", "b.c."}, func(i int) int { return i }}
}

func monthNames(id string) wordList {
	out := wordList{value: func(i int) int { return i + 1 }}
	for m := time.January; m <= time.December; m++ {
		name := m.String()
		if id == "MON" {
			name = name[:3]
		}
		out.words = append(out.words, name)
	}
	return out
}

func dayNames(id string) wordList {
	out := wordList{value: func(i int) int { return i + 1 }}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if id == "DY" {
			name = name[:3]
		}
		out.words = append(out.words, name)
	}
	return out
}

// word reads one of several words, in any case.
func (r *dateReader) word(n *node, to *int, of wordList) error {
	for i, w := range of.words {
		if len(r.text) >= len(w) && strings.EqualFold(r.text[:len(w)], w) {
			r.text = r.text[len(w):]
			return r.set(n, to, of.value(i))
		}
	}
	shown := r.text
	if i := strings.IndexAny(shown, " \t\n\f\r"); i >= 0 {
		shown = shown[:i]
	}
	return invalidDate(`invalid value "%s" for "%s"`, shown, n.name).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

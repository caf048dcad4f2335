package templates

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// to_timestamp and to_date with a format (PostgreSQL 15, section 9.8; DCH_from_char in formatting.c).

// dateReader reads a text by a format.
type dateReader struct {
	text, format string // the parts that have not been read
	whole        string
	strict       bool // FX
	fields       map[string]int
	// yearDigits is the number of digits of the year.
	yearDigits int
}

// readWords are the patterns that read a number: the name in messages, the width, and the field that is set.
var readWords = []struct {
	word, field string
	width       int
}{
	{"HH24", "hour", 2}, {"HH12", "hour12", 2}, {"HH", "hour12", 2}, {"IDDD", "isoday", 3}, {"IYYY", "isoyear", 4},
	{"IYY", "isoyear", 3}, {"IY", "isoyear", 2}, {"IW", "isoweek", 2}, {"ID", "isodow", 1}, {"I", "isoyear", 1},
	{
		"MI",
		"minute",
		2,
	}, {"MM", "month", 2}, {"SSSSS", "ssss", 5}, {"SSSS", "ssss", 5}, {"SS", "second", 2}, {"DDD", "doy", 3},
	{"DD", "day", 2}, {"D", "dow", 1}, {"CC", "century", 2}, {"YYYY", "year", 4}, {"YYY", "year", 3}, {"YY", "year", 2},
	{
		"Y",
		"year",
		1,
	}, {"WW", "week", 2}, {"W", "monthweek", 1}, {"J", "julian", 10}, {"Q", "quarter", 1}, {"TZH", "tzh", 2},
	{"TZM", "tzm", 2},
}

func invalidDate(format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidDatetimeFormat, format, args...)
}

func init() {
	funcs.TimeFamily.Function("to_timestamp", types.TimestampTZ,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			r, err := readDate(a[0].S, a[1].S)
			if err != nil {
				return types.Null, err
			}
			wall, err := r.stamp()
			if err != nil {
				return types.Null, err
			}
			if h, ok := r.fields["tzh"]; ok {
				sign := 1 - 2*r.fields["tzsign"]
				return types.CheckMoment(wall - int64(sign*(h*3600+r.fields["tzm"]*60))*datetime.Second)
			}
			return types.Cast(types.NewTime(wall), types.Timestamp, types.TimestampTZ, -1, env.Types)
		}, types.Text, types.Text).Volatility = exec.Stable
	funcs.TimeFamily.Function("to_date", types.Date, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		r, err := readDate(a[0].S, a[1].S)
		if err != nil {
			return types.Null, err
		}
		wall, err := r.stamp()
		if err != nil {
			return types.Null, err
		}
		return types.Cast(types.NewTime(wall), types.Timestamp, types.Date, -1, nil)
	}, types.Text, types.Text)
}

const maxDateText = 4096

func readDate(text, format string) (*dateReader, error) {
	if len(text) > maxDateText || len(format) > maxDateText {
		return nil, sqlstate.New(
			sqlstate.ProgramLimitExceeded,
			"date or format is longer than the limit of %d bytes",
			maxDateText,
		)
	}
	r := &dateReader{text: text, format: format, whole: text, fields: map[string]int{}}
	for r.format != "" {
		if !r.strict {
			r.text = strings.TrimLeft(r.text, " \t\n\r")
		}
		switch {
		case r.prefix("FX"):
			r.strict = true
			continue
		case r.prefix("FM"), r.prefix("TM"):
			continue
		}
		if r.text == "" && !strings.HasPrefix(r.format, `"`) {
			break
		}
		done, err := r.pattern()
		if err != nil {
			return nil, err
		}
		if done {
			for _, suffix := range []string{"TH", "th", "SP"} {
				if strings.HasPrefix(r.format, suffix) {
					r.format = r.format[2:]
					if suffix != "SP" {
						r.text = r.text[min(2, len(r.text)):]
					}
				}
			}
			continue
		}
		r.separator()
	}
	return r, nil
}

func (r *dateReader) prefix(word string) bool {
	if strings.HasPrefix(strings.ToUpper(r.format), word) && (r.format[0]&0x20 == r.format[1]&0x20) {
		r.format = r.format[len(word):]
		return true
	}
	return false
}

// separator skips a character of the format that is not a pattern, and the corresponding character of the text.
func (r *dateReader) separator() {
	if r.format[0] == '"' {
		var b strings.Builder
		r.format = r.format[literal(&b, r.format):]
		for range b.String() {
			if r.text != "" {
				_, n := utf8.DecodeRuneInString(r.text)
				r.text = r.text[n:]
			}
		}
		return
	}
	c, n := utf8.DecodeRuneInString(r.format)
	if c == '\\' && len(r.format) > n {
		r.format = r.format[n:]
		c, n = utf8.DecodeRuneInString(r.format)
	}
	r.format = r.format[n:]
	if r.text == "" {
		return
	}
	d, m := utf8.DecodeRuneInString(r.text)
	zone := strings.ContainsRune("+-", d) && strings.HasPrefix(r.format, "TZ")
	if r.strict || !isSeparator(c) || isSeparator(d) && d != ' ' && !zone {
		r.text = r.text[m:]
	}
}

func isSeparator(c rune) bool {
	return c > 0x20 && c < 0x7f && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') ||
		c == ' '
}

// pattern reads the text for the pattern at the beginning of the format; false if the format does not begin with a
// pattern.
func (r *dateReader) pattern() (bool, error) {
	upper := strings.ToUpper(r.format[:min(8, len(r.format))])
	for _, w := range []struct {
		word string
		read func() error
	}{
		{"Y,YYY", r.commaYear}, {"MONTH", r.name("month", true, r.format[:min(5, len(r.format))])},
		{"MON", r.name("month", false, r.format[:min(3, len(r.format))])},
		{"DAY", r.name("", true, r.format[:min(3, len(r.format))])},
		{"DY", r.name("", false, r.format[:min(2, len(r.format))])}, {"RM", r.romanMonth},
		{"A.D.", r.word2("bc", "a.d.", "b.c.", "A.D.")}, {"B.C.", r.word2("bc", "a.d.", "b.c.", "B.C.")},
		{"A.M.", r.word2("pm", "a.m.", "p.m.", "A.M.")}, {"P.M.", r.word2("pm", "a.m.", "p.m.", "P.M.")},
		{"AD", r.word2("bc", "ad", "bc", "AD")}, {"BC", r.word2("bc", "ad", "bc", "BC")},
		{"AM", r.word2("pm", "am", "pm", "AM")}, {"PM", r.word2("pm", "am", "pm", "PM")},
		{"MS", r.fraction("MS", 3)}, {"US", r.fraction("US", 6)}, {"FF1", r.fraction("FF1", 1)},
		{"FF2", r.fraction("FF2", 2)},
		{"FF3", r.fraction("FF3", 3)}, {"FF4", r.fraction("FF4", 4)}, {"FF5", r.fraction("FF5", 5)},
		{"FF6", r.fraction("FF6", 6)},
	} {
		if strings.HasPrefix(upper, w.word) {
			r.format = r.format[len(w.word):]
			return true, w.read()
		}
	}
	for _, w := range readWords {
		if !strings.HasPrefix(upper, w.word) {
			continue
		}
		r.format = r.format[len(w.word):]
		if w.field == "tzh" && r.text != "" {
			if c := r.text[0]; c == '+' || c == '-' || c == ' ' {
				if c == '-' {
					r.fields["tzsign"] = 1
				}
				r.text = r.text[1:]
			}
		}
		n, digits, err := r.number(w.word, w.width)
		if err != nil {
			return true, err
		}
		switch w.field {
		case "quarter":
			return true, nil
		case "year":
			r.yearDigits = digits
			n = fullYear(n, len(w.word), digits)
		case "isoyear":
			n = fullYear(n, len(w.word), digits)
		case "hour12":
			if n < 1 || n > 12 {
				return true, invalidDate("hour \"%d\" is invalid for the 12-hour clock", n).
					WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
			}
		case "dow":
			return true, nil
		}
		return true, r.set(w.field, n, w.word)
	}
	if strings.HasPrefix(upper, "TZ") || strings.HasPrefix(upper, "OF") {
		return true, sqlstate.New(
			sqlstate.FeatureNotSupported,
			"formatting field \"%s\" is only supported in to_char",
			upper[:2],
		)
	}
	return false, nil
}

// fullYear adds the century to a year with fewer than four digits (adjust_partial_year_to_2020).
func fullYear(n, width, digits int) int {
	if width == 4 && digits > 3 || width == 4 || digits >= 4 {
		return n
	}
	switch {
	case n < 70:
		return n + 2000
	case n < 100:
		return n + 1900
	case n < 520:
		return n + 2000
	case n < 1000:
		return n + 1000
	}
	return n
}

func (r *dateReader) set(field string, n int, word string) error {
	if have, ok := r.fields[field]; ok && have != n {
		return invalidDate("conflicting values for \"%s\" field in formatting string", word).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	r.fields[field] = n
	return nil
}

// number reads a number of at most width digits, or of any length if no digits can follow.
func (r *dateReader) number(word string, width int) (n, digits int, err error) {
	text := strings.TrimLeft(r.text, " ")
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, text = text[:1], text[1:]
	}
	most := width
	if !r.digitsFollow() {
		most = len(text)
	}
	for digits < min(most, len(text)) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 {
		shown := r.text[:min(width, len(r.text))]
		return 0, 0, invalidDate("invalid value \"%s\" for \"%s\"", shown, word).WithDetail("Value must be an integer.")
	}
	if r.digitsFollow() && r.strict && digits < width {
		return 0, 0, invalidDate("source string too short for \"%s\" formatting field", word)
	}
	n, err = strconv.Atoi(sign + text[:digits])
	if err != nil || n > 1<<31-1 {
		return 0, 0, sqlstate.New("22008", "value for \"%s\" in source string is out of range", word).
			WithDetail("Value must be in the range %d to %d.", -1<<31, 1<<31-1)
	}
	r.text = text[digits:]
	return n, digits, nil
}

// digitsFollow reports whether the next pattern reads digits too.
func (r *dateReader) digitsFollow() bool {
	if r.format == "" {
		return false
	}
	upper := strings.ToUpper(r.format)
	for _, w := range readWords {
		if strings.HasPrefix(upper, w.word) {
			return true
		}
	}
	for _, w := range []string{"MS", "US", "FF"} {
		if strings.HasPrefix(upper, w) {
			return true
		}
	}
	return r.format[0] >= '0' && r.format[0] <= '9'
}

func (r *dateReader) fraction(word string, width int) func() error {
	return func() error {
		n, digits, err := r.number(word, width)
		if err != nil {
			return err
		}
		if digits > width {
			// More digits than fit belong to no field.
			return sqlstate.New("22008", "date/time field value out of range: \"%s\"", r.whole)
		}
		for ; digits < 6; digits++ {
			n *= 10
		}
		return r.set("micros", n, word)
	}
}

func (r *dateReader) commaYear() error {
	head, rest, ok := strings.Cut(r.text, ",")
	th, err := strconv.Atoi(strings.TrimSpace(head))
	if !ok || err != nil || len(rest) < 3 {
		return invalidDate("invalid input string for \"Y,YYY\"")
	}
	n, err := strconv.Atoi(rest[:3])
	if err != nil {
		return invalidDate("invalid input string for \"Y,YYY\"")
	}
	r.text = rest[3:]
	r.yearDigits = 4
	return r.set("year", th*1000+n, "Y,YYY")
}

// name reads the name of a month or of a day. The day is ignored.
func (r *dateReader) name(field string, long bool, word string) func() error {
	return func() error {
		names := make([]string, 0, 12)
		if field == "" {
			for d := range 7 {
				names = append(names, time.Weekday(d).String())
			}
		} else {
			for m := range 12 {
				names = append(names, time.Month(m+1).String())
			}
		}
		low := strings.ToLower(r.text)
		for i, n := range names {
			if !long {
				n = n[:3]
			}
			if strings.HasPrefix(low, strings.ToLower(n)) {
				r.text = r.text[len(n):]
				if field == "" {
					return nil
				}
				return r.set(field, i+1, word)
			}
		}
		shown, _, _ := strings.Cut(r.text, " ")
		return invalidDate("invalid value \"%s\" for \"%s\"", shown, word).
			WithDetail("The given value did not match any of the allowed values for this field.")
	}
}

func (r *dateReader) romanMonth() error {
	low := strings.ToUpper(r.text)
	best := -1
	for i, n := range romans {
		if strings.HasPrefix(low, n) && (best < 0 || len(n) > len(romans[best])) {
			best = i
		}
	}
	if best < 0 {
		return invalidDate("invalid value \"%s\" for \"RM\"", r.text).
			WithDetail("The given value did not match any of the allowed values for this field.")
	}
	r.text = r.text[len(romans[best]):]
	return r.set("month", best+1, "RM")
}

// word2 reads one of two words.
func (r *dateReader) word2(field, first, second, word string) func() error {
	return func() error {
		for i, w := range []string{first, second} {
			if len(r.text) >= len(w) && strings.EqualFold(r.text[:len(w)], w) {
				r.text = r.text[len(w):]
				return r.set(field, i, word)
			}
		}
		return invalidDate("invalid value \"%s\" for \"%s\"", r.text[:min(len(first), len(r.text))], word).
			WithDetail("The given value did not match any of the allowed values for this field.")
	}
}

// stamp returns the timestamp that was read in microseconds (do_to_timestamp).
func (r *dateReader) stamp() (int64, error) {
	f := r.fields
	out := func() error { return sqlstate.New("22008", "date/time field value out of range: \"%s\"", r.whole) }
	if _, iso := f["isoyear"]; iso || f["isoweek"] != 0 || f["isoday"] != 0 {
		for _, g := range []string{"year", "month", "day", "doy", "week"} {
			if _, ok := f[g]; ok {
				return 0, invalidDate("invalid combination of date conventions").
					WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
			}
		}
	}
	h, m, s := f["hour"], f["minute"], f["second"]
	if n, ok := f["ssss"]; ok {
		h, m, s = n/3600, n/60%60, n%60
	}
	if n, ok := f["hour12"]; ok {
		if h = n % 12; f["pm"] == 1 {
			h += 12
		} else if _, half := f["pm"]; !half {
			h = n
		}
	} else if f["pm"] == 1 && h < 12 {
		h += 12
	}
	if h < 0 || h > 24 || m < 0 || m > 59 || s < 0 || s > 59 || h == 24 && m+s+f["micros"] > 0 {
		return 0, out()
	}
	clock := int64(h*3600+m*60+s)*1e6 + int64(f["micros"])
	year, known := f["year"], false
	if _, known = f["year"]; !known {
		year = 0
	}
	if c, ok := f["century"]; ok {
		switch {
		case known && r.yearDigits <= 2:
			if year %= 100; year != 0 {
				year += (c - 1) * 100
			} else {
				year = c * 100
			}
		case !known:
			year, known = (c-1)*100+1, true
		}
	}
	if f["bc"] == 1 && known {
		year = 1 - year
	} else if year < 0 {
		year++
	}
	if !known {
		year = 0 // 1 BC
	}
	month, day := 1, 1
	if n, ok := f["month"]; ok {
		month = n
	}
	if n, ok := f["day"]; ok {
		day = n
	}
	var date time.Time
	switch {
	case f["julian"] != 0:
		date = time.Date(-4713, 11, 24, 0, 0, 0, 0, time.UTC).AddDate(0, 0, f["julian"])
	case f["isoyear"] != 0:
		date = isoDate(f)
	case f["isoday"] != 0:
		return 0, invalidDate("cannot calculate day of year without year information")
	case f["doy"] != 0:
		if !known {
			return 0, invalidDate("cannot calculate day of year without year information")
		}
		if f["doy"] < 1 || f["doy"] > 366 {
			return 0, out()
		}
		date = time.Date(year, 1, f["doy"], 0, 0, 0, 0, time.UTC)
	case f["week"] != 0 && f["day"] == 0 && f["month"] == 0:
		date = time.Date(year, 1, 1+(f["week"]-1)*7, 0, 0, 0, 0, time.UTC)
	default:
		if f["monthweek"] != 0 && f["day"] == 0 {
			day = (f["monthweek"]-1)*7 + 1
		}
		date = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if month < 1 || month > 12 || day < 1 || date.Day() != day {
			return 0, out()
		}
	}
	return datetime.Moment(date) + clock, nil
}

// isoDate returns the date for an ISO week-numbering year.
func isoDate(f map[string]int) time.Time {
	fourth := time.Date(f["isoyear"], 1, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	if n := f["isoday"]; n != 0 {
		return monday.AddDate(0, 0, n-1)
	}
	week, dow := max(f["isoweek"], 1), max(f["isodow"], 1)
	return monday.AddDate(0, 0, (week-1)*7+dow-1)
}

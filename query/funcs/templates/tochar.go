// Package templates implements to_char, to_number, to_date and to_timestamp, which write and read values by template
// patterns (PostgreSQL 15, section 9.8). Times without a template are read by package datetime.
package templates

import (
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// to_char of times and intervals, by the patterns of PostgreSQL (formatting.c, DCH_to_char).

// clock is a time or an interval, split into its parts.
type clock struct {
	year, month, day int // years BC are 0, -1 and so on
	hour, min, sec   int
	micros           int
	weekday, yearday int
	isoYear, isoWeek int
	span             bool   // it is an interval
	zone             string // "" without a time zone
	offset           int    // seconds east of UTC
}

func ClockOf(t time.Time, zoned bool) *clock {
	c := &clock{year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), min: t.Minute(), sec: t.Second(),
		micros: t.Nanosecond() / 1000, weekday: int(t.Weekday()), yearday: t.YearDay()}
	c.isoYear, c.isoWeek = t.ISOWeek()
	if zoned {
		_, c.offset = t.Zone()
		c.zone = ZoneName(t)
	}
	return c
}

// ZoneName returns the abbreviation of a time's zone.
func ZoneName(t time.Time) string {
	name, _ := t.Zone()
	return name
}

func ClockOfSpan(s types.Span) *clock {
	const hour, minute, second = 3600e6, 60e6, 1e6
	c := &clock{year: int(s.Months / 12), month: int(s.Months % 12), day: int(s.Days), span: true}
	m := s.Micros
	c.hour, m = int(m/hour), m%hour
	c.min, m = int(m/minute), m%minute
	c.sec, c.micros = int(m/second), int(m%second)
	c.yearday = (c.year*12+c.month)*30 + c.day
	// Calendar parts are meaningless for an interval. They are computed from its numbers as if those were a date.
	at := time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC)
	c.isoYear, c.isoWeek = at.ISOWeek()
	return c
}

// dateWord is a pattern of a format.
type dateWord struct {
	word string
	// write returns the text. fill is set to pad numbers and names.
	write func(c *clock, fill bool) string
	// calendar is set for patterns that do not apply to intervals.
	calendar bool
	// name is set for names of months and days.
	name bool
	// ordinal is set if TH may follow.
	ordinal bool
}

// dateWords lists the patterns by first character, in the order in which they are tried. init fills it to avoid an
// initialization cycle.
var dateWords map[byte][]dateWord

// ToChar is to_char. One letter of a format may produce many characters.
func ToChar(c *clock, format string) (types.Datum, error) {
	const longest = 64 << 10
	if len(format) > longest {
		return types.Null, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"date format of %d bytes is longer than the limit of %d", len(format), longest)
	}
	if format == "" {
		return types.Null, nil
	}
	var b strings.Builder
	for i := 0; i < len(format); {
		rest := format[i:]
		var prefix string
		if word := strings.ToUpper(rest[:min(2, len(rest))]); (word == "FM" || word == "TM") &&
			rest[0]&0x20 == rest[1]&0x20 {
			prefix = word
			i += 2
		}
		if i == len(format) {
			break
		}
		p := findDateWord(format[i:])
		if p == nil {
			i += literal(&b, format[i:])
			continue
		}
		i += len(p.word)
		if c.span && p.calendar {
			return types.Null, sqlstate.New(sqlstate.InvalidDatetimeFormat,
				"invalid format specification for an interval value").
				WithHint("Intervals are not tied to specific calendar dates.")
		}
		// TM takes names from the locale, which is always C, and does not pad them.
		text := p.write(c, prefix == "" || prefix == "TM" && !p.name)
		b.WriteString(text)
		switch suffix := format[i:min(i+2, len(format))]; suffix {
		case "TH", "th":
			if p.ordinal && text != "" {
				end := ordinal(text)
				if suffix == "TH" {
					end = strings.ToUpper(end)
				}
				b.WriteString(end)
			}
			i += 2
		case "SP":
			i += 2
		}
	}
	return types.NewText(b.String()), nil
}

func findDateWord(s string) *dateWord {
	list := dateWords[s[0]]
	for i := range list {
		if strings.HasPrefix(s, list[i].word) {
			return &list[i]
		}
	}
	return nil
}

// literal copies text that is not a pattern: a quoted text, or one character. It returns the number of bytes read from
// the format.
func literal(b *strings.Builder, s string) int {
	if s[0] != '"' {
		if strings.HasPrefix(s, `\"`) {
			b.WriteByte('"')
			return 2
		}
		b.WriteByte(s[0])
		return 1
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return i + 1
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return len(s)
}

// ordinal returns the ordinal suffix of a number.
func ordinal(number string) string {
	n := len(number)
	if n > 1 && number[n-2] == '1' {
		return "th"
	}
	switch number[n-1] {
	case '1':
		return "st"
	case '2':
		return "nd"
	case '3':
		return "rd"
	}
	return "th"
}

// digits pads a number with zeros to a width, and by one more after a sign.
func digits(n, width int, fill bool) string {
	if !fill {
		width = 0
	} else if n < 0 {
		width++
	}
	return fmt.Sprintf("%0*d", width, n)
}

// shownYear returns the year as displayed: without a sign, years BC counted backwards.
func (c *clock) shownYear(year int) int {
	if c.span || year > 0 {
		return year
	}
	return 1 - year
}

func (c *clock) hour12() int {
	if c.hour%12 == 0 {
		return 12
	}
	return c.hour % 12
}

// julian returns the Julian day (datetime.c, date2j).
func (c *clock) julian() int {
	year, month := c.year, c.month
	if month > 2 {
		month, year = month+1, year+4800
	} else {
		month, year = month+13, year+4799
	}
	century := year / 100
	return year*365 - 32167 + year/4 - century + century/4 + 7834*month/256 + c.day
}

func (c *clock) century() int {
	switch {
	case c.span:
		return c.year / 100
	case c.year > 0:
		return (c.year-1)/100 + 1
	}
	return c.year/100 - 1
}

var romans = [12]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

// roman returns the month in Roman numerals. An interval of whole years has month 12.
func (c *clock) roman(fill bool) string {
	if c.month == 0 && c.year == 0 {
		return ""
	}
	var s string
	switch {
	case c.month > 0:
		s = romans[c.month-1]
	case c.month < 0:
		s = romans[12+c.month]
	case c.year >= 0:
		s = romans[11]
	default:
		s = romans[0]
	}
	if fill {
		s = fmt.Sprintf("%-4s", s)
	}
	return s
}

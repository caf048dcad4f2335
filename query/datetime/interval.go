package datetime

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Style is PostgreSQL's setting IntervalStyle: how intervals are written. "" is postgres.
type Style string

// The styles.
const (
	StylePostgres Style = "postgres"
	StyleVerbose  Style = "postgres_verbose"
	StyleStandard Style = "sql_standard"
	StyleISO      Style = "iso_8601"
)

// Fields are the first and last field that an interval is cut to, as in DAY TO HOUR. The zero value keeps all.
type Fields struct{ First, Last string }

// lastUnits gives the unit of numbers without one.
var lastUnits = map[string]unit{"year": year, "month": month, "day": day, "hour": hour, "minute": minute,
	"second": second}

// ParseInterval reads an interval in any of PostgreSQL's forms. The style decides what a leading sign applies to, and
// the fields decide the unit of a number without one.
func ParseInterval(text string, style Style, f Fields) (Span, error) {
	p := &intervalParser{style: style, fields: f}
	err := error(badFormat)
	if fields, ok := scan(text); ok {
		err = p.parse(fields)
	}
	if errors.Is(err, badFormat) {
		*p = intervalParser{}
		err = p.parseISO(text)
	}
	var s Span
	if err == nil {
		var ok bool
		if s, ok = p.span(); !ok {
			return Span{}, sqlstate.New(sqlstate.DatetimeOverflow, "interval out of range")
		}
		return s, nil
	}
	if errors.Is(err, fieldOverflow) {
		return Span{}, sqlstate.New(sqlstate.IntervalOverflow, "interval field value out of range: \"%s\"",
			sqlstate.Excerpt(text))
	}
	return Span{}, explain(err, text, "interval")
}

// intervalParser adds up the fields of a text.
type intervalParser struct {
	style  Style
	fields Fields

	years, months, days int32
	micros              int64
}

func (p *intervalParser) span() (Span, bool) {
	months := int64(p.years)*12 + int64(p.months)
	return Span{Months: int32(months), Days: p.days, Micros: p.micros}, int64(int32(months)) == months
}

// parse reads the fields from the last to the first, so that it sees a unit before its number.
func (p *intervalParser) parse(fields []field) error {
	negative := p.style == StyleStandard && len(fields) > 0 && fields[0].text[0] == '-'
	if negative {
		// A leading sign applies to all numbers, unless another number has a sign too.
		for _, f := range fields[1:] {
			negative = negative && f.text[0] != '-' && f.text[0] != '+'
		}
	}
	var seen uint32
	var u unit
	ago := false
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		var got uint32
		switch f.kind {
		case wordField, specialField:
			switch w := find(intervalWords, f.text); w.class {
			case unitWord:
				u = unit(w.value)
			case agoWord:
				ago, u = true, isoYear // a number before it has no unit
			default:
				return badFormat
			}
			continue
		case clockField, signedField:
			sign, text := "", f.text
			if f.kind == signedField {
				sign, text = text[:1], text[1:]
			}
			if sign == "" || strings.Contains(text, ":") {
				err := p.clock(text)
				if err == nil {
					if sign == "-" || negative && p.micros > 0 {
						p.micros = -p.micros
					}
					u, got = day, 1<<hour|1<<minute|1<<second|1<<millisecond|1<<microsecond
					break
				}
				if sign == "" {
					return err
				}
			}
			var err error
			if got, u, err = p.number(f.text, u, negative); err != nil {
				return err
			}
		default:
			var err error
			if got, u, err = p.number(f.text, u, negative); err != nil {
				return err
			}
		}
		if seen&got != 0 {
			return badFormat
		}
		seen |= got
	}
	if seen == 0 {
		return badFormat
	}
	if ago {
		if p.micros == math.MinInt64 || p.days == math.MinInt32 || p.months == math.MinInt32 ||
			p.years == math.MinInt32 {
			return fieldOverflow
		}
		p.micros, p.days, p.months, p.years = -p.micros, -p.days, -p.months, -p.years
	}
	return nil
}

// clock reads h:m or h:m:s into the time.
func (p *intervalParser) clock(text string) error {
	h, m, s, us, err := parseClock(text, p.fields == Fields{"minute", "second"})
	if err != nil {
		return err
	}
	p.micros = int64(us)
	if !p.addMicros(h, Hour) || !p.addMicros(int64(m), Minute) || !p.addMicros(int64(s), Second) {
		return fieldOverflow
	}
	return nil
}

// number adds a number of a unit. It returns the unit for the next number without one.
func (p *intervalParser) number(text string, u unit, negative bool) (uint32, unit, error) {
	if u == noUnit {
		if u = lastUnits[p.fields.Last]; u == noUnit {
			u = second
		}
	}
	if letter(text[0]) {
		return 0, 0, badFormat // a date, as in p1y
	}
	n := len(text) - len(strings.TrimLeft(text[1:], "0123456789")) // after a sign or the first digit
	whole, rest := text[:n], text[n:]
	if text[0] == '.' {
		whole, rest = "0", text
	}
	v, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, 0, fieldOverflow
	}
	part := 0.0
	switch {
	case rest == "":
	case rest[0] == '-':
		months, rest, err := cutNumber(rest[1:])
		if err != nil || months > 11 {
			return 0, 0, fieldOverflow
		}
		if rest != "" {
			return 0, 0, badFormat
		}
		if text[0] == '-' {
			months = -months
		}
		if v > math.MaxInt32 || v < math.MinInt32 {
			return 0, 0, fieldOverflow
		}
		u, v = month, v*12+int64(months)
	case rest[0] == '.':
		if strings.Trim(rest[1:], "0123456789") != "" {
			return 0, 0, badFormat
		}
		part, _ = strconv.ParseFloat("0"+rest, 64)
		if text[0] == '-' {
			part = -part
		}
	default:
		return 0, 0, badFormat
	}
	if negative {
		v, part = min(v, -v), math.Min(part, -part)
	}
	got := uint32(1) << u
	if u == second && part != 0 {
		got |= 1<<millisecond | 1<<microsecond
	}
	if err := p.add(v, part, u); err != nil {
		return 0, 0, err
	}
	if u == hour {
		u = day
	}
	return got, u, nil
}

// add adds v of a unit, and part of one more.
func (p *intervalParser) add(v int64, part float64, u unit) error {
	ok := false
	switch u {
	case microsecond:
		ok = p.addMicros(v, 1) && p.addPart(part, 1)
	case millisecond:
		ok = p.addMicros(v, 1000) && p.addPart(part, 1000)
	case second:
		ok = p.addMicros(v, Second) && p.addPart(part, Second)
	case minute:
		ok = p.addMicros(v, Minute) && p.addPart(part, Minute)
	case hour:
		ok = p.addMicros(v, Hour) && p.addPart(part, Hour)
	case day:
		ok = add32(&p.days, v, 1) && p.addPart(part, Day)
	case week:
		ok = add32(&p.days, v, 7) && p.addDays(part, 7)
	case month:
		ok = add32(&p.months, v, 1) && p.addDays(part, 30)
	case year:
		ok = p.addYears(v, part, 1)
	case decade:
		ok = p.addYears(v, part, 10)
	case century:
		ok = p.addYears(v, part, 100)
	case millennium:
		ok = p.addYears(v, part, 1000)
	default:
		return badFormat
	}
	if !ok {
		return fieldOverflow
	}
	return nil
}

func (p *intervalParser) addMicros(v, scale int64) bool {
	product, ok := mul(v, scale)
	if !ok {
		return false
	}
	sum := p.micros + product
	ok = (sum > p.micros) == (product > 0)
	p.micros = sum
	return ok
}

// addPart adds a fraction of a unit of scale microseconds.
func (p *intervalParser) addPart(part float64, scale int64) bool {
	if part == 0 {
		return true
	}
	part *= float64(scale)
	us := int64(part)
	switch part -= float64(us); {
	case part > 0.5:
		us++
	case part < -0.5:
		us--
	}
	return p.addMicros(us, 1)
}

// addDays adds a fraction of a unit of scale days.
func (p *intervalParser) addDays(part float64, scale int) bool {
	part *= float64(scale)
	days := int64(part)
	return add32(&p.days, days, 1) && p.addPart(part-float64(days), Day)
}

// addYears adds years. The part of a fraction below a month is dropped.
func (p *intervalParser) addYears(v int64, part float64, scale int64) bool {
	return add32(&p.years, v, scale) && add32(&p.months, int64(math.RoundToEven(part*float64(scale)*12)), 1)
}

func add32(to *int32, v, scale int64) bool {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return false
	}
	sum := int64(*to) + v*scale
	*to = int32(sum)
	return v*scale == int64(int32(v*scale)) && sum == int64(int32(sum))
}

func mul(a, b int64) (int64, bool) {
	p := a * b
	return p, a == 0 || p/a == b && !(a == -1 && b == math.MinInt64)
}

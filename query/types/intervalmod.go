package types

import (
	"math"
	"regexp"
	"strings"
)

// The modifier of an interval has the fields that it is cut to in its upper half, as bits, and the digits of its
// seconds in the lower one (PostgreSQL's utils/timestamp.h).
const (
	allFields = 0x7fff
	allDigits = 0xffff
)

var fieldBits = map[string]int32{"year": 1 << 2, "month": 1 << 1, "day": 1 << 3, "hour": 1 << 10, "minute": 1 << 11,
	"second": 1 << 12}

// fieldOrder are the fields from the longest to the shortest.
var fieldOrder = []string{"year", "month", "day", "hour", "minute", "second"}

// IntervalMod is the modifier of fields as "day to second", "" for all, and of a number of digits, negative for all.
func IntervalMod(fields string, digits int32) int32 {
	if fields == "" && digits < 0 {
		return -1
	}
	if digits < 0 {
		digits = allDigits
	}
	if fields == "" {
		return allFields<<16 | digits
	}
	from, to, several := strings.Cut(fields, " to ")
	if !several {
		to = from
	}
	bits, inside := int32(0), false
	for _, f := range fieldOrder {
		if inside = inside || f == from; inside {
			bits |= fieldBits[f]
		}
		inside = inside && f != to
	}
	return bits<<16 | digits
}

// cut leaves of an interval the fields and digits of a modifier.
func (s Span) cut(mod int32) Span {
	fields, digits := mod>>16, mod&allDigits
	if fields != allFields {
		switch has := func(f string) bool { return fields&fieldBits[f] != 0 }; {
		case has("second"):
		case has("minute"):
			s.Micros -= s.Micros % 60e6
		case has("hour"):
			s.Micros -= s.Micros % 3600e6
		case has("day"):
			s.Micros = 0
		case has("month"):
			s.Days, s.Micros = 0, 0
		default:
			s.Months, s.Days, s.Micros = s.Months-s.Months%12, 0, 0
		}
	}
	if digits < 6 {
		unit := int64(math.Pow10(6 - int(digits)))
		if s.Micros >= 0 {
			s.Micros = (s.Micros + unit/2) / unit * unit
		} else {
			s.Micros = -((-s.Micros + unit/2) / unit * unit)
		}
	}
	return s
}

var (
	bareNumbers   = regexp.MustCompile(`^\s*(?:([+-]?\d+)\s+)?([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)\s*$`)
	minuteSeconds = regexp.MustCompile(`^\s*([+-]?)(\d+:\d+(?:\.\d*)?)\s*$`)
)

// IntervalText gives the numbers of a constant of INTERVAL '1 2' DAY TO HOUR the units of its fields.
func IntervalText(text, fields string) string {
	words := strings.Fields(fields)
	last := words[len(words)-1]
	if p := minuteSeconds.FindStringSubmatch(text); p != nil && fields == "minute to second" {
		return p[1] + "00:" + p[2]
	}
	switch p := bareNumbers.FindStringSubmatch(text); {
	case p == nil:
	case p[1] == "":
		return p[2] + " " + last
	case last == "hour":
		return p[1] + " days " + p[2] + " hours"
	}
	return text
}

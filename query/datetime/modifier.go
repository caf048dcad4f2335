package datetime

import (
	"math"
	"strconv"
	"strings"
)

// The modifier of an interval holds in its upper half a bit for each field it is cut to, and in its lower half the
// digits of its seconds (PostgreSQL's utils/timestamp.h).
const (
	allFields = 0x7fff
	allDigits = 0xffff
)

var fieldBits = map[string]int32{"year": 1 << 2, "month": 1 << 1, "day": 1 << 3, "hour": 1 << 10, "minute": 1 << 11,
	"second": 1 << 12}

// fieldOrder lists the fields from the longest to the shortest.
var fieldOrder = []string{"year", "month", "day", "hour", "minute", "second"}

// IntervalMod returns the modifier for fields such as "day to second", "" for all, and a number of digits, negative for
// all.
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

// ModText is the inverse of IntervalMod: it returns what follows the word interval, such as " day to second(2)". It
// returns false if no fields have the modifier.
func ModText(mod int32) (string, bool) {
	if mod < 0 {
		return "", true
	}
	digits := ""
	if n := mod & allDigits; n != allDigits {
		digits = "(" + strconv.Itoa(int(n)) + ")"
	}
	if mod>>16 == allFields {
		return digits, true
	}
	for i, from := range fieldOrder {
		for _, to := range fieldOrder[i:] {
			fields := from
			if to != from {
				fields += " to " + to
			}
			// Months have no fixed length in days, so no interval is from years or months to days or shorter fields.
			split := from == "year" || from == "month"
			if split && to != from && to != "month" || IntervalMod(fields, mod&allDigits) != mod {
				continue
			}
			return " " + fields + digits, true
		}
	}
	return "", false
}

// Cut returns the interval with only the fields and digits of a modifier.
func (s Span) Cut(mod int32) Span {
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

// FieldsOf returns the fields of a modifier.
func FieldsOf(mod int32) Fields {
	if mod < 0 || mod>>16 == allFields {
		return Fields{}
	}
	var f Fields
	for _, name := range fieldOrder {
		if mod>>16&fieldBits[name] != 0 {
			if f.First == "" {
				f.First = name
			}
			f.Last = name
		}
	}
	return f
}

package datetime

import (
	"math"
	"strconv"
	"strings"
)

// microsOf returns the fraction of a second given by the digits after the decimal point, in microseconds.
func microsOf(digits string) int {
	f, _ := strconv.ParseFloat("0."+digits, 64)
	return int(math.RoundToEven(f * 1e6))
}

// cutNumber returns the 32-bit number at the beginning of a text, 0 if there is none, and the rest.
func cutNumber(s string) (n int, rest string, err error) {
	w := len(s) - len(strings.TrimLeft(s, "0123456789"))
	v, err := strconv.ParseInt("0"+s[:w], 10, 32)
	if err != nil {
		return 0, "", fieldOverflow
	}
	return int(v), s[w:], nil
}

// clock reads a time of day with colons.
func (d *decoder) clock(text string) error {
	h, m, s, us, err := parseClock(text, false)
	if err != nil {
		return err
	}
	if h > math.MaxInt32 {
		return fieldOverflow
	}
	d.hour, d.min, d.sec, d.micros = int(h), m, s, us
	if !d.clockOnly && d.overflows() {
		return fieldOverflow
	}
	return nil
}

// overflows reports whether the time of day is out of range.
func (d *decoder) overflows() bool {
	return d.hour < 0 || d.hour > 24 || d.min < 0 || d.min > 59 || d.sec < 0 || d.sec > 60 || d.timeOfDay() > Day
}

// parseClock reads h:m, h:m:s and m:s.f. If minutes is set it reads a:b as m:s.
func parseClock(text string, minutes bool) (h int64, m, s, us int, err error) {
	w := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if h, err = strconv.ParseInt("0"+text[:w], 10, 64); err != nil {
		return 0, 0, 0, 0, fieldOverflow
	}
	if w == len(text) || text[w] != ':' {
		return 0, 0, 0, 0, badFormat
	}
	m, rest, err := cutNumber(text[w+1:])
	if err != nil {
		return 0, 0, 0, 0, err
	}
	shift := minutes
	switch {
	case rest == "":
	case rest[0] == '.':
		shift = true
	case rest[0] == ':':
		shift = false
		if s, rest, err = cutNumber(rest[1:]); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	if rest != "" {
		if rest[0] != '.' || strings.Trim(rest[1:], "0123456789") != "" {
			return 0, 0, 0, 0, badFormat
		}
		us = microsOf(rest[1:])
	}
	if shift {
		if h > math.MaxInt32 {
			return 0, 0, 0, 0, fieldOverflow
		}
		h, m, s = 0, int(h), m
	}
	if m > 59 || s > 60 || us > int(Second) {
		return 0, 0, 0, 0, fieldOverflow
	}
	return h, m, s, us, nil
}

// plainNumber reads a number without a label before it.
func (d *decoder) plainNumber(i int, text string) (mask, error) {
	whole, _, point := strings.Cut(text, ".")
	if d.clockOnly {
		n := len(d.fields)
		switch {
		case point && i == 0 && n >= 2 && d.fields[n-1].kind == dateField:
			return d.date(text)
		case point && len(whole) > 2, !point && len(text) > 4:
			return d.joined(text, d.has|hasDate)
		case point:
			return 0, badFormat
		}
		return d.number(text, false, d.has|hasDate)
	}
	switch {
	case point && d.has&hasDate == 0:
		return d.date(text)
	case point && len(whole) > 2, len(text) >= 6 && (d.has&hasDate == 0 || d.has&hasTime == 0):
		return d.joined(text, d.has)
	}
	return d.number(text, d.textMonth, d.has)
}

// date reads a date with separators between its parts.
func (d *decoder) date(text string) (mask, error) {
	var parts []string
	for rest := text; rest != ""; {
		rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !digit(byte(r)) && !letter(byte(r)) })
		if rest == "" {
			return 0, badFormat // it ends with a separator
		}
		in := letter
		if digit(rest[0]) {
			in = digit
		}
		n := strings.IndexFunc(rest, func(r rune) bool { return !in(byte(r)) })
		if n < 0 {
			n = len(rest)
		}
		parts = append(parts, rest[:n])
		// Any character after a part is a separator.
		rest = rest[min(n+1, len(rest)):]
	}
	var got mask
	add := func(m mask) error {
		if (d.has|got)&m != 0 {
			return badFormat
		}
		got |= m
		return nil
	}
	textMonth := false
	for i, part := range parts {
		if !letter(part[0]) {
			continue
		}
		switch w := find(momentWords, part); w.class {
		case ignoredWord:
		case monthWord:
			d.month, textMonth = w.value, true
			if err := add(hasMonth); err != nil {
				return 0, err
			}
			parts[i] = ""
		default:
			return 0, badFormat
		}
	}
	for _, part := range parts {
		if part == "" {
			continue
		}
		m, err := d.number(part, textMonth, d.has|got)
		if err == nil {
			err = add(m)
		}
		if err != nil {
			return 0, err
		}
	}
	if (d.has|got)&^(hasDOY|hasZone) != hasDate {
		return 0, badFormat
	}
	return got, nil
}

// number reads a number as the next field that is still missing.
func (d *decoder) number(text string, textMonth bool, has mask) (mask, error) {
	whole, fraction, point := strings.Cut(text, ".")
	v, rest, err := cutNumber(whole)
	switch {
	case err != nil:
		return 0, err
	case rest != "" || whole == "":
		return 0, badFormat
	case point && len(whole) > 2:
		return d.joined(text, has|hasDate)
	case point:
		d.micros = microsOf(fraction)
	}
	long := len(text) >= 3
	if len(text) == 3 && has&hasDate == hasYear && v >= 1 && v <= 366 {
		d.doy = v
		return hasDOY | hasMonth | hasDay, nil
	}
	setYear := func() (mask, error) {
		d.year, d.short = v, len(text) <= 2
		return hasYear, nil
	}
	setMonth := func() (mask, error) {
		d.month = v
		return hasMonth, nil
	}
	setDay := func() (mask, error) {
		d.day = v
		return hasDay, nil
	}
	switch has & hasDate {
	case 0:
		switch {
		case long || d.Order == YMD:
			return setYear()
		case d.Order == DMY:
			return setDay()
		}
		return setMonth()
	case hasYear, hasDay:
		return setMonth()
	case hasMonth:
		if textMonth && (long || d.Order == YMD) {
			return setYear()
		}
		return setDay()
	case hasYear | hasMonth:
		if textMonth && long && d.short {
			// The number before the month was the day.
			d.day, d.year, d.short = d.year, v, false
			return hasDay, nil
		}
		return setDay()
	case hasMonth | hasDay:
		return setYear()
	case hasDate:
		return d.joined(text, has)
	}
	return 0, badFormat
}

// joined reads numbers without separators: a date as 20240102 or 240102, or a time as 040506 or 0405.
func (d *decoder) joined(text string, has mask) (mask, error) {
	whole, fraction, point := strings.Cut(text, ".")
	switch {
	case point:
		d.micros = microsOf(fraction)
	case has&hasDate != hasDate && len(whole) >= 6:
		n := len(whole)
		d.year, d.month, d.day = atoi(whole[:n-4]), atoi(whole[n-4:n-2]), atoi(whole[n-2:])
		if n == 6 {
			d.short = true
		}
		return hasDate, nil
	}
	if has&hasTime == hasTime {
		return 0, badFormat
	}
	switch len(whole) {
	case 6:
		d.sec = atoi(whole[4:])
	case 4:
		d.sec = 0
	default:
		return 0, badFormat
	}
	d.hour, d.min = atoi(whole[:2]), atoi(whole[2:4])
	return hasTime, nil
}

// atoi returns a number truncated to 32 bits, as in C.
func atoi(s string) int {
	n, _ := strconv.ParseInt(s, 10, 64)
	return int(int32(n))
}

package datetime

import (
	"math"
	"strconv"
	"strings"
)

// isoUnits holds the units of ISO 8601's intervals before and after the T.
var isoUnits = [2]map[byte]unit{
	{'Y': year, 'M': month, 'W': week, 'D': day},
	{'H': hour, 'M': minute, 'S': second},
}

// parseISO reads an interval of ISO 8601: with units, as P1Y2M3DT4H5M6S, or without, as P0001-02-03T04:05:06 and
// P00010203T040506.
func (p *intervalParser) parseISO(s string) error {
	if len(s) < 2 || s[0] != 'P' {
		return badFormat
	}
	s = s[1:]
	half, units := 0, false // units is set once this half has had one
	for s != "" {
		if s[0] == 'T' {
			half, units, s = 1, false, s[1:]
			continue
		}
		width := len(s) - len(strings.TrimLeft(strings.TrimPrefix(s, "-"), "0123456789"))
		if s[0] == '-' {
			width--
		}
		v, part, rest, err := isoNumber(s)
		if err != nil {
			return err
		}
		if rest != "" {
			if u := isoUnits[half][rest[0]]; u != noUnit {
				if err := p.add(v, part, u); err != nil {
					return err
				}
				units, s = true, rest[1:]
				continue
			}
		}
		if units {
			return badFormat
		}
		if half == 0 {
			s, err = p.isoDate(v, part, width, rest)
		} else {
			s, err = p.isoClock(v, part, width, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isoDate reads a date without units whose first number has been read. It returns the rest of the text.
func (p *intervalParser) isoDate(v int64, part float64, width int, rest string) (string, error) {
	if width == 8 && (rest == "" || rest[0] == 'T') {
		if !p.addYears(v/10000, 0, 1) || !add32(&p.months, v/100%100, 1) {
			return "", fieldOverflow
		}
		return rest, p.add(v%100, part, day)
	}
	return p.isoParts(v, part, rest, '-', year, month, day)
}

// isoClock is isoDate for times.
func (p *intervalParser) isoClock(v int64, part float64, width int, rest string) (string, error) {
	if width == 6 && rest == "" {
		if !p.addMicros(v/10000, Hour) || !p.addMicros(v/100%100, Minute) || !p.addMicros(v%100, Second) ||
			!p.addPart(part, 1) {
			return "", fieldOverflow
		}
		return "", nil
	}
	rest, err := p.isoParts(v, part, rest, ':', hour, minute, second)
	if err == nil && rest != "" {
		err = badFormat
	}
	return rest, err
}

// isoParts reads numbers, one for each of units, separated by mark, up to the end or a T.
func (p *intervalParser) isoParts(v int64, part float64, rest string, mark byte, units ...unit) (string, error) {
	for i, u := range units {
		if err := p.add(v, part, u); err != nil {
			return "", err
		}
		if rest == "" || rest[0] == 'T' && mark == '-' {
			return rest, nil
		}
		if rest[0] != mark || i == len(units)-1 {
			return "", badFormat
		}
		var err error
		if v, part, rest, err = isoNumber(rest[1:]); err != nil {
			return "", err
		}
	}
	return rest, nil
}

// isoNumber reads a number. part is its fraction.
func isoNumber(s string) (v int64, part float64, rest string, err error) {
	if s == "" || !digit(s[0]) && s[0] != '-' && s[0] != '.' {
		return 0, 0, "", badFormat
	}
	n := 0
	if s[0] == '-' {
		n = 1
	}
	digits := func() {
		for n < len(s) && digit(s[n]) {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	// An exponent is part of the number, as in C.
	if e := n; n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		if n++; n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		from := n
		if digits(); n == from {
			n = e
		}
	}
	f, ferr := strconv.ParseFloat(s[:n], 64)
	switch {
	case ferr != nil && !math.IsInf(f, 0), math.IsInf(f, 0):
		return 0, 0, "", badFormat
	case math.Abs(f) > 1e15:
		return 0, 0, "", fieldOverflow
	}
	whole, part := math.Modf(f)
	return int64(whole), part, s[n:], nil
}

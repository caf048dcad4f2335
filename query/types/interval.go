package types

import (
	"fmt"
	"strconv"
	"strings"
)

// appendInterval writes an interval in one of PostgreSQL's styles (EncodeInterval in its datetime.c).
func appendInterval(dst []byte, s Span, style string) []byte {
	switch style {
	case "iso_8601":
		return appendISOInterval(dst, s)
	case "sql_standard":
		return appendStandardInterval(dst, s)
	case "postgres_verbose":
		return appendVerboseInterval(dst, s)
	}
	start := len(dst)
	// After a negative field, a positive one carries its sign.
	negative := false
	field := func(n int32, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		sign := ""
		if negative && n > 0 {
			sign = "+"
		}
		plural := "s"
		if n == 1 {
			plural = ""
		}
		dst = fmt.Appendf(dst, "%s%d %s%s", sign, n, unit, plural)
		negative = n < 0
	}
	field(s.Months/12, "year")
	field(s.Months%12, "mon")
	field(s.Days, "day")
	if s.Micros != 0 || len(dst) == start {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		us := s.Micros
		if us < 0 {
			dst = append(dst, '-')
			us = -us
		} else if negative {
			dst = append(dst, '+')
		}
		dst = fmt.Appendf(dst, "%02d:%02d:%02d", us/3600e6, us/60e6%60, us/1e6%60)
		if f := us % 1e6; f != 0 {
			dst = append(dst, strings.TrimRight(fmt.Sprintf(".%06d", f), "0")...)
		}
	}
	return dst
}

// fields are an interval's years to microseconds, all of the time with one sign.
type fields struct {
	years, months, days, hours, minutes, seconds, micros int64
}

func (s Span) fields() fields {
	us := s.Micros
	return fields{int64(s.Months / 12), int64(s.Months % 12), int64(s.Days),
		us / 3600e6, us / 60e6 % 60, us / 1e6 % 60, us % 1e6}
}

// appendSeconds writes seconds without their sign, with two digits at least where fill is set.
func appendSeconds(dst []byte, f fields, fill bool) []byte {
	n := len(dst)
	dst = strconv.AppendInt(dst, abs(f.seconds), 10)
	if fill && len(dst) == n+1 {
		dst = append(dst[:n], '0', dst[n])
	}
	if f.micros != 0 {
		dst = append(dst, strings.TrimRight(fmt.Sprintf(".%06d", abs(f.micros)), "0")...)
	}
	return dst
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func appendISOInterval(dst []byte, s Span) []byte {
	if s == (Span{}) {
		return append(dst, "PT0S"...)
	}
	f := s.fields()
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	dst = append(dst, 'P')
	part(f.years, 'Y')
	part(f.months, 'M')
	part(f.days, 'D')
	if s.Micros != 0 {
		dst = append(dst, 'T')
	}
	part(f.hours, 'H')
	part(f.minutes, 'M')
	if f.seconds != 0 || f.micros != 0 {
		if f.seconds < 0 || f.micros < 0 {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, f, false), 'S')
	}
	return dst
}

func appendStandardInterval(dst []byte, s Span) []byte {
	negative := s.Months < 0 || s.Days < 0 || s.Micros < 0
	positive := s.Months > 0 || s.Days > 0 || s.Micros > 0
	if !negative && !positive {
		return append(dst, '0')
	}
	f := s.fields()
	if negative && positive || s.Months != 0 && (s.Days != 0 || s.Micros != 0) {
		// Not a value of the standard's: each part has its sign.
		sign := func(minus bool) byte {
			if minus {
				return '-'
			}
			return '+'
		}
		dst = fmt.Appendf(dst, "%c%d-%d %c%d %c%d:%02d:", sign(s.Months < 0), abs(f.years), abs(f.months),
			sign(s.Days < 0), abs(f.days), sign(s.Micros < 0), abs(f.hours), abs(f.minutes))
		return appendSeconds(dst, f, true)
	}
	if negative {
		dst = append(dst, '-')
	}
	switch {
	case s.Months != 0:
		return fmt.Appendf(dst, "%d-%d", abs(f.years), abs(f.months))
	case s.Days != 0:
		dst = fmt.Appendf(dst, "%d ", abs(f.days))
	}
	return appendSeconds(fmt.Appendf(dst, "%d:%02d:", abs(f.hours), abs(f.minutes)), f, true)
}

func appendVerboseInterval(dst []byte, s Span) []byte {
	dst = append(dst, '@')
	zero, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		// The first part says which way the others go.
		if zero {
			before = n < 0
			n = abs(n)
		} else if before {
			n = -n
		}
		zero = false
		dst = fmt.Appendf(dst, " %d %s", n, unit)
		if n != 1 {
			dst = append(dst, 's')
		}
	}
	f := s.fields()
	part(f.years, "year")
	part(f.months, "mon")
	part(f.days, "day")
	part(f.hours, "hour")
	part(f.minutes, "min")
	if f.seconds != 0 || f.micros != 0 {
		dst = append(dst, ' ')
		minus := f.seconds < 0 || f.micros < 0
		switch {
		case minus && zero:
			before = true
		case minus != before:
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, f, false), " sec"...)
		if abs(f.seconds) != 1 || f.micros != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

// isoUnits are the units of ISO 8601's intervals before and after the T.
var isoUnits = [2]map[byte]string{
	{'y': "year", 'm': "month", 'w': "week", 'd': "day"},
	{'h': "hour", 'm': "minute", 's': "second"},
}

// parseISOInterval reads "p1y2m3dt4h5m6.5s", an interval of ISO 8601 in lower case. Units go from long to short.
func parseISOInterval(text string, bad error) (Span, error) {
	var months, days, micros float64
	half := 0
	s := text[1:]
	if s == "" {
		return Span{}, bad
	}
	for s != "" {
		if s[0] == 't' {
			if half == 1 {
				return Span{}, bad
			}
			half, s = 1, s[1:]
			continue
		}
		n := len(s) - len(strings.TrimLeft(s, "+-0123456789."))
		f, err := strconv.ParseFloat(s[:n], 64)
		if err != nil {
			return Span{}, bad
		}
		name := [2]string{"year", "hour"}[half] // PostgreSQL takes a number without a unit for these
		if n < len(s) {
			if name = isoUnits[half][s[n]]; name == "" {
				return Span{}, bad
			}
			n++
		}
		unit := intervalUnits[name]
		s = s[n:]
		months += f * float64(unit.months)
		days += f * float64(unit.days)
		micros += f * float64(unit.micros)
	}
	return span(months, days, micros, text)
}

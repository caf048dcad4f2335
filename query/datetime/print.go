package datetime

import (
	"fmt"
	"strconv"
	"strings"
)

// AppendInterval appends an interval in one of PostgreSQL's styles (EncodeInterval in its datetime.c).
func AppendInterval(dst []byte, s Span, style Style) []byte {
	switch style {
	case StyleISO:
		return appendISOInterval(dst, s)
	case StyleStandard:
		return appendStandardInterval(dst, s)
	case StyleVerbose:
		return appendVerboseInterval(dst, s)
	}
	start := len(dst)
	// A positive field after a negative one is written with its sign.
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
		us := uint64(s.Micros)
		if s.Micros < 0 {
			dst = append(dst, '-')
			us = -us // also the magnitude of the least one
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

// fields splits an interval into years to microseconds. All parts of the time have the same sign.
type fields struct {
	years, months, days, hours, minutes, seconds, micros int64
}

func (s Span) fields() fields {
	us := s.Micros
	return fields{int64(s.Months / 12), int64(s.Months % 12), int64(s.Days),
		us / 3600e6, us / 60e6 % 60, us / 1e6 % 60, us % 1e6}
}

// appendSeconds appends seconds without their sign. If fill is set they have at least two digits.
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
		// Standard SQL has no form for this value: write a sign on each part.
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
		// The first part determines the sign of "ago".
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

package datetime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

func errZone(name string) error {
	return sqlstate.New(sqlstate.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// ErrZone returns the error for an unknown zone.
func ErrZone(name string) error { return errZone(sqlstate.Excerpt(name)) }

// NumericZone reads a zone as make_timestamptz takes it: an offset whose sign is positive east of UTC. ok is false if
// it is a name.
func NumericZone(name string) (offset int, ok bool, err error) {
	if name != "" && digit(name[0]) {
		return 0, false, sqlstate.New(sqlstate.InvalidParameterValue,
			"invalid input syntax for type numeric time zone: \"%s\"", sqlstate.Excerpt(name)).
			WithHint("Numeric time zones must have \"-\" or \"+\" as first character.")
	}
	offset, err = parseOffset(name)
	switch {
	case err == nil:
		return offset, true, nil
	case errors.Is(err, zoneOverflow):
		return 0, false, sqlstate.New(sqlstate.InvalidParameterValue, "numeric time zone \"%s\" out of range",
			sqlstate.Excerpt(name))
	}
	return 0, false, nil
}

// Clock reads a time of day, with or without a date before it. A zone that is not named is the session's.
func (r Reader) Clock(text string) (Read, error) {
	d := &decoder{Reader: r, special: -1, clockOnly: true}
	out, err := d.timeOnly(text)
	return out, explain(err, text, r.Type)
}

func (d *decoder) timeOnly(text string) (Read, error) {
	if err := d.all(text); err != nil {
		return Read{}, err
	}
	if err := d.halves(); err != nil {
		return Read{}, err
	}
	if d.overflows() {
		return Read{}, fieldOverflow
	}
	dated := d.has & hasDate
	switch {
	case d.has&hasTime != hasTime:
		return Read{}, badFormat
	case d.zone != nil && d.zone.abbrev == "":
		if d.has&hasDST != 0 {
			return Read{}, badFormat
		}
		if off, ok := d.zone.constant(); ok {
			d.zone, d.offset = nil, off
		} else if dated != hasDate {
			return Read{}, badFormat // the offset depends on the date
		}
	}
	if (d.zone != nil || d.has&hasZone == 0) && dated != 0 && dated != hasDate {
		return Read{}, badFormat
	}
	if dated != hasDate {
		y, m, day := d.Now.In(d.Place).Date()
		d.year, d.month, d.day = y, int(m), day
	}
	out := Read{Micros: d.timeOfDay()}
	err := d.findOffset(DaysOf(d.year, d.month, d.day)*Day + out.Micros)
	out.Offset = d.offset
	return out, err
}

// AppendClock appends a time of day.
func AppendClock(dst []byte, micros int64) []byte {
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", micros/Hour, micros/Minute%60, micros/Second%60)
	return appendFraction(dst, micros%Second)
}

func appendFraction(dst []byte, us int64) []byte {
	if us == 0 {
		return dst
	}
	return append(dst, strings.TrimRight(fmt.Sprintf(".%06d", us), "0")...)
}

// AppendOffset appends seconds east of UTC. Minutes are written if they are not zero or if minutes is set.
func AppendOffset(dst []byte, offset int, minutes bool) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = fmt.Appendf(dst, "%c%02d", sign, offset/3600)
	if minutes || offset%3600 != 0 {
		dst = fmt.Appendf(dst, ":%02d", offset/60%60)
	}
	if offset%60 != 0 {
		dst = fmt.Appendf(dst, ":%02d", offset%60)
	}
	return dst
}

// AppendMoment appends a wall clock time in ISO's form with mark between date and time. zone appends the zone; it may
// be nil.
func AppendMoment(dst []byte, wall int64, mark byte, zone func([]byte) []byte) []byte {
	switch wall {
	case Infinity:
		return append(dst, "infinity"...)
	case NegInfinity:
		return append(dst, "-infinity"...)
	}
	days := FloorDiv(wall, Day)
	dst, bc := appendYMD(dst, days)
	dst = AppendClock(append(dst, mark), wall-days*Day)
	if zone != nil {
		dst = zone(dst)
	}
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendDate appends a date.
func AppendDate(dst []byte, days int64) []byte {
	if IsInfinite(days) {
		return AppendMoment(dst, days, ' ', nil)
	}
	dst, bc := appendYMD(dst, days)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendYMD(dst []byte, days int64) ([]byte, bool) {
	y, m, d := DateOf(days)
	bc := y <= 0
	if bc {
		y = 1 - y
	}
	return fmt.Appendf(dst, "%04d-%02d-%02d", y, m, d), bc
}

package datetime

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Order is how 1/2/2024 is read.
type Order string

// The orders of the fields of a date. "" is MDY.
const (
	MDY Order = "MDY"
	DMY Order = "DMY"
	YMD Order = "YMD"
)

// Reader holds the settings that the reading of dates and times depends on.
type Reader struct {
	Place *time.Location // the session's zone
	Order Order
	Now   time.Time
	// Type is the name of the type being read, for error messages.
	Type string
}

// Read is the result of reading a text: an infinite moment, or a date, a time of day and a zone.
type Read struct {
	Infinite int64 // Infinity, NegInfinity, or 0 if it is finite
	Days     int64
	Micros   int64 // since midnight, at most a day
	Offset   int   // seconds east of UTC; the session's zone if the text names none
}

// Moment returns the moment that was read, in UTC or as a wall clock time.
func (r Read) Moment(utc bool) int64 {
	if r.Infinite != 0 {
		return r.Infinite
	}
	wall := r.Days*Day + r.Micros
	if utc {
		wall -= int64(r.Offset) * Second
	}
	return wall
}

// mask is the set of fields that a text has had.
type mask uint32

const (
	hasYear mask = 1 << iota
	hasMonth
	hasDay
	hasDOY
	hasHour
	hasMinute
	hasSecond
	hasFraction
	hasZone
	hasSummer
	hasDST
	hasHalf
	hasEra
	hasWeekday
	hasReserved
	hasAbbrev

	hasDate = hasYear | hasMonth | hasDay
	hasTime = hasHour | hasMinute | hasSecond | hasFraction
)

// decoder assembles the fields of a text.
type decoder struct {
	Reader
	fields []field
	has    mask

	year, month, day, doy  int
	hour, min, sec, micros int
	textMonth              bool
	julian                 bool // the date is a Julian day, which needs no century or era
	short                  bool // the year has two digits
	bc                     bool
	half                   int // 0 if missing, 1 for am, 2 for pm
	label                  unit
	zone                   *Zone // a zone whose offset depends on the date
	offset                 int
	special                int // a reserved word that is not a date, or -1
	clockOnly              bool
}

// Moment reads a timestamp or a date.
func (r Reader) Moment(text string) (Read, error) {
	d := &decoder{Reader: r, special: -1}
	out, err := d.moment(text)
	return out, explain(err, text, r.Type)
}

func (d *decoder) moment(text string) (Read, error) {
	if err := d.all(text); err != nil {
		return Read{}, err
	}
	if err := d.halves(); err != nil {
		return Read{}, err
	}
	switch d.special {
	case wordInfinity:
		return Read{Infinite: Infinity}, nil
	case wordNegInfinity:
		return Read{Infinite: NegInfinity}, nil
	case wordEpoch:
		return Read{Days: FloorDiv(-epochUnix, 86400)}, nil
	}
	if d.has&hasDate != hasDate {
		return Read{}, badFormat
	}
	if !validDate(d.year, d.month) {
		return Read{}, errDate{}
	}
	out := Read{Days: DaysOf(d.year, d.month, d.day), Micros: d.timeOfDay()}
	wall := out.Days*Day + out.Micros
	if !ValidMoment(wall) {
		wall = 0
	}
	err := d.findOffset(wall)
	out.Offset = d.offset
	return out, err
}

// errDate reports a date out of PostgreSQL's range. The caller writes the message for its type.
type errDate struct{}

func (errDate) Error() string { return "date out of range" }

func validDate(year, month int) bool {
	return (year > -4713 || year == -4713 && month >= 11) && (year < 5874898 || year == 5874898 && month < 6)
}

// OutOfRange reports whether err, returned by Moment, is a date out of PostgreSQL's range.
func OutOfRange(err error) bool { return errors.Is(err, errDate{}) }

func (d *decoder) timeOfDay() int64 {
	return int64(d.hour)*Hour + int64(d.min)*Minute + int64(d.sec)*Second + int64(d.micros)
}

// findOffset sets the offset of the zone at a wall clock time.
func (d *decoder) findOffset(wall int64) error {
	if d.zone == nil && d.has&hasZone != 0 {
		return nil
	}
	if d.has&hasDST != 0 {
		return badFormat
	}
	zone := Zone{place: d.Place}
	if d.zone != nil {
		zone = *d.zone
	}
	d.offset = zone.WallOffset(wall)
	return nil
}

// all reads the fields of a text and checks the date.
func (d *decoder) all(text string) error {
	fields, ok := scan(text)
	if !ok {
		return badFormat
	}
	d.fields = fields
	for i, f := range fields {
		got, err := d.field(i, f)
		if err != nil {
			return err
		}
		if got&d.has != 0 {
			return badFormat
		}
		d.has |= got
	}
	return d.checkDate()
}

func (d *decoder) field(i int, f field) (mask, error) {
	switch f.kind {
	case dateField:
		return d.dateOrZone(i, f)
	case clockField:
		if d.label != noUnit && !d.clockOnly {
			if d.label != clockTime {
				return 0, badFormat
			}
			d.label = noUnit
		}
		return hasTime, d.clock(f.text)
	case signedField:
		off, err := parseOffset(f.text)
		d.offset = off
		return hasZone, err
	case numberField:
		if d.label != noUnit {
			return d.labelled(f.text)
		}
		return d.plainNumber(i, f.text)
	}
	return d.word(i, f)
}

// halves applies am and pm to the time of day.
func (d *decoder) halves() error {
	switch {
	case d.half != 0 && d.hour > 12:
		return fieldOverflow
	case d.half == 1 && d.hour == 12:
		d.hour = 0
	case d.half == 2 && d.hour != 12:
		d.hour += 12
	}
	return nil
}

// dateOrZone reads a date with separators. If there is a date already it reads a zone, also after a time as in
// 040506-07.
func (d *decoder) dateOrZone(i int, f field) (mask, error) {
	if d.clockOnly {
		n := len(d.fields)
		if i == 0 && n >= 2 && (d.fields[n-1].kind == dateField || d.fields[1].kind == clockField) {
			return d.date(f.text)
		}
	} else {
		if d.label == julianDay {
			n := len(f.text) - len(strings.TrimLeft(f.text, "0123456789"))
			days, err := strconv.ParseInt(f.text[:n], 10, 32)
			if err != nil {
				return 0, fieldOverflow
			}
			d.setJulian(days)
			d.label = noUnit
			off, err := parseOffset(f.text[n:])
			d.offset = off
			return hasDate | hasTime | hasZone, err
		}
		if d.label == noUnit && d.has&(hasMonth|hasDay) != hasMonth|hasDay {
			return d.date(f.text)
		}
	}
	if !digit(f.text[0]) && (d.label == noUnit || d.clockOnly) {
		place, ok := FindPlace(f.raw)
		if !ok {
			return 0, errZone(f.text)
		}
		d.zone = &Zone{place: place}
		return hasZone, nil
	}
	if d.label != noUnit && d.label != clockTime || d.has&hasTime == hasTime {
		return 0, badFormat
	}
	d.label = noUnit
	at := strings.IndexByte(f.text, '-')
	if at < 0 {
		return 0, badFormat
	}
	off, err := parseOffset(f.text[at:])
	if err != nil {
		return 0, err
	}
	d.offset = off
	has := d.has
	if d.clockOnly {
		has |= hasDate
	}
	got, err := d.joined(f.text[:at], has)
	return got | hasZone, err
}

// labelled reads a number after a label, as in y2001m02d04, j2451187 and t040506.
func (d *decoder) labelled(text string) (mask, error) {
	label := d.label
	d.label = noUnit
	whole, fraction, point := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 32)
	if err != nil && label != clockTime {
		return 0, fieldOverflow
	}
	if point && label != julianDay && label != clockTime && label != second {
		return 0, badFormat
	}
	v := int(n)
	switch label {
	case year:
		d.year = v
		return hasYear, nil
	case month:
		if d.has&hasMonth != 0 && d.has&hasHour != 0 {
			d.min = v
			return hasMinute, nil
		}
		d.month = v
		return hasMonth, nil
	case day:
		d.day = v
		return hasDay, nil
	case hour:
		d.hour = v
		return hasHour, nil
	case minute:
		d.min = v
		return hasMinute, nil
	case second:
		d.sec = v
		if point {
			d.micros = microsOf(fraction)
			return hasSecond | hasFraction, nil
		}
		return hasSecond, nil
	case julianDay:
		d.setJulian(n)
		if !point {
			return hasDate, nil
		}
		part, _ := strconv.ParseFloat("0."+fraction, 64)
		us := int64(part * float64(Day))
		d.hour, d.min, d.sec, d.micros = int(us/Hour), int(us/Minute%60), int(us/Second%60), int(us%Second)
		return hasDate | hasTime, nil
	case clockTime:
		got, err := d.joined(text, d.has|hasDate)
		if err == nil && got != hasTime {
			err = badFormat
		}
		return got, err
	}
	return 0, badFormat
}

func (d *decoder) setJulian(days int64) {
	d.year, d.month, d.day = DateOf(days - EpochJulian)
	d.julian = true
}

// word reads a word: one of the calendar, the abbreviation or name of a zone, or a label.
func (d *decoder) word(i int, f field) (mask, error) {
	if zone, ok := findAbbrev(f.text); ok {
		if zone.place != nil {
			d.zone = &zone
			return hasAbbrev | hasZone, nil
		}
		d.offset = zone.offset
		return hasZone, nil
	}
	w := find(momentWords, f.text)
	switch w.class {
	case ignoredWord:
		return 0, nil
	case reservedWord:
		return d.reserved(w.value)
	case monthWord:
		if d.clockOnly {
			return 0, badFormat
		}
		got := hasMonth
		if d.has&hasMonth != 0 && !d.textMonth && d.has&hasDay == 0 && d.month >= 1 && d.month <= 31 {
			d.day = d.month // the number that was read as the month
			got = hasDay
		}
		d.textMonth, d.month = true, w.value
		return got, nil
	case dstWord:
		d.offset += w.value
		return hasDST | hasSummer, nil
	case halfWord:
		d.half = w.value + 1
		return hasHalf, nil
	case eraWord:
		d.bc = w.value == 1
		return hasEra, nil
	case weekdayWord:
		if d.clockOnly {
			return 0, badFormat
		}
		return hasWeekday, nil
	case unitWord:
		d.label = unit(w.value)
		return 0, nil
	case timeWord:
		if !d.clockOnly && d.has&hasDate != hasDate || i+1 >= len(d.fields) {
			return 0, badFormat
		}
		if k := d.fields[i+1].kind; k != numberField && k != clockField && k != dateField {
			return 0, badFormat
		}
		d.label = clockTime
		return 0, nil
	}
	place, ok := FindPlace(f.raw)
	if !ok {
		return 0, badFormat
	}
	d.zone = &Zone{place: place}
	return hasZone, nil
}

func (d *decoder) reserved(value int) (mask, error) {
	now := d.Now.In(d.Place)
	at := func(days int) (mask, error) {
		y, m, n := now.Date()
		d.year, d.month, d.day = DateOf(DaysOf(y, int(m), n+days))
		return hasDate, nil
	}
	switch {
	case value == wordMidnight:
		d.hour, d.min, d.sec, d.offset = 0, 0, 0, 0
		return hasTime | hasZone, nil
	case value == wordNow:
		d.hour, d.min, d.sec = now.Clock()
		d.micros = now.Nanosecond() / 1000
		if d.clockOnly {
			return hasTime, nil
		}
		_, d.offset = now.Zone()
		got, _ := at(0)
		return got | hasTime | hasZone, nil
	case d.clockOnly:
		return 0, badFormat
	case value == wordToday:
		return at(0)
	case value == wordTomorrow:
		return at(1)
	case value == wordYesterday:
		return at(-1)
	}
	d.special = value
	return hasReserved, nil
}

// checkDate checks the date after all fields have been read.
func (d *decoder) checkDate() error {
	if d.has&hasYear != 0 && !d.julian {
		switch {
		case d.bc && d.year <= 0, !d.bc && !d.short && d.year <= 0:
			return fieldOverflow // there is no year 0
		case d.bc:
			d.year = 1 - d.year
		case d.short && d.year < 70:
			d.year += 2000
		case d.short && d.year < 100:
			d.year += 1900
		}
	}
	if d.has&hasDOY != 0 {
		d.year, d.month, d.day = DateOf(DaysOf(d.year, 1, d.doy))
	}
	switch {
	case d.has&hasMonth != 0 && (d.month < 1 || d.month > 12), d.has&hasDay != 0 && (d.day < 1 || d.day > 31):
		return monthOverflow
	case d.has&hasDate == hasDate && d.day > daysIn(d.year, d.month):
		return fieldOverflow
	}
	return nil
}

// parseOffset reads +hh, +hhmm, +hh:mm and +hh:mm:ss.
func parseOffset(s string) (int, error) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, badFormat
	}
	if len(s) > 2 && s[1] == '-' && digit(s[2]) {
		return 0, zoneOverflow // a second sign makes the hours negative
	}
	parts := strings.SplitN(s[1:], ":", 4)
	n := [3]int{}
	rest := false
	for i, part := range parts[:min(len(parts), 3)] {
		w := len(part) - len(strings.TrimLeft(part, "0123456789"))
		v, err := strconv.Atoi("0" + part[:w])
		if err != nil || v > math.MaxInt32 {
			return 0, zoneOverflow
		}
		n[i] = v
		if rest = w < len(part); rest {
			break
		}
	}
	if len(parts) == 1 && !rest && len(s) > 3 {
		n[0], n[1] = n[0]/100, n[0]%100
	}
	if n[0] > 15 || n[1] > 59 || n[2] > 59 {
		return 0, zoneOverflow
	}
	if rest || len(parts) > 3 {
		return 0, badFormat
	}
	off := n[0]*3600 + n[1]*60 + n[2]
	if s[0] == '-' {
		off = -off
	}
	return off, nil
}

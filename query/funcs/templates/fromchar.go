package templates

import (
	"math"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// to_timestamp and to_date with a template (PostgreSQL 15, section 9.8; do_to_timestamp in its formatting.c).

func init() {
	funcs.TimeFamily.Function("to_timestamp", types.TimestampTZ,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			r, err := readDate(a[0].S, a[1].S)
			if err != nil {
				return types.Null, err
			}
			d, err := r.timestamp(env.Types)
			if err != nil || r.precision == 0 {
				return d, err
			}
			return types.Cast(d, types.TimestampTZ, types.TimestampTZ, int32(r.precision), env.Types)
		}, types.Text, types.Text).Volatility = exec.Stable
	funcs.TimeFamily.Function("to_date", types.Date, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		r, err := readDate(a[0].S, a[1].S)
		if err != nil {
			return types.Null, err
		}
		t, err := r.calendar()
		if err != nil {
			return types.Null, err
		}
		days := datetime.DaysOf(t.year, t.month, t.day)
		if !datetime.ValidDate(days) {
			return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, `date out of range: "%s"`, r.whole)
		}
		return types.NewDate(days), nil
	}, types.Text, types.Text)
}

// timestamp returns the moment that was read, in the zone that was read, or in that of the session.
func (r *dateReader) timestamp(env *types.Env) (types.Datum, error) {
	t, err := r.calendar()
	if err != nil {
		return types.Null, err
	}
	days := datetime.DaysOf(t.year, t.month, t.day)
	if days > math.MaxInt64/types.Day || -days > math.MaxInt64/types.Day {
		return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	wall := days*types.Day + int64(t.hour*3600+t.min*60+t.sec)*datetime.Second + int64(t.micros)
	if r.zoneSign != 0 {
		offset := r.zoneSign * (r.zoneHours*3600 + r.zoneMinutes*60)
		return types.CheckMoment(wall - int64(offset)*datetime.Second)
	}
	if _, err := types.CheckMoment(wall); err != nil {
		return types.Null, err
	}
	return types.Cast(types.NewTime(wall), types.Timestamp, types.TimestampTZ, -1, env)
}

// calendar combines the values that were read to a date and a time of day.
func (r *dateReader) calendar() (*clock, error) {
	t := &clock{month: 1, day: 1}
	if err := r.timeOfDay(t); err != nil {
		return nil, err
	}
	outOfRange := sqlstate.New(sqlstate.DatetimeOverflow, `date/time field value out of range: "%s"`, r.whole)
	if !r.yearOf(t) {
		return nil, outOfRange
	}
	// Whether month and day have been read, and are checked.
	haveMonth, haveDay := false, false
	set := func(days int64) {
		t.year, t.month, t.day = datetime.DateOf(days)
		haveMonth, haveDay = true, true
	}
	haveYear := r.year != 0 || r.century != 0
	if r.julian != 0 {
		set(int64(r.julian) - datetime.EpochJulian)
		haveYear = true
	}
	yearday := r.yearday
	switch {
	case r.week != 0 && r.mode == isoWeek:
		set(weekStart(t.year, r.week) + int64(r.weekday+5)%7*min(int64(r.weekday), 1))
		haveYear = true
	case r.week != 0:
		yearday = (r.week-1)*7 + 1
	}
	if r.monthweek != 0 {
		r.day = (r.monthweek-1)*7 + 1
	}
	if r.day != 0 {
		t.day, haveDay = r.day, true
	}
	if r.month != 0 {
		t.month, haveMonth = r.month, true
	}
	if yearday != 0 && (t.month <= 1 || t.day <= 1) {
		switch {
		case t.year == 0 && r.bc == 0:
			return nil, invalidDate("cannot calculate day of year without year information")
		case r.mode == isoWeek:
			set(weekStart(t.year, 1) + int64(yearday) - 1)
			haveYear = true
		default:
			dayOfYear(t, yearday)
			haveMonth, haveDay = true, true
		}
	}
	t.micros = r.millis*1000 + r.micros
	switch {
	case haveMonth && (t.month < 1 || t.month > 12), haveDay && (t.day < 1 || t.day > 31),
		haveYear && haveMonth && haveDay && t.day > daysIn(t.year, t.month),
		t.hour < 0 || t.hour > 23 || t.min < 0 || t.min > 59 || t.sec < 0 || t.sec > 59,
		t.micros < 0 || t.micros >= 1e6:
		return nil, outOfRange
	case r.zoneSign != 0 && (r.zoneHours < 0 || r.zoneHours > 15 || r.zoneMinutes < 0 || r.zoneMinutes > 59):
		return nil, sqlstate.New(sqlstate.InvalidZoneDisplacement, `time zone displacement out of range: "%s"`, r.whole)
	}
	return t, nil
}

func (r *dateReader) timeOfDay(t *clock) error {
	if s := r.dayseconds; s != 0 {
		t.hour, t.min, t.sec = s/3600, s%3600/60, s%60
	}
	for _, f := range []struct {
		to    *int
		value int
	}{{&t.sec, r.second}, {&t.min, r.minute}, {&t.hour, r.hour}} {
		if f.value != 0 {
			*f.to = f.value
		}
	}
	if r.half == 0 {
		return nil
	}
	if t.hour < 1 || t.hour > 12 {
		return invalidDate(`hour "%d" is invalid for the 12-hour clock`, t.hour).
			WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
	}
	t.hour = t.hour%12 + 12*r.pm
	return nil
}

// yearOf computes the year, in which 1 BC is 0; false if it is out of the range of 32 bits.
func (r *dateReader) yearOf(t *clock) bool {
	year, century := int64(r.year), int64(r.century)
	if r.bc != 0 {
		century = -century
	}
	switch {
	case year != 0 && century != 0 && r.yearDigits <= 2:
		// The two digits are those of a year in the century, which begins with year 1.
		if year %= 100; year != 0 && century >= 0 {
			year += (century - 1) * 100
		} else if year != 0 {
			year = (century+1)*100 - year + 1
		} else if year = century * 100; century < 0 {
			year++
		}
	case year != 0:
		if r.bc != 0 {
			year = -year
		}
		if year < 0 {
			year++
		}
	case century >= 0 && r.century != 0:
		year = (century-1)*100 + 1
	case r.century != 0:
		year = century*100 + 1
	}
	t.year = int(year)
	return year == int64(int32(year))
}

// weekStart returns the first day of an ISO week, in days since 2000-01-01.
func weekStart(year, week int) int64 {
	fourth := datetime.DaysOf(year, 1, 4) // it is in the first week
	const saturday = 5                    // 2000-01-01, counted from Monday
	return fourth - (fourth + saturday - datetime.FloorDiv(fourth+saturday, 7)*7) + int64(week-1)*7
}

// dayOfYear sets month and day, unless they have been read, to those of a day of the year.
func dayOfYear(t *clock, yearday int) {
	month, before := 1, 0
	for month < 12 && yearday > before+daysIn(t.year, month) {
		before += daysIn(t.year, month)
		month++
	}
	if yearday > before+daysIn(t.year, month) {
		month++ // after the end of the year: refused
	}
	if t.month <= 1 {
		t.month = month
	}
	if t.day <= 1 {
		t.day = yearday - before
	}
}

func daysIn(year, month int) int {
	from := datetime.DaysOf(year, month, 1)
	if month == 12 {
		return 31
	}
	return int(datetime.DaysOf(year, month+1, 1) - from)
}

package types

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
)

// Span is an interval.
type Span = datetime.Span

// NewMoment returns a timestamptz for a time.
func NewMoment(t time.Time) Datum { return NewTime(datetime.Moment(t)) }

// UnixMoment returns a timestamptz for microseconds since 1970.
func UnixMoment(micros int64) Datum { return NewMoment(time.UnixMicro(micros)) }

// A timetz is packed into one number so that the numbers compare like the values: by the time in UTC first, then by the
// zone's seconds west of UTC.
const (
	zoneBits = 21
	zoneZero = 1 << (zoneBits - 1)
)

// NewZonedClock returns a timetz for microseconds since midnight and seconds east of UTC.
func NewZonedClock(micros int64, offset int) Datum {
	utc := micros - int64(offset)*datetime.Second
	return Datum{K: KZonedClock, I: utc<<zoneBits | int64(zoneZero-offset)}
}

// ZonedClock returns the arguments of NewZonedClock.
func (d Datum) ZonedClock() (micros int64, offset int) {
	offset = zoneZero - int(d.I&(1<<zoneBits-1))
	return d.I>>zoneBits + int64(offset)*datetime.Second, offset
}

// Infinite reports whether d is an infinite timestamp or date.
func Infinite(d Datum) bool { return (d.K == KTime || d.K == KDate) && datetime.IsInfinite(d.I) }

// InfiniteTime returns the timestamp infinity if positive is set, otherwise -infinity.
func InfiniteTime(positive bool) Datum {
	if positive {
		return NewTime(datetime.Infinity)
	}
	return NewTime(datetime.NegInfinity)
}

// LocationFor returns the zone in which days and months are added to a type: the session's for timestamptz, none for
// timestamp.
func LocationFor(typ OID, env *Env) *time.Location {
	if typ == TimestampTZ {
		return env.location()
	}
	return time.UTC
}

// WallClock returns a moment as wall clock time in the session's zone.
func WallClock(moment int64, env *Env) int64 { return datetime.WallClock(moment, env.location()) }

// LocalMoment returns a time as a timestamptz, or, for a timestamp, as wall clock time in the session's zone.
func LocalMoment(t time.Time, typ OID, env *Env) Datum {
	if typ == TimestampTZ {
		return NewMoment(t)
	}
	return NewTime(WallClock(datetime.Moment(t), env))
}

var errMoment = sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")

// CheckMoment returns a timestamp, or an error if it is out of PostgreSQL's range.
func CheckMoment(moment int64) (Datum, error) {
	if !datetime.ValidMoment(moment) {
		return Null, errMoment
	}
	return NewTime(moment), nil
}

// CheckDate returns a date, or an error if it is out of PostgreSQL's range.
func CheckDate(days int64) (Datum, error) {
	if !datetime.ValidDate(days) {
		return Null, sqlstate.New(sqlstate.DatetimeOverflow, "date out of range")
	}
	return NewDate(days), nil
}

// DateMoment returns midnight of a date as a timestamp.
func DateMoment(days int64) (int64, error) {
	if datetime.IsInfinite(days) {
		return days, nil
	}
	const most = math.MaxInt64 / Day
	if days > most || !datetime.ValidMoment(days*Day) {
		return 0, sqlstate.New(sqlstate.DatetimeOverflow, "date out of range for timestamp")
	}
	return days * Day, nil
}

// AddDays adds days to a date. An infinite date is returned unchanged.
func AddDays(days, n int64) (Datum, error) {
	if datetime.IsInfinite(days) {
		return NewDate(days), nil
	}
	return CheckDate(days + n)
}

// Day is the number of microseconds in a day.
const Day = datetime.Day

// inputName returns the name of a type in PostgreSQL's errors about its text.
func inputName(typ OID) string {
	switch typ {
	case Timestamp:
		return "timestamp"
	case Time:
		return "time"
	}
	return NameOf(typ)
}

// parseMoment reads a timestamp, timestamptz, date, time or timetz.
func parseMoment(text string, typ OID, env *Env) (Datum, error) {
	r := datetime.Reader{Place: env.location(), Now: env.now(), Type: inputName(typ)}
	if env != nil {
		r.Order = datetime.Order(env.DateOrder)
	}
	switch typ {
	case Time, TimeTZ:
		c, err := r.Clock(text)
		if err != nil {
			return Null, err
		}
		if typ == Time {
			return NewClock(c.Micros), nil
		}
		return NewZonedClock(c.Micros, c.Offset), nil
	}
	m, err := r.Moment(text)
	what := "timestamp"
	if typ == Date {
		what = "date"
	}
	out := func() (Datum, error) {
		return Null, sqlstate.New(sqlstate.DatetimeOverflow, "%s out of range: \"%s\"", what, sqlstate.Excerpt(text))
	}
	switch {
	case datetime.OutOfRange(err):
		return out()
	case err != nil:
		return Null, err
	case m.Infinite != 0 && typ == Date:
		return NewDate(m.Infinite), nil
	case typ == Date:
		if !datetime.ValidDate(m.Days) {
			return out()
		}
		return NewDate(m.Days), nil
	case m.Infinite == 0 && (m.Days > math.MaxInt64/Day-2 || !datetime.ValidMoment(m.Moment(typ == TimestampTZ))):
		return out()
	}
	return NewTime(m.Moment(typ == TimestampTZ)), nil
}

// appendTime appends a timestamp (as stored) or timestamptz (in the session's zone) in ISO style.
func appendTime(dst []byte, moment int64, typ OID, env *Env, mark byte) []byte {
	if typ != TimestampTZ || datetime.IsInfinite(moment) {
		return datetime.AppendMoment(dst, moment, mark, nil)
	}
	wall := WallClock(moment, env)
	return datetime.AppendMoment(dst, wall, mark, func(dst []byte) []byte {
		return datetime.AppendOffset(dst, int((wall-moment)/datetime.Second), mark == 'T')
	})
}

func appendZonedClock(dst []byte, d Datum) []byte {
	micros, offset := d.ZonedClock()
	return datetime.AppendOffset(datetime.AppendClock(dst, micros), offset, false)
}

// toClock converts the time of day of a timestamp, or the part of an interval below a day, to a time or timetz.
func toClock(d Datum, from, to OID, env *Env) (Datum, error) {
	us, offset := d.I, 0
	switch d.K {
	case KInterval:
		us = d.Span().Micros
	case KZonedClock:
		us, offset = d.ZonedClock()
	case KClock:
		y, m, day := env.now().In(env.location()).Date()
		wall := datetime.DaysOf(y, int(m), day)*Day + us
		offset = int((wall - datetime.Instant(wall, env.location())) / datetime.Second)
	case KTime:
		if datetime.IsInfinite(d.I) {
			return Null, nil
		}
		if from == TimestampTZ {
			us = WallClock(d.I, env)
		}
		offset = int((us - d.I) / datetime.Second)
	default:
		return Null, CannotCast(from, to)
	}
	if d.K == KTime || d.K == KInterval {
		us -= datetime.FloorDiv(us, Day) * Day
	}
	if to == TimeTZ {
		return NewZonedClock(us, offset), nil
	}
	return NewClock(us), nil
}

// dateOf returns the date of a timestamp.
func dateOf(moment int64) Datum {
	if datetime.IsInfinite(moment) {
		return NewDate(moment)
	}
	return NewDate(datetime.FloorDiv(moment, Day))
}

func toTime(d Datum, from, to OID, env *Env) (Datum, error) {
	switch {
	case d.K == KDate && to != Date:
		m, err := DateMoment(d.I)
		if err != nil || to == Timestamp {
			return NewTime(m), err
		}
		m = datetime.Instant(m, env.location())
		if !datetime.ValidMoment(m) {
			return Null, sqlstate.New(sqlstate.DatetimeOverflow, "date out of range for timestamp")
		}
		return NewTime(m), nil
	case d.K != KTime:
		return Null, CannotCast(from, to)
	case to == Date && from == TimestampTZ:
		return dateOf(WallClock(d.I, env)), nil
	case to == Date:
		return dateOf(d.I), nil
	case to == TimestampTZ:
		return CheckMoment(datetime.Instant(d.I, env.location()))
	}
	return CheckMoment(WallClock(d.I, env))
}

// roundMicros rounds microseconds to the fractional digits of a modifier.
func roundMicros(us int64, mod int32) int64 {
	if mod >= 6 {
		return us
	}
	unit := int64(math.Pow10(int(6 - mod)))
	if us < 0 {
		return -((-us + unit/2) / unit * unit)
	}
	return (us + unit/2) / unit * unit
}

// appendMomentBinary appends the binary form of a date, time, timestamp or timetz.
func appendMomentBinary(dst []byte, d Datum) []byte {
	be := binary.BigEndian
	switch d.K {
	case KDate:
		switch d.I {
		case datetime.Infinity:
			return be.AppendUint32(dst, math.MaxInt32)
		case datetime.NegInfinity:
			return be.AppendUint32(dst, 1<<31) // the least 32-bit integer
		}
		return be.AppendUint32(dst, uint32(int32(d.I)))
	case KZonedClock:
		us, offset := d.ZonedClock()
		return be.AppendUint32(be.AppendUint64(dst, uint64(us)), uint32(int32(-offset)))
	}
	return be.AppendUint64(dst, uint64(d.I))
}

// parseMomentBinary reads what appendMomentBinary writes.
func parseMomentBinary(b []byte, typ OID) (Datum, error) {
	be := binary.BigEndian
	if typ == Date {
		switch days := int32(be.Uint32(b)); days {
		case math.MaxInt32:
			return NewDate(datetime.Infinity), nil
		case math.MinInt32:
			return NewDate(datetime.NegInfinity), nil
		default:
			return CheckDate(int64(days))
		}
	}
	v := int64(be.Uint64(b))
	if typ != Time && typ != TimeTZ {
		return CheckMoment(v)
	}
	if v < 0 || v > Day {
		return Null, sqlstate.New(sqlstate.DatetimeOverflow, "time out of range")
	}
	if typ == Time {
		return NewClock(v), nil
	}
	west := int32(be.Uint32(b[8:]))
	const most = 16*3600 - 1
	if west < -most || west > most {
		return Null, sqlstate.New(sqlstate.InvalidZoneDisplacement, "time zone displacement out of range")
	}
	return NewZonedClock(v, -int(west)), nil
}

// parseInterval reads an interval and cuts it to a modifier; -1 means none.
func parseInterval(text string, mod int32, env *Env) (Datum, error) {
	s, err := datetime.ParseInterval(text, env.intervalStyle(), datetime.FieldsOf(mod))
	if err != nil {
		return Null, err
	}
	if mod >= 0 {
		s = s.Cut(mod)
	}
	return NewInterval(s), nil
}

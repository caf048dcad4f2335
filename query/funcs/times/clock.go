package times

import (
	"strings"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/templates"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// clocks adds the operators and functions of the time of day.
func clocks() {
	op := func(symbol string, ret types.OID, f funcs.EvalFunc, args ...types.OID) {
		funcs.ArithmeticFamily.Operator(symbol, ret, f, args...)
	}
	for _, t := range []types.OID{types.Time, types.TimeTZ} {
		op("+", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return addTo(env, a[0], a[1].Span(), t)
		}, t, types.Interval)
		op("+", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return addTo(env, a[1], a[0].Span(), t)
		}, types.Interval, t)
		op("-", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := a[1].Span().Neg()
			if err != nil {
				return types.Null, err
			}
			return addTo(env, a[0], s, t)
		}, t, types.Interval)
		op("+", stampOf[t], func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return clockAt(a[0], a[1]) },
			types.Date, t)
		op("+", stampOf[t], func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return clockAt(a[1], a[0]) },
			t, types.Date)
		for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
			funcs.TimeFamily.Function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return clockPart(a[0].S, a[1], t, ret)
			}, types.Text, t)
		}
	}
	op("-", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewInterval(types.Span{Micros: a[0].I - a[1].I}), nil
	}, types.Time, types.Time)
	op("+", types.Date, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.AddDays(a[1].I, a[0].I)
	}, types.Int4, types.Date)
	for name, t := range map[string]types.OID{"localtime": types.Time, "current_time": types.TimeTZ} {
		funcs.TimeFamily.Function(name, t, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			return types.Cast(types.NewMoment(env.Now), types.TimestampTZ, t, -1, env.Types)
		}).Volatility = exec.Stable
	}
	funcs.TimeFamily.Function("timeofday", types.Text, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		now := time.Now().In(types.LocationFor(types.TimestampTZ, env.Types))
		return types.NewText(now.Format("Mon Jan 02 15:04:05.000000 2006 ") + templates.ZoneName(now)), nil
	}).Volatility = exec.Volatile
	clockZones()
	stamps()
}

// stampOf gives the type of the sum of a date and a time of day.
var stampOf = map[types.OID]types.OID{types.Time: types.Timestamp, types.TimeTZ: types.TimestampTZ}

// clockAt adds a time of day to a date.
func clockAt(date, clock types.Datum) (types.Datum, error) {
	if types.Infinite(date) {
		return types.NewTime(date.I), nil
	}
	moment, err := types.DateMoment(date.I)
	if err != nil {
		return types.Null, err
	}
	us, offset := clock.I, 0
	if clock.K == types.KZonedClock {
		us, offset = clock.ZonedClock()
	}
	return types.CheckMoment(moment + us - int64(offset)*datetime.Second)
}

// stamps adds the functions that make a timestamp of a date and a time of day. They are called by their
// quoted names, or as the cast timestamptz(...).
func stamps() {
	sum := func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return clockAt(a[0], a[1]) }
	funcs.TimeFamily.Function("timestamp", types.Timestamp, sum, types.Date, types.Time)
	funcs.TimeFamily.Function("timestamptz", types.TimestampTZ, sum, types.Date, types.TimeTZ)
	funcs.TimeFamily.Function("timestamptz", types.TimestampTZ,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := clockAt(a[0], a[1])
			if err != nil {
				return types.Null, err
			}
			return types.Cast(d, types.Timestamp, types.TimestampTZ, -1, env.Types)
		}, types.Date, types.Time).Volatility = exec.Stable
}

// clockZones adds AT TIME ZONE of a time of day. If the zone's offset changes, today's offset is used.
func clockZones() {
	in := func(clock types.Datum, offset int) (types.Datum, error) {
		us, was := clock.ZonedClock()
		us += int64(offset-was) * datetime.Second
		return types.NewZonedClock(us-datetime.FloorDiv(us, types.Day)*types.Day, offset), nil
	}
	funcs.TimeFamily.Function("timezone", types.TimeTZ, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		zone, ok := datetime.FindZone(a[0].S)
		if !ok {
			return types.Null, datetime.ErrZone(a[0].S)
		}
		return in(a[1], zone.Offset(datetime.Moment(env.Now)))
	}, types.Text, types.TimeTZ).Volatility = exec.Stable
	funcs.TimeFamily.Function("timezone", types.TimeTZ, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		by, err := intervalZone(env, a[0])
		if err != nil {
			return types.Null, err
		}
		return in(a[1], int(by/datetime.Second))
	}, types.Interval, types.TimeTZ)
}

// clockPart is date_part and extract of a time of day.
func clockPart(field string, d types.Datum, t, ret types.OID) (types.Datum, error) {
	us, offset := d.I, 0
	if t == types.TimeTZ {
		us, offset = d.ZonedClock()
	}
	whole := func(n int64) (types.Datum, error) { return number(n, 0, ret), nil }
	unit := unitOf(field)
	switch unit {
	case "microseconds", "milliseconds", "second":
		return secondsIn(field, us%60e6, ret), nil
	case "minute":
		return whole(us / 60e6 % 60)
	case "hour":
		return whole(us / 3600e6)
	case "epoch":
		return number(us-int64(offset)*datetime.Second, 6, ret), nil
	}
	if t == types.TimeTZ {
		switch unit {
		case "timezone":
			return whole(int64(offset))
		case "timezone_hour":
			return whole(int64(offset / 3600))
		case "timezone_minute":
			return whole(int64(offset % 3600 / 60))
		}
	}
	return types.Null, badUnit(field, t, false)
}

// truncateSpan is date_trunc of an interval.
func truncateSpan(unit string, s types.Span) (types.Span, error) {
	cut := func(n, by int64) int64 { return n / by * by }
	months := func(by int64) (types.Span, error) { return types.Span{Months: int32(cut(int64(s.Months), by))}, nil }
	clock := func(by int64) (types.Span, error) {
		s.Micros = cut(s.Micros, by)
		return s, nil
	}
	switch unitOf(unit) {
	case "millennium":
		return months(12000)
	case "century":
		return months(1200)
	case "decade":
		return months(120)
	case "year":
		return months(12)
	case "quarter":
		return months(3)
	case "month":
		return months(1)
	case "day":
		s.Micros = 0
		return s, nil
	case "hour":
		return clock(3600e6)
	case "minute":
		return clock(60e6)
	case "second":
		return clock(1e6)
	case "milliseconds":
		return clock(1e3)
	case "microseconds":
		return s, nil
	case "week":
		return s, sqlstate.New(sqlstate.FeatureNotSupported, `unit "%s" not supported for type interval`,
			strings.ToLower(unit)).
			WithDetail("Months usually have fractional weeks.")
	}
	return s, badUnit(unit, types.Interval, true)
}

package funcs

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// clocks are the operators and functions of the time of day.
func clocks() {
	wrap := func(us int64) types.Datum {
		day := int64(types.Day)
		return types.NewClock(((us % day) + day) % day)
	}
	op := func(symbol string, ret types.OID, f func(a []types.Datum) types.Datum, args ...types.OID) {
		arithmeticFamily.operator(
			symbol,
			ret,
			func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return f(a), nil },
			args...)
	}
	op(
		"+",
		types.Time,
		func(a []types.Datum) types.Datum { return wrap(a[0].I + a[1].Span().Micros) },
		types.Time,
		types.Interval,
	)
	op(
		"+",
		types.Time,
		func(a []types.Datum) types.Datum { return wrap(a[1].I + a[0].Span().Micros) },
		types.Interval,
		types.Time,
	)
	op(
		"-",
		types.Time,
		func(a []types.Datum) types.Datum { return wrap(a[0].I - a[1].Span().Micros) },
		types.Time,
		types.Interval,
	)
	op("-", types.Interval, func(a []types.Datum) types.Datum {
		return types.NewInterval(types.Span{Micros: a[0].I - a[1].I})
	}, types.Time, types.Time)
	at := func(date, clock types.Datum) types.Datum {
		if types.Infinite(date) {
			return types.NewTime(date.I)
		}
		return types.NewTime(types.DateMicros(date.I) + clock.I)
	}
	op("+", types.Timestamp, func(a []types.Datum) types.Datum { return at(a[0], a[1]) }, types.Date, types.Time)
	op("+", types.Timestamp, func(a []types.Datum) types.Datum { return at(a[1], a[0]) }, types.Time, types.Date)
	op(
		"+",
		types.Date,
		func(a []types.Datum) types.Datum { return types.NewDate(types.AddDays(a[1].I, a[0].I)) },
		types.Int4,
		types.Date,
	)
	timeFamily.function("localtime", types.Time, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		return types.Cast(types.NewTime(env.Now.UnixMicro()), types.TimestampTZ, types.Time, -1, env.Types)
	}).Volatility = exec.Stable
	for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
		timeFamily.function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			us := a[1].I
			switch unitOf(a[0].S) {
			case "microseconds", "milliseconds", "second":
				return secondsIn(a[0].S, us%60e6, ret), nil
			case "minute":
				return number(us/60e6%60, 0, ret), nil
			case "hour":
				return number(us/3600e6, 0, ret), nil
			case "epoch":
				return number(us, 6, ret), nil
			case "day", "month", "year", "week", "dow", "doy", "quarter", "century", "decade", "isodow", "isoyear",
				"millennium", "timezone", "julian":
				return types.Null, sqlstate.New(
					sqlstate.FeatureNotSupported,
					"unit %q not supported for type time without time zone",
					strings.ToLower(a[0].S),
				)
			}
			return types.Null, sqlstate.New(
				sqlstate.InvalidParameterValue,
				"unit %q not recognized for type time without time zone",
				strings.ToLower(a[0].S),
			)
		}, types.Text, types.Time)
	}
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
		return s, sqlstate.New(sqlstate.FeatureNotSupported, "unit %q not supported for type interval", strings.ToLower(unit)).
			WithDetail("Months usually have fractional weeks.")
	}
	return s, sqlstate.New(
		sqlstate.InvalidParameterValue,
		"unit %q not recognized for type interval",
		strings.ToLower(unit),
	)
}

// Package times implements the functions and operators of dates, times and intervals (PostgreSQL 15, section 9.9). The
// calendar is in package datetime, templates are in package templates.
package times

import (
	"math"
	"slices"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/templates"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Date and time functions (PostgreSQL 15, section 9.9).
func init() {
	stamp := func(f func(env *exec.CallEnv) time.Time, typ types.OID) funcs.EvalFunc {
		return func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			return types.LocalMoment(f(env), typ, env.Types), nil
		}
	}
	began := func(env *exec.CallEnv) time.Time { return env.Now }
	for _, name := range []string{"now", "current_timestamp", "transaction_timestamp", "statement_timestamp"} {
		funcs.TimeFamily.Function(name, types.TimestampTZ, stamp(began, types.TimestampTZ)).Volatility = exec.Stable
	}
	funcs.TimeFamily.Function("localtimestamp", types.Timestamp, stamp(began, types.Timestamp)).Volatility = exec.Stable
	funcs.TimeFamily.Function("clock_timestamp", types.TimestampTZ, stamp(func(*exec.CallEnv) time.Time {
		return time.Now()
	}, types.TimestampTZ)).Volatility = exec.Volatile
	funcs.TimeFamily.Function("current_date", types.Date,
		func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			return types.Cast(types.NewMoment(env.Now), types.TimestampTZ, types.Date, -1, env.Types)
		}).Volatility = exec.Stable
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		funcs.TimeFamily.Function("date_trunc", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if types.Infinite(a[1]) {
				return a[1], nil
			}
			m, err := truncate(a[0].S, a[1].I, t, types.LocationFor(t, env.Types))
			return types.NewTime(m), err
		}, types.Text, t)
		for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
			funcs.TimeFamily.Function(name, ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				if types.Infinite(a[1]) {
					return infinitePart(a[0].S, a[1].I > 0, t, ret)
				}
				return part(a[0].S, a[1].I, t, ret, env)
			}, types.Text, t)
		}
	}
	for _, t := range []types.OID{types.Date, types.Timestamp, types.TimestampTZ} {
		funcs.TimeFamily.Function("isfinite", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewBool(!types.Infinite(a[0])), nil
		}, t)
	}
	funcs.TimeFamily.Function("isfinite", types.Bool, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.NewBool(true), nil
	}, types.Interval)
	for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
		funcs.TimeFamily.Function(name, ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			unit := unitOf(a[0].S)
			if ret == types.Numeric && slices.Contains(notOfDates, unit) {
				return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, `unit "%s" not supported for type date`,
					lowerASCII(a[0].S))
			}
			typ := types.Timestamp
			if ret == types.Numeric {
				typ = types.Date
			}
			if types.Infinite(a[1]) {
				return infinitePart(a[0].S, a[1].I > 0, typ, ret)
			}
			if ret == types.Numeric && unit == "julian" {
				return number(a[1].I+datetime.EpochJulian, 0, ret), nil
			}
			if ret == types.Numeric && unit == "epoch" {
				return number(a[1].I*86400+epochSeconds, 0, ret), nil
			}
			m, err := types.DateMoment(a[1].I)
			if err != nil {
				return types.Null, err
			}
			return part(a[0].S, m, typ, ret, env)
		}, types.Text, types.Date)
		funcs.TimeFamily.Function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return intervalPart(a[0].S, a[1].Span(), ret)
		}, types.Text, types.Interval)
	}
	funcs.TimeFamily.Function("timezone", types.Timestamp, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return inZone(a[1].I, a[0].S, datetime.Zone.Wall)
	}, types.Text, types.TimestampTZ)
	funcs.TimeFamily.Function("timezone", types.TimestampTZ,
		func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return inZone(a[1].I, a[0].S, datetime.Zone.Instant)
		}, types.Text, types.Timestamp)
	funcs.TimeFamily.Function("to_timestamp", types.TimestampTZ,
		func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			f := math.RoundToEven((a[0].Float() - epochSeconds) * 1e6)
			if math.IsInf(a[0].Float(), 0) {
				return types.InfiniteTime(f > 0), nil
			}
			switch {
			case math.IsNaN(f):
				return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp cannot be NaN")
			case f < math.MinInt64 || f >= math.MaxInt64 || !datetime.ValidMoment(int64(f)):
				return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range: \"%g\"",
					a[0].Float())
			}
			return types.NewTime(int64(f)), nil
		}, types.Float8)
	funcs.TimeFamily.Function("age", types.Interval, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return ageOf(types.NewTime(types.WallClock(a[0].I, env.Types)),
			types.NewTime(types.WallClock(a[1].I, env.Types)))
	}, types.TimestampTZ, types.TimestampTZ)
	funcs.TimeFamily.Function("age", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return ageOf(a[0], a[1])
	}, types.Timestamp, types.Timestamp)
	funcs.TimeFamily.Function("to_char", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if types.Infinite(a[0]) {
			return types.Null, nil
		}
		return templates.ToChar(templates.ClockOf(
			datetime.Time(a[0].I).In(types.LocationFor(types.TimestampTZ, env.Types)), true), a[1].S)
	}, types.TimestampTZ, types.Text)
	funcs.TimeFamily.Function("to_char", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if types.Infinite(a[0]) {
			return types.Null, nil
		}
		return templates.ToChar(templates.ClockOf(datetime.Time(a[0].I), false), a[1].S)
	}, types.Timestamp, types.Text)
	funcs.TimeFamily.Function("to_char", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return templates.ToChar(templates.ClockOfSpan(a[0].Span()), a[1].S)
	}, types.Interval, types.Text)
}

// epochSeconds is 2000-01-01, the zero of moments, in seconds since 1970.
const epochSeconds = 946684800

// epochOf returns a moment in seconds since 1970.
func epochOf(moment int64, ret types.OID) types.Datum {
	if ret == types.Numeric {
		return types.NewNumeric(types.DecimalOf(moment, 6).Add(types.DecimalFromInt(epochSeconds)))
	}
	if moment > math.MaxInt64-epochSeconds*1e6 {
		return types.NewFloat((float64(moment) + epochSeconds*1e6) / 1e6)
	}
	return types.NewFloat(float64(moment+epochSeconds*1e6) / 1e6)
}

// inZone is AT TIME ZONE: it converts a moment to the wall clock time of a zone, or back.
func inZone(moment int64, name string, move func(datetime.Zone, int64) int64) (types.Datum, error) {
	if datetime.IsInfinite(moment) {
		return types.NewTime(moment), nil
	}
	zone, ok := datetime.FindZone(name)
	if !ok {
		return types.Null, datetime.ErrZone(name)
	}
	return types.CheckMoment(move(zone, moment))
}

// infinitePart returns a part of an infinite time: infinity if the part grows with time, NULL if it repeats.
func infinitePart(field string, positive bool, typ, ret types.OID) (types.Datum, error) {
	switch unitOf(field) {
	case "year", "decade", "century", "millennium", "julian", "isoyear", "epoch":
		text := "Infinity"
		if !positive {
			text = "-Infinity"
		}
		return types.ParseText(text, ret, nil)
	case "microseconds", "milliseconds", "second", "minute", "hour", "day", "month", "quarter", "week", "dow", "isodow",
		"doy", "timezone", "timezone_hour", "timezone_minute":
		return types.Null, nil
	}
	return types.Null, badUnit(field, typ, false)
}

// truncate is date_trunc.
func truncate(unit string, micros int64, typ types.OID, loc *time.Location) (int64, error) {
	t := datetime.Time(micros).In(loc)
	y, m, d := t.Date()
	_, mi, s := t.Clock()
	day := func(y int, m time.Month, d int) (int64, error) {
		return datetime.Instant(datetime.DaysOf(y, int(m), d)*types.Day, loc), nil
	}
	us := int64(t.Nanosecond() / 1000) // parts below an hour do not depend on the zone
	switch unitOf(unit) {
	case "microseconds":
		return micros, nil
	case "milliseconds":
		return micros - us%1000, nil
	case "second":
		return micros - us, nil
	case "minute":
		return micros - us - int64(s)*1e6, nil
	case "hour":
		return micros - us - int64(mi*60+s)*1e6, nil
	case "day":
		return day(y, m, d)
	case "week":
		return day(y, m, d-(int(t.Weekday())+6)%7)
	case "month":
		return day(y, m, 1)
	case "quarter":
		return day(y, (m-1)/3*3+1, 1)
	case "year":
		return day(y, 1, 1)
	case "decade":
		return day(y-((y%10)+10)%10, 1, 1)
	case "century":
		return day(floorDiv(y-1, 100)*100+1, 1, 1)
	case "millennium":
		return day(floorDiv(y-1, 1000)*1000+1, 1, 1)
	}
	return 0, badUnit(unit, typ, true)
}

// part is date_part (float8) and extract (numeric).
func part(field string, micros int64, typ, ret types.OID, env *exec.CallEnv) (types.Datum, error) {
	loc := types.LocationFor(typ, env.Types)
	t := datetime.Time(micros).In(loc)
	us := int64(t.Second())*1e6 + int64(t.Nanosecond()/1000)
	year, week := t.ISOWeek()
	whole := func(n int64) (types.Datum, error) { return number(n, 0, ret), nil }
	switch unitOf(field) {
	case "microseconds", "milliseconds", "second":
		return secondsIn(field, us, ret), nil
	case "epoch":
		return epochOf(micros, ret), nil
	case "minute":
		return whole(int64(t.Minute()))
	case "hour":
		return whole(int64(t.Hour()))
	case "day":
		return whole(int64(t.Day()))
	case "month":
		return whole(int64(t.Month()))
	case "quarter":
		return whole(int64(t.Month()-1)/3 + 1)
	case "year":
		y := t.Year()
		if y <= 0 {
			y-- // there is no year 0
		}
		return whole(int64(y))
	case "decade":
		return whole(int64(math.Floor(float64(t.Year()) / 10)))
	case "century":
		return whole(int64(era(t.Year(), 100)))
	case "millennium":
		return whole(int64(era(t.Year(), 1000)))
	case "julian":
		return julian(t, ret)
	case "dow":
		return whole(int64(t.Weekday()))
	case "isodow":
		return whole(int64(t.Weekday()+6)%7 + 1)
	case "doy":
		return whole(int64(t.YearDay()))
	case "week":
		return whole(int64(week))
	case "isoyear":
		if year <= 0 {
			year--
		}
		return whole(int64(year))
	case "timezone":
		if typ == types.TimestampTZ {
			_, off := t.Zone()
			return whole(int64(off))
		}
	case "timezone_hour":
		if typ == types.TimestampTZ {
			_, off := t.Zone()
			return whole(int64(off / 3600))
		}
	case "timezone_minute":
		if typ == types.TimestampTZ {
			_, off := t.Zone()
			return whole(int64(off % 3600 / 60))
		}
	}
	return types.Null, badUnit(field, typ, false)
}

func floorDiv(a, b int) int {
	if a < 0 {
		return (a - b + 1) / b
	}
	return a / b
}

// era returns the century or millennium of a year. There is no era 0.
func era(year, years int) int {
	if year > 0 {
		return (year + years - 1) / years
	}
	return -((years - 1 - (year - 1)) / years)
}

// julian returns the Julian day with its fraction.
func julian(t time.Time, ret types.OID) (types.Datum, error) {
	const epoch = 2440588 // Julian day of 1970-01-01
	h, m, s := t.Clock()
	us := int64((h*60+m)*60+s)*1e6 + int64(t.Nanosecond()/1000)
	y, month, d := t.Date()
	day := time.Date(y, month, d, 0, 0, 0, 0, time.UTC).Unix()/86400 + epoch
	if ret == types.Float8 {
		return types.NewFloat(float64(day) + float64(us)/86400e6), nil
	}
	part, err := types.DecimalFromInt(us).Div(types.DecimalFromInt(86400e6))
	if err != nil {
		return types.Null, err
	}
	return types.NewNumeric(types.DecimalFromInt(day).Add(part)), nil
}

// notOfDates lists the fields that extract refuses for a date. date_part accepts them, for midnight.
var notOfDates = []string{"microseconds", "milliseconds", "second", "minute", "hour", "timezone", "timezone_hour",
	"timezone_minute"}

// number returns n / 10^scale in the return type of the function.
func number(n int64, scale int, ret types.OID) types.Datum {
	if ret == types.Numeric {
		return types.NewNumeric(types.DecimalOf(n, int32(scale)))
	}
	return types.NewFloat(float64(n) / math.Pow10(scale))
}

// secondsIn converts microseconds within a minute to the unit of a field.
func secondsIn(field string, us int64, ret types.OID) types.Datum {
	switch unitOf(field) {
	case "microseconds":
		return number(us, 0, ret)
	case "milliseconds":
		return number(us, 3, ret)
	}
	return number(us, 6, ret)
}

func intervalPart(field string, s types.Span, ret types.OID) (types.Datum, error) {
	whole := func(n int64) (types.Datum, error) { return number(n, 0, ret), nil }
	switch unitOf(field) {
	case "microseconds", "milliseconds", "second":
		return secondsIn(field, s.Micros%60e6, ret), nil
	case "minute":
		return whole(s.Micros / 60e6 % 60)
	case "hour":
		return whole(s.Micros / 3600e6)
	case "day":
		return whole(int64(s.Days))
	case "month":
		return whole(int64(s.Months % 12))
	case "year":
		return whole(int64(s.Months / 12))
	case "quarter":
		return whole(int64(s.Months%12/3 + 1))
	case "decade":
		return whole(int64(s.Months / 120))
	case "century":
		return whole(int64(s.Months / 1200))
	case "millennium":
		return whole(int64(s.Months / 12000))
	case "epoch":
		// A year counts as 365.25 days, a month as 30.
		secs := int64(s.Months/12)*31557600 + int64(s.Months%12)*2592000 + int64(s.Days)*86400
		if ret == types.Float8 {
			return types.NewFloat(float64(s.Micros)/1e6 + float64(secs)), nil
		}
		return types.NewNumeric(types.DecimalOf(s.Micros, 6).Add(types.DecimalFromInt(secs))), nil
	}
	return types.Null, badUnit(field, types.Interval, false)
}

// ageOf is age. As in PostgreSQL, infinity is the last moment of 64 bits there, and -infinity is refused.
func ageOf(a, b types.Datum) (types.Datum, error) {
	if a.I == datetime.NegInfinity || b.I == datetime.NegInfinity {
		return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	return age(a.I, b.I), nil
}

// age returns the difference in years, months and days of the calendar.
func age(a, b int64) types.Datum {
	if a < b {
		s, _ := age(b, a).Span().Neg()
		return types.NewInterval(s)
	}
	x, y := datetime.Time(a), datetime.Time(b)
	clock := func(us int64) int64 { return us - datetime.FloorDiv(us, types.Day)*types.Day }
	months := (x.Year()-y.Year())*12 + int(x.Month()) - int(y.Month())
	days, micros := x.Day()-y.Day(), clock(a)-clock(b)
	if micros < 0 {
		micros += 86400e6
		days--
	}
	if days < 0 {
		// Borrow the days of the earlier date's month.
		days += time.Date(y.Year(), y.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		months--
	}
	return types.NewInterval(types.Span{Months: int32(months), Days: int32(days), Micros: micros})
}

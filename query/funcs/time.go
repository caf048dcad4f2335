package funcs

import (
	"math"
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Date and time functions (PostgreSQL 15, section 9.9).
func init() {
	stamp := func(f func(env *exec.CallEnv) time.Time, typ types.OID) evalFunc {
		return func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
			return types.NewTime(types.LocalMicros(f(env), typ, env.Types)), nil
		}
	}
	began := func(env *exec.CallEnv) time.Time { return env.Now }
	for _, name := range []string{"now", "current_timestamp", "transaction_timestamp", "statement_timestamp"} {
		timeFamily.function(name, types.TimestampTZ, stamp(began, types.TimestampTZ)).Volatility = exec.Stable
	}
	timeFamily.function("localtimestamp", types.Timestamp, stamp(began, types.Timestamp)).Volatility = exec.Stable
	timeFamily.function("clock_timestamp", types.TimestampTZ, stamp(func(*exec.CallEnv) time.Time {
		return time.Now()
	}, types.TimestampTZ)).Volatility = exec.Volatile
	timeFamily.function("current_date", types.Date, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		return types.Cast(types.NewTime(env.Now.UnixMicro()), types.TimestampTZ, types.Date, -1, env.Types)
	}).Volatility = exec.Stable
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		timeFamily.function("date_trunc", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			m, err := truncate(a[0].S, a[1].I, types.LocationFor(t, env.Types))
			return types.NewTime(m), err
		}, types.Text, t)
		for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
			timeFamily.function(name, ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return part(a[0].S, a[1].I, t, ret, env)
			}, types.Text, t)
		}
	}
	for name, ret := range map[string]types.OID{"date_part": types.Float8, "extract": types.Numeric} {
		timeFamily.function(name, ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return part(a[0].S, a[1].I*86400e6, types.Timestamp, ret, env)
		}, types.Text, types.Date)
		timeFamily.function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return intervalPart(a[0].S, a[1].Span(), ret)
		}, types.Text, types.Interval)
	}
	timeFamily.function("timezone", types.Timestamp, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		m, err := types.InZone(a[1].I, a[0].S, true)
		return types.NewTime(m), err
	}, types.Text, types.TimestampTZ)
	timeFamily.function("timezone", types.TimestampTZ, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		m, err := types.InZone(a[1].I, a[0].S, false)
		return types.NewTime(m), err
	}, types.Text, types.Timestamp)
	timeFamily.function("to_timestamp", types.TimestampTZ, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		f := a[0].Float() * 1e6
		if math.IsNaN(f) || math.Abs(f) > 9e18 {
			return types.Null, sqlstate.New("22008", "timestamp out of range")
		}
		return types.NewTime(int64(math.Round(f))), nil
	}, types.Float8)
	timeFamily.function("age", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return age(a[0].I, a[1].I), nil
	}, types.TimestampTZ, types.TimestampTZ)
	timeFamily.function("age", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return age(a[0].I, a[1].I), nil
	}, types.Timestamp, types.Timestamp)
	timeFamily.function("to_char", types.Text, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return toChar(time.UnixMicro(a[0].I).In(types.LocationFor(types.TimestampTZ, env.Types)), a[1].S)
	}, types.TimestampTZ, types.Text)
	timeFamily.function("to_char", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return toChar(time.UnixMicro(a[0].I).UTC(), a[1].S)
	}, types.Timestamp, types.Text)
}

// truncate is date_trunc.
func truncate(unit string, micros int64, loc *time.Location) (int64, error) {
	t := time.UnixMicro(micros).In(loc)
	y, m, d := t.Date()
	h, mi, s := t.Clock()
	at := func(y int, m time.Month, d, h, mi, s, us int) (int64, error) {
		return time.Date(y, m, d, h, mi, s, us*1000, loc).UnixMicro(), nil
	}
	switch strings.ToLower(unit) {
	case "microseconds", "microsecond":
		return micros, nil
	case "milliseconds", "millisecond":
		return at(y, m, d, h, mi, s, t.Nanosecond()/1e6*1000)
	case "second", "seconds":
		return at(y, m, d, h, mi, s, 0)
	case "minute", "minutes":
		return at(y, m, d, h, mi, 0, 0)
	case "hour", "hours":
		return at(y, m, d, h, 0, 0, 0)
	case "day", "days":
		return at(y, m, d, 0, 0, 0, 0)
	case "week", "weeks":
		return at(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0)
	case "month", "months":
		return at(y, m, 1, 0, 0, 0, 0)
	case "quarter", "quarters":
		return at(y, (m-1)/3*3+1, 1, 0, 0, 0, 0)
	case "year", "years":
		return at(y, 1, 1, 0, 0, 0, 0)
	case "decade":
		return at(y-y%10, 1, 1, 0, 0, 0, 0)
	case "century":
		return at((y-1)/100*100+1, 1, 1, 0, 0, 0, 0)
	}
	return 0, sqlstate.New(sqlstate.InvalidParameterValue, "unit %q not recognized for type timestamp", unit)
}

// part is date_part (float8) and extract (numeric).
func part(field string, micros int64, typ, ret types.OID, env *exec.CallEnv) (types.Datum, error) {
	loc := types.LocationFor(typ, env.Types)
	t := time.UnixMicro(micros).In(loc)
	us := int64(t.Second())*1e6 + int64(t.Nanosecond()/1000)
	year, week := t.ISOWeek()
	whole := func(n int64) (types.Datum, error) { return number(n, 0, ret), nil }
	switch strings.ToLower(field) {
	case "microseconds", "milliseconds", "second", "seconds":
		return secondsIn(field, us, ret), nil
	case "epoch":
		return number(micros, 6, ret), nil
	case "minute", "minutes":
		return whole(int64(t.Minute()))
	case "hour", "hours":
		return whole(int64(t.Hour()))
	case "day", "days":
		return whole(int64(t.Day()))
	case "month", "months":
		return whole(int64(t.Month()))
	case "quarter":
		return whole(int64(t.Month()-1)/3 + 1)
	case "year", "years":
		return whole(int64(t.Year()))
	case "decade":
		return whole(int64(math.Floor(float64(t.Year()) / 10)))
	case "century":
		return whole(int64(math.Floor(float64(t.Year()-1)/100)) + 1)
	case "dow":
		return whole(int64(t.Weekday()))
	case "isodow":
		return whole(int64(t.Weekday()+6)%7 + 1)
	case "doy":
		return whole(int64(t.YearDay()))
	case "week":
		return whole(int64(week))
	case "isoyear":
		return whole(int64(year))
	case "timezone":
		if typ == types.TimestampTZ {
			_, off := t.Zone()
			return whole(int64(off))
		}
	}
	return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "unit %q not recognized for type %s", field, types.NameOf(typ))
}

// number is n / 10^scale as the type that the function returns.
func number(n int64, scale int, ret types.OID) types.Datum {
	if ret == types.Numeric {
		return types.NewNumeric(types.DecimalOf(n, int32(scale)))
	}
	return types.NewFloat(float64(n) / math.Pow10(scale))
}

// secondsIn is microseconds within a minute in the unit that a field names.
func secondsIn(field string, us int64, ret types.OID) types.Datum {
	switch strings.ToLower(field) {
	case "microseconds":
		return number(us, 0, ret)
	case "milliseconds":
		return number(us, 3, ret)
	}
	return number(us, 6, ret)
}

func intervalPart(field string, s types.Span, ret types.OID) (types.Datum, error) {
	whole := func(n int64) (types.Datum, error) { return number(n, 0, ret), nil }
	switch strings.ToLower(field) {
	case "microseconds", "milliseconds", "second", "seconds":
		return secondsIn(field, s.Micros%60e6, ret), nil
	case "minute", "minutes":
		return whole(s.Micros / 60e6 % 60)
	case "hour", "hours":
		return whole(s.Micros / 3600e6)
	case "day", "days":
		return whole(int64(s.Days))
	case "month", "months":
		return whole(int64(s.Months % 12))
	case "year", "years":
		return whole(int64(s.Months / 12))
	case "epoch":
		// A year counts as 365.25 days, a month as 30.
		secs := int64(s.Months/12)*31557600 + int64(s.Months%12)*2592000 + int64(s.Days)*86400
		return number(secs*1e6+s.Micros, 6, ret), nil
	}
	return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "unit %q not recognized for type interval", field)
}

// age is the difference in years, months and days of the calendar.
func age(a, b int64) types.Datum {
	if a < b {
		s := age(b, a).Span()
		return types.NewInterval(s.Neg())
	}
	x, y := time.UnixMicro(a).UTC(), time.UnixMicro(b).UTC()
	clock := func(t time.Time) int64 { return t.UnixMicro() - t.Truncate(24*time.Hour).UnixMicro() }
	months := (x.Year()-y.Year())*12 + int(x.Month()) - int(y.Month())
	days, micros := x.Day()-y.Day(), clock(x)-clock(y)
	if micros < 0 {
		micros += 86400e6
		days--
	}
	if days < 0 {
		// Borrow the month that the earlier date is in.
		days += time.Date(y.Year(), y.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		months--
	}
	return types.NewInterval(types.Span{Months: int32(months), Days: int32(days), Micros: micros})
}

// toCharFields are the patterns of to_char that are known, longest first. The rest of a format is copied.
var toCharFields = []struct {
	pattern string
	layout  string
}{
	{"Month", "January"}, {"MONTH", ""}, {"month", ""}, {"HH24", "15"}, {"HH12", "03"}, {"YYYY", "2006"}, {"yyyy", "2006"}, {"Day", "Monday"},
	{"Mon", "Jan"}, {"MON", ""}, {"mon", ""}, {"DDD", "002"}, {"MM", "01"}, {"mm", "01"}, {"MI", "04"}, {"mi", "04"}, {"SS", "05"}, {"ss", "05"},
	{"DD", "02"}, {"dd", "02"}, {"YY", "06"}, {"Dy", "Mon"}, {"HH", "03"}, {"hh24", "15"}, {"hh", "03"}, {"AM", "PM"}, {"PM", "PM"}, {"am", "pm"}, {"pm", "pm"},
	{"MS", "ms"}, {"US", "us"}, {"TZ", "MST"}, {"OF", "-07"},
}

// toChar is to_char. A letter of a format may become many.
func toChar(t time.Time, format string) (types.Datum, error) {
	const longest = 64 << 10
	if len(format) > longest {
		return types.Null, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"date format of %d bytes is longer than the limit of %d", len(format), longest)
	}
	return types.NewText(formatTime(t, format)), nil
}

// formatTime is to_char for the patterns that dashboards use.
func formatTime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); {
		if format[i] == '"' {
			end := strings.IndexByte(format[i+1:], '"')
			if end < 0 {
				end = len(format) - i - 1
			}
			b.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		}
		matched := false
		for _, f := range toCharFields {
			if !strings.HasPrefix(format[i:], f.pattern) {
				continue
			}
			b.WriteString(formatField(t, f.pattern, f.layout))
			i += len(f.pattern)
			matched = true
			break
		}
		if !matched {
			b.WriteByte(format[i])
			i++
		}
	}
	return b.String()
}

func formatField(t time.Time, pattern, layout string) string {
	pad := func(s string) string { return s + strings.Repeat(" ", max(9-len(s), 0)) }
	switch pattern {
	case "MS":
		return t.Format(".000")[1:]
	case "US":
		return t.Format(".000000")[1:]
	case "Month", "Day":
		return pad(t.Format(layout)) // names fill nine places
	case "MONTH":
		return pad(strings.ToUpper(t.Format("January")))
	case "month":
		return pad(strings.ToLower(t.Format("January")))
	case "MON":
		return strings.ToUpper(t.Format("Jan"))
	case "mon":
		return strings.ToLower(t.Format("Jan"))
	}
	return t.Format(layout)
}

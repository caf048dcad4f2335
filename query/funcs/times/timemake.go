package times

import (
	"math"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions that make dates and times, and those that return the current time (PostgreSQL 15, table 9.32).

// madeDate returns a date from its parts. Years BC are negative.
func madeDate(y, m, d int64) (time.Time, bool) {
	if y == 0 || y < -5000000 || y > 5874898 {
		return time.Time{}, false
	}
	if y < 0 {
		y++
	}
	t := time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC)
	return t, m >= 1 && m <= 12 && d >= 1 && t.Day() == int(d) && int64(t.Month()) == m
}

// madeClock returns a time of day from its parts in microseconds.
func madeClock(h, m int64, s float64) (int64, bool) {
	if h < 0 || h > 24 || m < 0 || m > 59 || !(s >= 0 && s <= 60) || h == 24 && (m > 0 || s > 0) {
		return 0, false
	}
	us := (h*60+m)*60e6 + int64(math.RoundToEven(s*1e6))
	return us, us <= types.Day
}

func madeStamp(a []types.Datum) (int64, error) {
	date, ok := madeDate(a[0].I, a[1].I, a[2].I)
	if !ok {
		return 0, sqlstate.New(sqlstate.DatetimeOverflow, "date field value out of range: %d-%02d-%02d", a[0].I,
			a[1].I, a[2].I)
	}
	clock, ok := madeClock(a[3].I, a[4].I, a[5].Float())
	if !ok {
		return 0, badClock(a[3:])
	}
	moment := datetime.Moment(date) + clock
	if date.Year() > 294276 || !datetime.ValidMoment(moment) {
		return 0, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range: %d-%02d-%02d %d:%02d:%02g",
			a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].Float())
	}
	return moment, nil
}

func badClock(a []types.Datum) error {
	return sqlstate.New(sqlstate.DatetimeOverflow, "time field value out of range: %d:%02d:%02g", a[0].I, a[1].I,
		a[2].Float())
}

func init() {
	add := funcs.TimeFamily.Function
	ints := []types.OID{types.Int4, types.Int4, types.Int4}
	add("make_date", types.Date, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		t, ok := madeDate(a[0].I, a[1].I, a[2].I)
		if !ok {
			return types.Null, sqlstate.New(
				sqlstate.DatetimeOverflow,
				"date field value out of range: %d-%02d-%02d",
				a[0].I,
				a[1].I,
				a[2].I,
			)
		}
		days := datetime.FloorDiv(t.Unix()-epochSeconds, 86400)
		if !datetime.ValidDate(days) {
			return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "date out of range: %d-%02d-%02d", t.Year(),
				a[1].I, a[2].I)
		}
		return types.NewDate(days), nil
	}, ints...)
	add("make_time", types.Time, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		us, ok := madeClock(a[0].I, a[1].I, a[2].Float())
		if !ok {
			return types.Null, badClock(a)
		}
		return types.NewClock(us), nil
	}, types.Int4, types.Int4, types.Float8)
	stamp := append(append([]types.OID{}, ints...), types.Int4, types.Int4, types.Float8)
	add("make_timestamp", types.Timestamp, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		us, err := madeStamp(a)
		return types.NewTime(us), err
	}, stamp...)
	add("make_timestamptz", types.TimestampTZ, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		us, err := madeStamp(a)
		if err != nil {
			return types.Null, err
		}
		return types.Cast(types.NewTime(us), types.Timestamp, types.TimestampTZ, -1, env.Types)
	}, stamp...).Volatility = exec.Stable
	add("make_timestamptz", types.TimestampTZ, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		us, err := madeStamp(a)
		if err != nil {
			return types.Null, err
		}
		offset, numeric, err := datetime.NumericZone(a[6].S)
		if err != nil {
			return types.Null, err
		}
		if numeric {
			return types.CheckMoment(us - int64(offset)*datetime.Second)
		}
		return inZone(us, a[6].S, datetime.Zone.Instant)
	}, append(stamp[:6:6], types.Text)...).Volatility = exec.Stable
	parts := []types.OID{types.Int4, types.Int4, types.Int4, types.Int4, types.Int4, types.Int4, types.Float8}
	for n := range len(parts) + 1 {
		f := add("make_interval", types.Interval, makeInterval, parts[:n]...)
		if n == len(parts) {
			zero := types.NewInt(0)
			f.Names = []string{"years", "months", "weeks", "days", "hours", "mins", "secs"}
			f.Defaults = []types.Datum{zero, zero, zero, zero, zero, zero, types.NewFloat(0)}
		}
	}
	justify()
	bins()
	clocks()
}

func makeInterval(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	var v [6]int64
	secs := 0.0
	for i, d := range a {
		if i == 6 {
			secs = d.Float()
			break
		}
		v[i] = d.I
	}
	months, days := v[0]*12+v[1], v[2]*7+v[3]
	secs = math.RoundToEven(secs * 1e6)
	micros := v[4]*3600e6 + v[5]*60e6
	sum := micros + int64(secs)
	if int64(int32(months)) != months || int64(int32(days)) != days || !(math.Abs(secs) < math.MaxInt64) ||
		(sum > micros) != (secs > 0) {
		return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "interval out of range")
	}
	micros = sum
	return types.NewInterval(types.Span{Months: int32(months), Days: int32(days), Micros: micros}), nil
}

// justify adds justify_hours, justify_days and justify_interval.
func justify() {
	for name, f := range map[string]func(*types.Span) bool{"justify_hours": justifyHours,
		"justify_days": justifyDays, "justify_interval": justifyInterval} {
		funcs.TimeFamily.Function(name, types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s := a[0].Span()
			if !f(&s) {
				return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "interval out of range")
			}
			return types.NewInterval(s), nil
		}, types.Interval)
	}
}

// moveDays makes days of the hours, and moveMonths months of the days. They return false if there are too many.
func moveDays(s *types.Span) bool {
	days := int64(s.Days) + s.Micros/types.Day
	s.Micros %= types.Day
	s.Days = int32(days)
	return int64(s.Days) == days
}

func moveMonths(s *types.Span) bool {
	months := int64(s.Months) + int64(s.Days/30)
	s.Days %= 30
	s.Months = int32(months)
	return int64(s.Months) == months
}

// sameHours gives hours the sign of the days.
func sameHours(s *types.Span) {
	switch {
	case s.Days > 0 && s.Micros < 0:
		s.Micros += types.Day
		s.Days--
	case s.Days < 0 && s.Micros > 0:
		s.Micros -= types.Day
		s.Days++
	}
}

func justifyHours(s *types.Span) bool {
	ok := moveDays(s)
	sameHours(s)
	return ok
}

func justifyDays(s *types.Span) bool {
	ok := moveMonths(s)
	switch {
	case s.Months > 0 && s.Days < 0:
		s.Days += 30
		s.Months--
	case s.Months < 0 && s.Days > 0:
		s.Days -= 30
		s.Months++
	}
	return ok
}

func justifyInterval(s *types.Span) bool {
	// Days and hours of one sign could add up to too many days.
	if (s.Days > 0) == (s.Micros > 0) && !moveMonths(s) || !moveDays(s) || !moveMonths(s) {
		return false
	}
	switch {
	case s.Months > 0 && (s.Days < 0 || s.Days == 0 && s.Micros < 0):
		s.Days += 30
		s.Months--
	case s.Months < 0 && (s.Days > 0 || s.Days == 0 && s.Micros > 0):
		s.Days -= 30
		s.Months++
	}
	sameHours(s)
	return true
}

// bins adds date_bin and generate_series of times.
func bins() {
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		funcs.TimeFamily.Function("date_bin", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s := a[0].Span()
			switch {
			case types.Infinite(a[1]):
				return a[1], nil
			case types.Infinite(a[2]):
				return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "origin out of range")
			case s.Months != 0:
				return types.Null, sqlstate.New(sqlstate.FeatureNotSupported,
					"timestamps cannot be binned into intervals containing months or years")
			}
			stride := int64(s.Days)*types.Day + s.Micros
			if stride <= 0 {
				return types.Null, sqlstate.New(sqlstate.DatetimeOverflow, "stride must be greater than zero")
			}
			diff, err := datetime.SubtractMoments(a[1].I, a[2].I)
			if err != nil {
				return types.Null, err
			}
			rest := (int64(diff.Days)*types.Day + diff.Micros) % stride
			if rest < 0 {
				rest += stride
			}
			return types.NewTime(a[1].I - rest), nil
		}, types.Interval, t, t)
		funcs.ArrayFamily.AddTable(&exec.TableFunc{Name: "generate_series", Args: []types.OID{t, t, types.Interval},
			Columns: func([]types.OID) []exec.Column {
				return []exec.Column{{Name: "generate_series", Type: t, Mod: -1}}
			},
			StreamEnv: func(env *exec.Env, a []types.Datum) (func() ([]types.Datum, error), error) {
				step := a[2].Span()
				sign := step.Cmp(types.Span{})
				if sign == 0 {
					return nil, sqlstate.New(sqlstate.InvalidParameterValue, "step size cannot equal zero")
				}
				at, end, loc, ended := a[0].I, a[1].I, types.LocationFor(t, env.Types), false
				return func() ([]types.Datum, error) {
					if ended || sign > 0 && at > end || sign < 0 && at < end {
						return nil, nil
					}
					row := []types.Datum{types.NewTime(at)}
					next, err := datetime.AddSpan(at, step, loc)
					if err == nil {
						_, err = types.CheckMoment(next)
					}
					ended = sign > 0 && next <= at || sign < 0 && next >= at
					at = next
					return row, err
				}, nil
			}})
	}
	funcs.TimeFamily.Function("date_trunc", types.TimestampTZ,
		func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if types.Infinite(a[1]) {
				return a[1], nil
			}
			zone, ok := datetime.FindZone(a[2].S)
			if !ok {
				return types.Null, datetime.ErrZone(a[2].S)
			}
			wall := zone.Wall(a[1].I)
			cut, err := truncate(a[0].S, wall, types.TimestampTZ, time.UTC)
			if err != nil {
				return types.Null, err
			}
			switch unitOf(a[0].S) {
			case "hour", "minute", "second", "milliseconds", "microseconds":
				return types.NewTime(a[1].I - (wall - cut)), nil // the result keeps the zone offset of the argument
			}
			return types.CheckMoment(zone.Instant(cut))
		}, types.Text, types.TimestampTZ, types.Text)
	funcs.TimeFamily.Function("date_trunc", types.Interval,
		func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := truncateSpan(a[0].S, a[1].Span())
			return types.NewInterval(s), err
		}, types.Text, types.Interval)
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		funcs.TimeFamily.Function("age", types.Interval, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			today, err := types.Cast(types.NewMoment(env.Now), types.TimestampTZ, types.Date, -1, env.Types)
			if err != nil {
				return types.Null, err
			}
			from, err := types.Cast(a[0], t, types.Timestamp, -1, env.Types)
			if err != nil {
				return types.Null, err
			}
			midnight, err := types.DateMoment(today.I)
			if err != nil {
				return types.Null, err
			}
			return ageOf(types.NewTime(midnight), from)
		}, t).Volatility = exec.Stable
	}
}

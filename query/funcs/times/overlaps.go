package times

import (
	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// OVERLAPS, and zones given as an interval (PostgreSQL 15, sections 9.9 and 9.9.4).
func init() {
	for _, t := range []types.OID{types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ} {
		for _, spans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			args := []types.OID{t, t, t, t}
			if t == types.TimeTZ && (spans[0] || spans[1]) {
				continue // PostgreSQL has no such function
			}
			for i, span := range spans {
				if span {
					args[2*i+1] = types.Interval
				}
			}
			f := funcs.TimeFamily.Function("overlaps", types.Bool,
				func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
					a = append([]types.Datum{}, a...)
					for i, span := range spans {
						if begin, by := a[2*i], &a[2*i+1]; span && begin.IsNull() {
							*by = types.Null
						} else if span && !by.IsNull() {
							end, err := addTo(env, begin, by.Span(), t)
							if err != nil {
								return types.Null, err
							}
							*by = end
						}
					}
					return overlap(a), nil
				}, args...)
			f.NullArgs = true
		}
	}
	for _, to := range []struct {
		arg, ret types.OID
		sign     int64
	}{{types.TimestampTZ, types.Timestamp, 1}, {types.Timestamp, types.TimestampTZ, -1}} {
		funcs.TimeFamily.Function("timezone", to.ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if types.Infinite(a[1]) {
				return a[1], nil
			}
			by, err := intervalZone(env, a[0])
			if err != nil {
				return types.Null, err
			}
			return types.CheckMoment(a[1].I + to.sign*by)
		}, types.Interval, to.arg)
	}
}

// addTo adds an interval to a value of a type.
func addTo(env *exec.CallEnv, d types.Datum, s types.Span, t types.OID) (types.Datum, error) {
	wrap := func(us int64) int64 { return us - datetime.FloorDiv(us, types.Day)*types.Day }
	switch t {
	case types.Time:
		return types.NewClock(wrap(d.I + s.Micros)), nil
	case types.TimeTZ:
		us, offset := d.ZonedClock()
		return types.NewZonedClock(wrap(us+s.Micros), offset), nil
	}
	m, err := datetime.AddSpan(d.I, s, types.LocationFor(t, env.Types))
	return types.NewTime(m), err
}

// intervalZone returns the zone given by an interval, in microseconds east of UTC.
func intervalZone(env *exec.CallEnv, d types.Datum) (int64, error) {
	zone := d.Span()
	if zone.Months != 0 || zone.Days != 0 {
		text, err := env.TextOf(d, types.Interval)
		if err != nil {
			return 0, err
		}
		return 0, sqlstate.New(sqlstate.InvalidParameterValue,
			`interval time zone "%s" must not include months or days`,
			text)
	}
	return zone.Micros, nil
}

// overlap reports whether two periods of time overlap. Each is given by its ends in any order; one end may be NULL. The
// rules are those of overlaps_timestamp in PostgreSQL's timestamp.c.
func overlap(a []types.Datum) types.Datum {
	for _, i := range []int{0, 2} {
		begin, end := &a[i], &a[i+1]
		switch {
		case begin.IsNull() && end.IsNull():
			return types.Null
		case begin.IsNull(), !end.IsNull() && begin.I > end.I:
			*begin, *end = *end, *begin
		}
	}
	first, second := a[:2], a[2:]
	if first[0].I == second[0].I {
		if first[1].IsNull() || second[1].IsNull() {
			return types.Null
		}
		return types.NewBool(true)
	}
	if first[0].I > second[0].I {
		first, second = second, first
	}
	switch {
	case first[1].IsNull():
		return types.Null
	case second[0].I < first[1].I:
		return types.NewBool(true)
	case second[1].IsNull():
		return types.Null
	}
	return types.NewBool(false)
}

package funcs

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// OVERLAPS, and zones that are given by an interval (PostgreSQL 15, sections 9.9 and 9.9.4).
func init() {
	for _, t := range []types.OID{types.Time, types.Timestamp, types.TimestampTZ} {
		for _, spans := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			args := []types.OID{t, t, t, t}
			for i, span := range spans {
				if span {
					args[2*i+1] = types.Interval
				}
			}
			f := timeFamily.function("overlaps", types.Bool,
				func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
					a = append([]types.Datum{}, a...)
					for i, span := range spans {
						if begin, by := a[2*i], &a[2*i+1]; span && begin.IsNull() {
							*by = types.Null
						} else if span && !by.IsNull() {
							end := types.AddSpan(begin.I, by.Span(), types.LocationFor(t, env.Types))
							if t == types.Time {
								const day = 86400e6
								end = ((begin.I+by.Span().Micros)%day + day) % day
							}
							*by = types.Datum{K: begin.K, I: end}
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
		timeFamily.function("timezone", to.ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			zone := a[0].Span()
			if zone.Months != 0 || zone.Days != 0 {
				text, err := env.TextOf(a[0], types.Interval)
				if err != nil {
					return types.Null, err
				}
				return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
					"interval time zone %q must not include months or days", text)
			}
			if types.Infinite(a[1]) {
				return a[1], nil
			}
			return types.NewTime(a[1].I + to.sign*zone.Micros), nil
		}, types.Interval, to.arg)
	}
}

// overlap says whether two spans of time overlap, given by their ends in any order. One end of each may be NULL. The
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

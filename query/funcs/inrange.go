package funcs

import (
	"math"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/types"
)

// InRange returns the comparison of a RANGE frame with an offset. offset is the type of the offset for a column of that
// type, 0 if there is none. given is the type of the offset as written, types.Unknown for a literal.
func InRange(column, given types.OID) (offset types.OID, in window.InRange) {
	switch column {
	case types.Int2, types.Int4, types.Int8:
		switch given {
		case types.Int2, types.Int4, types.Int8:
			return given, intRange
		case types.Unknown:
			return column, intRange
		}
	case types.Numeric:
		switch given {
		case types.Int2, types.Int4, types.Int8, types.Numeric, types.Unknown:
			return types.Numeric, numericRange
		}
	case types.Float4, types.Float8:
		if types.IsNumber(given) || given == types.Unknown {
			return types.Float8, floatRange
		}
	case types.Date, types.Timestamp, types.TimestampTZ, types.Interval, types.Time, types.TimeTZ:
		if given == types.Interval || given == types.Unknown {
			return types.Interval, timeRange(column)
		}
	}
	return 0, nil
}

func between(c int, less bool) bool {
	if less {
		return c <= 0
	}
	return c >= 0
}

func intRange(_ *exec.Env, value, base, offset types.Datum, sub, less bool) (bool, error) {
	if offset.I < 0 {
		return false, window.ErrFrameSize
	}
	sum := base.I + offset.I
	overflow := sum < base.I
	if sub {
		sum = base.I - offset.I
		overflow = sum > base.I
	}
	if overflow {
		return sub != less, nil
	}
	return less && value.I <= sum || !less && value.I >= sum, nil
}

func numericRange(_ *exec.Env, value, base, offset types.Datum, sub, less bool) (bool, error) {
	v, b, o := value.Decimal(), base.Decimal(), offset.Decimal()
	if o.IsNaN() || o.Sign() < 0 {
		return false, window.ErrFrameSize
	}
	switch {
	case v.IsNaN() || b.IsNaN():
		return between(v.Cmp(b), less), nil
	case !o.IsFinite() && !b.IsFinite() && (b.Sign() > 0) == sub:
		return true, nil // infinity - infinity; as in_range of PostgreSQL decides
	}
	if sub {
		o = o.Neg()
	}
	return between(v.Cmp(b.Add(o)), less), nil
}

func floatRange(_ *exec.Env, value, base, offset types.Datum, sub, less bool) (bool, error) {
	v, b, o := value.Float(), base.Float(), offset.Float()
	if math.IsNaN(o) || o < 0 {
		return false, window.ErrFrameSize
	}
	switch {
	case math.IsNaN(v):
		return math.IsNaN(b) || !less, nil
	case math.IsNaN(b):
		return less, nil
	case math.IsInf(o, 0) && math.IsInf(b, 0) && (b > 0) == sub:
		return true, nil
	}
	if sub {
		o = -o
	}
	return less && v <= b+o || !less && v >= b+o, nil
}

// timeRange compares values of a type using an interval as offset.
func timeRange(column types.OID) window.InRange {
	return func(env *exec.Env, value, base, offset types.Datum, sub, less bool) (bool, error) {
		span := offset.Span()
		if span.Cmp(types.Span{}) < 0 {
			return false, window.ErrFrameSize
		}
		if sub {
			var err error
			if span, err = span.Neg(); err != nil {
				return false, err
			}
		}
		switch column {
		case types.Interval:
			sum, err := base.Span().Add(span)
			return err == nil && between(value.Span().Cmp(sum), less), err
		case types.Time:
			sum := base.I + span.Micros
			return less && value.I <= sum || !less && value.I >= sum, nil
		case types.TimeTZ:
			// The zone decides between equal moments: a sum keeps the zone of its base.
			us, offset := base.ZonedClock()
			sum := types.NewZonedClock(us+span.Micros, offset)
			return less && value.I <= sum.I || !less && value.I >= sum.I, nil
		}
		at := func(d types.Datum) (int64, error) {
			if d.K == types.KDate {
				return types.DateMoment(d.I)
			}
			return d.I, nil
		}
		v, err := at(value)
		if err != nil {
			return false, err
		}
		sum, err := at(base)
		if err == nil {
			sum, err = datetime.AddSpan(sum, span, types.LocationFor(column, env.Types))
		}
		return err == nil && (less && v <= sum || !less && v >= sum), err
	}
}

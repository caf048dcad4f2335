package datetime

import (
	"cmp"
	"math"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Span is an interval.
type Span struct {
	Months, Days int32
	Micros       int64
}

// Cmp compares intervals as PostgreSQL does, with months of 30 days.
func (s Span) Cmp(o Span) int {
	days, micros := s.Total()
	otherDays, otherMicros := o.Total()
	if days != otherDays {
		return cmp.Compare(days, otherDays)
	}
	return cmp.Compare(micros, otherMicros)
}

// Total returns an interval as days, with months of 30 days, and a rest of less than a day in microseconds.
func (s Span) Total() (days, micros int64) {
	more := FloorDiv(s.Micros, Day)
	return int64(s.Months)*30 + int64(s.Days) + more, s.Micros - more*Day
}

var errSpan = errRange("interval")

// Neg returns -s.
func (s Span) Neg() (Span, error) { return Span{}.Sub(s) }

// Add returns s + o.
func (s Span) Add(o Span) (Span, error) {
	months, days, micros := int64(s.Months)+int64(o.Months), int64(s.Days)+int64(o.Days), s.Micros+o.Micros
	if int64(int32(months)) != months || int64(int32(days)) != days || (micros > s.Micros) != (o.Micros > 0) {
		return Span{}, errSpan
	}
	return Span{Months: int32(months), Days: int32(days), Micros: micros}, nil
}

// Sub returns s - o.
func (s Span) Sub(o Span) (Span, error) {
	months, days, micros := int64(s.Months)-int64(o.Months), int64(s.Days)-int64(o.Days), s.Micros-o.Micros
	if int64(int32(months)) != months || int64(int32(days)) != days || (micros < s.Micros) != (o.Micros > 0) {
		return Span{}, errSpan
	}
	return Span{Months: int32(months), Days: int32(days), Micros: micros}, nil
}

// AddSpan adds an interval to a moment: first months by the calendar of a place, clipped to the month's length, then
// days, then time.
func AddSpan(moment int64, s Span, place *time.Location) (int64, error) {
	if IsInfinite(moment) {
		return moment, nil
	}
	step := func(move func(y, m, d int) int64) error {
		wall := WallClock(moment, place)
		days := FloorDiv(wall, Day)
		to := move(DateOf(days))
		if to < minDays || to > endMoment/Day {
			return errRange("timestamp")
		}
		if moment = Instant(to*Day+wall-days*Day, place); !ValidMoment(moment) {
			return errRange("timestamp")
		}
		return nil
	}
	if s.Months != 0 {
		if err := step(func(y, m, d int) int64 {
			first := time.Date(y, time.Month(m)+time.Month(s.Months), 1, 0, 0, 0, 0, time.UTC)
			y, m = first.Year(), int(first.Month())
			return DaysOf(y, m, min(d, daysIn(y, m)))
		}); err != nil {
			return 0, err
		}
	}
	if s.Days != 0 {
		if err := step(func(y, m, d int) int64 { return DaysOf(y, m, d) + int64(s.Days) }); err != nil {
			return 0, err
		}
	}
	sum := moment + s.Micros
	if (sum > moment) != (s.Micros > 0) || !ValidMoment(sum) || IsInfinite(sum) {
		return 0, errRange("timestamp")
	}
	return sum, nil
}

// SubtractMoments returns the interval between two moments. An infinite moment is an error.
func SubtractMoments(a, b int64) (Span, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return Span{}, sqlstate.New(sqlstate.DatetimeOverflow, "cannot subtract infinite timestamps")
	}
	d := a - b
	if (d < a) != (b > 0) {
		return Span{}, errSpan
	}
	return Span{Days: int32(d / Day), Micros: d % Day}, nil
}

// SubtractDates returns the number of days between two dates. An infinite date is an error.
func SubtractDates(a, b int64) (int64, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return 0, sqlstate.New(sqlstate.DatetimeOverflow, "cannot subtract infinite dates")
	}
	return a - b, nil
}

// Scale multiplies an interval. Fractions of months become days, fractions of days become time (interval_mul).
func (s Span) Scale(f float64) (Span, error) {
	return s.times(func(x float64) float64 { return x * f })
}

// Divide divides an interval in the same way (interval_div).
func (s Span) Divide(f float64) (Span, error) {
	return s.times(func(x float64) float64 { return x / f })
}

func (s Span) times(f func(float64) float64) (Span, error) {
	const day = 86400.0
	round := func(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
	months, days := f(float64(s.Months)), f(float64(s.Days))
	if !(math.Abs(months) < math.MaxInt32 && math.Abs(days) < math.MaxInt32) {
		return Span{}, errSpan
	}
	out := Span{Months: int32(months), Days: int32(days)}
	rest := round((months - float64(out.Months)) * 30)
	secs := round((days - float64(out.Days) + rest - math.Trunc(rest)) * day)
	if math.Abs(secs) >= day {
		out.Days += int32(secs / day)
		secs -= math.Trunc(secs/day) * day
	}
	out.Days += int32(rest)
	micros := math.RoundToEven(f(float64(s.Micros)) + secs*1e6)
	if !(micros >= math.MinInt64 && micros < math.MaxInt64) {
		return Span{}, errSpan
	}
	out.Micros = int64(micros)
	return out, nil
}

package types

import (
	"math"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Span is an interval.
type Span struct {
	Months, Days int32
	Micros       int64
}

// Cmp orders intervals with months of 30 days, as PostgreSQL does.
func (s Span) Cmp(o Span) int {
	a, b := s.total(), o.total()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (s Span) total() float64 {
	return (float64(s.Months)*30+float64(s.Days))*86400e6 + float64(s.Micros)
}

// Neg returns -s.
func (s Span) Neg() Span { return Span{-s.Months, -s.Days, -s.Micros} }

// AddSpan adds an interval to a moment: months by the calendar, clipped to the month's length, then days, then time.
func AddSpan(micros int64, s Span, loc *time.Location) int64 {
	if infinite(micros) {
		return micros
	}
	if s.Months == 0 && s.Days == 0 {
		return micros + s.Micros
	}
	// On the wall clock, which is taken for one of UTC.
	_, off := time.UnixMicro(micros).In(loc).Zone()
	t := time.UnixMicro(micros + int64(off)*1e6).UTC()
	if s.Months != 0 {
		first := time.Date(t.Year(), t.Month()+time.Month(s.Months), 1, t.Hour(), t.Minute(), t.Second(),
			t.Nanosecond(),
			time.UTC)
		last := time.Date(first.Year(), first.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		t = first.AddDate(0, 0, min(t.Day(), last)-1)
	}
	return instant(t.AddDate(0, 0, int(s.Days)).UnixMicro(), loc) + s.Micros
}

// SubtractTimes is the interval between two timestamps, an error where one is infinite.
func SubtractTimes(a, b int64) (Span, error) {
	if infinite(a) || infinite(b) {
		return Span{}, sqlstate.New("22008", "cannot subtract infinite timestamps")
	}
	d := a - b
	return Span{Days: int32(d / 86400e6), Micros: d % 86400e6}, nil
}

// SubtractDates is the number of days between two dates, an error where one is infinite.
func SubtractDates(a, b int64) (int64, error) {
	if infinite(a) || infinite(b) {
		return 0, sqlstate.New("22008", "cannot subtract infinite dates")
	}
	return a - b, nil
}

// Scale multiplies an interval; fractions of months become days, fractions of days become time (interval_mul).
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
	bad := sqlstate.New("22008", "interval out of range")
	months, days := f(float64(s.Months)), f(float64(s.Days))
	if !(math.Abs(months) < math.MaxInt32 && math.Abs(days) < math.MaxInt32) {
		return Span{}, bad
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
		return Span{}, bad
	}
	out.Micros = int64(micros)
	return out, nil
}

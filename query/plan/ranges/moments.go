package ranges

import (
	"fmt"
	"math"
	"time"

	"github.com/divandb/divan/query/types"
)

// Texts that are cast to dates and times are not sorted by time: there are many ways to write one. But a text that
// begins with four digits and a dash can only be a moment of that year, and one that begins like 2024-01-05 only one of
// that day, in some time zone. So a range of moments leaves out the strings with such beginnings that lie outside.

const (
	// yearsBefore and yearsAfter are how many years outside of a range are left out. Others are rare in data, and each
	// makes one range more.
	yearsBefore, yearsAfter = 30, 5
	// zones is more than time zones, and an hour 24, can move a moment.
	zones = 3 * 24 * time.Hour
)

// Since returns the JSON values whose text may be cast to a moment or a later one. A text can be before the first year
// and begin like any other, so those up to a moment are not a range.
func Since(d types.Datum) Intervals { return momentsOf(Interval{Limit{Val: d}, None}) }

// momentsOf returns the JSON values whose text may be cast to a moment of an interval.
func momentsOf(iv Interval) Intervals {
	from, ok := momentOf(iv.Low)
	if !ok || from.Year() < 1 {
		return Everything() // a text that ends with BC begins like others
	}
	from = from.Add(-zones)
	outside := earlier(from)
	if to, ok := momentOf(iv.High); ok && to.After(from) {
		outside = append(outside, later(to.Add(zones))...)
	}
	// They are in the order of views as well.
	var set Intervals
	low := None
	for _, text := range outside {
		if high := (Limit{Val: Text(text), Open: true}); low.Inf || low.Val.S != high.Val.S {
			set = append(set, Interval{low, high})
		}
		low = Limit{Val: Text(successor(text))}
	}
	return append(set, Interval{low, Below(AtArrays)})
}

// momentOf returns a bound; false if there is none, or none that a year with four digits can have.
func momentOf(l Limit) (time.Time, bool) {
	var t time.Time
	switch {
	case l.Inf || l.Val.I == math.MinInt64 || l.Val.I == math.MaxInt64:
		return t, false
	case l.Val.K == types.KDate:
		if l.Val.I < -800_000 || l.Val.I > 3_000_000 {
			return t, false
		}
		t = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(l.Val.I))
	case l.Val.K == types.KTime:
		t = time.Unix(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()+l.Val.I/1_000_000, 0).UTC()
	default:
		return t, false
	}
	return t, t.Year() > 0 && t.Year()+yearsAfter < 9999
}

// earlier returns the beginnings of years, months and days before a day, in order.
func earlier(day time.Time) (list []string) {
	for y := max(1, day.Year()-yearsBefore); y < day.Year(); y++ {
		list = append(list, fmt.Sprintf("%04d-", y))
	}
	for m := 1; m < int(day.Month()); m++ {
		list = append(list, fmt.Sprintf("%04d-%02d-", day.Year(), m))
	}
	for d := 1; d < day.Day(); d++ {
		list = append(list, fmt.Sprintf("%04d-%02d-%02d", day.Year(), day.Month(), d))
	}
	return list
}

// later returns the beginnings of days, months and years after a day, in order.
func later(day time.Time) (list []string) {
	for d := day.Day() + 1; d <= 31; d++ {
		list = append(list, fmt.Sprintf("%04d-%02d-%02d", day.Year(), day.Month(), d))
	}
	for m := int(day.Month()) + 1; m <= 12; m++ {
		list = append(list, fmt.Sprintf("%04d-%02d-", day.Year(), m))
	}
	for y := day.Year() + 1; y <= day.Year()+yearsAfter; y++ {
		list = append(list, fmt.Sprintf("%04d-", y))
	}
	return list
}

package datetime_test

import (
	"math"
	"testing"
	"time"

	"github.com/divandb/divan/query/datetime"
)

// TestReader_Moment reads texts with orders and zones that the corpus of package query does not use.
func TestReader_Moment(t *testing.T) {
	oslo := place(t, "Europe/Oslo")
	for _, c := range []struct {
		text  string
		order datetime.Order
		place *time.Location
		want  string
	}{
		{"1/2/2024", datetime.MDY, time.UTC, "2024-01-02 00:00:00"},
		{"1/2/2024", datetime.DMY, time.UTC, "2024-02-01 00:00:00"},
		{"24/2/1", datetime.YMD, time.UTC, "2024-02-01 00:00:00"},
		{"2024-07-01 10:00", "", oslo, "2024-07-01 08:00:00"},
		// this time does not exist: read as if the clocks had not been changed
		{"2024-03-31 02:30", "", oslo, "2024-03-31 01:30:00"},
		{"2024-10-27 02:30", "", oslo, "2024-10-27 01:30:00"}, // this time exists twice: the later one
		{"2024-07-01 10:00 -03:30", "", oslo, "2024-07-01 13:30:00"},
		{"tomorrow 04:05", "", oslo, "2024-05-02 02:05:00"}, // relative to now, which is the next day in Oslo
		{"4714-11-24 BC", "", time.UTC, "4714-11-24 00:00:00 BC"},
		{"-infinity", "", oslo, "-infinity"},
	} {
		r := datetime.Reader{Place: c.place, Order: c.order, Now: time.Date(2024, 4, 30, 23, 0, 0, 0, time.UTC),
			Type: "timestamp"}
		m, err := r.Moment(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := string(datetime.AppendMoment(nil, m.Moment(true), ' ', nil)); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	l, ok := datetime.FindPlace(name)
	if !ok {
		t.Fatalf("no zone %s", name)
	}
	return l
}

// TestFindPlace_POSIX checks offsets of zones in POSIX's form, in winter and in summer.
func TestFindPlace_POSIX(t *testing.T) {
	for _, c := range []struct {
		name           string
		winter, summer int
	}{
		{"UTC+5", -5 * 3600, -5 * 3600},
		{"-03:30", 12600, 12600},
		{"<+0330>-03:30:15", 12615, 12615},
		{"EST5EDT4,M3.2.0,M11.1.0", -5 * 3600, -4 * 3600},
		{"FOO5BAR", -5 * 3600, -4 * 3600},
		{"AAA-10BBB,M10.1.0,M4.1.0/3", 11 * 3600, 10 * 3600}, // southern hemisphere
	} {
		l := place(t, c.name)
		for month, want := range map[time.Month]int{time.January: c.winter, time.July: c.summer} {
			if _, off := time.Date(2024, month, 15, 0, 0, 0, 0, time.UTC).In(l).Zone(); off != want {
				t.Errorf("%s in %s: %d, want %d", c.name, month, off, want)
			}
		}
	}
	for _, name := range []string{"", "FOO", "FOO5BAR,x", "FOO200", "/etc/passwd", "../zoneinfo/UTC", "local"} {
		if l, ok := datetime.FindPlace(name); ok {
			t.Errorf("%q is %v", name, l)
		}
	}
}

// TestAddSpan_Range checks that sums at the ends of the calendar are accepted and sums beyond them are refused.
func TestAddSpan_Range(t *testing.T) {
	first, last := datetime.DaysOf(-4713, 11, 24)*datetime.Day, datetime.DaysOf(294277, 1, 1)*datetime.Day-1
	for _, c := range []struct {
		at   int64
		by   datetime.Span
		fine bool
	}{
		{last - 1, datetime.Span{Micros: 1}, true},
		{last, datetime.Span{Micros: 1}, false},
		{last, datetime.Span{Days: math.MaxInt32}, false},
		{last, datetime.Span{Months: math.MaxInt32}, false},
		{first, datetime.Span{Days: -1}, false},
		{first, datetime.Span{Micros: math.MinInt64}, false},
		{first + datetime.Day, datetime.Span{Days: -1}, true},
		{datetime.Infinity, datetime.Span{Days: -1}, true},
	} {
		got, err := datetime.AddSpan(c.at, c.by, time.UTC)
		if (err == nil) != c.fine || err == nil && !datetime.ValidMoment(got) {
			t.Errorf("%d + %+v: %d, %v", c.at, c.by, got, err)
		}
	}
}

// FuzzRead checks that no text makes a reader panic, and that a value that was read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"2024-01-02 03:04:05+06", "J2451187.5", "y2024m1d2t040506-07", "P1Y2M3DT4H5M6S",
		"1-2 3 -4:5",
		"@ 1 year -2 mons ago", "040506 PST", "Jan-08-99 allballs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := datetime.Reader{Place: time.UTC, Now: time.Unix(0, 0), Type: "timestamp"}
		if m, err := r.Moment(s); err == nil && datetime.ValidMoment(m.Moment(true)) &&
			m.Days < math.MaxInt64/datetime.Day {
			text := string(datetime.AppendMoment(nil, m.Moment(true), ' ', nil))
			again, err := r.Moment(text)
			if err != nil || again.Moment(true) != m.Moment(true) {
				t.Errorf("%q is %s, which is %v, %v", s, text, again, err)
			}
		}
		if c, err := r.Clock(s); err == nil && (c.Micros < 0 || c.Micros > datetime.Day) {
			t.Errorf("%q is %d", s, c.Micros)
		}
		for _, style := range []datetime.Style{datetime.StylePostgres, datetime.StyleVerbose, datetime.StyleISO} {
			span, err := datetime.ParseInterval(s, style, datetime.Fields{})
			if err != nil {
				continue
			}
			text := string(datetime.AppendInterval(nil, span, style))
			if again, err := datetime.ParseInterval(text, style, datetime.Fields{}); err != nil || again != span {
				t.Errorf("%q is %s in style %s, which is %+v, %v", s, text, style, again, err)
			}
		}
	})
}

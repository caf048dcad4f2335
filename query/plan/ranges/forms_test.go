package ranges

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/query/types"
)

// TestCommonPrefix checks that strings between two texts by their bytes lie between the bounds by collation.
func TestCommonPrefix(t *testing.T) {
	for i := range len(asciiOrder) - 1 {
		a, b := Text(asciiOrder[i:i+1]), Text(asciiOrder[i+1:i+2])
		if c, err := types.CompareJSON(a.S, b.S); err != nil || c >= 0 {
			t.Errorf("%s does not sort before %s: %v", a.S, b.S, err)
		}
	}
	char := rapid.OneOf(rapid.RuneFrom([]rune("abzABZ019 -_~:.\"")), rapid.RuneFrom([]rune(
		"\u0000\u0001\u0301\u0338\u00b7\u0387\u00ad\u200d\uffff\ufffe\ufff0\U0010ffffßéＡ１ǅทเ가")), rapid.Rune())
	text := rapid.StringOfN(char, 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringOfN(rapid.RuneFrom([]rune("abzABZ019 -_~:.\"é")), 0, 4, -1).Draw(t, "prefix")
		low, high, x := prefix+text.Draw(t, "low"), prefix+text.Draw(t, "high"), prefix+text.Draw(t, "text")
		if high < low {
			low, high = high, low
		}
		open := rapid.Bool().Draw(t, "open")
		if x < low || x > high || x == high && open {
			x = low
		}
		if x == high && open {
			return
		}
		from, to := Limit{Val: types.NewText(low)}, Limit{Val: types.NewText(high), Open: open}
		set := Intervals{stringsOf(Interval{from, to})}
		if set.Intersect(Intervals{Point(Text(x))}) == nil {
			t.Fatalf("%q is between %q and %q, but not in %v", x, low, high, set)
		}
	})
}

// TestRegexPrefix checks which patterns have a prefix.
func TestRegexPrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"^abc": "abc", "^abc$": "abc", "^ab*": "a", "^ab?c": "a", "^ab{0}": "a", "^ab+": "ab", "abc": "", "^(a)": "",
		"^a|b": "", `^a\.b`: "a", "^a.b": "a", "^": "", "": "", "^é*": "", "^aé*": "a", "^[a]": "", "***=^a": "", "(?i)^a": "",
	} {
		if got := regexPrefix(pattern); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

// A text whose cast to a moment lies in an interval is one of the interval's values, unless it is in an unlikely form.
func TestMoments(t *testing.T) {
	env := &types.Env{Location: time.FixedZone("", -12*3600)}
	day := rapid.Int64Range(-100_000, 100_000)
	rapid.Check(t, func(rt *rapid.T) {
		from, length := day.Draw(rt, "from"), rapid.Int64Range(0, 800).Draw(rt, "length")
		iv := Interval{Limit{Val: types.NewDate(from)}, Limit{Val: types.NewDate(from + length)}}
		if rapid.IntRange(0, 3).Draw(rt, "open") == 0 {
			iv.High = None
		}
		set := Form{Kind: asMoment, typ: types.Date}.values(Intervals{iv})
		at := time.Date(2000, 1, 1, rapid.IntRange(0, 24).Draw(rt, "hour"), 0, 0, 0, time.UTC).AddDate(0, 0,
			int(from+rapid.Int64Range(-5, length+5).Draw(rt, "at")))
		text := at.Format(rapid.SampledFrom([]string{time.DateOnly, time.RFC3339, "2006-01-02T15:04-07", "20060102",
			"01/02/2006", "Jan 2 2006", "2006-1-2", "2006-01-02 15:04", " 2006-01-02", "2006-Jan-02", "2006-01-02 BC",
			"2006-002"}).Draw(rt, "format")) + rapid.SampledFrom([]string{"", "", "+15:59", "-15:59", " AD"}).Draw(rt, "suffix")
		for _, typ := range []types.OID{types.Date, types.Timestamp, types.TimestampTZ} {
			d, err := types.Cast(types.NewText(text), types.Text, typ, -1, env)
			if err != nil {
				continue
			}
			if d, err = types.Cast(d, typ, types.Date, -1, env); err != nil {
				continue
			}
			in := (Intervals{iv}).Contain(d)
			if in && !set.Contain(Text(text)) {
				rt.Fatalf("%s is %v as type %d, which is in %v, but not in %v", text, d, typ, iv, set)
			}
			// Common forms far outside are left out.
			if off := d.I - from; len(text) >= 10 && text[4] == '-' && text[7] == '-' && off < -10 && off > -365*29 &&
				from > -700_000 && set.Contain(Text(text)) {
				rt.Fatalf("%s is long before %v", text, iv)
			}
		}
	})
}

package ranges

import (
	"testing"

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

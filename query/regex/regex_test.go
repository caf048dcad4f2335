package regex_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/regex"
)

func never(int) error { return nil }

// PostgreSQL's rules for what parts match, one by one. oracle_test.go compares them with PostgreSQL.
func TestRegexp_Find(t *testing.T) {
	for _, c := range []struct {
		why, pattern, text string
		want               []int
	}{
		{"the longest branch", `a|ab|abc`, "xabcd", []int{1, 4}},
		{"the shortest of all", `a+?`, "aaa", []int{0, 1}},
		{"the first quantifier prevails", `Y*?([0-9]{1,3})`, "XY1234Z", []int{1, 3, 2, 3}},
		{"a group takes as much as leaves a match", `(a|ab)(c|bcd)(d*)`, "abcd", []int{0, 4, 0, 2, 2, 3, 3, 4}},
		{"the last time counts", `(a|b)*`, "abab", []int{0, 4, 3, 4}},
		{"a reference", `(a*)b\1`, "aabaa", []int{0, 5, 0, 2}},
		{"a shorter one where the reference does not hold", `(a*)\1c`, "aaac", []int{1, 4, 1, 2}},
		{"looking ahead", `foo(?=bar)`, "foo foobar", []int{4, 7}},
		{"looking behind", `(?<!a)b`, "abb", []int{2, 3}},
		{"words have all letters", `\mb`, "éb b", []int{4, 5}},
	} {
		re, err := regex.Compile(c.pattern, regex.Flags{})
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got, err := re.Find(c.text, 0, never)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s in %q is %v (%v), want %v", c.why, c.pattern, c.text, got, err, c.want)
		}
	}
}

// The text before the start of a search still counts as context.
func TestRegexp_Find_from(t *testing.T) {
	for pattern, want := range map[string][]int{`^a`: nil, `\ma`: nil, `a$`: {1, 2}, `(?<=a)a`: {1, 2}} {
		re, err := regex.Compile(pattern, regex.Flags{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := re.Find("aa", 1, never); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v (%v), want %v", pattern, got, err, want)
		}
	}
}

func TestCompile_TooBig(t *testing.T) {
	for _, pattern := range []string{
		`(((a{100}){100}){100})`, `((((((a{9}){9}){9}){9}){9}){9})*`,
		strings.Repeat("(", 100_000), strings.Repeat("(", 40) + "a" + strings.Repeat(")+", 40),
		"(a)" + strings.Repeat(`(\1\2`, 3),
	} {
		if _, err := regex.Compile(pattern, regex.Flags{}); err == nil {
			t.Errorf("%.40s compiles", pattern)
		}
	}
}

// Patterns that take exponential time in backtracking engines take little work here, or can be cancelled.
func TestRegexp_Bombs(t *testing.T) {
	text := strings.Repeat("a", 20_001) + "c"
	enough := errors.New("enough")
	for _, c := range []struct {
		pattern string
		ends    bool // without being cancelled
	}{
		{`(a*)*b`, true}, {`(a|a)*b`, true}, {`((a+)+)+$b`, true}, {`(a|aa)+d`, true}, {`(.*)(.*)(.*)(.*)(.*)[^ac]`,
			true},
		{`^(a+)(a+)(a+)\1\2\3c`, false}, {`^((a+)(a+))*\1\2\1c`, false},
	} {
		re, err := regex.Compile(c.pattern, regex.Flags{})
		if err != nil {
			t.Fatal(err)
		}
		work := 0
		_, err = re.Match(text, func(n int) error {
			if work += n; work > 2_000_000 {
				return enough
			}
			return nil
		})
		if c.ends && err != nil || !c.ends && !errors.Is(err, enough) {
			t.Errorf("%s ends with %v after %d", c.pattern, err, work)
		}
	}
}

// Where the text of a group is known, a reference to it is not searched for.
func TestRegexp_References(t *testing.T) {
	for _, c := range []struct{ pattern, text, first string }{
		{`(a+)\1$`, strings.Repeat("a", 3000), strings.Repeat("a", 1500)},
		{`^(11+)\1+$`, strings.Repeat("1", 2*499), strings.Repeat("1", 499)},
		{`^(11+?)\1+$`, strings.Repeat("1", 997), ""},
		{`^(11+)\1+$`, strings.Repeat("1", 997), ""},
	} {
		re, err := regex.Compile(c.pattern, regex.Flags{})
		if err != nil {
			t.Fatal(err)
		}
		work := 0
		found, err := re.Find(c.text, 0, func(n int) error {
			work += n
			return nil
		})
		if err != nil || (found != nil) != (c.first != "") || found != nil && c.text[found[2]:found[3]] != c.first {
			t.Errorf("%s finds %v, %v", c.pattern, found, err)
		}
		if work > 20_000_000 {
			t.Errorf("%s takes %d steps", c.pattern, work)
		}
	}
}

// A machine that drops its states while it creates one goes on.
func TestRegexp_DroppedStates(t *testing.T) {
	re, err := regex.Compile(`^(a?){50}(a*)\2\1$`, regex.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := re.Find(strings.Repeat("a", 100), 0, never)
	if err != nil || len(found) != 6 || found[2] != found[3] || found[5]-found[4] != 26 {
		t.Errorf("found %v, %v", found, err)
	}
}

// This pattern has very many states, of which only a few are kept.
func TestRegexp_ManyStates(t *testing.T) {
	re, err := regex.Compile(`[ab]*a[ab]{60}c`, regex.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for i := range 3000 {
		text += string("ab"[i*i%7%2])
	}
	if found, err := re.Match(text+"ac", never); err != nil || found != (text[len(text)-60] == 'a') {
		t.Errorf("it matches: %v %v", found, err)
	}
}

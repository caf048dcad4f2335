package collate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/divandb/divan/layer/collate"
)

// ascending is CouchDB's documented example order, with edge cases between and within kinds, smallest first. Keys on
// one line are equal.
var ascending = [][]string{
	{`null`, ` null `},
	{`false`},
	{`true`},
	{`-1e400`, `-10e399`},
	{`-1e308`},
	{`-9007199254740993`},
	{`-9007199254740992`, `-9007199254740993.0`},
	{`-2`, `-2.0`, `-20e-1`},
	{`-1.5`},
	{`-1`},
	{`-5e-324`},
	{`0`, `-0`, `0.0`, `-0.0`, `0e7`, `1e-400`},
	{`5e-324`},
	{`0.1`, `0.1000000000000000055`},
	{`1`, `1.0`, `1e0`, `10E-1`},
	{`1.5`},
	{`2`},
	{`3.0`},
	{`4`},
	{`255`},
	{`256`},
	{`65536`},
	{`999999999999999`},
	{`1000000000000000`},
	{`9007199254740991`},
	{`9007199254740992`, `9007199254740992.0`, `9007199254740993.0`},
	{`9007199254740993`},
	{`9007199254740994`},
	{`9007199254740995`},
	{`9007199254740996`, `9007199254740995.0e0`},
	{`18446744073709551615`},
	{`18446744073709551616`, `18446744073709551616.0`},
	{`18446744073709551617`},
	{`1e300`},
	{maxDouble, `1.7976931348623157e308`},
	{maxDouble[:len(maxDouble)-1] + `9`},
	{`1.7976931348623159e308`},
	{`1e400`, `10e399`, `0.1e401`, `1` + zeros(400)},
	{`1` + zeros(399) + `1`},
	{`1.1e400`},
	{`1e401`},
	{`""`},
	{`"a"`, `"\u0061"`},
	{`"A"`},
	{`"aa"`},
	{`"b"`},
	{`"B"`},
	{`"ba"`},
	{`"bb"`},
	{`[]`, ` [ ] `},
	{`[null]`},
	{`[1]`},
	{`["a"]`},
	{`["b"]`},
	{`["b","c"]`},
	{`["b","c","a"]`, `[ "b" , "c" , "a" ]`},
	{`["b","d"]`},
	{`["b","d","e"]`},
	{`[[]]`},
	{`[[],null]`},
	{`[[null]]`},
	{`[{}]`},
	{`{}`},
	{`{"a":1}`, `{"a":7,"a":1}`},
	{`{"a":2}`, `{"a":2.0}`, `{ "a" : 2 }`},
	{`{"b":1}`},
	{`{"b":2}`, `{"b":1,"b":2}`},
	{`{"b":2,"a":1}`, `{"a":1,"b":2,"a":1}`},
	{`{"b":2,"c":2}`},
	{`{"c":[]}`},
}

// maxDouble is the largest double as an integer.
var maxDouble = new(big.Float).SetFloat64(math.MaxFloat64).Text('f', 0)

func zeros(n int) string { return strings.Repeat("0", n) }

func TestAppendKey_Order(t *testing.T) {
	for i, as := range ascending {
		for j, bs := range ascending {
			for _, a := range as {
				for _, b := range bs {
					want := 0
					if i != j {
						want = map[bool]int{true: -1, false: 1}[i < j]
					}
					if got := bytes.Compare(key(t, a), key(t, b)); got != want {
						t.Errorf("key(%.40s) against key(%.40s): %d, want %d", a, b, got, want)
					}
					if got, err := collate.Compare([]byte(a), []byte(b)); err != nil || got != want {
						t.Errorf("Compare(%.40s, %.40s) = %d, %v, want %d", a, b, got, err, want)
					}
				}
			}
		}
	}
}

// TestAppendRawKey_Order checks Erlang's term order of CouchDB's decoded JSON.
func TestAppendRawKey_Order(t *testing.T) {
	order := []string{
		`-1e400`, `-3`, `-2.5`, `0`, `1`, `1.5`, `9007199254740993`, `false`, `null`, `true`,
		`{}`, `{"a":1}`, `{"a":null}`, `{"a":1,"b":1}`, `{"b":0}`,
		`[]`, `[1]`, `[1,2]`, `[2]`, `[null]`, `[[]]`, `["a"]`,
		`""`, `"\u0000"`, `"\u0001"`, `"A"`, `"A\u0000"`, `"A\u0001"`, `"AB"`, `"B"`, `"a"`, `"é"`, `"𐀀"`,
	}
	// Objects are compared by members before size, so {"a":1,"b":1} sorts after {"a":1} but before {"a":null}.
	order[12], order[13] = order[13], order[12]
	for i, a := range order {
		for j, b := range order {
			got := bytes.Compare(rawKey(t, a), rawKey(t, b))
			if want := sign(i - j); got != want {
				t.Errorf("raw key(%s) against key(%s): %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestAppendKey_BadInput(t *testing.T) {
	bad := []string{
		``, ` `, `nul`, `nullx`, `null null`, `tru`, `01`, `-`, `1.`, `.5`, `1e`, `+1`, `--1`, `NaN`, `Infinity`, `"`,
		`"a`, "\"\n\"", `"\x"`, `"\u12"`,
		`"\u12g4"`, `'a'`, `[`, `[1`, `[1,`, `[1,]`, `[,]`, `[1 2]`, `]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`,
		`{"a":1,}`, `{a:1}`, `{"a" 1}`, `{1:1}`,
		`{"a":1 "b":1}`, `{"a":01}`, `[1}`, `{"a":[}]}`, "\x00",
	}
	for _, in := range bad {
		for name, f := range map[string]func(dst, json []byte) ([]byte, error){"AppendKey": collate.AppendKey,
			"AppendRawKey": collate.AppendRawKey} {
			out, err := f([]byte("kept"), []byte(in))
			if !errors.Is(err, collate.ErrSyntax) || string(out) != "kept" {
				t.Errorf("%s(%q) = %q, %v; want ErrSyntax and dst unchanged", name, in, out, err)
			}
		}
		if _, err := collate.Compare([]byte(in), []byte(in)); err == nil {
			t.Errorf("Compare(%q) of bad input has no error", in)
		}
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if _, err := collate.AppendKey(nil, []byte(deep)); !errors.Is(err, collate.ErrDepth) {
		t.Errorf("5,000 nested arrays: %v, want ErrDepth", err)
	}
	deep = strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	if _, err := collate.AppendKey(nil, []byte(deep)); !errors.Is(err, collate.ErrDepth) {
		t.Errorf("5,000 nested objects: %v, want ErrDepth", err)
	}
	if _, err := collate.AppendKey(nil, []byte("1e100001")); !errors.Is(err, collate.ErrRange) {
		t.Errorf("1e100001: %v, want ErrRange", err)
	}
}

// TestSkip checks that every key ends where Skip says, whatever follows, and that no shorter part is accepted as a
// key.
func TestSkip(t *testing.T) {
	tail := []byte{0x00, 0xFF, 0x01, 0x30}
	for _, line := range ascending {
		for _, in := range line {
			k := key(t, in)
			rest, ok := collate.Skip(append(k[:len(k):len(k)], tail...))
			if !ok || !bytes.Equal(rest, tail) {
				t.Errorf("Skip behind %.40s leaves %x, %v", in, rest, ok)
			}
			raw := rawKey(t, in)
			if rest, ok := collate.SkipRaw(append(raw[:len(raw):len(raw)], tail...)); !ok || !bytes.Equal(rest, tail) {
				t.Errorf("SkipRaw behind %.40s leaves %x, %v", in, rest, ok)
			}
			for n := range k {
				if _, ok := collate.Skip(k[:n]); ok {
					t.Errorf("Skip accepts %d of %d bytes of %.40s as a key", n, len(k), in)
				}
			}
			if k[0] <= collate.Low || k[0] >= collate.High {
				t.Errorf("%.40s does not lie between Low and High", in)
			}
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, tc := range []struct {
		key    string
		level  int
		prefix string // the array whose key, without its end, is the expected prefix
		whole  bool
	}{
		{`["a",1,[2]]`, 0, `[]`, false},
		{`["a",1,[2]]`, 1, `["a"]`, false},
		{`["a",1,[2]]`, 2, `["a",1]`, false},
		{`["a",1,[2]]`, 3, `["a",1,[2]]`, false}, // shared with ["a",1,[2],"more"]
		{`["a",1,[2]]`, 9, `["a",1,[2]]`, true},
		{`[]`, 0, `[]`, false},
		{`[]`, 1, `[]`, true},
		{`"a"`, 1, `"a"`, true},
		{`{"a":1}`, 1, `{"a":1}`, true},
	} {
		want := key(t, tc.prefix)
		if !tc.whole {
			want = want[:len(want)-1]
		}
		got, whole := collate.Prefix(key(t, tc.key), tc.level)
		if !bytes.Equal(got, want) || whole != tc.whole {
			t.Errorf("Prefix(%s, %d) = %x, %v; want %x, %v", tc.key, tc.level, got, whole, want, tc.whole)
		}
	}
}

// TestAppendKey_MatchesCompare compares the two definitions of the order with each other on random keys.
func TestAppendKey_MatchesCompare(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 5))
	for range 20_000 {
		a, b := randomKey(rng, 3), randomKey(rng, 3)
		if rng.IntN(4) == 0 {
			b = a[:len(a)-1] + a[len(a)-1:]
		}
		want, err := collate.Compare([]byte(a), []byte(b))
		if err != nil {
			t.Fatalf("Compare(%s, %s): %v (seed %d)", a, b, err, seed)
		}
		if got := bytes.Compare(key(t, a), key(t, b)); got != want {
			t.Fatalf("keys of %s and %s: %d, Compare: %d (seed %d)", a, b, got, want, seed)
		}
	}
}

// TestCompare_ASCII compares the keys of texts that differ in one ASCII character, or that one has more, with their
// order: Compare tells it from these characters alone if it can, but not if a mark follows or a later letter is
// accented.
func TestCompare_ASCII(t *testing.T) {
	quoted := func(text string) string {
		out, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	check := func(a, b string) {
		got, err := collate.Compare([]byte(quoted(a)), []byte(quoted(b)))
		if want := bytes.Compare(key(t, quoted(a)), key(t, quoted(b))); err != nil || got != want {
			t.Errorf("Compare(%q, %q): %d, %v; the order of the keys is %d", a, b, got, err, want)
		}
	}
	for r := range rune(utf8.RuneSelf) {
		for _, rest := range []string{"", "B", "\x01", "\u0301", "\u0301b", "b\u0301", "é"} {
			for s := range rune(utf8.RuneSelf) {
				check("a"+string(r)+rest, "A"+string(s)+"b")
			}
			check("a", "a"+string(r)+rest)
			check("a"+string(r), "A"+rest)
		}
	}
}

func randomKey(rng *rand.Rand, depth int) string {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch rng.IntN(n) {
	case 0:
		return []string{"null", "false", "true"}[rng.IntN(3)]
	case 1:
		return fmt.Sprint(rng.Int64() >> rng.IntN(64))
	case 2:
		return fmt.Sprint(rng.NormFloat64())
	case 3:
		digits := fmt.Sprint(rng.Uint64())
		return strings.Repeat(digits[:1], rng.IntN(40)+1) + digits
	case 4, 5:
		return randomText(rng)
	case 6:
		var b strings.Builder
		for i := range rng.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(randomKey(rng, depth-1))
		}
		return "[" + b.String() + "]"
	}
	var b strings.Builder
	for i := range rng.IntN(4) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(randomText(rng) + ":" + randomKey(rng, depth-1))
	}
	return "{" + b.String() + "}"
}

func randomText(rng *rand.Rand) string {
	letters := []string{"a", "A", "b", "é", "e", "́", "z", " ", "-", `\u0000`, `\n`, "1", "ß", "ss", "я", "中", "😀",
		`\ud83d\ude00`, `\ud800`, "￿"}
	var b strings.Builder
	for range rng.IntN(5) {
		b.WriteString(letters[rng.IntN(len(letters))])
	}
	return `"` + b.String() + `"`
}

// Numbers that count as doubles are compared as such: a scan compares one in each document.
func TestCompare_NumbersCost(t *testing.T) {
	for _, pair := range [][2]string{{`48.39046`, `89.9`}, {`12`, `89.9`}, {`-1.5e3`, `999999999999999`}} {
		a, b := []byte(pair[0]), []byte(pair[1])
		allocations := testing.AllocsPerRun(100, func() {
			if order, err := collate.Compare(a, b); order != -1 || err != nil {
				t.Fatalf("%s and %s: %d, %v", a, b, order, err)
			}
		})
		if allocations > 3 {
			t.Errorf("comparing %s with %s allocates %v times", a, b, allocations)
		}
	}
}

func FuzzAppendKey(f *testing.F) {
	for i, line := range ascending {
		f.Add([]byte(line[0]), []byte(ascending[(i+1)%len(ascending)][0]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ka, errA := collate.AppendKey(nil, a)
		kb, errB := collate.AppendKey(nil, b)
		if errA != nil || errB != nil {
			return
		}
		want, err := collate.Compare(a, b)
		if err != nil {
			t.Fatalf("keys but no order of %q and %q: %v", a, b, err)
		}
		if got := bytes.Compare(ka, kb); got != want {
			t.Fatalf("keys of %q and %q: %d, Compare: %d", a, b, got, want)
		}
		if rest, ok := collate.Skip(append(ka, kb...)); !ok || !bytes.Equal(rest, kb) {
			t.Fatalf("Skip behind the key of %q leaves %x, %v; want %x", a, rest, ok, kb)
		}
	})
}

func FuzzSkip(f *testing.F) {
	f.Add([]byte{0x40, 0x30, 0x00, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		if rest, ok := collate.Skip(b); ok && len(rest) >= len(b) {
			t.Fatalf("Skip(%x) consumed nothing", b)
		}
		collate.SkipRaw(b)
		collate.Prefix(b, 2)
	})
}

func BenchmarkAppendKey(b *testing.B) {
	for name, in := range map[string]string{
		"integer": `42`, "double": `42.46372`, "ascii": `"Sant Julia de Loria"`, "latin": `"Sant Julià de Lòria"`,
		"array": `["AD","Sant Julià de Lòria",2024]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			json := []byte(in)
			for b.Loop() {
				dst, _ = collate.AppendKey(dst[:0], json)
			}
			b.ReportMetric(float64(len(dst)), "B/key")
		})
	}
}

func key(t *testing.T, json string) []byte {
	t.Helper()
	k, err := collate.AppendKey(nil, []byte(json))
	if err != nil {
		t.Fatalf("AppendKey(%.60s): %v", json, err)
	}
	return k
}

func rawKey(t *testing.T, json string) []byte {
	t.Helper()
	k, err := collate.AppendRawKey(nil, []byte(json))
	if err != nil {
		t.Fatalf("AppendRawKey(%.60s): %v", json, err)
	}
	return k
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

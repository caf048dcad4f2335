package collate_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/divandb/divan/layer/collate"
)

func TestUnambiguous(t *testing.T) {
	for text, want := range map[string]bool{
		`"Oslo"`: true, `["NO", 12, {"a b": "~"}]`: true, `"Zürich"`: true, `"Żółw"`: true, `"Ψωμί"`: true,
		`"Москва"`: true, `"東京"`: true, `"tab\there"`: true, `"\u00e9"`: true, `"a\\b\"c"`: true, `null`: true,
		`"e\u0301"`: false, "\"e\u0301\"": false, `"a\u0001"`: false, "\"a\u200bb\"": false, `"\ud800"`: false,
		"\"a\u00adb\"": false, "\"\u212b\"": false, `"😀"`: false, `{"e\u0301": 1}`: false, `"\u0000"`: false,
	} {
		if got := collate.Unambiguous([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestUnambiguous_Characters compares the keys of all characters for which it is true.
func TestUnambiguous_Characters(t *testing.T) {
	seen := map[string]rune{}
	for r := range rune(0x10000) {
		text := quote(t, string(r))
		if !collate.Unambiguous(text) {
			continue
		}
		k := string(key(t, string(text)))
		if other, found := seen[k]; found {
			t.Errorf("U+%04X and U+%04X have the same key", other, r)
		}
		seen[k] = r
	}
	if len(seen) < 40_000 {
		t.Errorf("only %d characters", len(seen))
	}
}

// TestUnambiguous_Texts compares the keys of random texts of characters that are likely to be confused.
func TestUnambiguous_Texts(t *testing.T) {
	var all []rune
	for r := range rune(0x3000) {
		if collate.Unambiguous(quote(t, string(r))) {
			all = append(all, r)
		}
	}
	rng := rand.New(rand.NewPCG(15, 2))
	var key1, key2 []byte
	for n := range 2_000_000 {
		// A few neighbours and single letters: many pairs of texts have the same primary weights.
		from := rng.IntN(len(all) - 8)
		letters := append([]rune("aAlLsS"), all[from:from+8]...)
		text := func() []rune {
			out := make([]rune, 1+rng.IntN(4))
			for i := range out {
				out[i] = letters[rng.IntN(len(letters))]
			}
			return out
		}
		a, b := string(text()), string(text())
		if a == b || n%8 != 0 && len([]rune(a)) != len([]rune(b)) {
			continue
		}
		var err error
		if key1, err = collate.AppendKey(key1[:0], quote(t, a)); err != nil {
			t.Fatal(err)
		}
		if key2, err = collate.AppendKey(key2[:0], quote(t, b)); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(key1, key2) {
			t.Fatalf("%+q and %+q have the same key", a, b)
		}
	}
}

func quote(t *testing.T, s string) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

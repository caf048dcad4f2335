package collate_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"github.com/divandb/divan/layer/collate/samples"
)

// TestAppendKey_Characters compares the order of all assigned characters outside of the supplementary ideographic
// planes with ICU 72's, including which of them are equal.
func TestAppendKey_Characters(t *testing.T) {
	data := gunzip(t, "testdata/characters.gz")
	var before rune
	var beforeKey []byte
	count, wrong := 0, 0
	for len(data) > 0 {
		v, n := binary.Varint(data)
		if n <= 0 {
			t.Fatal("testdata/characters.gz is truncated")
		}
		data = data[n:]
		r, want := before+rune(v>>1), int(v&1)-1
		k := stringKey(t, string(r))
		if got := bytes.Compare(beforeKey, k); count > 0 && got != want {
			if wrong++; wrong < 20 {
				t.Errorf("U+%04X against U+%04X: %d, ICU says %d", before, r, got, want)
			}
		}
		before, beforeKey = r, k
		count++
	}
	if count < 85_000 || wrong > 0 {
		t.Errorf("%d of %d neighbours are out of order", wrong, count)
	}
}

// TestAppendKey_Pairs compares the order of pairs of strings of all scripts and mixtures with ICU 72's.
func TestAppendKey_Pairs(t *testing.T) {
	answers := gunzip(t, "testdata/pairs.gz")
	if len(answers) != samples.Pairs/5 {
		t.Fatalf("answers for %d pairs, want %d", len(answers)*5, samples.Pairs)
	}
	wrong := 0
	for i, packed := range answers {
		for j := 4; j >= 0; j-- {
			n := i*5 + j
			want := int(packed%3) - 1
			packed /= 3
			a, b := samples.Pair(n)
			if got := bytes.Compare(stringKey(t, a), stringKey(t, b)); got != want {
				if wrong++; wrong < 30 {
					t.Errorf("pair %d, %q (%x) against %q (%x): %d, ICU says %d", n, a, []rune(a), b, []rune(b), got,
						want)
				}
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d pairs are out of order", wrong, samples.Pairs)
	}
}

// TestAppendKey_Time checks that every text takes at most linear time.
func TestAppendKey_Time(t *testing.T) {
	for _, part := range []string{"a", "l\u0301", "\u0418\u0301", "\u0438\u0334\u0334",
		"\u0fb2\u0f39\u0f71\u0f39\u0f80", "\u0e40\u0e01", "각", "\u3041\u3099", "\u0f71", "\u0f71\u0334"} {
		text := bytes.Repeat([]byte(part), 200_000/len(part))
		began := time.Now()
		key := stringKey(t, string(text))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q repeated took %v", part, took)
		}
		if len(key) > 4*len(text) {
			t.Errorf("%q repeated to %d bytes has a key of %d", part, len(text), len(key))
		}
	}
	text := "\u0438" + string(bytes.Repeat([]byte("\u0334"), 200_000)) + "\u0306"
	began := time.Now()
	stringKey(t, text)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a letter with 200,000 marks took %v", took)
	}
}

func stringKey(t *testing.T, s string) []byte {
	t.Helper()
	j, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return key(t, string(j))
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

package rowcache

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestRows_model compares cached rows with all writes ever made: at any version, a row is either right or unknown.
func TestRows_model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(0)
		type state struct {
			version int64
			value   []byte
		}
		history := map[string][]state{}
		at := func(key []byte, version int64) (value []byte) {
			for _, s := range history[string(key)] {
				if s.version <= version {
					value = s.value
				}
			}
			return value
		}
		keys := rapid.Custom(func(t *rapid.T) []byte {
			n := rapid.IntRange(0, 50).Draw(t, "key")
			return bytes.Repeat([]byte{byte(n)}, n)
		})
		values := rapid.Custom(func(t *rapid.T) []byte {
			n := rapid.SampledFrom([]int{-1, 0, 1, 20, 21, 300, 900, 1100}).Draw(t, "length")
			if n < 0 {
				return nil
			}
			return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, n)
		})
		newest := int64(1)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2: // a group of commits, which becomes readable as a whole
				newest++
				for range rapid.IntRange(1, 4).Draw(t, "writes") {
					if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
						r.clear(newest)
						for k := range history {
							history[k] = append(history[k], state{newest, nil})
						}
						continue
					}
					k, v := keys.Draw(t, "k"), values.Draw(t, "v")
					r.write(k, v, newest, rapid.Bool().Draw(t, "keep"))
					history[string(k)] = append(history[string(k)], state{newest, v})
				}
			case 3, 4, 5:
				k, v := keys.Draw(t, "k"), rapid.Int64Range(1, newest).Draw(t, "version")
				r.Fill(k, at(k, v), v)
			default:
				k, v := keys.Draw(t, "k"), rapid.Int64Range(1, newest).Draw(t, "version")
				value, known := r.Get(k, v)
				if want := at(k, v); known && ((value == nil) != (want == nil) || !bytes.Equal(value, want)) {
					t.Fatalf("%d bytes of key %d at version %d of %d: %.20q, want %.20q", len(value), len(k), v, newest,
						value, want)
				}
			}
		}
	})
}

// TestRows_known checks that rows are cached after being read or written, and no longer than they are valid.
func TestRows_known(t *testing.T) {
	r := New(0)
	is := func(when string, key string, version int64, want string) {
		t.Helper()
		value, known := r.Get([]byte(key), version)
		got := fmt.Sprintf("%q", value)
		if value == nil {
			got = "nil"
		}
		if !known {
			got = "unknown"
		}
		if got != want {
			t.Errorf("%s: %s at %d is %s, want %s", when, key, version, got, want)
		}
	}
	is("at first", "a", 5, "unknown")
	r.Fill([]byte("a"), []byte("1"), 5)
	r.Fill([]byte("b"), nil, 5)
	r.Fill([]byte("c"), []byte{}, 5)
	is("after a read", "a", 4, "unknown")
	is("after a read", "a", 5, `"1"`)
	is("after a read", "a", 9, `"1"`)
	is("of a missing key", "b", 5, "nil")
	is("of an empty value", "c", 5, `""`)
	r.write([]byte("a"), []byte("22"), 6, false)
	is("after a longer write", "a", 5, "unknown")
	is("after a longer write", "a", 6, `"22"`)
	r.Fill([]byte("d"), []byte("old"), 5)
	is("after a read older than the page's last write", "d", 6, "unknown")
	r.write([]byte("e"), []byte("1"), 6, false)
	is("after a large write of a key that nobody read", "e", 6, "unknown")
	r.write([]byte("e"), []byte("1"), 6, true)
	is("after a small write", "e", 6, `"1"`)
	r.clear(7)
	is("after a clear", "e", 7, "unknown")
	r.Fill([]byte("e"), nil, 7)
	is("at the version of a clear", "e", 7, "unknown")
	r.Fill([]byte("e"), []byte("3"), 8)
	is("after it", "e", 8, `"3"`)
	for i := range 100 {
		r.Fill([]byte{'x', byte(i)}, make([]byte, 100), 8)
	}
	is("evicted by many newer rows", "e", 8, "unknown")
	is("the newest of many rows", "x\x63", 8, fmt.Sprintf("%q", make([]byte, 100)))
}

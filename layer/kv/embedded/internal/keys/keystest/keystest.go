// Package keystest makes up ranges of keys for property tests, and says what is in them. What they are compared with is
// the tests' own.
package keystest

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
)

// alphabet of the property tests: few keys, with each other's prefixes and successors among them.
var alphabet = [][]byte{{}, {0}, []byte("a"), []byte("a\x00"), []byte("a\x00\x00"), []byte("ab"), []byte("b"),
	[]byte("b\x00"), []byte("c"), []byte("d"), {0xfe}}

// Range is a range of the alphabet, made of numbers that draw chooses between two, inclusive. One without an end is the
// key itself.
func Range(draw func(least, most int) int) kv.KeyRange {
	i := draw(0, len(alphabet)-1)
	if draw(0, 1) == 1 {
		return kv.KeyRange{Begin: alphabet[i]}
	}
	return kv.KeyRange{Begin: alphabet[i], End: alphabet[draw(i, len(alphabet)-1)]}
}

// KeysIn are the keys of the alphabet, and the successors of each, in a range: two ranges of the alphabet overlap where
// they share one of these.
func KeysIn(r kv.KeyRange) map[string]bool {
	in := map[string]bool{}
	for _, k := range alphabet {
		for _, key := range [][]byte{k, append(bytes.Clone(k), 0), append(bytes.Clone(k), 0, 0, 0)} {
			if r.End == nil && bytes.Equal(key, r.Begin) ||
				r.End != nil && bytes.Compare(key, r.Begin) >= 0 && bytes.Compare(key, r.End) < 0 {
				in[string(key)] = true
			}
		}
	}
	return in
}

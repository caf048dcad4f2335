// Package keystest generates key ranges for property tests and lists the keys in them. The models that they are
// compared with are in the tests.
package keystest

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
)

// alphabet has the keys of the property tests: few keys, including prefixes and successors of each other.
var alphabet = [][]byte{{}, {0}, []byte("a"), []byte("a\x00"), []byte("a\x00\x00"), []byte("ab"), []byte("b"),
	[]byte("b\x00"), []byte("c"), []byte("d"), {0xfe}}

// Range returns a range of the alphabet. draw returns a number between two others, inclusive. A range without end is
// the single key.
func Range(draw func(least, most int) int) kv.KeyRange {
	i := draw(0, len(alphabet)-1)
	if draw(0, 1) == 1 {
		return kv.KeyRange{Begin: alphabet[i]}
	}
	return kv.KeyRange{Begin: alphabet[i], End: alphabet[draw(i, len(alphabet)-1)]}
}

// KeysIn returns the keys of the alphabet, and the successor of each, that are in r: two ranges of the alphabet
// overlap if they share one of these.
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

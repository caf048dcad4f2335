package feeds

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/decode"
)

// idSet is a set of document ids that takes little more memory than their text. Feeds keep such sets for hours, and a
// map of strings takes five times as much. It is immutable.
type idSet struct {
	text string   // all ids, concatenated
	ends []uint32 // end of each id in text
	// numbers of ids, from 1, by their hash; 0 is free; the size is a power of two, with at least a quarter free
	table []uint32
	seed  maphash.Seed
}

// idSetCost returns the maximum size of a set of the strings in a JSON array.
func idSetCost(array gjson.Result) int64 {
	n := decode.Elements(array)
	return int64(len(array.Raw) + 4*n + 4*tableSize(n))
}

// idSetGuess estimates the size of a set from the size of its body. Sets of very short ids take more.
func idSetGuess(size int64) int64 { return 2 * size }

// tableSize returns the smallest power of two of which n ids leave a quarter free.
func tableSize(n int) int {
	size := 4
	for 3*size < 4*n {
		size *= 2
	}
	return size
}

// newIDSet returns the set of an array's members. ok is false unless all of them are strings.
func newIDSet(array gjson.Result) (s *idSet, ok bool) {
	if !array.IsArray() {
		return nil, false
	}
	n, bytes := 0, 0
	ok = true
	array.ForEach(func(_, v gjson.Result) bool {
		n, bytes, ok = n+1, bytes+len(v.Str), v.Type == gjson.String
		return ok
	})
	if !ok {
		return nil, false
	}
	s = &idSet{ends: make([]uint32, 0, n), table: make([]uint32, tableSize(n)), seed: maphash.MakeSeed()}
	var text strings.Builder
	text.Grow(bytes)
	array.ForEach(func(_, v gjson.Result) bool {
		s.text = text.String() // the text so far, for find
		place, known := s.find(v.Str)
		if !known {
			text.WriteString(v.Str)
			s.ends = append(s.ends, uint32(text.Len()))
			s.table[place] = uint32(len(s.ends))
		}
		return true
	})
	s.text = text.String()
	if s.len() < n { // there were duplicates
		s.text, s.ends = strings.Clone(s.text), slices.Clone(s.ends)
	}
	return s, true
}

// find returns an id's place in the table, or the free place for it.
func (s *idSet) find(id string) (place int, known bool) {
	mask := len(s.table) - 1
	for place = int(maphash.String(s.seed, id)) & mask; ; place = (place + 1) & mask {
		switch n := s.table[place]; {
		case n == 0:
			return place, false
		case s.at(int(n)-1) == id:
			return place, true
		}
	}
}

func (s *idSet) at(i int) string {
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.text[from:s.ends[i]]
}

func (s *idSet) has(id string) bool {
	_, known := s.find(id)
	return known
}

func (s *idSet) len() int { return len(s.ends) }

// size returns the memory that the set takes, in bytes.
func (s *idSet) size() int64 { return int64(len(s.text) + 4*cap(s.ends) + 4*len(s.table)) }

// list returns the ids without duplicates, in the order in which they first appeared.
func (s *idSet) list() []string {
	list := make([]string, s.len())
	for i := range list {
		list[i] = s.at(i)
	}
	return list
}

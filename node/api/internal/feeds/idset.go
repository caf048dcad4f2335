package feeds

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/decode"
)

// idSet is a set of document ids that takes little more memory than their text: feeds keep such lists for hours, and
// a map of strings takes five times as much. It is immutable.
type idSet struct {
	text  string   // of all ids, one after the other
	ends  []uint32 // of each id in text
	table []uint32 // numbers of ids, from 1, by their hash; 0 is a free place; a power of two, a quarter of it free
	seed  maphash.Seed
}

// idSetCost is what a set of the strings of a JSON array takes at most.
func idSetCost(array gjson.Result) int64 {
	n := decode.Elements(array)
	return int64(len(array.Raw) + 4*n + 4*tableSize(n))
}

// idSetGuess is what a set comes to of a body of that size, about. Sets of very short ids take more.
func idSetGuess(size int64) int64 { return 2 * size }

// tableSize is the least power of two that n ids leave a quarter of.
func tableSize(n int) int {
	size := 4
	for 3*size < 4*n {
		size *= 2
	}
	return size
}

// newIDSet is the set of an array's members, if all of them are strings.
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
		s.text = text.String() // so far
		place, known := s.find(v.Str)
		if !known {
			text.WriteString(v.Str)
			s.ends = append(s.ends, uint32(text.Len()))
			s.table[place] = uint32(len(s.ends))
		}
		return true
	})
	s.text = text.String()
	if s.len() < n { // some came several times
		s.text, s.ends = strings.Clone(s.text), slices.Clone(s.ends)
	}
	return s, true
}

// find is an id's place in the table, or the free one that it would have.
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

// size is the memory that it takes, in bytes.
func (s *idSet) size() int64 { return int64(len(s.text) + 4*cap(s.ends) + 4*len(s.table)) }

// list are the ids, each once, in the order in which they came first.
func (s *idSet) list() []string {
	list := make([]string, s.len())
	for i := range list {
		list[i] = s.at(i)
	}
	return list
}

package feeds

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"
)

// A set contains exactly the ids of its list, each once.
func TestIDSet(t *testing.T) {
	long := make([]string, 5000)
	for i := range long {
		long[i] = fmt.Sprintf("%07d", 3*i)
	}
	for name, ids := range map[string][]string{
		"none": {}, "one": {"a"}, "the empty id": {""}, "several times": {"b", "a", "b", "", "b", ""},
		"parts of each other": {"ab", "a", "b", "ba", "abab"}, "escapes": {"\"", "\\", "\u0000", "é", ",", "]"},
		"three quarters of a table": {"1", "2", "3"}, "a full table": {"1", "2", "3", "4"}, "many": long,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(ids)
			if err != nil {
				t.Fatal(err)
			}
			s, ok := newIDSet(gjson.ParseBytes(text))
			if !ok {
				t.Fatal("no set")
			}
			var once []string
			for _, id := range ids {
				if !s.has(id) {
					t.Errorf("%q is missing", id)
				}
				if s.has(id + "x") {
					t.Errorf("%q is in the set", id+"x")
				}
				if !slices.Contains(once, id) {
					once = append(once, id)
				}
			}
			if s.has("no such id") {
				t.Error("another id is in the set")
			}
			if list := s.list(); !slices.Equal(list, once) || s.len() != len(once) {
				t.Errorf("%d ids: %.100q", s.len(), list)
			}
			if cost := idSetCost(gjson.ParseBytes(text)); s.size() > cost {
				t.Errorf("the set takes %d bytes, want at most %d", s.size(), cost)
			}
		})
	}
	for _, text := range []string{`{}`, `"a"`, `null`, `["a",1]`, `["a",null]`, `[["a"]]`} {
		if _, ok := newIDSet(gjson.Parse(text)); ok {
			t.Errorf("%s is accepted as a list of ids", text)
		}
	}
}

// A set takes the memory that it reports, so that the memory limit holds.
func TestIDSet_size(t *testing.T) {
	var ids []string
	for i := range 50_000 {
		ids = append(ids, fmt.Sprintf("%08d", i))
	}
	text, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	array := gjson.ParseBytes(text)
	var s *idSet
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, _ = newIDSet(array)
		}
	})
	if got := r.AllocedBytesPerOp(); got > s.size()*5/4 || s.size() > 3*int64(len(text)) {
		t.Errorf("allocated %d bytes for a set that reports %d, from a text of %d", got, s.size(), len(text))
	}
}

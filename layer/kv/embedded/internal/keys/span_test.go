package keys

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys/keystest"
)

// rangesSet adapts Set to ranges of keys.
type rangesSet struct{ s Set }

func (s *rangesSet) Add(r kv.KeyRange)    { s.s.Add(Of(r)) }
func (s *rangesSet) Remove(r kv.KeyRange) { s.s.Remove(Of(r)) }
func (s *rangesSet) Share() rangesSet     { return rangesSet{s.s.Share()} }
func (s *rangesSet) Has(key []byte) bool  { _, ok := s.s.Find(key); return ok }
func (s *rangesSet) Len() int             { return len(s.s.Spans) }

// Overlap returns the first or last span that shares a key with r.
func (s *rangesSet) Overlap(r kv.KeyRange, reverse bool) (kv.KeyRange, bool) {
	o, ok := s.s.Overlap(Of(r), reverse)
	return kv.KeyRange{Begin: o.Begin, End: o.EndKey()}, ok
}

func TestSpanSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, shared rangesSet
		model, then := map[string]bool{}, map[string]bool{}
		universe := keystest.KeysIn(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			r := keystest.Range(func(least, most int) int { return rapid.IntRange(least, most).Draw(t, "n") })
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				s.Add(r)
				for k := range keystest.KeysIn(r) {
					model[k] = true
				}
			case 2:
				s.Remove(r)
				for k := range keystest.KeysIn(r) {
					delete(model, k)
				}
			case 3:
				shared, then = s.Share(), map[string]bool{}
				for k := range model {
					then[k] = true
				}
			case 4:
				checkOverlap(t, &s, r, model)
			}
			for k := range universe {
				if s.Has([]byte(k)) != model[k] {
					t.Fatalf("%q: %v, want %v", k, s.Has([]byte(k)), model[k])
				}
				if shared.Has([]byte(k)) != then[k] {
					t.Fatalf("%q in the shared set: %v, want %v", k, shared.Has([]byte(k)), then[k])
				}
			}
		}
	})
}

func checkOverlap(t *rapid.T, s *rangesSet, r kv.KeyRange, model map[string]bool) {
	if r.End != nil && bytes.Equal(r.Begin, r.End) {
		return // callers have no empty ranges
	}
	any := false
	for k := range keystest.KeysIn(r) {
		any = any || model[k]
	}
	for _, reverse := range []bool{false, true} {
		o, ok := s.Overlap(r, reverse)
		if ok != any {
			t.Fatalf("overlap with %q: %v, want %v", r, ok, any)
		}
		for k := range keystest.KeysIn(r) {
			outside := bytes.Compare([]byte(k), o.Begin) < 0
			if reverse {
				outside = bytes.Compare([]byte(k), o.End) >= 0
			}
			if ok && model[k] && outside {
				t.Fatalf("overlap with %q, reverse %v: %q, but %q is in the set", r, reverse, o, k)
			}
		}
	}
}

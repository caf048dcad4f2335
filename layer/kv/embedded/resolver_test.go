package embedded_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// alphabet of the property tests: few keys, with each other's prefixes and successors among them.
var alphabet = [][]byte{{}, {0}, []byte("a"), []byte("a\x00"), []byte("a\x00\x00"), []byte("ab"), []byte("b"), []byte("b\x00"), []byte("c"), []byte("d"), {0xfe}}

func drawRange(t *rapid.T) kv.KeyRange {
	i := rapid.IntRange(0, len(alphabet)-1).Draw(t, "begin")
	if rapid.Bool().Draw(t, "point") {
		return kv.KeyRange{Begin: alphabet[i]}
	}
	j := rapid.IntRange(i, len(alphabet)-1).Draw(t, "end")
	return kv.KeyRange{Begin: alphabet[i], End: alphabet[j]}
}

func drawRanges(t *rapid.T) []kv.KeyRange {
	return rapid.SliceOfN(rapid.Custom(drawRange), 0, 5).Draw(t, "ranges")
}

// keysIn are the keys of the alphabet, and the successors of each, in a range: two ranges of the alphabet overlap where they share one of these.
func keysIn(r kv.KeyRange) map[string]bool {
	in := map[string]bool{}
	for _, k := range alphabet {
		for _, key := range [][]byte{k, append(bytes.Clone(k), 0), append(bytes.Clone(k), 0, 0, 0)} {
			if r.End == nil && bytes.Equal(key, r.Begin) || r.End != nil && bytes.Compare(key, r.Begin) >= 0 && bytes.Compare(key, r.End) < 0 {
				in[string(key)] = true
			}
		}
	}
	return in
}

// TestResolver_conflicts compares with a list of everything that was ever written.
func TestResolver_conflicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 2_500_000
		limit := rapid.SampledFrom([]int{1 << 20, 3000}).Draw(t, "limit")
		r := embedded.NewResolver(100, limit, window)
		type write struct {
			keys    map[string]bool
			version int64
		}
		var all []write
		version := int64(100)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "write") {
				version += rapid.SampledFrom([]int64{0, 1, 10, 400_000}).Draw(t, "later")
				ranges := drawRanges(t)
				r.Add(ranges, version)
				for _, kr := range ranges {
					all = append(all, write{keysIn(kr), version})
				}
				continue
			}
			at := version - rapid.SampledFrom([]int64{0, 1, 11, 500_000, 2_400_000}).Draw(t, "age")
			reads := drawRanges(t)
			conflict, tooOld := r.Conflicts(at, reads)
			if tooOld {
				if at >= r.Floor() {
					t.Fatalf("version %d is too old, the floor is %d", at, r.Floor())
				}
				if at >= 100 && version-at < window && limit > 3000 {
					t.Fatalf("version %d of %d is too old with room left", at, version)
				}
				continue
			}
			want := false
			for _, w := range all {
				for _, kr := range reads {
					for k := range keysIn(kr) {
						want = want || w.version > at && w.keys[k]
					}
				}
			}
			if conflict != want {
				t.Fatalf("reads %q at %d of %d: conflict %v, want %v", reads, at, version, conflict, want)
			}
		}
		if r.Bytes() > limit {
			t.Fatalf("%d bytes held, %d allowed", r.Bytes(), limit)
		}
	})
}

// TestResolver_bounded fills a resolver faster than it may remember: it stays within its bytes and refuses what it no longer knows.
func TestResolver_bounded(t *testing.T) {
	const limit = 1 << 20
	r := embedded.NewResolver(0, limit, 5_000_000)
	for v := int64(1); v <= 20_000; v++ {
		r.Add([]kv.KeyRange{{Begin: binary.BigEndian.AppendUint64(bytes.Repeat([]byte("k"), 40), rand.Uint64())}}, v)
		if r.Bytes() > limit {
			t.Fatalf("%d bytes at version %d", r.Bytes(), v)
		}
	}
	if r.Floor() == 0 || r.Floor() >= 20_000 {
		t.Errorf("the floor is %d after 20,000 commits", r.Floor())
	}
	read := []kv.KeyRange{{Begin: []byte("x")}}
	if _, tooOld := r.Conflicts(r.Floor()-1, read); !tooOld {
		t.Error("a version below the floor is not too old")
	}
	if conflict, tooOld := r.Conflicts(r.Floor(), read); conflict || tooOld {
		t.Error("a version at the floor cannot be used")
	}
	if _, tooOld := r.Conflicts(0, nil); tooOld {
		t.Error("a transaction that read nothing is too old")
	}
}

// TestResolver_expires: what is older than the window is let go.
func TestResolver_expires(t *testing.T) {
	r := embedded.NewResolver(0, 1<<30, 5_000_000)
	for v := int64(0); v < 60_000_000; v += 1000 {
		r.Add([]kv.KeyRange{{Begin: binary.BigEndian.AppendUint64(nil, uint64(v))}}, v)
	}
	// 5,000 spans of 8 bytes are in the window, and a run's worth more.
	if r.Bytes() > 400_000 || r.Runs() > 60 {
		t.Errorf("%d bytes in %d runs", r.Bytes(), r.Runs())
	}
	if floor := r.Floor(); floor < 53_000_000 || floor > 55_000_000 {
		t.Errorf("the floor is %d", floor)
	}
}

func TestSpanSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, shared embedded.SpanSet
		model, then := map[string]bool{}, map[string]bool{}
		universe := keysIn(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			r := drawRange(t)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				s.Add(r)
				for k := range keysIn(r) {
					model[k] = true
				}
			case 2:
				s.Remove(r)
				for k := range keysIn(r) {
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

func checkOverlap(t *rapid.T, s *embedded.SpanSet, r kv.KeyRange, model map[string]bool) {
	if r.End != nil && bytes.Equal(r.Begin, r.End) {
		return // callers have no empty ranges
	}
	any := false
	for k := range keysIn(r) {
		any = any || model[k]
	}
	for _, reverse := range []bool{false, true} {
		o, ok := s.Overlap(r, reverse)
		if ok != any {
			t.Fatalf("overlap with %q: %v, want %v", r, ok, any)
		}
		for k := range keysIn(r) {
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

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := embedded.NewClock(0)
		first := c.Next()
		if now := time.Now().UnixMicro(); first < now || first > now+1 {
			t.Errorf("the first version is %d at %d", first, now)
		}
		time.Sleep(3 * time.Second)
		if d := c.Next() - first; d != 3_000_000 {
			t.Errorf("%d versions in 3 seconds", d)
		}
		last := c.Next()
		for range 1000 {
			v := c.Next()
			if v <= last {
				t.Fatalf("%d after %d", v, last)
			}
			last = v
		}
		// The store's last version is ahead of the wall clock, which was turned back.
		ahead := last + 3600*1_000_000
		c = embedded.NewClock(ahead)
		if v := c.Next(); v != ahead+1 {
			t.Errorf("%d after %d in the store", v, ahead)
		}
		time.Sleep(time.Second)
		if d := c.Next() - ahead; d < 1_000_000 || d > 1_000_010 {
			t.Errorf("%d versions in a second after the wall clock was turned back", d)
		}
	})
}

func BenchmarkResolver(b *testing.B) {
	for _, age := range []int64{1000, 1_000_000, 4_500_000} {
		b.Run(fmt.Sprintf("age=%dms", age/1000), func(b *testing.B) {
			r := embedded.NewResolver(0, 64<<20, 5_000_000)
			key := func() []byte {
				return binary.BigEndian.AppendUint64([]byte("some prefix of keys"), rand.Uint64N(1<<40))
			}
			version := int64(0)
			for ; version < 5_000_000; version += 50 { // 20,000 commits a second
				r.Add([]kv.KeyRange{{Begin: key()}, {Begin: key()}}, version)
			}
			b.ResetTimer()
			for b.Loop() {
				r.Conflicts(version-age, []kv.KeyRange{{Begin: key()}})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checks/s")
			b.ReportMetric(float64(r.Runs()), "runs")
		})
	}
}

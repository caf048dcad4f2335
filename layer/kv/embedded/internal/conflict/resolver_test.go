package conflict

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys/keystest"
)

func drawRange(t *rapid.T) kv.KeyRange {
	return keystest.Range(func(least, most int) int { return rapid.IntRange(least, most).Draw(t, "n") })
}

func drawRanges(t *rapid.T) []kv.KeyRange {
	return rapid.SliceOfN(rapid.Custom(drawRange), 0, 5).Draw(t, "ranges")
}

// rangesResolver adapts a Resolver to ranges of keys.
type rangesResolver struct{ r *Resolver }

func newRangesResolver(floor int64, limit int, window int64) rangesResolver {
	return rangesResolver{New(floor, limit, window)}
}

func spansOf(ranges []kv.KeyRange) []keys.Span {
	spans := make([]keys.Span, 0, len(ranges))
	for _, r := range ranges {
		s := keys.Span{Begin: r.Begin, End: r.End} // a nil End means the single key
		if !s.Empty() {
			spans = append(spans, s)
		}
	}
	return spans
}

func (r rangesResolver) Add(written []kv.KeyRange, version int64) {
	r.r.Add(keys.Unite(spansOf(written)), version)
}

func (r rangesResolver) Conflicts(readVersion int64, read []kv.KeyRange) (conflict, tooOld bool) {
	return r.r.Conflicts(readVersion, spansOf(read))
}

func (r rangesResolver) Bytes() int   { return r.r.Bytes }
func (r rangesResolver) Runs() int    { return len(r.r.runs) }
func (r rangesResolver) Floor() int64 { return r.r.floor }

// TestResolver_conflicts compares with a list of all writes.
func TestResolver_conflicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const window = 2_500_000
		limit := rapid.SampledFrom([]int{1 << 20, 3000}).Draw(t, "limit")
		r := newRangesResolver(100, limit, window)
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
					all = append(all, write{keystest.KeysIn(kr), version})
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
					for k := range keystest.KeysIn(kr) {
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

// TestResolver_bounded fills a resolver beyond its limit: it stays within its bytes and refuses what it no longer
// knows.
func TestResolver_bounded(t *testing.T) {
	const limit = 1 << 20
	r := newRangesResolver(0, limit, 5_000_000)
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

// TestResolver_expires checks that writes older than the window are dropped.
func TestResolver_expires(t *testing.T) {
	r := newRangesResolver(0, 1<<30, 5_000_000)
	for v := int64(0); v < 60_000_000; v += 1000 {
		r.Add([]kv.KeyRange{{Begin: binary.BigEndian.AppendUint64(nil, uint64(v))}}, v)
	}
	// The window holds 5,000 spans of 8 bytes; one more run may not have expired yet.
	if r.Bytes() > 400_000 || r.Runs() > 60 {
		t.Errorf("%d bytes in %d runs", r.Bytes(), r.Runs())
	}
	if floor := r.Floor(); floor < 53_000_000 || floor > 55_000_000 {
		t.Errorf("the floor is %d", floor)
	}
}

func BenchmarkResolver(b *testing.B) {
	for _, age := range []int64{1000, 1_000_000, 4_500_000} {
		b.Run(fmt.Sprintf("age=%dms", age/1000), func(b *testing.B) {
			r := newRangesResolver(0, 64<<20, 5_000_000)
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

package conflict

import (
	"bytes"
	"slices"
	"sort"

	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// run is a sorted list of disjoint written spans, each with the version that wrote it last. It holds no pointers
// except its few slices, so that a window of a million spans costs the garbage collector nothing. Immutable once it
// is in the resolver.
type run struct {
	keys  []byte // the spans' keys, each begin followed by its end
	spans []runSpan

	// versions are those of the spans; nil while all spans have the version newest.
	versions []int64
	// maxima[l][i] is the highest version of the spans [i, i+1) * maxFan^(l+1), so that finding the newest write in a
	// range looks at few of them.
	maxima [][]int64

	oldest, newest int64

	ranges int // spans that are not points
}

// runSpan locates a span in keys: begin at off, end right after it. A span without end is a point.
type runSpan struct {
	off        uint32
	begin, end uint16 // lengths: a key has at most kv.MaxKeySize bytes, plus one
}

const maxFan = 16

func (r *run) len() int { return len(r.spans) }

func (r *run) at(i int) keys.Span {
	e := r.spans[i]
	mid := e.off + uint32(e.begin)
	s := keys.Span{Begin: r.keys[e.off:mid:mid]}
	if e.end > 0 {
		end := mid + uint32(e.end)
		s.End = r.keys[mid:end:end]
	}
	return s
}

func (r *run) version(i int) int64 {
	if r.versions == nil {
		return r.newest
	}
	return r.versions[i]
}

// bytes returns the approximate memory of the run.
func (r *run) bytes() int {
	n := 128 + cap(r.keys) + 8*cap(r.spans) + 8*cap(r.versions)
	for _, m := range r.maxima {
		n += 8 * cap(m)
	}
	return n
}

// newRun copies spans, sorted and disjoint, into a run of one version.
func newRun(spans []keys.Span, version int64) *run {
	size := 0
	for _, s := range spans {
		size += s.Size()
	}
	r := &run{keys: make([]byte, 0, size), spans: make([]runSpan, 0, len(spans)), oldest: version, newest: version}
	for _, s := range spans {
		r.append(s)
	}
	return r
}

func (r *run) append(s keys.Span) {
	if s.End != nil {
		r.ranges++
	}
	r.spans = append(r.spans, runSpan{off: uint32(len(r.keys)), begin: uint16(len(s.Begin)), end: uint16(len(s.End))})
	r.keys = append(append(r.keys, s.Begin...), s.End...)
}

func (r *run) appendVersion(s keys.Span, version int64) {
	r.append(s)
	r.versions = append(r.versions, version)
}

// changedSince reports whether any key of s was written at a version after since.
func (r *run) changedSince(s keys.Span, since int64) bool {
	if r.newest <= since {
		return false
	}
	first := r.search(s.Begin)
	if first == len(r.spans) || !r.at(first).StartsBefore(s) {
		return false
	}
	if r.oldest > since || r.version(first) > since {
		return true
	}
	if s.End == nil {
		return false // spans are disjoint: no other one contains the key
	}
	after := first + sort.Search(len(r.spans)-first, func(i int) bool { return !r.at(first + i).StartsBefore(s) })
	return r.newestIn(first, after) > since
}

// search returns the index of the first span that ends after key.
func (r *run) search(key []byte) int {
	i, j := 0, len(r.spans)
	for i < j {
		mid := int(uint(i+j) / 2)
		if r.at(mid).EndsAfter(key) {
			j = mid
		} else {
			i = mid + 1
		}
	}
	return i
}

// newestIn returns the highest version of the spans [i, j), i < j, in O(log(j-i)) steps.
func (r *run) newestIn(i, j int) int64 {
	if r.versions == nil {
		return r.newest
	}
	newest := int64(-1)
	level := r.versions
	for l := 0; ; l++ {
		if l == len(r.maxima) || j-i <= 2*maxFan {
			for ; i < j; i++ {
				newest = max(newest, level[i])
			}
			return newest
		}
		for ; i%maxFan != 0; i++ {
			newest = max(newest, level[i])
		}
		for ; j%maxFan != 0; j-- {
			newest = max(newest, level[j-1])
		}
		i, j, level = i/maxFan, j/maxFan, r.maxima[l]
	}
}

// index builds the search index after the last append.
func (r *run) index() {
	r.maxima = nil
	for level := r.versions; len(level) > 2*maxFan; {
		up := make([]int64, (len(level)+maxFan-1)/maxFan)
		for i, v := range level {
			up[i/maxFan] = max(up[i/maxFan], v)
		}
		r.maxima = append(r.maxima, up)
		level = up
	}
}

// merge merges two runs; newer wins where both cover a key. Spans written at or before floor are dropped.
func merge(older, newer *run, floor int64) *run {
	n := older.len() + newer.len()
	m := &run{
		keys:     make([]byte, 0, len(older.keys)+len(newer.keys)),
		spans:    make([]runSpan, 0, n),
		versions: make([]int64, 0, n),
		oldest:   max(floor+1, min(older.oldest, newer.oldest)),
		newest:   max(older.newest, newer.newest),
	}
	if older.ranges+newer.ranges == 0 {
		m.mergePoints(older, newer, floor)
	} else {
		m.mergeSpans(older, newer, floor)
	}
	m.clip()
	m.index()
	return m
}

// mergePoints is merge for runs of single keys, as most are.
func (r *run) mergePoints(older, newer *run, floor int64) {
	i, j := 0, 0 // the next points of newer and older
	for i < newer.len() || j < older.len() {
		order := -1 // newer's point is next
		switch {
		case i == newer.len():
			order = 1
		case j < older.len():
			order = bytes.Compare(newer.key(i), older.key(j))
		}
		if order > 0 {
			r.take(older, j, floor)
			j++
			continue
		}
		r.take(newer, i, floor)
		i++
		if order == 0 {
			j++
		}
	}
}

// key returns the key of point i.
func (r *run) key(i int) []byte {
	e := r.spans[i]
	return r.keys[e.off : e.off+uint32(e.begin)]
}

// take appends point i of another run if it is above floor.
func (r *run) take(from *run, i int, floor int64) {
	if v := from.version(i); v > floor {
		e := from.spans[i]
		r.spans = append(r.spans, runSpan{off: uint32(len(r.keys)), begin: e.begin})
		r.keys = append(r.keys, from.keys[e.off:e.off+uint32(e.begin)]...)
		r.versions = append(r.versions, v)
	}
}

// mergeSpans is merge for any runs.
func (r *run) mergeSpans(older, newer *run, floor int64) {
	emit := func(s keys.Span, version int64) {
		if version > floor {
			r.appendVersion(s, version)
		}
	}
	i := 0 // the next span of newer
	for j := range older.len() {
		piece, version := older.at(j), older.version(j)
		whole := true
		for i < newer.len() {
			top := newer.at(i)
			if !piece.EndsAfter(top.Begin) { // piece lies before top
				break
			}
			if top.StartsBefore(piece) && piece.StartsBefore(top) { // they overlap
				if bytes.Compare(piece.Begin, top.Begin) < 0 {
					emit(keys.Span{Begin: piece.Begin, End: top.Begin}, version)
				}
				if keys.CompareEnds(piece, top) <= 0 {
					whole = false // nothing remains of piece, but top may cover the next one too
					break
				}
				piece = keys.Span{Begin: top.EndKey(), End: piece.EndKey()}
			}
			emit(top, newer.version(i))
			i++
		}
		if whole {
			emit(piece, version)
		}
	}
	for ; i < newer.len(); i++ {
		emit(newer.at(i), newer.version(i))
	}
}

// clip frees excess memory after a merge of many overlapping spans, as hot keys cause.
func (r *run) clip() {
	if 2*len(r.keys) < cap(r.keys) {
		r.keys = bytes.Clone(r.keys)
	}
	if 2*len(r.spans) < cap(r.spans) {
		r.spans = slices.Clone(r.spans)
		r.versions = slices.Clone(r.versions)
	}
}

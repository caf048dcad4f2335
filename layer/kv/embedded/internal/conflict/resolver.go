package conflict

import "github.com/divandb/divan/layer/kv/embedded/internal/keys"

// Resolver remembers which keys were written at which version in the last few seconds, and so detects whether a
// transaction's reads are still valid at its commit. Its memory is bounded: when full, it forgets the oldest writes
// and refuses transactions that read before them.
//
// It is a log-structured list of runs, oldest first. The writes of one version collect in recent and become a run
// when the next version begins; runs of similar size are merged, so that there are only a few for each power of
// mergeFan. A check looks only at runs newer than the transaction's read version, which for a short transaction are
// the last few. An interval tree was rejected because the garbage collector would walk its pointers and because
// expiry would be harder; here it drops a run.
//
// Not safe for concurrent use: the sequencer owns it.
type Resolver struct {
	runs  []*run
	Bytes int // memory of the runs

	recent recentWrites

	limit  int   // bytes
	window int64 // how many versions are remembered

	// floor is the oldest read version that can still be checked.
	floor int64
}

const (
	mergeFan = 4
	// maxRunSpan keeps merged runs short in time, so that expiry frees memory in steps of a few tenths of the window.
	maxRunSpan = 1_000_000
	// maxRecent is the limit on spans in recentWrites, where an insertion moves the spans behind it. A transaction of
	// more than half as many makes a run of its own.
	maxRecent = 256
	// maxRecentBytes is the limit on key bytes in recentWrites before they become a run.
	maxRecentBytes = 64 << 10
)

// recentWrites are the spans of the last version, to which more transactions may still add. It has its own copy of
// the keys.
type recentWrites struct {
	version int64
	set     keys.Set
	keys    []byte
}

func (w *recentWrites) copy(key []byte) []byte {
	n := len(w.keys)
	w.keys = append(w.keys, key...) // earlier copies stay valid when this reallocates
	return w.keys[n:len(w.keys):len(w.keys)]
}

func (w *recentWrites) add(s keys.Span) {
	c := keys.Span{Begin: w.copy(s.Begin)}
	if s.End != nil {
		c.End = w.copy(s.End)
	}
	w.set.Add(c)
}

func (w *recentWrites) reset() {
	clear(w.set.Spans)
	w.set.Spans = w.set.Spans[:0]
	if w.keys = w.keys[:0]; cap(w.keys) > 2*maxRecentBytes {
		w.keys = nil
	}
}

// New returns a Resolver that knows no writes up to the version floor. limit (bytes) and window (versions) bound its
// memory.
func New(floor int64, limit int, window int64) *Resolver {
	return &Resolver{floor: floor, limit: limit, window: window}
}

// Conflicts reports whether any of reads was written after readVersion. tooOld is true if that is no longer known.
func (r *Resolver) Conflicts(readVersion int64, reads []keys.Span) (conflict, tooOld bool) {
	if len(reads) == 0 {
		return false, false
	}
	if readVersion < r.floor {
		return false, true
	}
	if r.recent.version > readVersion {
		for _, s := range reads {
			if _, written := r.recent.set.Overlap(s, false); written {
				return true, false
			}
		}
	}
	for i := len(r.runs) - 1; i >= 0 && r.runs[i].newest > readVersion; i-- {
		for _, s := range reads {
			if r.runs[i].changedSince(s, readVersion) {
				return true, false
			}
		}
	}
	return false, false
}

// Add remembers that spans, sorted and disjoint, were written at version. Versions never decrease. Add copies what it
// keeps.
func (r *Resolver) Add(spans []keys.Span, version int64) {
	if len(spans) == 0 {
		return
	}
	if version != r.recent.version || len(r.recent.set.Spans)+len(spans) > maxRecent ||
		len(r.recent.keys) > maxRecentBytes {
		r.Seal()
		r.recent.version = version
	}
	if len(spans) > maxRecent/2 {
		r.push(newRun(spans, version))
		return
	}
	for _, s := range spans {
		r.recent.add(s)
	}
}

// Seal turns the recent writes into a run.
func (r *Resolver) Seal() {
	if len(r.recent.set.Spans) == 0 {
		return
	}
	w := newRun(r.recent.set.Spans, r.recent.version)
	r.recent.reset()
	r.push(w)
}

func (r *Resolver) push(w *run) {
	r.runs = append(r.runs, w)
	r.Bytes += w.bytes()
	r.expire(w.newest)
	for r.mergeTail() {
	}
	for r.Bytes > r.limit && len(r.runs) > 0 {
		r.dropOldest()
	}
}

func (r *Resolver) expire(now int64) {
	for len(r.runs) > 0 && r.runs[0].newest < now-r.window {
		r.dropOldest()
	}
}

func (r *Resolver) dropOldest() {
	r.floor = max(r.floor, r.runs[0].newest)
	r.Bytes -= r.runs[0].bytes()
	r.runs[0] = nil
	r.runs = r.runs[1:]
}

// mergeTail merges the last mergeFan runs if they are of similar size, and reports whether it did.
func (r *Resolver) mergeTail() bool {
	first := len(r.runs) - mergeFan
	if first < 0 {
		return false
	}
	tail := r.runs[first:]
	if tier(tail[0].len()) > tier(tail[mergeFan-1].len()) || tail[mergeFan-1].newest-tail[0].oldest > maxRunSpan {
		return false
	}
	for _, t := range tail {
		r.Bytes -= t.bytes()
	}
	// Pairs first, so that each span is copied twice, not three times. Merged runs are released at once, so that at
	// most twice the limit is ever held.
	left := merge(tail[0], tail[1], r.floor)
	tail[0], tail[1] = nil, nil
	right := merge(tail[2], tail[3], r.floor)
	tail[2], tail[3] = nil, nil
	merged := merge(left, right, r.floor)
	r.Bytes += merged.bytes()
	r.runs = append(r.runs[:first], merged)
	return true
}

// tier returns the power of mergeFan that n falls into.
func tier(n int) int {
	t := 0
	for ; n >= mergeFan; n /= mergeFan {
		t++
	}
	return t
}

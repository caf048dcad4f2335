package query

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// aheadRanges is how many ranges of a query are read ahead of the one whose rows are being answered.
const aheadRanges = 8

// ahead reads ranges of a query before their rows are wanted: the first one while the offset is computed, and the next
// ones while the rows of those before are answered. Where each read waits for another machine, they wait together. The
// reads are those of one transaction or snapshot.
type ahead struct {
	r      *index.Reading
	q      *index.ViewQuery
	turn   int // of the stream
	ranges []index.Span
	prefix []byte
	next   int // the first range that is not being read
	stop   func() bool

	mu struct {
		sync.Mutex
		reads map[int]kv.RangeIterator // by range
		ended bool
	}
}

// readAhead begins to read the first ranges of a query. The caller calls end, unless ctx ends.
func readAhead(ctx context.Context, r *index.Reading, q *index.ViewQuery, prefix []byte, ranges []index.Span) *ahead {
	a := &ahead{r: r, q: q, turn: r.Rows.Turn, ranges: ranges, prefix: prefix}
	a.mu.reads = map[int]kv.RangeIterator{}
	a.stop = context.AfterFunc(ctx, a.release)
	a.begin(index.ViewCursor{Skip: q.Skip, Left: q.Limit})
	return a
}

// read reads the range that an answer has come to, and begins to read those behind it. in is what is left of the range
// if it has not been begun. The caller closes the iterator.
func (a *ahead) read(now index.ViewCursor, in kv.KeyRange) kv.RangeIterator {
	if a.turn != a.r.Rows.Turn {
		a.turn, a.next = a.r.Rows.Turn, now.Part
		a.drop(false)
	}
	a.mu.Lock()
	rows := a.mu.reads[now.Part]
	delete(a.mu.reads, now.Part)
	a.mu.Unlock()
	if rows == nil {
		rows = a.r.Rows.R.GetRange(in, rowOptions(a.q, now))
	}
	if a.next = max(a.next, now.Part+1); now.Skip == 0 {
		a.begin(now)
	}
	return rows
}

// begin begins to read ranges, for an answer that has come to now.
func (a *ahead) begin(now index.ViewCursor) {
	last := min(len(a.ranges), now.Part+1+aheadRanges)
	switch {
	case now.Left == 0 || now.Skip > aggregate.DirectRows(a.r.Rows): // it begins somewhere in them
		return
	case now.Skip > 0:
		last = min(last, now.Part+1)
	case now.Left > 0:
		last = min(last, now.Part+now.Left) // most ranges have a row
	}
	for ; a.next < last; a.next++ {
		rows := a.r.Rows.R.GetRange(a.ranges[a.next].At(a.prefix), rowOptions(a.q, now))
		a.mu.Lock()
		if a.mu.reads[a.next] = rows; a.mu.ended {
			a.dropLocked()
		}
		a.mu.Unlock()
	}
}

// end ends all reads that the caller did not get.
func (a *ahead) end() {
	a.stop()
	a.release()
}

// release is end. It may be called at any time.
func (a *ahead) release() { a.drop(true) }

func (a *ahead) drop(end bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.ended = a.mu.ended || end
	a.dropLocked()
}

func (a *ahead) dropLocked() {
	for part, rows := range a.mu.reads {
		rows.Close()
		delete(a.mu.reads, part)
	}
}

// rowOptions returns the options of a read of rows for an answer that has come to now.
func rowOptions(q *index.ViewQuery, now index.ViewCursor) kv.RangeOptions {
	o := kv.RangeOptions{Reverse: q.Descending, Mode: kv.ModeIterator}
	if now.Left > 0 {
		o.Limit = now.Skip + now.Left
	}
	return o
}

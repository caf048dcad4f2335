package aggregate

import (
	"bytes"
	"sort"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// Where a view is asked for many offsets and nothing is written, the same partials are summed up again and again. So
// this node keeps, for the newest sequence of a view that is asked often, how many rows come before each of its
// partials: an offset is then one look-up and some rows of one partial. The rows of an index are decided by its
// sequence, which each query reads in its own snapshot, so that what is kept is either exactly right or not used at
// all.

const (
	// ranksBytes is how much of all views is kept, rankTableBytes of one at most: some 100,000 partials.
	ranksBytes     = 32 << 20
	rankTableBytes = 4 << 20
	// A table takes a look at every partial. It is made once so many queries of one sequence have asked as would have
	// cost about as much without it.
	rankedFrom   = 8
	rankedPerRow = 3000
)

// ranks are the tables that this node holds. The zero value is ready.
type ranks struct {
	mu struct {
		sync.Mutex
		views map[rankedView]*viewRanks
		bytes int
		turn  int64 // of the last use
	}
}

type rankedView struct {
	index.Publication
	view int
}

// viewRanks is what is known of one view at one sequence. Its fields are guarded by ranks.mu.
type viewRanks struct {
	seq   db.Seq
	rows  int64 // of the view then
	asked int64
	table *rankTable // nil: not made
	used  int64
}

// find is the table for a view as of a sequence, where it has so many rows; nil if there is none. first says that the
// caller is to make it: it is told so once.
func (r *ranks) find(key rankedView, seq db.Seq, rows int64) (table *rankTable, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.mu.views[key]
	if v == nil || v.seq.Compare(seq) < 0 || v.seq == seq && v.rows != rows {
		if v != nil {
			r.drop(key, v)
		}
		if r.mu.views == nil {
			r.mu.views = map[rankedView]*viewRanks{}
		}
		v = &viewRanks{seq: seq, rows: rows}
		r.mu.views[key] = v
		r.mu.bytes += v.bytes()
		r.shrink(v)
	}
	if v.seq != seq {
		return nil, false // a query of an older sequence
	}
	r.mu.turn++
	v.used = r.mu.turn
	if v.table != nil {
		return v.table, false
	}
	v.asked++
	return nil, v.asked == rankedFrom+rows/rankedPerRow
}

// keep takes over a table, unless the view has gone on meanwhile.
func (r *ranks) keep(key rankedView, seq db.Seq, rows int64, table *rankTable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.mu.views[key]
	if v == nil || v.seq != seq || v.rows != rows || v.table != nil {
		return
	}
	r.mu.bytes -= v.bytes()
	v.table = table
	r.mu.bytes += v.bytes()
	r.shrink(v)
}

// shrink drops what was not used for longest, but not v. The caller holds mu.
func (r *ranks) shrink(v *viewRanks) {
	for r.mu.bytes > ranksBytes {
		var oldest rankedView
		var found *viewRanks
		for key, w := range r.mu.views {
			if w != v && (found == nil || w.used < found.used) {
				oldest, found = key, w
			}
		}
		if found == nil {
			return
		}
		r.drop(oldest, found)
	}
}

func (r *ranks) drop(key rankedView, v *viewRanks) {
	r.mu.bytes -= v.bytes()
	delete(r.mu.views, key)
}

// bytes is roughly what a view takes, be there a table or none.
func (v *viewRanks) bytes() int {
	const alone = 300
	if v.table == nil {
		return alone
	}
	return alone + v.table.bytes()
}

// rankTable tells how many rows come before some positions of a view. Immutable once it is made.
type rankTable struct {
	positions []byte // one after the other
	ends      []int  // of each
	before    []int64
}

func (t *rankTable) bytes() int { return cap(t.positions) + 8*cap(t.ends) + 8*cap(t.before) }

func (t *rankTable) position(i int) []byte {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.positions[from:t.ends[i]]
}

func (t *rankTable) add(position []byte, before int64) {
	t.positions = append(t.positions, position...)
	t.ends = append(t.ends, len(t.positions))
	t.before = append(t.before, before)
}

// find is the last position of the table that is not behind another one, and how many rows come before it.
func (t *rankTable) find(position []byte) (at []byte, before int64) {
	i := sort.Search(len(t.ends), func(i int) bool { return bytes.Compare(t.position(i), position) > 0 })
	if i == 0 {
		return index.Whole.Begin, 0
	}
	return t.position(i - 1), t.before[i-1]
}

// Rank is how many rows of a view come before a position, as far as that is kept or now worth keeping; ok is false
// where it is neither.
func Rank(r *index.Reading, view int, position []byte, total int64) (n int64, ok bool, err error) {
	if !r.Decided {
		return 0, false, nil
	}
	all, key := &StateOf(r.Rows.D.Store).ranks,
		rankedView{index.Publication{Database: r.Rows.Core.Number, Signature: r.Keys.Signature}, view}
	table, first := all.find(key, r.Seq, total)
	if first {
		if table, err = makeRankTable(r, view, total); err != nil {
			return 0, false, err
		}
		if table != nil {
			all.keep(key, r.Seq, total, table)
		}
	}
	if table == nil {
		return 0, false, nil
	}
	from, n := table.find(position)
	c := Cover{S: r.Rows, View: view, Row: func([]byte, kv.KeyValue) (bool, error) {
		n++
		return true, nil
	}}
	_, err = c.Run(&r.Keys, index.Span{Begin: from, End: position}, false)
	return n, err == nil, err
}

// makeRankTable reads all partials of the lowest level. It is nil where they are too many, or too few.
func makeRankTable(r *index.Reading, view int, total int64) (*rankTable, error) {
	t := new(rankTable)
	var n, read, since int64
	size := int64(StateOf(r.Rows.D.Store).PartialRows)
	c := Cover{S: r.Rows, View: view, Counts: true, Large: true, lowest: true,
		Partial: func(p *Partial) (taken, more bool, err error) {
			t.add(p.Begin, n)
			n += p.Rows
			since = 0
			return true, t.bytes() <= rankTableBytes, nil
		},
		Row: func(position []byte, _ kv.KeyValue) (bool, error) {
			if since++; since == size {
				t.add(position, n)
				since = 0
			}
			n++
			read++
			return read <= CountedRows && t.bytes() <= rankTableBytes, nil
		},
	}
	more, err := c.Run(&r.Keys, index.Whole, true)
	if err != nil || !more || n != total {
		return nil, err
	}
	return t, nil
}

// CountedRows is how many rows are read at most to find out an offset. It takes less than two partials' where all
// partials are there.
const CountedRows = 20_000

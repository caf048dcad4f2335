package aggregate

import (
	"bytes"
	"sort"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// If a view gets many queries with offsets and no writes, the same partials would be added up again and again.
// Therefore this node caches, for the newest sequence of a view that is queried often, how many rows come before each
// of its partials. An offset then takes one lookup and some rows of one partial. An index's sequence determines its
// rows, and each query reads the sequence in its own snapshot. So a cached table is either exactly right or not used.

const (
	// ranksBytes limits the size of all tables, and rankTableBytes that of one table, to about 100,000 partials.
	ranksBytes     = 32 << 20
	rankTableBytes = 4 << 20
	// Making a table reads every partial. It is made after as many queries of one sequence as would have cost about the
	// same without it.
	rankedFrom   = 8
	rankedPerRow = 3000
)

// ranks are the tables on this node. The zero value is ready to use.
type ranks struct {
	mu struct {
		sync.Mutex
		views map[rankedView]*viewRanks
		bytes int
		turn  int64 // number of the last use
	}
}

type rankedView struct {
	index.Publication
	view int
}

// viewRanks is what is known about one view at one sequence. Its fields are protected by ranks.mu.
type viewRanks struct {
	seq   db.Seq
	rows  int64 // of the view at that time
	asked int64
	table *rankTable // nil if not made
	used  int64
}

// find returns the table for a view at a sequence, or nil. rows is the current number of rows. first reports that the
// caller should make the table; only one caller is told so.
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
		return nil, false // a query at an older sequence
	}
	r.mu.turn++
	v.used = r.mu.turn
	if v.table != nil {
		return v.table, false
	}
	v.asked++
	return nil, v.asked == rankedFrom+rows/rankedPerRow
}

// keep stores a table, unless the view has changed in the meantime.
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

// shrink evicts the least recently used tables, except v. The caller holds mu.
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

// bytes returns the approximate size of a view's entry.
func (v *viewRanks) bytes() int {
	const alone = 300
	if v.table == nil {
		return alone
	}
	return alone + v.table.bytes()
}

// rankTable tells how many rows come before some positions of a view. It does not change after it has been made.
type rankTable struct {
	positions []byte // concatenated
	ends      []int  // end of each position
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

// find returns the last position in the table that is not after position, and the number of rows before it.
func (t *rankTable) find(position []byte) (at []byte, before int64) {
	i := sort.Search(len(t.ends), func(i int) bool { return bytes.Compare(t.position(i), position) > 0 })
	if i == 0 {
		return index.Whole.Begin, 0
	}
	return t.position(i - 1), t.before[i-1]
}

// Rank returns how many rows of a view come before a position, if there is a table or it is now worth making one;
// otherwise ok is false.
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

// makeRankTable reads all partials of the lowest level. It returns nil if there are too many, or too few to avoid
// reading rows.
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

// CountedRows is the maximum number of rows that are read to find an offset. With all partials present, less than two
// partials' rows are read.
const CountedRows = 20_000

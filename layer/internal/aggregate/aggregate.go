package aggregate

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
)

const (
	// AggregatePartials and aggregateBytes limit what one transaction of Aggregate reads: the items of this many
	// partials, and this many bytes, which the last partial may exceed. The transaction must be short, because a write
	// in its range makes it start again.
	AggregatePartials = 32
	aggregateBytes    = 1 << 20
	// ClosingPartials is the factor by which transactions are larger at the end of a build to which nobody else writes,
	// while somebody waits for the build: each partial takes a chain of reads, which is slow in a store that is busy
	// with writers.
	ClosingPartials = 8
	// From attempt cautiousFrom on, a transaction handles only one range, and from attempt givesUpFrom on it leaves
	// that to a later call.
	cautiousFrom = 3
	givesUpFrom  = 6
	// attemptShare is the factor by which each attempt is smaller than the previous one.
	attemptShare = 4
)

// Aggregate updates the partial aggregates of the index, in small transactions (see partials.go). It may run at any
// time, concurrently with writers and other calls. It yields to them, and leaves to the next call what they keep it
// from doing. It does nothing for an index that does not exist or is being built for the first time: its rows would be
// marked one by one, while the end of the build aggregates them all.
func (ix Index) Aggregate(ctx context.Context) error {
	return Aggregate(ctx, ix.Index, false, AggregatePartials)
}

// Aggregate is Index.Aggregate with transactions of the given number of partials. closing reports that a build is about
// to end.
func Aggregate(ctx context.Context, ix *index.Index, closing bool, partials int) error {
	on, err := db.Read(ctx, ix.Db, func(t *db.Txn) (bool, error) { return beginAggregates(ix, t, closing) })
	if !on || err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(1)
	// Somebody waits for it.
	if closing {
		g.SetLimit(runtime.GOMAXPROCS(0))
	}
	var repaired atomic.Int64
	for view := range ix.Design().Views {
		g.Go(db.Guarded(func() error { return aggregateView(within, ix, view, partials, &repaired) }))
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return leaveEpoch(ctx, ix, repaired.Load())
}

// aggregateView updates all levels of a view, the lowest first, in transactions of at most the given number of
// partials. It adds to repaired the number of ranges that had marks of the newest epoch. If the store cannot commit
// even the smallest transaction, the rest is left to a later call.
func aggregateView(ctx context.Context, ix *index.Index, view, partials int, repaired *atomic.Int64) error {
	p := db.NewPortions(partials)
	for level := range keyspace.ViewLevels {
		a := aggregation{ix: ix, view: view, level: level, size: StateOf(ix.Db.Store).PartialRows,
			raw: ix.Design().Views[view].Raw}
		if a.function = reduce.New(ix.Design().Views[view].Reduce); a.function != nil {
			if _, ok := a.function.(reduce.Counter); ok {
				a.function = nil // rows are counted anyway
			}
		}
		for from := index.Whole.Begin; from != nil; from = a.next {
			a.attempts = 0
			_, err := db.ReadPart(ctx, ix.Db, p, 0, func(t *db.Txn, n int) (int, error) { return a.run(t, from, n) })
			switch {
			case db.TooMuch(err):
				return nil
			case err != nil:
				return err
			}
		}
		if level == 0 {
			repaired.Add(a.fresh)
		}
	}
	return nil
}

// beginAggregates makes writers of rows leave marks from now on, in a new epoch if there are many marks. It returns
// false if there is nothing to aggregate yet.
func beginAggregates(ix *index.Index, t *db.Txn, closing bool) (bool, error) {
	k := ix.Keys(t.Keys)
	aggregated, found := GetMarked(t, &k), k.Find(t)
	status, seq := t.Get(k.InfoKey(keyspace.ViewStatus)), t.Get(k.InfoKey(keyspace.ViewUpdateSeq))
	now, err := aggregated()
	if err != nil {
		return false, err
	}
	if err := found(); err != nil {
		return false, err
	}
	if now.On {
		return true, enterEpoch(ix, t, &k, now)
	}
	if now.Outdated {
		DropAggregates(t, &k)
	}
	building, err := index.ParseStatus(status)
	if err != nil {
		return false, err
	}
	at, err := index.ParseIndexSeq(seq)
	if err != nil || !(closing && building != nil) && (at.Collation == 0 || at.Stale()) {
		return false, err
	}
	setAggregates(t, &k, 1)
	for view := range ix.Design().Views {
		t.Atomic(kv.AtomicAdd, append(markPrefix(&k, view, 1), index.Whole.Begin...), db.LittleEndian(0))
	}
	return true, nil
}

// State is what package aggregate keeps with a Store.
type State struct {
	// PartialRows is the maximum number of rows in a partial aggregate, and of partials in a partial of a higher level.
	PartialRows int
	ranks       ranks
}

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// aggregation is the work on one level of a view.
type aggregation struct {
	ix       *index.Index
	view     int
	level    int
	raw      bool
	size     int              // maximum size of a partial, in items
	function reduce.Aggregate // nil if rows are only counted
	attempts int              // of the current transaction
	tried    int              // partials read by the last attempt
	most     int              // maximum number of items of the next range read
	next     []byte           // position to continue from after the transaction; nil at the end

	k *index.Keys
	// Prefixes of the lists of what the level lacks, which are marks on the lowest level; new entries are written under
	// the first prefix.
	holes    [][]byte
	fresh    int64 // number of repaired ranges listed under the first prefix
	items    []item
	arena    []byte
	complete bool // items are all items in the gap
}

// run repairs up to n partials from a position on, and sets next. It returns how many partials it has read. Later
// attempts do less, and so do later transactions, until some have succeeded (Portions).
func (a *aggregation) run(t *db.Txn, from []byte, n int) (done int, err error) {
	if a.attempts++; a.attempts > 1 {
		n = max(1, min(n, a.tried/attemptShare))
	}
	a.items = a.items[:0]
	defer func() {
		a.tried = done
		if err != nil {
			a.tried += len(a.items)/a.size + 1
			done = a.tried
		}
	}()
	keys := a.ix.Keys(t.Keys)
	a.k, a.next = &keys, nil
	marked, found := GetMarked(t, a.k), keys.Find(t)
	now, err := marked()
	if !now.On || err != nil {
		return 0, err
	}
	if err := found(); err != nil {
		return 0, err
	}
	if a.level == 0 {
		a.holes = MarkPrefixes(a.k, a.view, now)
	} else {
		a.holes = [][]byte{holePrefix(a.k, a.view, a.level)}
	}
	// Limit the number of ranges too, because each takes a chain of reads.
	for ranges := 0; done < n && ranges < AggregatePartials && t.Spent < aggregateBytes; ranges++ {
		hole, err := a.hole(t, from)
		if hole == nil || err != nil {
			a.next = nil
			if a.attempts == 1 {
				done = n // there are no more
			}
			return done, err
		}
		gap, err := a.gap(t, hole)
		if err != nil {
			return done, err
		}
		if a.attempts >= givesUpFrom {
			a.next = gap.End
			break
		}
		a.most = max(2, n-done) * a.size // this many items have a cut between them
		if from, err = a.repair(t, gap); err != nil {
			return done, err
		}
		a.next = from
		if done += max(1, len(a.items)/a.size); a.attempts >= cautiousFrom {
			break
		}
	}
	return min(done, n), nil
}

// hole returns the first position, not before from, at which something is missing, or nil.
func (a *aggregation) hole(t *db.Txn, from []byte) (first []byte, err error) {
	list := 0
	for i, prefix := range a.holes {
		row, err := db.FirstRow(t.Snapshot(), index.Span{Begin: from, End: index.Whole.End}.At(prefix), false)
		if err != nil {
			return nil, err
		}
		if row == nil {
			continue
		}
		if hole := row.Key[len(prefix):]; first == nil || bytes.Compare(hole, first) < 0 {
			first, list = hole, i
		}
	}
	if first != nil && list == 0 {
		a.fresh++
	}
	return first, nil
}

// gap returns the range around a hole that has to be repaired: that of the partial that covers the hole, or the range
// between its neighbours.
func (a *aggregation) gap(t *db.Txn, hole []byte) (index.Span, error) {
	before, err := a.last(t, a.level, append(bytes.Clone(hole), 0))
	if err != nil {
		return index.Span{}, err
	}
	gap := index.Whole
	if before != nil {
		if bytes.Compare(before.End, hole) > 0 {
			return before.Span, nil
		}
		gap.Begin = before.End
	}
	prefix := PartialPrefix(a.k, a.view, a.level)
	after, err := db.FirstRow(t, index.Span{Begin: hole, End: index.Whole.End}.At(prefix), false)
	if after != nil {
		gap.End = after.Key[len(prefix):]
	}
	return gap, err
}

// last returns the last partial of a level that begins before a position. It is read with conflict, so that a partial
// written in the meantime is not missed.
func (a *aggregation) last(t *db.Txn, level int, before []byte) (*Partial, error) {
	prefix := PartialPrefix(a.k, a.view, level)
	row, err := db.FirstRow(t, index.Span{Begin: index.Whole.Begin, End: before}.At(prefix), true)
	if row == nil || err != nil {
		return nil, err
	}
	p := new(Partial)
	return p, ParsePartial(p, row.Key[len(prefix):], row.Value)
}

// repair writes the partials of a gap, or of its beginning, and returns where it ended.
func (a *aggregation) repair(t *db.Txn, gap index.Span) ([]byte, error) {
	a.items, a.arena = a.items[:0], nil
	done, err := a.collect(t, gap)
	if err != nil {
		return nil, err
	}
	if a.level > 0 && len(a.items) == 0 {
		return gap.End, nil // the level below is missing
	}
	cuts := cutItems(a.items, a.raw, a.size)
	if a.complete && len(a.items)-last(cuts) < a.size/4 && !bytes.Equal(done.End, index.Whole.End) {
		if done.End, err = a.absorb(t, done.End); err != nil {
			return nil, err
		}
		cuts = cutItems(a.items, a.raw, a.size)
	}
	// The items after the last cut may be an incomplete partial.
	if !a.complete && len(cuts) > 0 {
		at := last(cuts)
		done.End = a.boundary(at)
		cuts, a.items = cuts[:len(cuts)-1], a.items[:at]
	}
	a.write(t, done, cuts)
	if !bytes.Equal(done.End, gap.End) && bytes.Compare(done.End, gap.End) < 0 {
		markHole(t, a.holes[0], done.End)
	}
	return done.End, a.clearAbove(t, done)
}

func last(cuts []int) int {
	if len(cuts) == 0 {
		return 0
	}
	return cuts[len(cuts)-1]
}

// boundary returns the position at which the partial with first item i begins.
func (a *aggregation) boundary(i int) []byte {
	if a.level > 0 {
		return a.items[i].position
	}
	return boundary(&a.items[i-1], &a.items[i], a.raw)
}

// absorb collects the items of the next partial, if one begins at position, and returns where it ends.
func (a *aggregation) absorb(t *db.Txn, position []byte) ([]byte, error) {
	prefix := PartialPrefix(a.k, a.view, a.level)
	key := append(prefix, position...)
	value, err := t.Get(key).Wait()
	if value == nil || err != nil {
		return position, err
	}
	var p Partial
	if err := ParsePartial(&p, position, value); err != nil {
		return nil, err
	}
	n := len(a.items)
	done, err := a.collect(t, p.Span)
	if !bytes.Equal(done.Begin, position) {
		a.items = a.items[:n]
		return position, err
	}
	return done.End, err
}

// write replaces the partials in a span.
func (a *aggregation) write(t *db.Txn, done index.Span, cuts []int) {
	prefix := PartialPrefix(a.k, a.view, a.level)
	t.ClearRange(done.At(prefix))
	for _, holes := range a.holes {
		t.ClearRange(done.At(holes))
	}
	begin, from := done.Begin, 0
	var value []byte
	for i := range len(cuts) + 1 {
		end, to := done.End, len(a.items)
		if i < len(cuts) {
			end, to = a.boundary(cuts[i]), cuts[i]
		}
		p := a.partial(index.Span{Begin: begin, End: end}, a.items[from:to])
		value = p.Append(value[:0])
		t.Set(append(prefix[:len(prefix):len(prefix)], begin...), value)
		begin, from = end, to
	}
}

// partial returns the partial aggregate of items.
func (a *aggregation) partial(s index.Span, items []item) Partial {
	p := Partial{Span: s}
	for i := range items {
		if items[i].rows > 0 {
			if p.Rows == 0 {
				p.First = items[i].first
			}
			p.Last = items[i].last
		}
		p.Rows += items[i].rows
	}
	if a.function != nil && p.Rows > 0 {
		p.State = a.reduce(items)
	}
	return p
}

// reduce returns nil if the items cannot be reduced. A query then gets the reason from the rows.
func (a *aggregation) reduce(items []item) []byte {
	a.function.Reset()
	for i := range items {
		var err error
		switch {
		case items[i].rows == 0:
			continue
		case a.level == 0:
			err = a.function.Add(items[i].first.Json, items[i].value)
		case items[i].value == nil:
			return nil
		default:
			err = a.function.Merge(items[i].value)
		}
		if err != nil {
			return nil
		}
	}
	state, ok := a.function.AppendState(nil)
	if !ok || len(state) > MaxState {
		return nil
	}
	return state
}

func markHole(t *db.Txn, holes, position []byte) {
	t.Atomic(kv.AtomicAdd, append(holes[:len(holes):len(holes)], position...), db.LittleEndian(0))
}

// clearAbove clears the partials of higher levels that overlap a span.
func (a *aggregation) clearAbove(t *db.Txn, s index.Span) error {
	for level := a.level + 1; level < keyspace.ViewLevels; level++ {
		hole := s.Begin
		p, err := a.last(t, level, s.Begin)
		if err != nil {
			return err
		}
		prefix := PartialPrefix(a.k, a.view, level)
		if p != nil && bytes.Compare(p.End, s.Begin) > 0 {
			t.Clear(append(prefix[:len(prefix):len(prefix)], p.Begin...))
			hole = p.Begin
		}
		t.ClearRange(s.At(prefix))
		markHole(t, holePrefix(a.k, a.view, level), hole)
	}
	return nil
}

package layer

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
)

const (
	// aggregatePartials and aggregateBytes bound what one transaction of Aggregate reads: as many partials as have so
	// many items, and so many bytes, which the last partial may pass. It has to be short, since it begins again where
	// somebody writes there.
	aggregatePartials = 32
	aggregateBytes    = 1 << 20
	// closingPartials is how many times as many partials one takes at the end of a build of which nobody else writes
	// rows, while somebody waits: each makes a chain of reads, which takes long where a store is busy with writers.
	closingPartials = 8
	// cautiousFrom and givesUpFrom are the attempts of a transaction from which on it does only one range, and leaves
	// that to a later call.
	cautiousFrom = 3
	givesUpFrom  = 6
	// attemptShare is what share an attempt takes of what the one before it took.
	attemptShare = 4
)

// Aggregate brings the partial aggregates of the index up to date with its rows, in small transactions (see
// viewpartials.go). It may run at any time, beside writers and other calls: it gives way to them, and what they keep it
// from stays for the next call. It does nothing to an index that there is not, nor to one that is built for the first
// time: its rows would be marked one by one, and the end of the build aggregates them all.
func (ix *Index) Aggregate(ctx context.Context) error {
	return ix.aggregate(ctx, false, aggregatePartials)
}

// aggregate is Aggregate, in transactions of so many partials; closing says that a build is about to end.
func (ix *Index) aggregate(ctx context.Context, closing bool, partials int) error {
	on, err := read(ctx, ix.db, func(t *txn) (bool, error) { return ix.beginAggregates(t, closing) })
	if !on || err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(1)
	if closing { // somebody waits
		g.SetLimit(runtime.GOMAXPROCS(0))
	}
	var mended atomic.Int64
	for view := range ix.design.Views {
		g.Go(guarded(func() error { return ix.aggregateView(within, view, partials, &mended) }))
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ix.leaveEpoch(ctx, mended.Load())
}

// aggregateView brings all levels of a view up to date, the lowest first, in transactions of at most so many partials.
// It adds to mended how many ranges had marks of the newest epoch. What the store does not get through with in the
// smallest of transactions is left to a later call.
func (ix *Index) aggregateView(ctx context.Context, view, partials int, mended *atomic.Int64) error {
	p := newPortions(partials)
	for level := range keyspace.ViewLevels {
		a := aggregation{ix: ix, view: view, level: level, size: aggregateOf(ix.db.store).partialRows,
			raw: ix.design.Views[view].Raw}
		if a.function = reduce.New(ix.design.Views[view].Reduce); a.function != nil {
			if _, ok := a.function.(reduce.Counter); ok {
				a.function = nil // how many rows there are is kept in any case
			}
		}
		for from := whole.begin; from != nil; from = a.next {
			a.attempts = 0
			_, err := readPart(ctx, ix.db, p, 0, func(t *txn, n int) (int, error) { return a.run(t, from, n) })
			switch {
			case tooMuch(err):
				return nil
			case err != nil:
				return err
			}
		}
		if level == 0 {
			mended.Add(a.fresh)
		}
	}
	return nil
}

// beginAggregates has writers of rows leave marks from now on, of another epoch where there are many. false where there
// is nothing to aggregate yet.
func (ix *Index) beginAggregates(t *txn, closing bool) (bool, error) {
	k := ix.keys(t.keys)
	aggregated, found := getMarked(t, &k), k.find(t)
	status, seq := t.Get(k.infoKey(keyspace.ViewStatus)), t.Get(k.infoKey(keyspace.ViewUpdateSeq))
	now, err := aggregated()
	if err != nil {
		return false, err
	}
	if err := found(); err != nil {
		return false, err
	}
	if now.on {
		return true, ix.enterEpoch(t, &k, now)
	}
	if now.outdated {
		dropAggregates(t, &k)
	}
	building, err := parseStatus(status)
	if err != nil {
		return false, err
	}
	at, err := parseIndexSeq(seq)
	if err != nil || !(closing && building != nil) && (at.collation == 0 || at.stale()) {
		return false, err
	}
	setAggregates(t, &k, 1)
	for view := range ix.design.Views {
		t.Atomic(kv.AtomicAdd, append(k.markPrefix(view, 1), whole.begin...), littleEndian(0))
	}
	return true, nil
}

// aggregateState is what partial aggregates remember of a Store.
type aggregateState struct {
	// partialRows is how many rows a partial aggregate stands for at most, and how many partials one of a higher level.
	partialRows int
	ranks       ranks
}

var aggregateSlot = newSlot[aggregateState]()

func aggregateOf(s *dbStore) *aggregateState { return aggregateSlot.of(s) }

// aggregation is the work on one level of a view.
type aggregation struct {
	ix       *Index
	view     int
	level    int
	raw      bool
	size     int              // of a partial, in items
	function reduce.Aggregate // nil where only rows are counted
	attempts int              // of the transaction under way
	tried    int              // partials that the last of them read
	most     int              // items that the next range read may bring
	next     []byte           // where to go on after the transaction; nil at the end

	k        *indexKeys
	holes    [][]byte // where is listed what the level lacks: marks for the lowest. New ones go into the first
	fresh    int64    // ranges that were to be mended for what is listed there
	items    []item
	arena    []byte
	complete bool // items are all there are in the gap
}

// run mends what is lacking from a position on, as much as n partials have, and sets next. It returns how many partials
// it has read. Later attempts do less, and so do the transactions after them, until some have done well (portions).
func (a *aggregation) run(t *txn, from []byte, n int) (done int, err error) {
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
	keys := a.ix.keys(t.keys)
	a.k, a.next = &keys, nil
	marked, found := getMarked(t, a.k), keys.find(t)
	now, err := marked()
	if !now.on || err != nil {
		return 0, err
	}
	if err := found(); err != nil {
		return 0, err
	}
	if a.level == 0 {
		a.holes = a.k.markPrefixes(a.view, now)
	} else {
		a.holes = [][]byte{a.k.holePrefix(a.view, a.level)}
	}
	// No more ranges than small ones would fill a transaction with: each is a chain of reads.
	for ranges := 0; done < n && ranges < aggregatePartials && t.spent < aggregateBytes; ranges++ {
		hole, err := a.hole(t, from)
		if hole == nil || err != nil {
			a.next = nil
			if a.attempts == 1 {
				done = n // there is no more
			}
			return done, err
		}
		gap, err := a.gap(t, hole)
		if err != nil {
			return done, err
		}
		if a.attempts >= givesUpFrom {
			a.next = gap.end
			break
		}
		a.most = max(2, n-done) * a.size // so many have a cut between them
		if from, err = a.mend(t, gap); err != nil {
			return done, err
		}
		a.next = from
		if done += max(1, len(a.items)/a.size); a.attempts >= cautiousFrom {
			break
		}
	}
	return min(done, n), nil
}

// hole is the first position, from one on, at which something is lacking; nil if there is none.
func (a *aggregation) hole(t *txn, from []byte) (first []byte, err error) {
	list := 0
	for i, prefix := range a.holes {
		row, err := firstRow(t.Snapshot(), span{from, whole.end}.at(prefix), false)
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

// gap is the range around a hole that has to be mended: of the partial that covers it, or up to those on both sides.
func (a *aggregation) gap(t *txn, hole []byte) (span, error) {
	before, err := a.last(t, a.level, append(bytes.Clone(hole), 0))
	if err != nil {
		return span{}, err
	}
	gap := whole
	if before != nil {
		if bytes.Compare(before.end, hole) > 0 {
			return before.span, nil
		}
		gap.begin = before.end
	}
	prefix := a.k.partialPrefix(a.view, a.level)
	after, err := firstRow(t, span{hole, whole.end}.at(prefix), false)
	if after != nil {
		gap.end = after.Key[len(prefix):]
	}
	return gap, err
}

// last is the last partial of a level that begins before a position. It is read with conflict, so that one that comes
// to be there meanwhile is not missed.
func (a *aggregation) last(t *txn, level int, before []byte) (*partial, error) {
	prefix := a.k.partialPrefix(a.view, level)
	row, err := firstRow(t, span{whole.begin, before}.at(prefix), true)
	if row == nil || err != nil {
		return nil, err
	}
	p := new(partial)
	return p, parsePartial(p, row.Key[len(prefix):], row.Value)
}

// mend writes the partials of a gap, or of its beginning, and returns where it ended.
func (a *aggregation) mend(t *txn, gap span) ([]byte, error) {
	a.items, a.arena = a.items[:0], nil
	done, err := a.collect(t, gap)
	if err != nil {
		return nil, err
	}
	if a.level > 0 && len(a.items) == 0 {
		return gap.end, nil // the level below is not there yet
	}
	cuts := cutItems(a.items, a.raw, a.size)
	if a.complete && len(a.items)-last(cuts) < a.size/4 && !bytes.Equal(done.end, whole.end) {
		if done.end, err = a.absorb(t, done.end); err != nil {
			return nil, err
		}
		cuts = cutItems(a.items, a.raw, a.size)
	}
	if !a.complete && len(cuts) > 0 { // what follows the last cut may not be all of a partial
		at := last(cuts)
		done.end = a.boundary(at)
		cuts, a.items = cuts[:len(cuts)-1], a.items[:at]
	}
	a.write(t, done, cuts)
	if !bytes.Equal(done.end, gap.end) && bytes.Compare(done.end, gap.end) < 0 {
		markHole(t, a.holes[0], done.end)
	}
	return done.end, a.clearAbove(t, done)
}

func last(cuts []int) int {
	if len(cuts) == 0 {
		return 0
	}
	return cuts[len(cuts)-1]
}

// boundary is where a partial begins whose first item is at i.
func (a *aggregation) boundary(i int) []byte {
	if a.level > 0 {
		return a.items[i].position
	}
	return boundary(&a.items[i-1], &a.items[i], a.raw)
}

// absorb adds what the next partial stands for, where one begins at a position, and returns where that ends.
func (a *aggregation) absorb(t *txn, position []byte) ([]byte, error) {
	prefix := a.k.partialPrefix(a.view, a.level)
	key := append(prefix, position...)
	value, err := t.Get(key).Wait()
	if value == nil || err != nil {
		return position, err
	}
	var p partial
	if err := parsePartial(&p, position, value); err != nil {
		return nil, err
	}
	n := len(a.items)
	done, err := a.collect(t, p.span)
	if !bytes.Equal(done.begin, position) {
		a.items = a.items[:n]
		return position, err
	}
	return done.end, err
}

// write puts the partials of a span in the place of what is there.
func (a *aggregation) write(t *txn, done span, cuts []int) {
	prefix := a.k.partialPrefix(a.view, a.level)
	t.ClearRange(done.at(prefix))
	for _, holes := range a.holes {
		t.ClearRange(done.at(holes))
	}
	begin, from := done.begin, 0
	var value []byte
	for i := range len(cuts) + 1 {
		end, to := done.end, len(a.items)
		if i < len(cuts) {
			end, to = a.boundary(cuts[i]), cuts[i]
		}
		p := a.partial(span{begin, end}, a.items[from:to])
		value = p.append(value[:0])
		t.Set(append(prefix[:len(prefix):len(prefix)], begin...), value)
		begin, from = end, to
	}
}

// partial is the memo of items.
func (a *aggregation) partial(s span, items []item) partial {
	p := partial{span: s}
	for i := range items {
		if items[i].rows > 0 {
			if p.rows == 0 {
				p.first = items[i].first
			}
			p.last = items[i].last
		}
		p.rows += items[i].rows
	}
	if a.function != nil && p.rows > 0 {
		p.state = a.reduce(items)
	}
	return p
}

// reduce is nil where the items cannot be reduced: who asks for them hears why, from the rows.
func (a *aggregation) reduce(items []item) []byte {
	a.function.Reset()
	for i := range items {
		var err error
		switch {
		case items[i].rows == 0:
			continue
		case a.level == 0:
			err = a.function.Add(items[i].first.json, items[i].value)
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
	if !ok || len(state) > maxState {
		return nil
	}
	return state
}

func markHole(t *txn, holes, position []byte) {
	t.Atomic(kv.AtomicAdd, append(holes[:len(holes):len(holes)], position...), littleEndian(0))
}

// clearAbove clears the partials of higher levels that have to do with a span.
func (a *aggregation) clearAbove(t *txn, s span) error {
	for level := a.level + 1; level < keyspace.ViewLevels; level++ {
		hole := s.begin
		p, err := a.last(t, level, s.begin)
		if err != nil {
			return err
		}
		prefix := a.k.partialPrefix(a.view, level)
		if p != nil && bytes.Compare(p.end, s.begin) > 0 {
			t.Clear(append(prefix[:len(prefix):len(prefix)], p.begin...))
			hole = p.begin
		}
		t.ClearRange(s.at(prefix))
		markHole(t, a.k.holePrefix(a.view, level), hole)
	}
	return nil
}

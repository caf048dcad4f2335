package alldocs

import (
	"cmp"
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The first reader who asks for the offset of an id in a large list divides the list around the id into ranges with
// counters (db/docranges.go). It takes steps, each in a transaction that leaves the list in a state from which anybody
// can continue:
//
//  1. Ranges are cut off the high end of the range that has the id. Their counters begin at 0, and they are unsettled.
//  2. Unsettled ranges are settled. What a counter lacks, the documents that were there before the range was, is the
//     same at all versions: the keys in the range less the value of the counter. So writers go on meanwhile.
//
// Only a settled range is divided, so that what an unsettled one lacks is always in the counter of one range.

const (
	// divideTime is how long a request divides a list. If that is not enough, it gets no offset, and the next request
	// continues.
	divideTime = 2 * time.Second
	// undividedTime is how long no list is divided after an attempt that has achieved nothing.
	undividedTime = 10 * time.Second
	// cutTogether is how many ranges are cut off together, and cutRows how many keys may be read for them.
	cutTogether = 64
	cutRows     = 1 << 18
)

// divisions lets one reader divide the list of a database, for all who wait for that.
type divisions = cache.Flights[*db.Core, struct{}]

// divide divides the list so that the rank of an id can be told by reading few keys. Failures, also for want of time,
// are not reported: then there is no offset.
func (d Database) divide(ctx context.Context, id string) {
	core := d.Core.Load()
	state := StateOf(d.Store)
	_, _ = state.dividing.Do(ctx, core, func() (struct{}, error) {
		now := time.Now()
		if at := core.Undivided.Load(); at != 0 && now.Sub(time.Unix(0, at)) < undividedTime {
			return struct{}{}, nil
		}
		within, cancel := context.WithTimeout(ctx, cmp.Or(state.DivideTime, divideTime))
		defer cancel()
		core.Undivided.Store(0)
		for steps := 0; ; steps++ {
			more, err := Division(d).step(within, id)
			switch {
			case ctx.Err() != nil:
				return struct{}{}, ctx.Err()
			case err != nil && steps == 0:
				core.Undivided.Store(now.UnixNano())
				return struct{}{}, nil
			case err != nil || !more:
				return struct{}{}, nil
			}
		}
	})
}

// Division has the steps in which the list of a database is divided.
type Division struct{ *db.Database }

// step takes one step. more is false if none is needed or possible.
func (d Division) step(ctx context.Context, id string) (more bool, err error) {
	p, err := d.Plan(ctx, id)
	if err != nil {
		return false, err
	}
	switch {
	case len(p.Unsettled) > 0:
		return true, d.Settle(ctx, p.Unsettled)
	case p.Pieces == 0:
		return false, nil
	case p.ranges+p.Pieces > mostRanges:
		n, err := d.Merge(ctx, p.most)
		return n > 0, err
	}
	firsts, err := d.pieces(ctx, p)
	if err != nil || len(firsts) == 0 {
		return false, err
	}
	return true, d.Cut(ctx, p.Number, firsts)
}

// Plan is what has to be done about a range that is too large.
type Plan struct {
	Unsettled []int64 // ranges to be settled first
	Number    int64   // of the range, 0 for the part before the first one
	Pieces    int     // to be cut off; 0 if it is not too large
	in        kv.KeyRange
	most      int64 // the size of a piece
	ranges    int   // that there are
}

// Plan returns what has to be done about the range of an id.
func (d Division) Plan(ctx context.Context, id string) (Plan, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (p Plan, err error) {
		if t.Cfg.Current().Scheme == "" {
			return p, nil // only writers convert such a database
		}
		total, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs)
		if err != nil {
			return p, err
		}
		counts, err := db.ReadDocCounts(t.Snapshot(), t.Keys, t.Cfg, total[0])
		if err != nil {
			return p, err
		}
		at := t.Cfg.DocRangeOf(id)
		p.Unsettled, p.Number, p.ranges = counts.Unsettled, t.Cfg.DocRangeNumber(at), len(t.Cfg.DocRanges)
		p.most = StateOf(d.Store).most(total[0])
		p.in = kv.KeyRange{Begin: counts.Key(at), End: counts.Key(at + 1)}
		if rows := counts.Before(at+1) - counts.Before(at); rows > 2*p.most {
			p.Pieces = int(max(1, min(rows/p.most-1, cutTogether, cutRows/p.most)))
		}
		return p, nil
	})
}

// pieces returns the lowest ids of the ranges to cut off, the highest first.
func (d Division) pieces(ctx context.Context, p Plan) (firsts []string, err error) {
	prefix, n := len(d.Core.Load().Keys.Sub(nil, keyspace.AllDocs)), int64(0)
	err = db.Scan(ctx, d.Store.Engine, p.in, true, func(row kv.KeyValue) (bool, error) {
		if n++; n%p.most != 0 {
			return true, nil
		}
		id, _, err := tuple.TakeString(row.Key[prefix:])
		if err != nil {
			return false, db.Corrupt("list of documents", err)
		}
		firsts = append(firsts, id)
		return len(firsts) < p.Pieces, nil
	})
	return firsts, err
}

// Cut cuts ranges that begin at some ids off the range with a number. It does nothing if that has changed meanwhile.
func (d Division) Cut(ctx context.Context, from int64, firsts []string) error {
	_, _, err := db.TransactOnce(ctx, d.Database, kv.TransactOptions{}, func(t *db.Txn) (none struct{}, err error) {
		unsettled, err := t.Snapshot().Get(t.Keys.DocCountFrom(nil, from)).Wait()
		if err != nil || unsettled != nil || len(t.Cfg.DocRanges)+len(firsts) > mostRanges {
			return none, err
		}
		for _, id := range firsts {
			i := t.Cfg.DocRangeOf(id)
			if t.Cfg.DocRangeNumber(i) != from || i >= 0 && t.Cfg.DocRanges[i].First == id {
				return none, nil
			}
		}
		ranges, number := t.Keys.Config(nil, db.ConfigDocRanges), t.Cfg.LastDocRange
		set := func(key []byte) {
			t.Set(key, tuple.AppendInt(tuple.AppendInt(nil, keyspace.DocRangeFormat), number))
		}
		for _, id := range firsts {
			number++
			set(t.Close(tuple.AppendString(append(t.Open(), ranges...), id)))
			t.Set(t.Close(t.Keys.DocCountFrom(t.Open(), number)), tuple.AppendInt(nil, from))
		}
		set(ranges)
		t.Restamp = true
		return none, nil
	})
	return err
}

// Settle settles unsettled ranges.
func (d Division) Settle(ctx context.Context, numbers []int64) error {
	portions := db.NewPortions(len(numbers))
	for len(numbers) > 0 {
		done, _, err := db.WritePart(ctx, d.Database, portions, len(numbers), func(t *db.Txn, n int) (int, error) {
			return settle(t, numbers[:n])
		})
		if err != nil {
			return err
		}
		numbers = numbers[done:]
	}
	return nil
}

// settle moves the documents that were in unsettled ranges before these were made from the counters of the ranges that
// they were cut off to their own. Of two transactions that settle a range, one conflicts and finds it settled. All else
// is read without conflicts, at one version.
func settle(t *db.Txn, numbers []int64) (done int, err error) {
	snap, moved := t.Snapshot(), map[int64]int64{}
	for _, number := range numbers {
		lacks, from, err := unsettled(t, snap, number)
		if err != nil {
			return done, err
		}
		moved[number] += lacks
		moved[from] -= lacks
		t.Clear(t.Keys.DocCountFrom(nil, number))
		if done++; t.Spent >= db.ReadBudget {
			break
		}
	}
	for number, n := range moved {
		if number > 0 && n != 0 {
			t.Atomic(kv.AtomicAdd, t.Keys.DocCount(nil, number), db.LittleEndian(n))
		}
	}
	return done, nil
}

// unsettled returns how many documents the counter of a range lacks, and the number of the range whose counter has
// them. A settled range lacks none.
func unsettled(t *db.Txn, snap kv.Reader, number int64) (lacks, from int64, err error) {
	mark, counted := t.Get(t.Keys.DocCountFrom(nil, number)), snap.Get(t.Keys.DocCount(nil, number))
	value, err := mark.Wait()
	if value == nil || err != nil {
		return 0, 0, err
	}
	if from, _, err = tuple.TakeInt(value); err != nil {
		return 0, 0, db.Corrupt("counter of a range of documents", err)
	}
	has, err := db.WaitCounter(counted)
	if err != nil {
		return 0, 0, err
	}
	in, ok := t.Cfg.DocRangeKeys(t.Keys, number)
	if !ok {
		return 0, 0, nil
	}
	rows := snap.GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		lacks++
		t.Spent += len(row.Key) + len(row.Value)
	}
	return lacks - has, from, rows.Err()
}

// Merge merges adjacent ranges that have at most a number of documents together, and returns by how many there are
// fewer. Writers of documents in a range that ceases to exist conflict with it, so that ranges that are being written
// to are left out after the first attempt.
func (d Division) Merge(ctx context.Context, most int64) (merged int, err error) {
	seen := map[int64]int64{}
	merged, _, err = db.TransactOnce(ctx, d.Database, kv.TransactOptions{}, func(t *db.Txn) (int, error) {
		total, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs)
		if err != nil {
			return 0, err
		}
		counts, err := db.ReadDocCounts(t.Snapshot(), t.Keys, t.Cfg, total[0])
		if err != nil || len(counts.Unsettled) > 0 {
			return 0, err
		}
		into, sum, n := int64(0), counts.Before(0), 0
		for i, r := range t.Cfg.DocRanges {
			has := counts.Before(i+1) - counts.Before(i)
			before, known := seen[r.Number]
			busy := known && before != has
			if seen[r.Number] = has; busy || sum+has > most {
				into, sum = r.Number, has
				continue
			}
			key := t.Keys.DocCount(nil, r.Number)
			t.AddReadConflict(db.SingleKey(key))
			t.Clear(key)
			t.Clear(tuple.AppendString(t.Keys.Config(nil, db.ConfigDocRanges), r.First))
			if into > 0 && has != 0 {
				t.Atomic(kv.AtomicAdd, t.Keys.DocCount(nil, into), db.LittleEndian(has))
			}
			sum += has
			n++
		}
		t.Restamp = n > 0
		return n, nil
	})
	return merged, err
}

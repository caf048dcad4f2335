package query

import (
	"errors"

	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
)

// overlayDocs and overlayBytes are how much of a lag a query applies itself. It is not committed, but has to fit a
// transaction's memory and time.
const (
	overlayDocs  = 10_000
	overlayBytes = 6_000_000
	// AheadDocs is that of a query with Ahead. Each that comes before the index is written maps them again, so that it
	// is not worth it where mapping one takes longer than SlowMap.
	AheadDocs = 8
)

// BeginEnsured begins a Fresh query, and begins it again after ensure has brought the index up to date where begin
// answers IndexBehind: writers may be faster than a query for a while. It gives up after some attempts, with that
// error.
func BeginEnsured[T any](ensure func() error, begin func() (T, error)) (T, error) {
	const attempts = 10
	for attempt := 1; ; attempt++ {
		result, err := begin()
		var behind *fault.Error
		if attempt == attempts || !errors.As(err, &behind) || behind.Name != index.IndexBehind {
			return result, err
		}
		if err := ensure(); err != nil {
			return result, err
		}
	}
}

// overlay makes a query see one state where the engine holds no snapshots. What the index lacks at the version of the
// stream's transaction is applied in that transaction, which is read through its own writes and never committed: rows
// are then those of the documents at that version, also while a build writes some of them. Where too much is lacking,
// or the query does without documents, the rows are those of the index's sequence.
type overlay struct {
	ix   *index.Index
	s    *rev.Stream
	docs bool // rows have to go with the documents
	most int  // documents
	// behind says that the rows are not those of the documents' version, for more was lacking than can be applied.
	behind bool
}

// apply runs in each new transaction of the stream.
func (o *overlay) apply() error {
	s := o.s
	o.behind = false
	t := &db.Txn{Transaction: s.Tx, Ctx: s.Ctx, Db: s.D, Core: s.Core, Keys: s.Keys, Cfg: s.Cfg}
	keys := o.ix.Keys(s.Keys)
	lastSeq := db.ReadLastSeq(s.R, s.Keys, s.Cfg)
	at, err := o.ix.ReadAt(s, &keys, false)
	if err != nil || at.Interactive || at.Seq.IsZero() || !at.Building && !o.docs {
		return err
	}
	if at.Kept {
		if index.LayOver(s, &keys); !o.docs {
			return nil
		}
	}
	upTo, err := lastSeq()
	if err != nil || !at.Building && at.Seq == upTo {
		return err
	}
	since, err := o.reached(&keys, at)
	if err != nil {
		return err
	}
	batch, err := build.CollectAll(o.ix, t, s.Tx.Snapshot(), &keys, since, at.Seq, db.Seq{}, o.most)
	if err != nil {
		return err
	}
	if !batch.Done || build.CutAt(&keys, batch.Docs, overlayBytes) < len(batch.Docs) {
		o.behind = true
		return nil
	}
	if err := build.ApplyRows(t, &keys, batch.Docs); err != nil {
		return err
	}
	index.SetIndexSeq(t, &keys, upTo)
	s.R, s.Overlaid = s.Tx.Snapshot(), false
	if !at.Building {
		return nil
	}
	return index.EndBuild(t, &keys) // for who reads this transaction
}

// reached is how far the rows of each shard have come.
func (o *overlay) reached(k *index.Keys, at index.IndexAt) (map[db.ShardID]db.Seq, error) {
	since := map[db.ShardID]db.Seq{}
	shards := db.ShardsSince(o.s.Cfg, at.Seq)
	if !at.Building {
		for _, shard := range shards {
			since[shard] = at.Seq
		}
		return since, nil
	}
	states, err := index.ShardStates(o.s.R, o.s.Cfg, k, at.Seq)
	for _, state := range states {
		since[state.Shard] = state.Seq
	}
	return since, err
}

// readOverlaid begins a query on an engine without snapshots.
func readOverlaid(ix *index.Index, s *rev.Stream, q *index.ViewQuery, docs bool) (*index.Reading, error) {
	o := &overlay{ix: ix, s: s, docs: docs, most: overlayDocs}
	if q.Ahead {
		o.most = AheadDocs
	}
	r := &index.Reading{Keys: ix.Keys(s.Keys), Rows: s, Docs: s, Close: s.Close}
	building := false
	r.Stands = func() error {
		at, err := ix.ReadAt(s, &r.Keys, q.Current || q.Ahead)
		r.Seq, r.Empty, building = at.Seq, at.Seq.IsZero(), at.Building
		return err
	}
	if q.Current && !q.Ahead { // what is lacking is not for this query to make up for
		if err := s.Try(r.Stands); err != nil {
			return nil, err
		}
	}
	s.Prepare = o.apply
	if q.Current && !q.Ahead && !building {
		return r, nil
	}
	if err := s.Prepare(); err != nil {
		if err := s.Renew(err); err != nil {
			return nil, err
		}
	}
	err := s.Try(r.Stands)
	if err == nil && q.Fresh && o.behind {
		err = index.ErrBehind()
	}
	return r, err
}

package layer

import (
	"errors"
)

// overlayDocs and overlayBytes are how much of a lag a query applies itself. It is not committed, but has to fit a transaction's memory and time.
const (
	overlayDocs  = 10_000
	overlayBytes = 6_000_000
	// aheadDocs is that of a query with Ahead. Each that comes before the index is written maps them again, so that it
	// is not worth it where mapping one takes longer than slowMap.
	aheadDocs = 8
)

// BeginEnsured begins a Fresh query, and begins it again after ensure has brought the index up to date where begin answers IndexBehind: writers may be faster
// than a query for a while. It gives up after some attempts, with that error.
func BeginEnsured[T any](ensure func() error, begin func() (T, error)) (T, error) {
	const attempts = 10
	for attempt := 1; ; attempt++ {
		result, err := begin()
		var behind *Error
		if attempt == attempts || !errors.As(err, &behind) || behind.Name != IndexBehind {
			return result, err
		}
		if err := ensure(); err != nil {
			return result, err
		}
	}
}

// overlay makes a query see one state where the engine holds no snapshots. What the index lacks at the version of the stream's transaction is applied in that
// transaction, which is read through its own writes and never committed: rows are then those of the documents at that version, also while a build writes
// some of them. Where too much is lacking, or the query does without documents, the rows are those of the index's
// sequence.
type overlay struct {
	ix   *Index
	s    *stream
	docs bool // rows have to go with the documents
	most int  // documents
	// behind says that the rows are not those of the documents' version, for more was lacking than can be applied.
	behind bool
}

// apply runs in each new transaction of the stream.
func (o *overlay) apply() error {
	s := o.s
	o.behind = false
	t := &txn{Transaction: s.tx, ctx: s.ctx, db: s.d, core: s.core, keys: s.keys, cfg: s.cfg}
	keys := o.ix.keys(s.keys)
	lastSeq := readLastSeq(s.r, s.keys, s.cfg)
	at, err := o.ix.readAt(s, &keys, false)
	if err != nil || at.interactive || at.seq.IsZero() || !at.building && !o.docs {
		return err
	}
	if at.kept {
		if s.layOver(&keys); !o.docs {
			return nil
		}
	}
	upTo, err := lastSeq()
	if err != nil || !at.building && at.seq == upTo {
		return err
	}
	since, err := o.reached(&keys, at)
	if err != nil {
		return err
	}
	batch, err := o.ix.collectAll(t, s.tx.Snapshot(), &keys, since, at.seq, Seq{}, o.most)
	if err != nil {
		return err
	}
	if !batch.done || cutAt(&keys, batch.docs, overlayBytes) < len(batch.docs) {
		o.behind = true
		return nil
	}
	if err := applyRows(t, &keys, batch.docs); err != nil {
		return err
	}
	setIndexSeq(t, &keys, upTo)
	s.r, s.overlaid = s.tx.Snapshot(), false
	if !at.building {
		return nil
	}
	return endBuild(t, &keys) // for who reads this transaction
}

// reached is how far the rows of each shard have come.
func (o *overlay) reached(k *indexKeys, at indexAt) (map[ShardID]Seq, error) {
	since := map[ShardID]Seq{}
	shards := shardsSince(o.s.cfg, at.seq)
	if !at.building {
		for _, shard := range shards {
			since[shard] = at.seq
		}
		return since, nil
	}
	states, err := shardStates(o.s.r, o.s.cfg, k, at.seq)
	for _, state := range states {
		since[state.Shard] = state.Seq
	}
	return since, err
}

// readOverlaid begins a query on an engine without snapshots.
func (ix *Index) readOverlaid(s *stream, q *ViewQuery, docs bool) (*indexReading, error) {
	o := &overlay{ix: ix, s: s, docs: docs, most: overlayDocs}
	if q.Ahead {
		o.most = aheadDocs
	}
	r := &indexReading{keys: ix.keys(s.keys), rows: s, docs: s, close: s.close}
	building := false
	r.stands = func() error {
		at, err := ix.readAt(s, &r.keys, q.Current || q.Ahead)
		r.seq, r.empty, building = at.seq, at.seq.IsZero(), at.building
		return err
	}
	if q.Current && !q.Ahead { // what is lacking is not for this query to make up for
		if err := s.try(r.stands); err != nil {
			return nil, err
		}
	}
	s.prepare = o.apply
	if q.Current && !q.Ahead && !building {
		return r, nil
	}
	if err := s.prepare(); err != nil {
		if err := s.renew(err); err != nil {
			return nil, err
		}
	}
	err := s.try(r.stands)
	if err == nil && q.Fresh && o.behind {
		err = errBehind()
	}
	return r, err
}

package query

import (
	"errors"

	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
)

// overlayDocs and overlayBytes limit how many missing changes a query applies itself. They are not committed, but must
// fit into the memory and time of a transaction.
const (
	overlayDocs  = 10_000
	overlayBytes = 6_000_000
	// AheadDocs replaces overlayDocs in a query with Ahead. Until the index is updated, each such query maps the same
	// documents again, which is not worthwhile if mapping takes longer than SlowMap for each.
	AheadDocs = 8
)

// BeginEnsured begins a Fresh query. While begin returns IndexBehind, it calls ensure to bring the index up to date and
// tries again, since writers may be faster than a query for a while. After several attempts it returns that error.
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

// overlay makes a query read one state if the engine holds no snapshots. It applies the changes that the index lacks
// inside the stream's transaction, which reads its own writes and is never committed: the rows are then exactly those
// of the documents at the transaction's version, even during a build. If too many changes are missing, or the query
// does not read documents, the rows are those of the index's sequence.
type overlay struct {
	ix   *index.Index
	s    *rev.Stream
	docs bool // rows must go with the documents
	most int  // maximum number of documents
	// behind reports that the rows are not of the documents' version, because too many changes are missing.
	behind bool
}

// apply runs in each new transaction of the stream.
func (o *overlay) apply() error {
	s := o.s
	o.behind = false
	t := &db.Txn{Transaction: s.Tx, Ctx: s.Ctx, Db: s.D, Core: s.Core, Keys: s.Keys, Cfg: s.Cfg}
	keys := o.ix.Keys(s.Keys)
	lastSeq := db.ReadLastSeq(s.R, s.Keys, s.Cfg)
	at, err := o.ix.ReadAt(s, &keys, false)()
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
	return index.EndBuild(t, &keys) // for readers in this transaction only
}

// reached returns, for each shard, the sequence up to which documents are indexed.
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
	r.Refresh = func() error {
		at, err := ix.ReadAt(s, &r.Keys, q.Current || q.Ahead)()
		r.Seq, r.Empty, building = at.Seq, at.Seq.IsZero(), at.Building
		if err == nil && q.Fresh && r.Empty {
			err = removedMeanwhile(s)
		}
		return err
	}
	// Such a query applies no changes itself.
	if q.Current && !q.Ahead {
		if err := s.Try(r.Refresh); err != nil {
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
	err := s.Try(r.Refresh)
	if err == nil && q.Fresh && o.behind {
		err = index.ErrBehind()
	}
	return r, err
}

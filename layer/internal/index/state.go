package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Index is the stored index of a design document's views, shared by all design documents with the same signature (V1).
type Index struct {
	Db     *db.Database
	design *design.Design
	bodies rev.BodyScan // of readBodies
}

// Index of a design. It does no I/O; the index may be empty.
func (d Database) Index(design *design.Design) *Index { return &Index{Db: d.Database, design: design} }

// Design is the design document whose views these are.
func (ix *Index) Design() *design.Design { return ix.design }

func (ix *Index) Keys(db db.Space) Keys {
	return NewKeys(db.Sub(nil, keyspace.Views), ix.design)
}

// IndexState is where an index stands, at one read version.
type IndexState struct {
	Seq      db.Seq // documents up to here are in the index
	LastSeq  db.Seq // of the database
	Building bool
	Goal     db.Seq // of the build under way
	// Creation is the sequence at which an interactive index was created (V4), zero if it is not one. It is Current
	// from when it was built up to there.
	Creation db.Seq
	Shards   []ShardState
	Views    []ViewState // in the order of Design.Views
}

// ShardState is how far the build under way has come in a shard.
type ShardState struct {
	Shard db.ShardID
	Seq   db.Seq
	// Scans is set while a first build goes through the shard's documents by id, up to Scanned so far; from then on it
	// goes by sequence.
	Scans   bool
	Scanned string
}

// ViewState is one view's figures.
type ViewState struct {
	Name   string
	Rows   int64
	Bytes  int64 // of emitted keys and values
	Errors int64 // documents skipped (V10)
	// Skipped is one of these documents and why, where it is among the first of the index; nil if not.
	Skipped *IndexError
}

// Current reports whether every change of the database is in the index.
func (s *IndexState) Current() bool { return s.Seq.Compare(s.LastSeq) >= 0 }

// State reads where the index stands.
func (ix *Index) State(ctx context.Context) (IndexState, error) {
	return ix.state(ctx, len(ix.design.Views))
}

// Standing is State without Shards and Views: for who has to know no more than whether to do something, and asks often.
func (ix *Index) Standing(ctx context.Context) (IndexState, error) { return ix.state(ctx, 0) }

// state reads the figures of so many views, and how far shards have come where there are some.
func (ix *Index) state(ctx context.Context, views int) (IndexState, error) {
	return db.Read(ctx, ix.Db, func(t *db.Txn) (IndexState, error) {
		k := ix.Keys(t.Keys)
		found := k.Find(t)
		state := IndexState{Views: make([]ViewState, views)}
		status, at := t.Get(k.InfoKey(keyspace.ViewStatus)), t.Get(k.InfoKey(keyspace.ViewUpdateSeq))
		var err error
		if state.LastSeq, err = db.ReadLastSeq(t, t.Keys, t.Cfg)(); err != nil {
			return state, err
		}
		seq, err := ParseIndexSeq(at)
		if err != nil {
			return state, err
		}
		if !seq.Stale() {
			state.Seq = seq.Seq
		}
		if t.Cfg.Maintains(ix.design.Signature) {
			if state.Creation, err = ParseCreation(t.Get(k.InfoKey(keyspace.ViewCreation))); err != nil {
				return state, err
			}
		}
		if err := ix.countViews(t, &k, state.Views); err != nil {
			return state, err
		}
		if err := found(); err != nil {
			return state, err
		}
		if err := ix.sampleErrors(t, &k, state.Views); err != nil {
			return state, err
		}
		building, err := ParseStatus(status)
		if err != nil {
			return state, err
		}
		if seq.Ready(state.Creation) {
			state.Seq = state.LastSeq
			return state, nil
		}
		if building == nil {
			return state, nil
		}
		state.Building, state.Goal = true, building.Goal
		if !state.Creation.IsZero() {
			state.Goal = state.LastSeq // writers have done the rest
		}
		if views > 0 {
			state.Shards, err = ShardStates(t, t.Cfg, &k, state.Seq)
		}
		return state, err
	})
}

func ShardStates(r kv.Reader, c *db.Config, k *Keys, from db.Seq) ([]ShardState, error) {
	var states []ShardState
	for _, shard := range db.ShardsSince(c, from) {
		value, err := r.Get(k.ProgressKey(shard)).Wait()
		if err != nil {
			return nil, err
		}
		s := ShardState{Shard: shard, Seq: from}
		if value != nil {
			at, err := ParsePosition(value)
			if err != nil {
				return nil, err
			}
			s.Seq, s.Scans, s.Scanned = at.Reached(), at.Scans, at.After
		}
		states = append(states, s)
	}
	return states, nil
}

// IndexSeq is the value of ViewUpdateSeq; the zero value is an index that was never built.
type IndexSeq struct {
	Seq       db.Seq
	Collation int64
}

// Stale reports that the rows were written in another order than this node reads (V5): the index is built anew.
func (s IndexSeq) Stale() bool { return s.Collation != 0 && s.Collation != int64(collate.Version) }

func SetIndexSeq(tx kv.Transaction, k *Keys, seq db.Seq) {
	value := seq.AppendTuple(tuple.AppendInt(nil, keyspace.IndexSeqFormat))
	tx.Set(k.InfoKey(keyspace.ViewUpdateSeq), tuple.AppendInt(value, int64(collate.Version)))
}

func ParseIndexSeq(f kv.Future[[]byte]) (s IndexSeq, err error) {
	value, err := f.Wait()
	if value == nil || err != nil {
		return s, err
	}
	return ReadIndexSeq(value)
}

func ReadIndexSeq(value []byte) (s IndexSeq, err error) {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return s, fmt.Errorf("index sequence: %w", err)
	}
	if format < 1 || format > keyspace.IndexSeqFormat {
		return s, fmt.Errorf("index of format %d, this node knows %d", format, keyspace.IndexSeqFormat)
	}
	if s.Seq, rest, err = db.TakeSeq(rest); err != nil {
		return s, fmt.Errorf("index sequence: %w", err)
	}
	s.Collation, _, err = tuple.TakeInt(rest)
	return s, err
}

// BuildStatus is the value of ViewStatus.
type BuildStatus struct {
	Token int64
	Goal  db.Seq
	First bool // the index had nothing when the build began (Build.first)
	Keeps bool // what was there before it is kept (before.go)
}

// ParseStatus is nil where no build is under way.
func ParseStatus(f kv.Future[[]byte]) (*BuildStatus, error) {
	value, err := f.Wait()
	if value == nil || err != nil {
		return nil, err
	}
	token, rest, err := tuple.TakeInt(value)
	if err != nil {
		return nil, fmt.Errorf("index status: %w", err)
	}
	s := &BuildStatus{Token: token}
	s.Goal, rest, err = db.TakeSeq(rest)
	for _, flag := range []*bool{&s.First, &s.Keeps} {
		if err != nil || len(rest) == 0 {
			break
		}
		var n int64
		n, rest, err = tuple.TakeInt(rest)
		*flag = n != 0
	}
	if err != nil {
		return nil, fmt.Errorf("index status: %w", err)
	}
	return s, nil
}

// Clear removes all of an index. Its number goes too: what comes after it gets one of its own.
func Clear(tx kv.Transaction, k *Keys) {
	begin, end := tuple.Range(k.Data)
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	for what := keyspace.ViewUpdateSeq; what <= keyspace.ViewNumber; what++ {
		key := k.InfoKey(what)
		tx.Clear(key)
		begin, end := tuple.Range(key)
		tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	}
	k.setNumber(0)
}

// CleanupViews removes the indexes whose signature no design document has (V8). A build of such an index ends with a
// Conflict.
func (d Database) CleanupViews(ctx context.Context) error {
	_, _, err := db.Transact(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		designs, err := design.List(t, t) // with conflict: none comes to use an index while that is cleared
		if err != nil {
			return struct{}{}, err
		}
		t.MakesRoom()
		used := make(map[string]bool, len(designs))
		for _, design := range designs {
			used[design.Signature] = true
		}
		feed.EndCuts(t, func(signature string) bool { return !used[signature] })
		return struct{}{}, clearUnused(t, t.Keys, used)
	})
	return err
}

// clearUnused finds the signatures among the update sequences and the statuses: an index that was never finished has
// only the latter, and an interactive one rows from its creation on.
func clearUnused(tx kv.Transaction, keys db.Space, used map[string]bool) error {
	k := NewKeys(keys.Sub(nil, keyspace.Views), &design.Design{})
	for _, what := range IndexSigns {
		prefix := tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(what))
		begin, end := tuple.Range(prefix)
		it := tx.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Mode: kv.ModeWantAll})
		for it.Next() {
			signature, _, err := tuple.TakeString(it.KeyValue().Key[len(prefix):])
			if err != nil {
				it.Close()
				return fmt.Errorf("index information: %w", err)
			}
			if !used[signature] {
				gone := NewKeys(keys.Sub(nil, keyspace.Views), &design.Design{Signature: signature})
				if err := gone.Find(tx)(); err != nil {
					it.Close()
					return err
				}
				Clear(tx, &gone)
			}
		}
		it.Close()
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}

// IndexError is a document that a view skipped (V10).
type IndexError struct {
	View, DocID, Error string
	Seq                db.Seq
}

// errorsSampled is how many skipped documents are looked at to find one for each view.
const errorsSampled = 16

// countViews reads the counters of some views.
func (ix *Index) countViews(r kv.Reader, k *Keys, views []ViewState) (err error) {
	counters := make([][3]func() (int64, error), len(views))
	for i := range counters {
		for j, what := range []keyspace.ViewInfoKey{keyspace.ViewRowCount, keyspace.ViewSize, keyspace.ViewErrorCount} {
			counters[i][j] = k.ViewCounter(r, what, i)
		}
	}
	for i := range counters {
		v := &views[i]
		v.Name = ix.design.Views[i].Name
		for j, into := range []*int64{&v.Rows, &v.Bytes, &v.Errors} {
			n, failed := counters[i][j]()
			*into, err = n, errors.Join(err, failed)
		}
	}
	return err
}

// sampleErrors finds for views that skipped documents one of these.
func (ix *Index) sampleErrors(r kv.Reader, k *Keys, views []ViewState) error {
	if !slices.ContainsFunc(views, func(v ViewState) bool { return v.Errors > 0 }) {
		return nil
	}
	prefix := k.AppendRange(nil, keyspace.ViewErrors)
	it := r.GetRange(db.PrefixRange(prefix), kv.RangeOptions{Limit: errorsSampled, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		e, err := ix.ParseError(len(prefix), it.KeyValue())
		if err != nil {
			return err
		}
		for i := range views {
			if v := &views[i]; v.Name == e.View && v.Errors > 0 && v.Skipped == nil {
				v.Skipped = &e
			}
		}
	}
	return it.Err()
}

// Errors streams the documents that were skipped, by id.
func (ix *Index) Errors(ctx context.Context) iter.Seq2[IndexError, error] {
	return func(yield func(IndexError, error) bool) {
		s, err := rev.OpenStream(ctx, ix.Db)
		if err == nil {
			defer s.Close()
			k := ix.Keys(s.Keys)
			if err = k.Find(s.R)(); err == nil {
				prefix := k.AppendRange(nil, keyspace.ViewErrors)
				err = s.Scan(db.PrefixRange(prefix), kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
					e, err := ix.ParseError(len(prefix), row)
					return err == nil && yield(e, nil), err
				})
			}
		}
		if err != nil {
			yield(IndexError{}, err)
		}
	}
}

func (ix *Index) ParseError(prefix int, row kv.KeyValue) (e IndexError, err error) {
	rest := row.Key[prefix:]
	if e.DocID, rest, err = tuple.TakeString(rest); err != nil {
		return e, err
	}
	id, _, err := tuple.TakeInt(rest)
	if err != nil {
		return e, err
	}
	if id >= 0 && id < int64(len(ix.design.Views)) {
		e.View = ix.design.Views[id].Name
	}
	if e.Error, rest, err = tuple.TakeString(row.Value); err != nil {
		return e, err
	}
	e.Seq, _, err = db.TakeSeq(rest)
	return e, err
}

// Ready reports whether everything that was written before the creation is in the index.
func (s IndexSeq) Ready(creation db.Seq) bool {
	return !creation.IsZero() && !s.Stale() && s.Seq.Compare(creation) >= 0
}

// ParseCreation reads ViewCreation: zero where the index has none.
func ParseCreation(f kv.Future[[]byte]) (s db.Seq, err error) {
	value, err := f.Wait()
	if value == nil || err != nil {
		return s, err
	}
	format, rest, err := tuple.TakeInt(value)
	if err == nil && format != keyspace.IndexFormat {
		err = db.UnknownFormat("the creation of an index", format, keyspace.IndexFormat)
	}
	if err == nil {
		s, _, err = db.TakeSeq(rest)
	}
	return s, err
}

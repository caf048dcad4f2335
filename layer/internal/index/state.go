package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Index is the stored index of a design document's views. All design documents with the same signature share it (V1).
type Index struct {
	Db     *db.Database
	design *design.Design
	bodies rev.BodyScan // used by ReadBodies
}

// Index returns the index of a design. It does no I/O; the index may be empty.
func (d Database) Index(design *design.Design) *Index { return &Index{Db: d.Database, design: design} }

// Design returns the design whose views are indexed.
func (ix *Index) Design() *design.Design { return ix.design }

// Keys returns the keys of the index.
func (ix *Index) Keys(db db.Space) Keys {
	return NewKeys(db.Sub(nil, keyspace.Views), ix.design)
}

// IndexState describes an index at one read version.
type IndexState struct {
	Seq      db.Seq // documents up to this sequence are indexed
	LastSeq  db.Seq // the database's
	Building bool   // a build has begun and not ended; nobody works on it if its job was dropped
	Asked    bool   // a job that builds the index waits or runs
	Goal     db.Seq // of the build
	// Creation is the sequence at which an interactive index was created (V4), or zero for other indexes. An
	// interactive index that has been built up to its creation is always Current.
	Creation db.Seq
	Shards   []ShardState
	Views    []ViewState // in the order of Design.Views
	// Behind is how long the index has lacked changes: the age of the oldest that the feed still has. A document that
	// has changed again has only its newest change there. It is 0 if the index is Current or was never built, and for
	// changes that were made in another store.
	Behind time.Duration
}

// ShardState is the progress of the running build in a shard.
type ShardState struct {
	Shard db.ShardID
	Seq   db.Seq
	// Scans is set while a first build scans the shard's documents by id; Scanned is the last id so far. After that,
	// the build follows the feed.
	Scans   bool
	Scanned string
}

// ViewState holds the counters of one view.
type ViewState struct {
	Name   string
	Rows   int64
	Bytes  int64 // size of emitted keys and values
	Errors int64 // number of documents skipped (V10)
	// Strings says what is known of the strings in the keys.
	Strings Strings
	// Skipped is one of the skipped documents, with its error. It is nil if none was found among the first of the
	// index.
	Skipped *IndexError
}

// Current reports whether the index reflects every change of the database.
func (s *IndexState) Current() bool { return s.Seq.Compare(s.LastSeq) >= 0 }

// ReadState reads the state of the index in a transaction, without Asked. It adds no read conflicts.
func (ix *Index) ReadState(t *db.Txn) (IndexState, error) {
	return ix.readState(t, len(ix.design.Views))
}

// BriefState is the state without Asked, Shards, Views and Behind, for callers that ask often and only need to know
// whether the index is current.
func (ix *Index) BriefState(ctx context.Context) (IndexState, error) {
	return db.Read(ctx, ix.Db, ix.ReadBriefState)
}

// ReadBriefState is BriefState in a transaction. It adds no read conflicts.
func (ix *Index) ReadBriefState(t *db.Txn) (IndexState, error) { return ix.readState(t, 0) }

// ViewCounts selects what StateForView reads of a view.
type ViewCounts struct {
	Rows    bool
	Letters bool // Strings.Parts and Strings.NoControls
}

// StateForView is BriefState with a view: Views is that view alone, with the number of documents that it has skipped,
// with Strings, and with the counts that are asked for. Views is empty if the design document has no such view.
func (ix *Index) StateForView(ctx context.Context, name string, want ViewCounts) (IndexState, error) {
	return db.Read(ctx, ix.Db, func(t *db.Txn) (IndexState, error) {
		i := slices.IndexFunc(ix.design.Views, func(v design.ViewDef) bool { return v.Name == name })
		if i < 0 {
			return ix.ReadBriefState(t)
		}
		r, k := t.Snapshot(), ix.Keys(t.Keys)
		found := k.Find(r)
		var what []keyspace.ViewInfoKey
		if want.Rows {
			what = append(what, keyspace.ViewRowCount)
		}
		what = append(append(what, keyspace.ViewErrorCount), stringKeys(want.Letters)...)
		counters := k.viewCounters(r, what, i)
		state, err := ix.ReadBriefState(t)
		counts, err2 := counters()
		if err = errors.Join(err, found(), err2); err != nil {
			return state, err
		}
		v := ViewState{Name: name}
		if want.Rows {
			v.Rows, counts = counts[0], counts[1:]
		}
		v.Errors, v.Strings = counts[0], k.stringsOf(counts[1:])
		state.Views = []ViewState{v}
		return state, nil
	})
}

// readState reads the counters of the first views, and the progress of shards and Behind unless views is 0.
func (ix *Index) readState(t *db.Txn, views int) (IndexState, error) {
	r, k := t.Snapshot(), ix.Keys(t.Keys)
	found := k.Find(r)
	state := IndexState{Views: make([]ViewState, views)}
	status, at := r.Get(k.InfoKey(keyspace.ViewStatus)), r.Get(k.InfoKey(keyspace.ViewUpdateSeq))
	var err error
	if state.LastSeq, err = db.ReadLastSeq(r, t.Keys, t.Cfg)(); err != nil {
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
		if state.Creation, err = ParseCreation(r.Get(k.InfoKey(keyspace.ViewCreation))); err != nil {
			return state, err
		}
	}
	if err := ix.countViews(r, &k, state.Views); err != nil {
		return state, err
	}
	if err := found(); err != nil {
		return state, err
	}
	if err := ix.sampleErrors(r, &k, state.Views); err != nil {
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
	if views > 0 {
		if state.Behind, err = ageOfOldest(t, state.Seq, state.LastSeq); err != nil {
			return state, err
		}
	}
	if building == nil {
		return state, nil
	}
	state.Building, state.Goal = true, building.Goal
	if !state.Creation.IsZero() {
		state.Goal = state.LastSeq // writers have indexed everything since the creation
	}
	if views > 0 {
		state.Shards, err = ShardStates(r, t.Cfg, &k, state.Seq)
	}
	return state, err
}

// ShardStates reads the progress of the running build in each shard. from is the index's sequence.
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

// IndexSeq is the value of ViewUpdateSeq. The zero value means that the index was never built.
type IndexSeq struct {
	Seq       db.Seq
	Collation int64
}

// Stale reports that the rows are in another collation than this node's (V5), so that the index has to be rebuilt.
func (s IndexSeq) Stale() bool { return s.Collation != 0 && s.Collation != int64(collate.Version) }

// SetIndexSeq sets the sequence of the index, with this node's collation.
func SetIndexSeq(tx kv.Transaction, k *Keys, seq db.Seq) {
	value := seq.AppendTuple(tuple.AppendInt(nil, keyspace.IndexSeqFormat))
	tx.Set(k.InfoKey(keyspace.ViewUpdateSeq), tuple.AppendInt(value, int64(collate.Version)))
}

// ParseIndexSeq waits for a read of ViewUpdateSeq and decodes it. A missing value is the zero IndexSeq.
func ParseIndexSeq(f kv.Future[[]byte]) (s IndexSeq, err error) {
	value, err := f.Wait()
	if value == nil || err != nil {
		return s, err
	}
	return ReadIndexSeq(value)
}

// ReadIndexSeq decodes a value of ViewUpdateSeq.
func ReadIndexSeq(value []byte) (s IndexSeq, err error) {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return s, fmt.Errorf("index sequence: %w", err)
	}
	if format < 1 || format > keyspace.IndexSeqFormat {
		return s, fmt.Errorf("index of format %d, this node supports up to %d", format, keyspace.IndexSeqFormat)
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
	First bool // the index was empty when the build began (adding)
	Keeps bool // rows from before the build are kept (before.go)
}

// ParseStatus returns nil if no build is running.
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

// Clear removes an index with its number, so that a new one gets another number.
func Clear(tx kv.Transaction, k *Keys) {
	begin, end := tuple.Range(k.Data)
	tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	for what := keyspace.ViewUpdateSeq; what < keyspace.ViewInfoEnd; what++ {
		if what == keyspace.ViewLastNumber {
			continue // of all indexes
		}
		key := k.InfoKey(what)
		tx.Clear(key)
		begin, end := tuple.Range(key)
		tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
	}
	k.setNumber(0)
}

// CleanupViews removes the indexes whose signature no design document has (V8). A running build of such an index ends
// with a Conflict.
func (d Database) CleanupViews(ctx context.Context) error {
	_, _, err := db.Transact(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		// Read with conflict, so that no design document starts to use an index while it is cleared.
		designs, err := design.List(t, t)
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

// clearUnused looks for signatures in all of IndexSigns. An index that was never finished has only a status, and an
// interactive one has rows as soon as it is created.
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

// IndexError is a document that a view skipped, with the reason (V10).
type IndexError struct {
	View, DocID, Error string
	Seq                db.Seq
}

// errorsSampled is how many skipped documents are read to find one for each view.
const errorsSampled = 16

// countViews reads the counters of the first views.
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

// sampleErrors finds one skipped document for each view that has any.
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

// Errors streams the skipped documents, by id.
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

// ParseError decodes a row of ViewErrors. prefix is the length of the range's prefix.
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

// Ready reports whether everything written before the creation is in the index.
func (s IndexSeq) Ready(creation db.Seq) bool {
	return !creation.IsZero() && !s.Stale() && s.Seq.Compare(creation) >= 0
}

// ParseCreation reads ViewCreation. It returns zero if the index has none.
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

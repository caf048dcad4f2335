package build

import (
	"bytes"
	"fmt"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// indexedDoc is one document's part of an index: the rows that it emitted into each view, none if it is deleted.
type indexedDoc struct {
	Id    string
	seq   db.Seq           // of its feed entry, or of its purge
	Views []index.Emission // by view id

	purged bool
	// added reports that the index has no rows of the document, so that none are read.
	added bool
	// fresh reports that the feed entry is written by the same transaction. Then only seq's incarnation is known, and
	// entry is the user version of its versionstamp.
	fresh bool
	entry uint16
}

// setError records an error of the document's map function.
func (doc *indexedDoc) setError(tx kv.Transaction, key []byte, text string) {
	value := tuple.AppendString(nil, text)
	if !doc.fresh {
		tx.Set(key, doc.seq.AppendTuple(value))
		return
	}
	value = tuple.AppendInt(value, doc.seq.Incarnation)
	offset := len(value) + 1
	tx.SetVersionstampedValue(key, tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(doc.entry)), offset)
}

// cost estimates how many bytes writing the document's rows adds to a transaction.
func (doc *indexedDoc) cost(k *index.Keys) int {
	n, prefix := 0, len(k.All)+16 // approximate: the prefix is shorter if the index has a number
	for i := range doc.Views {
		n += 2*prefix + 3*len(doc.Id) + 64
		for _, r := range doc.Views[i].Rows {
			n += 2*(prefix+len(r.Position)) + 2*len(r.Key) + len(r.Value) + 32 // with its aggregation mark
		}
	}
	return n
}

// ApplyRows replaces the rows that the documents had in the index by those that they emitted. It reads the index
// entries of the documents with read conflicts, so that of two concurrent writers of one document's rows, one is
// retried.
func ApplyRows(tx kv.Transaction, k *index.Keys, docs []indexedDoc) error {
	return replaceRows(tx, k, docs, false)
}

// replaceRows is ApplyRows. With keeps, the rows from before the build are kept for readers (index/before.go).
func replaceRows(tx kv.Transaction, k *index.Keys, docs []indexedDoc, keeps bool) error {
	return writeRows(tx, k, docs, rowsWriter{keeps: keeps})
}

// applyWritten is ApplyRows for the transaction that writes the documents. It counts rows by changes shard, so that
// writers of different shards do not conflict.
func applyWritten(t *db.Txn, k *index.Keys, docs []indexedDoc) error {
	return writeRows(t, k, docs, rowsWriter{shard: t.Cfg.Shard})
}

func writeRows(tx kv.Transaction, k *index.Keys, docs []indexedDoc, w rowsWriter) error {
	if len(docs) == 0 {
		return nil
	}
	views := len(docs[0].Views)
	aggregated := aggregate.GetAggregates(tx, k)
	old := make([]kv.Future[[]byte], 0, len(docs)*views)
	for i := range docs {
		for v := range views {
			if docs[i].added {
				old = append(old, nil)
				continue
			}
			old = append(old, tx.Get(k.IdKey(docs[i].Id, v)))
		}
	}
	partials, err := aggregated()
	if err != nil {
		return err
	}
	// Nodes that can read these partials would not learn what is written here.
	if partials.Outdated {
		aggregate.DropAggregates(tx, k)
	}
	w.tx, w.k, w.partials = tx, k, partials
	had := make([]index.DocRows, len(old))
	for i := range had {
		if old[i] == nil {
			continue
		}
		if had[i].Entry, err = old[i].Wait(); err != nil {
			return err
		}
		if had[i].Entry == nil {
			continue
		}
		if err := had[i].Parse(k, i%views, docs[i/views].Id); err != nil {
			return fmt.Errorf("index entry of %q: %w", docs[i/views].Id, err)
		}
	}
	for i := range had {
		d := &had[i]
		// All reads are issued first.
		if d.Removed, d.Added = d.Change(docs[i/views].Views[i%views].Rows); w.keeps {
			d.Changes = index.ChangedRows(tx, k, i%views, d.Removed, d.Added)
		}
	}
	for i := range had {
		if err := w.replace(&docs[i/views], i%views, &had[i]); err != nil {
			return err
		}
	}
	w.count()
	return nil
}

// rowsWriter writes rows in a transaction.
type rowsWriter struct {
	tx       kv.Transaction
	k        *index.Keys
	partials aggregate.Aggregates
	keeps    bool
	shard    func(docID string) db.ShardID // nil if rows are counted for the index as a whole
	sums     []viewDelta
	key      []byte // buffers for keys and values, reused
	value    []byte
}

// viewDelta is the change of a view's counters, in one shard if they are counted by shard.
type viewDelta struct {
	view               int
	shard              db.ShardID
	rows, size, errors int64
	strings            index.StringCounts
}

// sum returns the delta that counts changes of a document's rows in a view.
func (w *rowsWriter) sum(docID string, view int) *viewDelta {
	var shard db.ShardID
	if w.shard != nil {
		shard = w.shard(docID)
	}
	for i := range w.sums {
		if w.sums[i].view == view && w.sums[i].shard == shard {
			return &w.sums[i]
		}
	}
	w.sums = append(w.sums, viewDelta{view: view, shard: shard})
	return &w.sums[len(w.sums)-1]
}

// replace replaces the rows that a document had in a view by those that it emitted. Unchanged rows are not rewritten.
// The document's index entry, which is read with a read conflict, guards them against concurrent changes.
func (w *rowsWriter) replace(doc *indexedDoc, view int, had *index.DocRows) error {
	tx, k, s, e := w.tx, w.k, w.sum(doc.Id, view), &doc.Views[view]
	removed, added := had.Removed, had.Added
	if w.keeps {
		changed, err := index.KeepBefore(tx, k, view, had.Changes)
		if err != nil {
			return err
		}
		removed, added = onlyChanged(removed, changed), onlyChanged(added, changed)
	}
	if had.Failed {
		s.errors--
		tx.Clear(k.ErrorKey(doc.Id, view))
	}
	rows := k.RowPrefix(view)
	for _, r := range removed {
		w.key = append(append(w.key[:0], rows...), r.Position...)
		tx.Clear(w.key)
	}
	if w.partials.On {
		aggregate.MarkRows(tx, k, view, w.partials.Epoch, removed, added)
	}
	_, size := e.Size()
	s.rows += int64(len(e.Rows) - len(had.Rows))
	s.size += size - had.Size
	s.strings.AddRows(k, e.Rows, 1)
	s.strings.AddRows(k, had.Rows, -1)
	if len(e.Rows) == 0 && e.Err == "" {
		if had.Entry != nil {
			tx.Clear(k.IdKey(doc.Id, view))
		}
		return nil
	}
	if w.value = e.AppendEntry(w.value[:0]); had.Entry == nil || !bytes.Equal(had.Entry, w.value) {
		tx.Set(k.IdKey(doc.Id, view), w.value)
	}
	if e.Err != "" {
		s.errors++
		doc.setError(tx, k.ErrorKey(doc.Id, view), e.Err)
	}
	for _, r := range added {
		w.value = tuple.AppendBytes(tuple.AppendBytes(w.value[:0], r.Key), r.Value)
		w.key = append(append(w.key[:0], rows...), r.Position...)
		tx.Set(w.key, w.value)
	}
	return nil
}

// onlyChanged returns the rows at changed positions.
func onlyChanged(rows []index.Emitted, changed map[string]bool) []index.Emitted {
	kept := make([]index.Emitted, 0, len(rows))
	for _, r := range rows {
		if changed[string(r.Position)] {
			kept = append(kept, r)
		}
	}
	return kept
}

// count adds the collected deltas to the views' counters.
func (w *rowsWriter) count() {
	for i := range w.sums {
		s := &w.sums[i]
		w.add(s, keyspace.ViewRowCount, s.rows)
		w.add(s, keyspace.ViewSize, s.size)
		w.add(s, keyspace.ViewErrorCount, s.errors)
		for i, n := range s.strings {
			what, _ := index.StringCounter(i)
			w.add(s, what, n)
		}
	}
}

// add adds n to a counter of the view and shard of a delta.
func (w *rowsWriter) add(s *viewDelta, what keyspace.ViewInfoKey, n int64) {
	if n == 0 {
		return
	}
	key := w.k.ViewInfoKey(what, s.view)
	switch {
	case w.keeps:
		key = w.k.PendingKey(what, s.view)
	case w.shard != nil:
		key = tuple.AppendString(key, string(s.shard))
	}
	w.tx.Atomic(kv.AtomicAdd, key, db.LittleEndian(n))
}

// CutAt returns how many documents from the front cost at most limit bytes together, at least one.
func CutAt(k *index.Keys, docs []indexedDoc, limit int) int {
	sum := 0
	for i := range docs {
		if sum += docs[i].cost(k); sum > limit && i > 0 {
			return i
		}
	}
	return len(docs)
}

package layer

import (
	"bytes"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// indexedDoc is one document's part of an index: what it emitted into each view (nothing, when it is deleted).
type indexedDoc struct {
	id    string
	seq   Seq        // of its entry in the feed, or of a purge
	views []emission // by view id

	purged bool
	// added says that the index has nothing of the document: what it has is not read.
	added bool
	// fresh says that the entry is written in the same transaction: of seq only the incarnation is known, and entry, the user bytes.
	fresh bool
	entry uint16
}

// setError lists the document as skipped.
func (doc *indexedDoc) setError(tx kv.Transaction, key []byte, text string) {
	value := tuple.AppendString(nil, text)
	if !doc.fresh {
		tx.Set(key, doc.seq.appendTuple(value))
		return
	}
	value = tuple.AppendInt(value, doc.seq.Incarnation)
	offset := len(value) + 1
	tx.SetVersionstampedValue(key, tuple.AppendVersionstamp(value, tuple.IncompleteVersionstamp(doc.entry)), offset)
}

// cost is roughly what writing the document's rows adds to a transaction, in bytes.
func (doc *indexedDoc) cost(k *indexKeys) int {
	n, prefix := 0, len(k.all)+16 // about, where the index has a number
	for i := range doc.views {
		n += 2*prefix + 3*len(doc.id) + 64
		for _, r := range doc.views[i].rows {
			n += 2*(prefix+len(r.position)) + 2*len(r.key) + len(r.value) + 32 // with its mark
		}
	}
	return n
}

// applyRows replaces what the documents had in the index by what they emitted. The entries that tell what they had are read with conflict: of two
// writers of one document's rows, one is repeated.
func applyRows(tx kv.Transaction, k *indexKeys, docs []indexedDoc) error {
	return replaceRows(tx, k, docs, false)
}

// replaceRows is applyRows; keeps says that what was there before the build is kept for readers (viewbefore.go).
func replaceRows(tx kv.Transaction, k *indexKeys, docs []indexedDoc, keeps bool) error {
	return writeRows(tx, k, docs, rowsWriter{keeps: keeps})
}

// applyWritten is applyRows in the transaction that writes the documents: what it counts, it counts by changes shard.
func (t *txn) applyWritten(k *indexKeys, docs []indexedDoc) error {
	return writeRows(t, k, docs, rowsWriter{shard: t.cfg.shard})
}

func writeRows(tx kv.Transaction, k *indexKeys, docs []indexedDoc, w rowsWriter) error {
	if len(docs) == 0 {
		return nil
	}
	views := len(docs[0].views)
	aggregated := getAggregates(tx, k)
	old := make([]kv.Future[[]byte], 0, len(docs)*views)
	for i := range docs {
		for v := range views {
			if docs[i].added {
				old = append(old, nil)
				continue
			}
			old = append(old, tx.Get(k.idKey(docs[i].id, v)))
		}
	}
	partials, err := aggregated()
	if err != nil {
		return err
	}
	if partials.outdated { // nodes that can read them would not learn what is written here
		dropAggregates(tx, k)
	}
	w.tx, w.k, w.partials = tx, k, partials
	had := make([]docRows, len(old))
	for i := range had {
		if old[i] == nil {
			continue
		}
		if had[i].entry, err = old[i].Wait(); err != nil {
			return err
		}
		if had[i].entry == nil {
			continue
		}
		if err := had[i].parse(k, i%views, docs[i/views].id); err != nil {
			return fmt.Errorf("index entry of %q: %w", docs[i/views].id, err)
		}
	}
	for i := range had {
		d := &had[i]
		if d.removed, d.added = d.change(docs[i/views].views[i%views].rows); w.keeps { // all reads are issued first
			d.changes = changedRows(tx, k, i%views, d.removed, d.added)
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
	k        *indexKeys
	partials aggregates
	keeps    bool
	shard    func(docID string) ShardID // nil: counts are of the index as a whole
	sums     []viewDelta
	key      []byte // to be written; used again, as the value is
	value    []byte
}

// viewDelta is how a view's counters change, in one shard where they are counted by shard.
type viewDelta struct {
	view               int
	shard              ShardID
	rows, size, errors int64
}

// sum is where changes of a document's part of a view are counted.
func (w *rowsWriter) sum(docID string, view int) *viewDelta {
	var shard ShardID
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

// replace puts what a document emitted into a view in the place of what it had there. What is the same stays unwritten;
// that no other transaction changes it meanwhile is seen by the entry, which is read with conflict.
func (w *rowsWriter) replace(doc *indexedDoc, view int, had *docRows) error {
	tx, k, s, e := w.tx, w.k, w.sum(doc.id, view), &doc.views[view]
	removed, added := had.removed, had.added
	if w.keeps {
		changed, err := keepBefore(tx, k, view, had.changes)
		if err != nil {
			return err
		}
		removed, added = onlyChanged(removed, changed), onlyChanged(added, changed)
	}
	if had.failed {
		s.errors--
		tx.Clear(k.errorKey(doc.id, view))
	}
	rows := k.rowPrefix(view)
	for _, r := range removed {
		w.key = append(append(w.key[:0], rows...), r.position...)
		tx.Clear(w.key)
	}
	if w.partials.on {
		markRows(tx, k, view, w.partials.epoch, removed, added)
	}
	_, size := e.size()
	s.rows += int64(len(e.rows) - len(had.rows))
	s.size += size - had.size
	if len(e.rows) == 0 && e.err == "" {
		if had.entry != nil {
			tx.Clear(k.idKey(doc.id, view))
		}
		return nil
	}
	if w.value = e.appendEntry(w.value[:0]); had.entry == nil || !bytes.Equal(had.entry, w.value) {
		tx.Set(k.idKey(doc.id, view), w.value)
	}
	if e.err != "" {
		s.errors++
		doc.setError(tx, k.errorKey(doc.id, view), e.err)
	}
	for _, r := range added {
		w.value = tuple.AppendBytes(tuple.AppendBytes(w.value[:0], r.key), r.value)
		w.key = append(append(w.key[:0], rows...), r.position...)
		tx.Set(w.key, w.value)
	}
	return nil
}

// onlyChanged are the rows at positions that change.
func onlyChanged(rows []emitted, changed map[string]bool) []emitted {
	kept := make([]emitted, 0, len(rows))
	for _, r := range rows {
		if changed[string(r.position)] {
			kept = append(kept, r)
		}
	}
	return kept
}

// count adds what the views have become more or less.
func (w *rowsWriter) count() {
	for i := range w.sums {
		s := &w.sums[i]
		for what, n := range map[keyspace.ViewInfoKey]int64{
			keyspace.ViewRowCount: s.rows, keyspace.ViewSize: s.size, keyspace.ViewErrorCount: s.errors,
		} {
			key := w.k.viewInfoKey(what, s.view)
			switch {
			case w.keeps:
				key = w.k.pendingKey(what, s.view)
			case w.shard != nil:
				key = tuple.AppendString(key, string(s.shard))
			}
			if n != 0 {
				w.tx.Atomic(kv.AtomicAdd, key, littleEndian(n))
			}
		}
	}
}

// cutAt is how many documents from the front cost at most limit bytes, at least one.
func cutAt(k *indexKeys, docs []indexedDoc, limit int) int {
	sum := 0
	for i := range docs {
		if sum += docs[i].cost(k); sum > limit && i > 0 {
			return i
		}
	}
	return len(docs)
}

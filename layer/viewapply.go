package layer

import (
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
	n := 0
	for i := range doc.views {
		n += 2*len(k.data) + 3*len(doc.id) + 64
		for _, r := range doc.views[i].rows {
			n += 2*len(r.row) + 2*len(r.key) + len(r.value) + 32 // with its mark
		}
	}
	return n
}

// applyRows replaces what the documents had in the index by what they emitted. The entries that tell what they had are read with conflict: of two
// writers of one document's rows, one is repeated.
func applyRows(tx kv.Transaction, k *indexKeys, docs []indexedDoc) error {
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
	sum := make([]viewDelta, views)
	for i := range docs {
		for v := range views {
			var value []byte
			if f := old[i*views+v]; f != nil {
				if value, err = f.Wait(); err != nil {
					return err
				}
			}
			if err := sum[v].replace(tx, k, &docs[i], v, value, partials); err != nil {
				return err
			}
		}
	}
	for v := range sum {
		sum[v].add(tx, k, v)
	}
	return nil
}

// viewDelta is how a view's counters change.
type viewDelta struct {
	rows, size, errors int64
	value              []byte // to be written; used again
}

func (s *viewDelta) replace(tx kv.Transaction, k *indexKeys, doc *indexedDoc, view int, old []byte, partials aggregates) error {
	e := &doc.views[view]
	var removed []emitted
	if old != nil {
		var err error
		if removed, err = s.remove(tx, k, doc.id, view, old); err != nil {
			return fmt.Errorf("index entry of %q: %w", doc.id, err)
		}
	}
	if partials.on {
		markRows(tx, k, view, partials.epoch, removed, e.rows)
	}
	if len(e.rows) == 0 && e.err == "" {
		if old != nil {
			tx.Clear(k.idKey(doc.id, view))
		}
		return nil
	}
	s.value = e.appendEntry(s.value[:0])
	tx.Set(k.idKey(doc.id, view), s.value)
	if e.err != "" {
		s.errors++
		doc.setError(tx, k.errorKey(doc.id, view), e.err)
	}
	_, size := e.size()
	s.rows += int64(len(e.rows))
	s.size += size
	for _, r := range e.rows {
		s.value = tuple.AppendBytes(tuple.AppendBytes(s.value[:0], r.key), r.value)
		tx.Set(r.row, s.value)
	}
	return nil
}

func (s *viewDelta) remove(tx kv.Transaction, k *indexKeys, docID string, view int, old []byte) ([]emitted, error) {
	entry, err := parseViewEntry(old)
	if err != nil {
		return nil, err
	}
	if entry.failed {
		s.errors--
		tx.Clear(k.errorKey(docID, view))
	}
	was := emission{rows: make([]emitted, len(entry.keys))}
	for i, key := range entry.keys {
		was.rows[i].key = key
	}
	if fault := was.fault(k, view, docID); fault != "" {
		return nil, fmt.Errorf("rows that were written cannot be found again: %s", fault)
	}
	for _, r := range was.rows {
		tx.Clear(r.row)
	}
	s.rows -= int64(len(entry.keys))
	s.size -= entry.size
	return was.rows, nil
}

func (s *viewDelta) add(tx kv.Transaction, k *indexKeys, view int) {
	for what, n := range map[keyspace.ViewInfoKey]int64{
		keyspace.ViewRowCount: s.rows, keyspace.ViewSize: s.size, keyspace.ViewErrorCount: s.errors,
	} {
		if n != 0 {
			tx.Atomic(kv.AtomicAdd, k.viewInfoKey(what, view), littleEndian(n))
		}
	}
}

package rev

import (
	"bytes"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// A transaction that writes many documents reads the branches of each. If their ids are close together, as in a bulk
// load, one range read gets all branches, or shows that there are none. Otherwise each document would need a search of
// the store or a message to a cluster.

// leafScanBytes limits what is read ahead of a batch, since histories may be long.
const leafScanBytes = 1 << 20

// ScansLeaves reports whether ScanLeaves should be tried for this number of documents.
func ScansLeaves(t *db.Txn, documents int) bool {
	if documents < db.ScanFrom {
		return false
	}
	_, picks := t.Snapshot().(kv.RangesReader)
	return picks || t.Core.Near.Worth()
}

// ScanLeaves reads branches of documents that are close together. The documents are given by the key prefixes of their
// branches.
func ScanLeaves(t *db.Txn, prefixes [][]byte) error {
	if len(prefixes) == 0 {
		return nil
	}
	near := &t.Core.Near
	_, picks := t.Snapshot().(kv.RangesReader)
	t.Ahead.Read = 0
	defer func() { t.Spent += t.Ahead.Read }()
	slices.SortFunc(prefixes, bytes.Compare)
	t.Ahead.Rows = make(map[string][]kv.KeyValue, len(prefixes))
	if picks {
		if picked, err := pickLeaves(t, slices.CompactFunc(prefixes, bytes.Equal)); picked || err != nil {
			return err
		}
		if !near.Worth() { // the engine can do it, but not now
			return nil
		}
	}
	left := prefixes
	for range db.ScanRanges {
		if len(left) < db.ScanFrom || t.Ahead.Read >= leafScanBytes {
			break
		}
		var err error
		if left, err = scanLeavesOnce(t, left); err != nil {
			return err
		}
	}
	near.Judge(len(t.Ahead.Rows), len(prefixes))
	return nil
}

// pickLeaves reads the branches of all documents together, wherever they are stored, up to leafScanBytes. picked is
// false if the engine cannot do that. Damage is reported by the reads of the damaged documents.
func pickLeaves(t *db.Txn, prefixes [][]byte) (picked bool, err error) {
	ranges := make([]kv.KeyRange, len(prefixes))
	for i, prefix := range prefixes {
		ranges[i] = db.PrefixRange(prefix)
	}
	it, ok := kv.GetRanges(t.Snapshot(), ranges)
	if !ok {
		return false, nil
	}
	defer it.Close()
	var rows []kv.KeyValue // of prefixes[0]
	next := func() {
		t.Ahead.Rows[string(prefixes[0])] = rows
		prefixes, ranges, rows = prefixes[1:], ranges[1:], nil
	}
	for it.Next() {
		row := it.KeyValue()
		for bytes.Compare(ranges[0].End, row.Key) <= 0 {
			next()
		}
		t.Ahead.Read += len(row.Key) + len(row.Value)
		if t.Ahead.Read >= leafScanBytes {
			return true, nil
		}
		rows = append(rows, row)
	}
	if err := it.Err(); err != nil {
		if kv.Retryable(err) {
			return true, err
		}
		return true, nil
	}
	for len(prefixes) > 0 {
		next()
	}
	return true, nil
}

// scanLeavesOnce does one range read, up to a gap: rows of other documents. It returns the documents whose branches are
// not known yet. The read adds no conflicts; they are added for the documents that use its result.
func scanLeavesOnce(t *db.Txn, prefixes [][]byte) (left [][]byte, err error) {
	all := kv.KeyRange{Begin: db.PrefixRange(prefixes[0]).Begin, End: db.PrefixRange(prefixes[len(prefixes)-1]).End}
	limit := 2*len(prefixes) + db.ScanGap
	it := t.Snapshot().GetRange(all, kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll})
	defer it.Close()
	left = prefixes
	var rows []kv.KeyValue // of left[0]
	next := func() {
		t.Ahead.Rows[string(left[0])] = rows
		left, rows = left[1:], nil
	}
	n := 0
	for gap := 0; it.Next(); n++ {
		row := it.KeyValue()
		t.Ahead.Read += len(row.Key) + len(row.Value)
		for len(left) > 0 && bytes.Compare(db.PrefixRange(left[0]).End, row.Key) <= 0 {
			next()
		}
		if len(left) == 0 || t.Ahead.Read >= leafScanBytes {
			return left, nil
		}
		if !bytes.HasPrefix(row.Key, left[0]) {
			if gap++; gap == db.ScanGap {
				return left, nil
			}
			continue
		}
		gap = 0
		rows = append(rows, kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)})
	}
	if err := it.Err(); err != nil || n == limit {
		return left, err
	}
	for len(left) > 0 {
		next()
	}
	return left, nil
}

// LeavesAhead reads the branches of a document as o specifies, from what was read ahead of the batch if possible.
func LeavesAhead(t *db.Txn, prefix []byte, o kv.RangeOptions) kv.RangeIterator {
	rows, known := t.Ahead.Rows[string(prefix)]
	if !known {
		return db.GetRange(t, prefix, o)
	}
	t.AddReadConflict(db.PrefixRange(prefix))
	if o.Reverse {
		rows = slices.Clone(rows)
		slices.Reverse(rows)
	}
	if o.Limit > 0 {
		rows = rows[:min(o.Limit, len(rows))]
	}
	return &ReadRows{rows: rows}
}

// ReadLeaf reads one branch of a document.
func ReadLeaf(t *db.Txn, id string, r db.Rev) kv.Future[[]byte] {
	key := t.Close(t.Keys.Revision(t.Open(), id, false, r))
	rows, known := t.Ahead.Rows[string(t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, id)))]
	if !known {
		return t.Get(key)
	}
	t.AddReadConflict(db.SingleKey(key))
	for i := range rows {
		if bytes.Equal(rows[i].Key, key) {
			return HaveRead(rows[i].Value)
		}
	}
	return HaveRead(nil)
}

// ReadRows iterates over rows that have been read.
type ReadRows struct {
	rows []kv.KeyValue
	at   int // index of the next row
}

func (r *ReadRows) Next() bool {
	if r.at > len(r.rows) {
		return false
	}
	r.at++
	return r.at <= len(r.rows)
}

func (r *ReadRows) KeyValue() kv.KeyValue {
	if r.at == 0 || r.at > len(r.rows) {
		return kv.KeyValue{}
	}
	return r.rows[r.at-1]
}

func (r *ReadRows) Err() error { return nil }
func (r *ReadRows) Close()     {}

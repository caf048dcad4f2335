package layer

import (
	"bytes"
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ViewResult is a view response under way.
type ViewResult struct {
	TotalRows int64
	// Offset is the number of rows before the first one, with WithOffset; -1 where finding out would take reading many of them, which is where an index has
	// no partial aggregates yet.
	Offset    int64
	UpdateSeq Seq                       // of the index
	Rows      iter.Seq2[ViewRow, error] // once
}

// Query streams rows of the index as it stands: freshness is the caller's business. NotFound (missing_named_view) for an unknown view, Invalid
// (query_parse_error) for a query that can have no rows.
func (ix *Index) Query(ctx context.Context, q ViewQuery) (*ViewResult, error) {
	id, _, ok := ix.design.View(q.View)
	if !ok {
		return nil, errf(NotFound, "", "missing_named_view")
	}
	r, err := ix.read(ctx, &q, q.IncludeDocs && !q.CurrentDocs)
	if err != nil {
		return nil, err
	}
	result, err := r.query(id, q)
	if err != nil {
		r.close()
		return nil, err
	}
	return result, nil
}

func (r *indexReading) query(view int, q ViewQuery) (*ViewResult, error) {
	if err := q.CheckPartition(r.keys.design); err != nil {
		return nil, err
	}
	ranges, err := q.ranges(&r.keys, view)
	if err != nil {
		return nil, err
	}
	result := &ViewResult{Offset: -1}
	all := ranges
	err = r.begin(func() error {
		result.UpdateSeq, ranges = r.seq, all
		if r.empty {
			ranges = nil
		}
		return r.countRows(view, &q, ranges, result)
	})
	if err != nil {
		return nil, err
	}
	prefix := r.keys.rowPrefix(view)
	head := len(r.keys.appendPartition(nil, q.Partition))
	result.Rows = func(yield func(ViewRow, error) bool) {
		defer r.close()
		if err := r.yieldRows(view, prefix, head, ranges, q, yield); err != nil {
			yield(ViewRow{}, err)
		}
	}
	return result, nil
}

// countRows finds out how many rows the view has, and how many come before the answer's first one where that is wanted.
func (r *indexReading) countRows(view int, q *ViewQuery, ranges []span, result *ViewResult) (err error) {
	if !r.empty {
		err = r.rows.try(func() error {
			result.TotalRows, err = r.keys.viewCounter(r.rows.r, keyspace.ViewRowCount, view)()
			return err
		})
	}
	if err == nil && q.WithOffset {
		result.Offset, err = r.offset(view, q, ranges, result.TotalRows)
	}
	return err
}

// ranges of row keys that the query reads, one after the other.
func (q *ViewQuery) ranges(k *indexKeys, view int) ([]span, error) {
	if q.Keys == nil {
		r, err := k.rowRange(view, q)
		if err != nil {
			return nil, err
		}
		// Within one key the ids may be the wrong way round: that is empty, in CouchDB too.
		if q.StartKey != nil && q.EndKey != nil && !bytes.Equal(q.StartKey, q.EndKey) && bytes.Compare(r.begin, r.end) > 0 {
			return nil, errf(Invalid, "query_parse_error", "No rows can match your key range, reverse your start_key and end_key or set descending=%v", !q.Descending)
		}
		if bytes.Compare(r.begin, r.end) >= 0 {
			return nil, nil
		}
		return []span{r}, nil
	}
	ranges := make([]span, len(q.Keys))
	for i, key := range q.Keys {
		one := ViewQuery{Key: key, Partition: q.Partition, StartDocID: q.StartDocID, EndDocID: q.EndDocID, ExcludeEnd: q.ExcludeEnd, Descending: q.Descending}
		r, err := k.rowRange(view, &one)
		if err != nil {
			return nil, err
		}
		ranges[i] = r
	}
	return ranges, nil
}

// yieldRows counts skip and limit over all ranges. Rows go with the documents of the transaction that read them (apache/couchdb #3381): where that ends, those
// that were not yielded yet are read again in the next one.
func (r *indexReading) yieldRows(view int, prefix []byte, head int, ranges []span, q ViewQuery, yield func(ViewRow, error) bool) error {
	answered := viewCursor{skip: q.Skip, left: q.Limit}
	var patience kv.Patience
	for {
		left := answered.left
		err := r.yieldOnce(view, prefix, head, ranges, &q, &answered, yield)
		if err == nil {
			return nil
		}
		if answered.left != left {
			patience.Progress()
		}
		if err := r.rows.renew(patience.Tried(err)); err != nil {
			return err
		}
	}
}

// yieldOnce goes on behind what was answered, in one transaction, and notes how far it has come.
func (r *indexReading) yieldOnce(view int, prefix []byte, head int, ranges []span, q *ViewQuery, answered *viewCursor, yield func(ViewRow, error) bool) error {
	turn := r.rows.turn
	r.docs.leaveLarge = q.Large
	docs := newDocWindow(r.docs, q.IncludeDocs, q.Conflicts, answered)
	run := runs{head: len(prefix) + head}
	more := true
	for now := *answered; now.part < len(ranges) && now.left != 0 && more; now.part, now.after = now.part+1, nil {
		part := now.rest(ranges[now.part], q.Descending)
		run.anywhere = now.after != nil || now.skip > 0
		var err error
		if part, now.skip, err = r.skip(view, part, q.Descending, now.skip); err != nil {
			return err
		}
		if turn != r.rows.turn && docs.holds() { // skip has renewed the transaction
			return r.yieldOnce(view, prefix, head, ranges, q, answered, yield)
		}
		turn = r.rows.turn
		o := kv.RangeOptions{Reverse: q.Descending, Mode: kv.ModeIterator}
		if now.left > 0 {
			o.Limit = now.skip + now.left
		}
		in := part.at(prefix)
		run.r = r.rows.r
		_, err = scanOnce(r.rows.r, &in, o, func(row kv.KeyValue) (bool, error) {
			if now.skip > 0 {
				now.skip--
				return true, nil
			}
			now.left--
			if !r.rows.exact() {
				now.after = bytes.Clone(row.Key[len(prefix):])
			}
			if q.Descending {
				if row, err = run.at(row); err != nil {
					return false, err
				}
			}
			out, err := parseRow(len(prefix)+head, row)
			if err != nil {
				return false, err
			}
			more, err = docs.push(out, now, yield)
			return more && now.left != 0, err
		})
		if err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	_, err := docs.flush(yield)
	return err
}

func parseRow(prefix int, row kv.KeyValue) (out ViewRow, err error) {
	if out.ID, err = splitRowKey(row.Key[prefix:]); err != nil {
		return out, err
	}
	rest := row.Value
	if out.Key, rest, err = tuple.TakeBytes(rest); err != nil {
		return out, err
	}
	out.Value, _, err = tuple.TakeBytes(rest)
	return out, err
}

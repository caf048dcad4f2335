package query

import (
	"bytes"
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ViewResult is a view response in progress.
type ViewResult struct {
	TotalRows int64
	// Offset is the number of rows before the first one, if requested by WithOffset. It is -1 if too many rows would
	// have to be read, which happens while an index has no partial aggregates.
	Offset int64
	// Skipped is the number of documents that have no rows because of an error, if requested by WithSkipped.
	Skipped   int64
	UpdateSeq db.Seq                          // the index's
	Rows      iter.Seq2[index.ViewRow, error] // can be used once
}

// Query streams rows of the index in its current state; the caller brings it up to date if needed. It returns NotFound
// (missing_named_view) for an unknown view, and Invalid (query_parse_error) for a range that cannot contain rows.
func (ix Index) Query(ctx context.Context, q index.ViewQuery) (*ViewResult, error) {
	id, _, ok := ix.Design().View(q.View)
	if !ok {
		return nil, fault.Errf(fault.NotFound, "", "missing_named_view")
	}
	counted := id
	if q.WithoutTotal {
		counted = -1
	}
	r, err := read(ctx, ix.Index, counted, &q, q.IncludeDocs && !q.CurrentDocs)
	if err != nil {
		return nil, err
	}
	result, err := query(ctx, r, id, q)
	if err != nil {
		r.Close()
		return nil, err
	}
	return result, nil
}

func query(ctx context.Context, r *index.Reading, view int, q index.ViewQuery) (*ViewResult, error) {
	if err := q.CheckPartition(r.Keys.Design); err != nil {
		return nil, err
	}
	ranges, err := ranges(&q, &r.Keys, view)
	if err != nil {
		return nil, err
	}
	result := &ViewResult{Offset: -1}
	all := ranges
	if r.Empty {
		ranges = nil
	}
	prefix := r.Keys.RowPrefix(view)
	begun := readAhead(ctx, r, &q, prefix, ranges)
	err = r.Begin(func() error {
		result.UpdateSeq, ranges = r.Seq, all
		if r.Empty {
			ranges = nil
		}
		return countRows(r, view, &q, ranges, result)
	})
	if err != nil {
		begun.end()
		return nil, err
	}
	head := len(r.Keys.AppendPartition(nil, q.Partition))
	result.Rows = func(yield func(index.ViewRow, error) bool) {
		defer r.Close()
		defer begun.end()
		if err := yieldRows(r, view, prefix, head, ranges, q, begun, yield); err != nil {
			yield(index.ViewRow{}, err)
		}
	}
	return result, nil
}

// countRows reads how many rows the view has, unless that is not wanted, and, if requested, how many come before the
// first row of the answer.
func countRows(r *index.Reading, view int, q *index.ViewQuery, ranges []index.Span, result *ViewResult) (err error) {
	switch {
	case r.Empty || q.WithoutTotal:
	case r.Total != nil:
		result.TotalRows = *r.Total
	default:
		err = r.Rows.Try(func() error {
			result.TotalRows, err = r.Keys.ViewCounter(r.Rows.R, keyspace.ViewRowCount, view)()
			return err
		})
	}
	if err == nil && !r.Empty && q.WithSkipped {
		err = r.Rows.Try(func() error {
			result.Skipped, err = r.Keys.ViewCounter(r.Rows.R, keyspace.ViewErrorCount, view)()
			return err
		})
	}
	if err == nil && q.WithOffset {
		result.Offset, err = offset(r, view, q, ranges, result.TotalRows)
	}
	return err
}

// ranges returns the spans of rows that the query reads, in order.
func ranges(q *index.ViewQuery, k *index.Keys, view int) ([]index.Span, error) {
	if q.Ranges != nil {
		return several(q, k, view)
	}
	if q.Keys == nil {
		r, err := k.RowRange(view, q)
		if err != nil {
			return nil, err
		}
		// Within one key, the document ids may be in the wrong order. As in CouchDB, the result is then empty.
		if q.StartKey != nil && q.EndKey != nil && !bytes.Equal(q.StartKey, q.EndKey) &&
			bytes.Compare(r.Begin, r.End) > 0 {
			return nil, fault.Errf(fault.Invalid, "query_parse_error",
				"No rows can match your key range, reverse your start_key and end_key or set descending=%v",
				!q.Descending)
		}
		if bytes.Compare(r.Begin, r.End) >= 0 {
			return nil, nil
		}
		return []index.Span{r}, nil
	}
	ranges := make([]index.Span, len(q.Keys))
	for i, key := range q.Keys {
		one := index.ViewQuery{Key: key, Partition: q.Partition, StartDocID: q.StartDocID, EndDocID: q.EndDocID,
			ExcludeEnd: q.ExcludeEnd, Descending: q.Descending}
		r, err := k.RowRange(view, &one)
		if err != nil {
			return nil, err
		}
		ranges[i] = r
	}
	return ranges, nil
}

// several returns the spans of a query of several ranges.
func several(q *index.ViewQuery, k *index.Keys, view int) ([]index.Span, error) {
	var all []index.Span
	for _, r := range q.Ranges {
		one := *q
		one.Keys, one.Ranges, one.StartKey, one.EndKey = nil, nil, r.StartKey, r.EndKey
		span, err := k.RowRange(view, &one)
		if err != nil {
			return nil, err
		}
		if bytes.Compare(span.Begin, span.End) < 0 {
			all = append(all, span)
		}
	}
	return all, nil
}

// yieldRows applies skip and limit to all ranges together. Rows are returned with the documents of the transaction that
// read them (apache/couchdb #3381): if it ends, the next transaction reads the rows again that have not been yielded.
func yieldRows(r *index.Reading, view int, prefix []byte, head int, ranges []index.Span, q index.ViewQuery,
	begun *ahead, yield func(index.ViewRow, error) bool) error {
	answered := index.ViewCursor{Skip: q.Skip, Left: q.Limit}
	var patience kv.Patience
	for {
		left := answered.Left
		err := yieldOnce(r, view, prefix, head, ranges, &q, &answered, begun, yield)
		if err == nil {
			return nil
		}
		if answered.Left != left {
			patience.Progress()
		}
		if err := r.Rows.Renew(patience.Tried(err)); err != nil {
			return err
		}
	}
}

// yieldOnce continues after the last answered row, in one transaction, and updates answered.
func yieldOnce(r *index.Reading, view int, prefix []byte, head int, ranges []index.Span, q *index.ViewQuery,
	answered *index.ViewCursor, begun *ahead, yield func(index.ViewRow, error) bool) error {
	turn := r.Rows.Turn
	r.Docs.LeaveLarge = q.Large
	docs := index.NewDocWindow(r.Docs, q.IncludeDocs, q.Conflicts, answered)
	run := index.Runs{Head: len(prefix) + head}
	more := true
	for now := *answered; now.Part < len(ranges) && now.Left != 0 && more; now.Part, now.After = now.Part+1, nil {
		part := now.Rest(ranges[now.Part], q.Descending)
		run.Anywhere = now.After != nil || now.Skip > 0
		var err error
		if part, now.Skip, err = skip(r, view, part, q.Descending, now.Skip); err != nil {
			return err
		}
		// skip has begun a new transaction.
		if turn != r.Rows.Turn && docs.Holds() {
			return yieldOnce(r, view, prefix, head, ranges, q, answered, begun, yield)
		}
		turn = r.Rows.Turn
		in := part.At(prefix)
		run.R = r.Rows.R
		_, err = db.ScanRows(begun.read(now, in), &in, q.Descending, func(row kv.KeyValue) (bool, error) {
			if now.Skip > 0 {
				now.Skip--
				return true, nil
			}
			now.Left--
			if !r.Rows.Exact() {
				now.After = bytes.Clone(row.Key[len(prefix):])
			}
			if q.Descending {
				if row, err = run.At(row); err != nil {
					return false, err
				}
			}
			out, err := ParseRow(len(prefix)+head, row)
			if err != nil {
				return false, err
			}
			more, err = docs.Push(out, now, yield)
			return more && now.Left != 0, err
		})
		if err != nil {
			return err
		}
	}
	if !more {
		return nil
	}
	_, err := docs.Flush(yield)
	return err
}

// ParseRow decodes a view row. prefix is the length of the key before the sort key.
func ParseRow(prefix int, row kv.KeyValue) (out index.ViewRow, err error) {
	if out.ID, err = index.SplitRowKey(row.Key[prefix:]); err != nil {
		return out, err
	}
	rest := row.Value
	if out.Key, rest, err = tuple.TakeBytes(rest); err != nil {
		return out, err
	}
	out.Value, _, err = tuple.TakeBytes(rest)
	return out, err
}

package index

import (
	"bytes"
	"errors"
	"slices"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Keys builds the keys of one index (keyspace.Views). Each operation makes its own. Keys in ViewData require a call of
// Find first (number.go).
type Keys struct {
	Info      []byte // (.., Views, ViewInfo)
	All       []byte // (.., Views, ViewData)
	Data      []byte // (.., Views, ViewData, number or signature), nil before Find
	Number    int64  // 0 if the index has no number
	Format    int64  // of the number: which counters the index has; 0 without a number
	Signature string
	Design    *design.Design
}

// NewKeys returns the keys of an index. views is the prefix of the database's Views.
func NewKeys(views []byte, design *design.Design) Keys {
	views = views[:len(views):len(views)]
	return Keys{
		Info:      tuple.AppendInt(views, int64(keyspace.ViewInfo)),
		All:       slices.Clip(tuple.AppendInt(views, int64(keyspace.ViewData))),
		Signature: design.Signature,
		Design:    design,
	}
}

// InfoKey returns a key of the index in ViewInfo.
func (k *Keys) InfoKey(what keyspace.ViewInfoKey) []byte {
	key := make([]byte, 0, len(k.Info)+len(k.Signature)+16)
	key = tuple.AppendInt(append(key, k.Info...), int64(what))
	return tuple.AppendString(key, k.Signature)
}

// ViewInfoKey returns the key of a counter of one view.
func (k *Keys) ViewInfoKey(what keyspace.ViewInfoKey, view int) []byte {
	return tuple.AppendInt(k.InfoKey(what), int64(view))
}

// ProgressKey returns the key of a build's progress in a shard.
func (k *Keys) ProgressKey(shard db.ShardID) []byte {
	return tuple.AppendString(k.InfoKey(keyspace.ViewProgress), string(shard))
}

// AppendRange appends the prefix of a range of the index in ViewData. Find must have been called.
func (k *Keys) AppendRange(dst []byte, r keyspace.ViewRange) []byte {
	if k.Data == nil {
		panic("index keys are used before Find")
	}
	return tuple.AppendInt(append(dst, k.Data...), int64(r))
}

// IdKey returns the key that lists a document's rows in a view. ErrorKey returns the key of a document's error.
func (k *Keys) IdKey(docID string, view int) []byte {
	key := make([]byte, 0, len(k.Data)+len(docID)+8)
	key = k.AppendRange(key, keyspace.ViewIDs)
	return tuple.AppendInt(tuple.AppendString(key, docID), int64(view))
}

func (k *Keys) ErrorKey(docID string, view int) []byte {
	key := k.AppendRange(nil, keyspace.ViewErrors)
	return tuple.AppendInt(tuple.AppendString(key, docID), int64(view))
}

// AppendPartition appends a partition if the index is partitioned.
func (k *Keys) AppendPartition(dst []byte, partition string) []byte {
	if k.Design.Partitioned {
		dst = tuple.AppendString(dst, partition)
	}
	return dst
}

func (k *Keys) appendSortKey(dst []byte, view int, json []byte) ([]byte, error) {
	if k.Design.Views[view].Raw {
		return collate.AppendRawKey(dst, json)
	}
	return collate.AppendKey(dst, json)
}

// appendPosition appends the position (see Span) of row n, counted from 0, with this sort key and document. In a
// partitioned index, the rows of a partition form one range.
func (k *Keys) appendPosition(dst []byte, sortKey []byte, docID string, n int) []byte {
	dst = tuple.AppendBytes(k.AppendPartition(dst, db.PartitionOf(docID)), sortKey)
	return tuple.AppendInt(tuple.AppendString(dst, docID), int64(n))
}

// longestPosition returns the maximum length of a position in a view. It assumes that the index has no number, so that
// the limit is the same for every index.
func (k *Keys) longestPosition(view int) int {
	head := tuple.AppendInt(nil, int64(keyspace.ViewRows))
	head = tuple.AppendInt(tuple.AppendString(head, k.Signature), int64(view))
	return kv.MaxKeySize - len(k.All) - len(head)
}

// RowRange converts a query's bounds to a span of positions, in key order even if the query is descending.
func (k *Keys) RowRange(view int, q *ViewQuery) (Span, error) {
	low, high := bound{q.StartKey, q.StartDocID}, bound{q.EndKey, q.EndDocID}
	lowOpen, highOpen := false, q.ExcludeEnd
	if q.Key != nil {
		low.key, high.key = q.Key, q.Key
	}
	if q.Descending {
		low, high = high, low
		lowOpen, highOpen = highOpen, lowOpen
	}
	head := k.AppendPartition(nil, q.Partition)
	r := Whole.behind(head)
	var err error
	if low.key != nil {
		if r.Begin, err = k.position(view, head, low, lowOpen); err != nil {
			return r, err
		}
	}
	if high.key != nil {
		if r.End, err = k.position(view, head, high, !highOpen); err != nil {
			return r, err
		}
		if q.UpperPrefix {
			r.End, err = k.behindPrefix(view, head, high.key)
		}
	}
	return r, err
}

// behindPrefix returns a position after all rows whose keys are lists that begin with the elements of list.
func (k *Keys) behindPrefix(view int, head, list []byte) ([]byte, error) {
	sortKey, err := k.appendSortKey(nil, view, list)
	if err == nil {
		sortKey, err = collate.CutEnd(sortKey)
	}
	if err != nil {
		return nil, fault.Errf(fault.Invalid, "query_parse_error", "invalid key: %v", err)
	}
	position := tuple.AppendBytes(head[:len(head):len(head)], sortKey)
	position[len(position)-1] = 0xff // instead of the end of the bytes; no value begins with it
	return position, nil
}

// bound is one end of a query. As in CouchDB, a document id only applies together with a key.
type bound struct {
	key   []byte
	docID string
}

// position returns the position of the first row at the bound or, with behind, of the first row after all rows at the
// bound.
func (k *Keys) position(view int, head []byte, b bound, behind bool) ([]byte, error) {
	sortKey, err := k.appendSortKey(nil, view, b.key)
	if err != nil {
		return nil, fault.Errf(fault.Invalid, "query_parse_error", "invalid key: %v", err)
	}
	position := tuple.AppendBytes(head[:len(head):len(head)], sortKey)
	if b.docID != "" {
		position = tuple.AppendString(position, b.docID)
	}
	if behind {
		position = append(position, 0xff) // greater than every type code of a tuple
	}
	return position, nil
}

// SplitRowKey decodes the document id from a row key without the view's prefix.
func SplitRowKey(rest []byte) (docID string, err error) {
	if rest, err = tuple.Skip(rest); err == nil {
		docID, _, err = tuple.TakeString(rest)
	}
	if err != nil {
		return "", db.Corrupt("view row", err)
	}
	return docID, nil
}

// Span is a range of positions in a view. A position is the part of a row's key after the view's prefix; the ends of a
// span may be incomplete positions.
type Span struct{ Begin, End []byte }

// Whole is the span of all rows of a view.
var Whole = Span{[]byte{0x00}, []byte{0xff}}

// At returns the keys of the span under a prefix.
func (s Span) At(prefix []byte) kv.KeyRange {
	s = s.behind(prefix)
	return kv.KeyRange{Begin: s.Begin, End: s.End}
}

// behind returns the span with head in front of both ends.
func (s Span) behind(head []byte) Span {
	n := len(head)
	return Span{append(head[:n:n], s.Begin...), append(head[:n:n], s.End...)}
}

// RowPrefix returns the common prefix of all row keys of a view.
func (k *Keys) RowPrefix(view int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewRows), int64(view))
}

// ViewCounter starts reading a counter of a view, which is the sum of what builds and the writers of each shard have
// counted. The caller must call wait.
func (k *Keys) ViewCounter(r kv.Reader, what keyspace.ViewInfoKey, view int) (wait func() (int64, error)) {
	rows := r.GetRange(k.counterRange(what, view), kv.RangeOptions{Mode: kv.ModeWantAll})
	return func() (n int64, err error) {
		defer rows.Close()
		for rows.Next() {
			n += db.CounterValue(rows.KeyValue().Value)
		}
		return n, rows.Err()
	}
}

func (k *Keys) counterRange(what keyspace.ViewInfoKey, view int) kv.KeyRange {
	key := k.ViewInfoKey(what, view)
	return kv.KeyRange{Begin: key, End: db.PrefixRange(key).End}
}

// viewCounters is ViewCounter for several counters, which must ascend. They are read together if r can.
func (k *Keys) viewCounters(r kv.Reader, what []keyspace.ViewInfoKey, view int) (wait func() ([]int64, error)) {
	wanted := make([]kv.KeyRange, len(what))
	for i, one := range what {
		wanted[i] = k.counterRange(one, view)
	}
	counts := make([]int64, len(what))
	if rows, ok := kv.GetRanges(r, wanted); ok {
		return func() ([]int64, error) {
			defer rows.Close()
			for i := 0; rows.Next(); {
				row := rows.KeyValue()
				for bytes.Compare(row.Key, wanted[i].End) >= 0 {
					i++
				}
				counts[i] += db.CounterValue(row.Value)
			}
			return counts, rows.Err()
		}
	}
	waits := make([]func() (int64, error), len(what))
	for i, one := range what {
		waits[i] = k.ViewCounter(r, one, view)
	}
	return func() (_ []int64, err error) {
		for i, wait := range waits {
			n, failed := wait()
			counts[i], err = n, errors.Join(err, failed)
		}
		return counts, err
	}
}

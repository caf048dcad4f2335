package layer

import (
	"slices"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// indexKeys builds the keys of one index (keyspace.Views). It is made once for each operation. Those of ViewData need
// find (viewnumber.go) first.
type indexKeys struct {
	info      []byte // (.., Views, ViewInfo)
	all       []byte // (.., Views, ViewData)
	data      []byte // (.., Views, ViewData, number or signature); nil before find
	number    int64  // 0: the index has none
	signature string
	design    *Design
}

func newIndexKeys(views []byte, design *Design) indexKeys {
	views = views[:len(views):len(views)]
	return indexKeys{
		info:      tuple.AppendInt(views, int64(keyspace.ViewInfo)),
		all:       slices.Clip(tuple.AppendInt(views, int64(keyspace.ViewData))),
		signature: design.Signature,
		design:    design,
	}
}

func (k *indexKeys) infoKey(what keyspace.ViewInfoKey) []byte {
	key := make([]byte, 0, len(k.info)+len(k.signature)+16)
	key = tuple.AppendInt(append(key, k.info...), int64(what))
	return tuple.AppendString(key, k.signature)
}

// viewInfoKey is a counter of one view.
func (k *indexKeys) viewInfoKey(what keyspace.ViewInfoKey, view int) []byte {
	return tuple.AppendInt(k.infoKey(what), int64(view))
}

func (k *indexKeys) progressKey(shard ShardID) []byte {
	return tuple.AppendString(k.infoKey(keyspace.ViewProgress), string(shard))
}

func (k *indexKeys) appendRange(dst []byte, r keyspace.ViewRange) []byte {
	if k.data == nil {
		panic("keys of an index whose number nobody has looked for")
	}
	return tuple.AppendInt(append(dst, k.data...), int64(r))
}

// idKey is where a document's rows in a view are listed, errorKey where it is listed as skipped.
func (k *indexKeys) idKey(docID string, view int) []byte {
	key := make([]byte, 0, len(k.data)+len(docID)+8)
	key = k.appendRange(key, keyspace.ViewIDs)
	return tuple.AppendInt(tuple.AppendString(key, docID), int64(view))
}

func (k *indexKeys) errorKey(docID string, view int) []byte {
	key := k.appendRange(nil, keyspace.ViewErrors)
	return tuple.AppendInt(tuple.AppendString(key, docID), int64(view))
}

func (k *indexKeys) appendPartition(dst []byte, partition string) []byte {
	if k.design.Partitioned {
		dst = tuple.AppendString(dst, partition)
	}
	return dst
}

func (k *indexKeys) appendSortKey(dst []byte, view int, json []byte) ([]byte, error) {
	if k.design.Views[view].Raw {
		return collate.AppendRawKey(dst, json)
	}
	return collate.AppendKey(dst, json)
}

// appendPosition appends the position (see span) of the n-th row (from 0) with this sort key and document. In a
// partitioned index the rows of a partition are one range.
func (k *indexKeys) appendPosition(dst []byte, sortKey []byte, docID string, n int) []byte {
	dst = tuple.AppendBytes(k.appendPartition(dst, partitionOf(docID)), sortKey)
	return tuple.AppendInt(tuple.AppendString(dst, docID), int64(n))
}

// longestPosition is how long a position may be in a view. Whether the index has a number is no matter, so that the
// same rows are too long in every index.
func (k *indexKeys) longestPosition(view int) int {
	head := tuple.AppendInt(nil, int64(keyspace.ViewRows))
	head = tuple.AppendInt(tuple.AppendString(head, k.signature), int64(view))
	return kv.MaxKeySize - len(k.all) - len(head)
}

// rowRange turns a query's bounds into a span of positions, in key order whatever the direction of the query.
func (k *indexKeys) rowRange(view int, q *ViewQuery) (span, error) {
	low, high := bound{q.StartKey, q.StartDocID}, bound{q.EndKey, q.EndDocID}
	lowOpen, highOpen := false, q.ExcludeEnd
	if q.Key != nil {
		low.key, high.key = q.Key, q.Key
	}
	if q.Descending {
		low, high = high, low
		lowOpen, highOpen = highOpen, lowOpen
	}
	head := k.appendPartition(nil, q.Partition)
	r := whole.behind(head)
	var err error
	if low.key != nil {
		if r.begin, err = k.position(view, head, low, lowOpen); err != nil {
			return r, err
		}
	}
	if high.key != nil {
		if r.end, err = k.position(view, head, high, !highOpen); err != nil {
			return r, err
		}
	}
	return r, nil
}

// bound is one end of a query. A document id counts only together with a key, as in CouchDB.
type bound struct {
	key   []byte
	docID string
}

// position is that of the first row at the bound, or of the first one behind all rows of the bound.
func (k *indexKeys) position(view int, head []byte, b bound, behind bool) ([]byte, error) {
	sortKey, err := k.appendSortKey(nil, view, b.key)
	if err != nil {
		return nil, errf(Invalid, "query_parse_error", "invalid key: %v", err)
	}
	position := tuple.AppendBytes(head[:len(head):len(head)], sortKey)
	if b.docID != "" {
		position = tuple.AppendString(position, b.docID)
	}
	if behind {
		position = append(position, 0xff) // above every type code of a tuple
	}
	return position, nil
}

// splitRowKey reads the document id of a row key behind the view's prefix.
func splitRowKey(rest []byte) (docID string, err error) {
	if rest, err = tuple.Skip(rest); err == nil {
		docID, _, err = tuple.TakeString(rest)
	}
	if err != nil {
		return "", corrupt("view row", err)
	}
	return docID, nil
}

// span is a range of positions in a view. A position is what follows the view's prefix in the key of a row, or a
// beginning of it.
type span struct{ begin, end []byte }

// whole is all of a view.
var whole = span{[]byte{0x00}, []byte{0xff}}

// at is the span as keys under a prefix.
func (s span) at(prefix []byte) kv.KeyRange {
	s = s.behind(prefix)
	return kv.KeyRange{Begin: s.begin, End: s.end}
}

// behind is the span of what follows a beginning in it.
func (s span) behind(head []byte) span {
	n := len(head)
	return span{append(head[:n:n], s.begin...), append(head[:n:n], s.end...)}
}

// rowPrefix is what the keys of all rows of a view begin with, whatever their partition.
func (k *indexKeys) rowPrefix(view int) []byte {
	return tuple.AppendInt(k.appendRange(nil, keyspace.ViewRows), int64(view))
}

// viewCounter starts reading a counter of a view: what builds have counted, and what writers of each shard have. wait
// has to be called.
func (k *indexKeys) viewCounter(r kv.Reader, what keyspace.ViewInfoKey, view int) (wait func() (int64, error)) {
	key := k.viewInfoKey(what, view)
	rows := r.GetRange(kv.KeyRange{Begin: key, End: prefixRange(key).End}, kv.RangeOptions{Mode: kv.ModeWantAll})
	return func() (n int64, err error) {
		defer rows.Close()
		for rows.Next() {
			n += counterValue(rows.KeyValue().Value)
		}
		return n, rows.Err()
	}
}

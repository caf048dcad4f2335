package index

import (
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
)

// ViewQuery is a map query (V7). Keys are JSON texts, or nil if not set.
type ViewQuery struct {
	View             string
	Partition        string // the partition to read, for a partitioned index
	Key              []byte
	Keys             [][]byte
	StartKey, EndKey []byte
	// Ranges, unless nil, replaces StartKey and EndKey by several ranges, disjoint and in the order of the query. Rows
	// of different ranges may belong to the same group.
	Ranges               []KeyRange
	StartDocID, EndDocID string
	ExcludeEnd           bool
	// UpperPrefix extends the upper bound, EndKey or with Descending StartKey, which must be a list: it includes all
	// lists that begin with its elements.
	UpperPrefix bool
	Descending  bool
	Limit, Skip int // no limit if negative
	IncludeDocs bool
	Conflicts   bool
	Large       bool // with IncludeDocs: large bodies stay in the store (Doc.Large)
	// CurrentDocs makes IncludeDocs return current documents, as CouchDB does beside rows that may be old
	// (update=false). Otherwise it returns the documents that the rows were made from.
	CurrentDocs bool
	// Fresh returns an IndexBehind error instead of rows that are not all of one version, which can only happen if the
	// engine holds no snapshots and the index has fallen behind by more than a query can apply, and instead of no rows
	// of an index that was removed after the caller had brought it up to date.
	Fresh bool
	// Current returns an IndexBehind error if the index lacks any change that was committed when the query began, so
	// that the caller can bring it up to date first. The check costs little, since every query reads the index's
	// sequence anyway.
	Current bool
	// Ahead is for queries that read few rows. If the index lacks only a few documents, the query maps these itself, as
	// of the newest sequence, and does not wait for them to be indexed. It returns an IndexBehind error if more are
	// missing, or if mapping takes so long that it is better done once for all queries.
	Ahead      bool
	WithOffset bool // compute ViewResult.Offset
	// WithSkipped reads ViewResult.Skipped, for callers that must know whether rows are missing.
	WithSkipped bool
	// WithoutTotal leaves ViewResult.TotalRows at 0, for callers that read few rows and do not need it.
	WithoutTotal bool
}

// KeyRange is a range of keys, both JSON and inclusive. A nil key leaves that side open.
type KeyRange struct{ StartKey, EndKey []byte }

// ViewRow is one row. Key and Value are the emitted JSON, valid until the next row.
type ViewRow struct {
	ID         string
	Key, Value []byte
	// Doc is set with IncludeDocs: the document that emitted the row, or the one that Value names by _id and _rev. It
	// is nil if that document does not exist.
	Doc *rev.Document
}

// ViewCursor is a place in the answer to a query, after a row of one of its ranges.
type ViewCursor struct {
	Part       int    // index of the range
	After      []byte // position of the row, or nil at the beginning of the range
	Skip, Left int
}

// Rest returns the part of the range after the cursor.
func (c *ViewCursor) Rest(s Span, reverse bool) Span {
	switch {
	case c.After == nil:
		return s
	case reverse:
		return Span{s.Begin, c.After}
	}
	return Span{append(c.After[:len(c.After):len(c.After)], 0), s.End}
}

// CheckPartition returns an Invalid error (query_parse_error) if a query of a partitioned index names no partition, or
// if a query of any other index names one.
func (q *ViewQuery) CheckPartition(design *design.Design) error {
	switch {
	case design.Partitioned && q.Partition == "":
		return fault.Errf(fault.Invalid, "query_parse_error",
			"`partition` parameter is mandatory for queries to this view.")
	case !design.Partitioned && q.Partition != "":
		return fault.Errf(fault.Invalid, "query_parse_error",
			"`partition` parameter is not supported in this design doc")
	}
	return nil
}

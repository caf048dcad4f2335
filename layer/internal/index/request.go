package index

import (
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
)

// ViewQuery is a map query (V7). Keys are JSON texts; nil is none.
type ViewQuery struct {
	View                 string
	Partition            string // of a partitioned index: the one that is asked for
	Key                  []byte
	Keys                 [][]byte
	StartKey, EndKey     []byte
	StartDocID, EndDocID string
	ExcludeEnd           bool
	Descending           bool
	Limit, Skip          int // Limit < 0 is none
	IncludeDocs          bool
	Conflicts            bool
	Large                bool // with IncludeDocs: leave large bodies in the store: Doc.Large
	// CurrentDocs has IncludeDocs show the documents as they are now, as CouchDB does beside rows that may be old
	// (update=false); without it they are those that the rows were made from.
	CurrentDocs bool
	// Fresh refuses to answer from rows that are not those of one version: an error named IndexBehind, where the engine
	// holds no snapshots and the index has fallen behind by more than a query can apply itself.
	Fresh bool
	// Current refuses to answer, with the same error, where the index lacks anything that the database had when the
	// query began: then bring it up to date first. Where it lacks nothing this is all that freshness costs, for a query
	// knows where its index stands anyhow.
	Current bool
	// Ahead is for a query of a few rows: where the index lacks a few documents, it works out their rows for itself, as
	// of the newest sequence, and does not wait for them to be written. The same error where more is lacking, or where
	// the map functions take so long that it is better done once for all.
	Ahead      bool
	WithOffset bool // wants ViewResult.Offset
}

// ViewRow is one row. Key and Value are the JSON that was emitted. Valid until the next row.
type ViewRow struct {
	ID         string
	Key, Value []byte
	// Doc, with IncludeDocs, is the row's document, or the one that the value's _id (and _rev) names; nil where it is
	// gone.
	Doc *rev.Document
}

// ViewCursor is a place in the answer to a query: behind a row of one of its ranges.
type ViewCursor struct {
	Part       int    // which range
	After      []byte // the row's position; nil: none of the range yet
	Skip, Left int
}

// Rest is what is left of the range.
func (c *ViewCursor) Rest(s Span, reverse bool) Span {
	switch {
	case c.After == nil:
		return s
	case reverse:
		return Span{s.Begin, c.After}
	}
	return Span{append(c.After[:len(c.After):len(c.After)], 0), s.End}
}

// CheckPartition refuses a query of a partitioned index that names no partition, and one of another index that does:
// Invalid (query_parse_error).
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

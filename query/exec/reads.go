package exec

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// This file is all that query knows of the store: node implements it over layer, tests implement it in memory.
// Everything is read only. The rules that hold for all of it:
//
//   - Calls honour ctx down to the engine and may block. One session calls from one goroutine; sessions call at once.
//   - Bytes handed out (keys, values, documents) are never written to again by anybody: the receiver may keep them
//     without a copy.
//   - Rows are streamed. Limits are permission to stop early, not the only way to stop: Close may come at any row.
//   - Errors that a user caused or can act on are a *ReadError; anything else is reported as an internal error.

// Catalog is what one session's user may see. Query asks for one after authentication, and again for every message that
// runs a statement, as roles may have changed.
type Catalog interface {
	// Admin says that the user is a server admin, PostgreSQL's superuser.
	Admin() bool
	// Databases returns the names of the databases that the user may read, in byte order, without the virtual database
	// "divan".
	Databases(ctx context.Context) ([]string, error)
	// Database opens one by name. A *ReadError of kind NotFound when there is none, of kind Forbidden when the user may
	// not read it. It is called once per statement, so it should be cheap; nothing has to be closed.
	Database(ctx context.Context, name string) (Database, error)
	// SystemTables describes the relations of schema divan. The answer does not change while the process lives.
	SystemTables() []SystemTable
	// SystemRows yields the rows of one of SystemTables, as seen from database (the session's; "divan" when it is the
	// virtual one). A row has one value per column: nil, string, bool, int64, float64, time.Time or json.RawMessage, as
	// the column's type says.
	SystemRows(ctx context.Context, table, database string) iter.Seq2[[]any, error]
}

// Database is the reads of one database. All orders are CouchDB's: ids by bytes, view keys by collation and then id,
// sequences by their text.
type Database interface {
	// Designs returns the live design documents that have at least one view, in byte order of their names.
	Designs(ctx context.Context) ([]Design, error)
	// Design returns one design document by its name without the prefix "_design/"; kind NotFound when there is none.
	Design(ctx context.Context, name string) (Design, error)

	// Document reads the winning leaf of one document into row (ID, Rev, Doc if withDoc). It answers false for a
	// document that does not exist or is deleted. Local documents ("_local/...") are not found here.
	Document(ctx context.Context, id string, withDoc bool, row *Row) (bool, error)
	// AllDocs streams live documents: ID, Rev, Doc if asked.
	AllDocs(ctx context.Context, read DocsRead) (Rows, error)
	// LocalDocs streams local documents; ids carry the prefix "_local/".
	LocalDocs(ctx context.Context, read DocsRead) (Rows, error)
	// Conflicts streams the leaves that are not the winner, by id and then revision: ID, Rev, Deleted, Doc if asked. It
	// costs a read of every document's metadata in the range.
	Conflicts(ctx context.Context, read DocsRead) (Rows, error)
	// Changes streams the change feed: Seq, Shard, ID, Rev, Deleted, Doc if asked (a tombstone has its tombstone body).
	Changes(ctx context.Context, read ChangesRead) (Rows, error)
	// View streams map rows: ID, Key, Value, Doc if asked (nil Doc where include_docs has null). Kind NotFound when the
	// design document has no such view, kind Timeout when the index is not ready within ctx.
	View(ctx context.Context, read ViewRead) (Rows, error)
}

// Reducer is an optional ability of a Database. The planner uses it for views whose Design entry names a built-in
// reduce function.
type Reducer interface {
	// Reduce streams one row per group: Key (the whole key, or its leading GroupLevel parts; nil when GroupLevel is 0)
	// and Value.
	Reduce(ctx context.Context, read ReduceRead) (Rows, error)
}

// Snapshotter is an optional ability of a Database: to be read as it is at one moment, by any number of reads.
type Snapshotter interface {
	// Snapshot pins what is committed now. Before, it brings the views up to date that are to be, so that they are as
	// of that moment too. Where writers are faster than that, exact makes it an error of kind Stale; otherwise these
	// views are as of a moment between the call and the snapshot's. A read of another view, by an exact snapshot, is of
	// kind Stale where its index lacked something at that moment. A store that cannot hold a moment for
	// long lets later reads of an exact snapshot fail with kind Expired, and has the others go on at a later moment.
	Snapshot(ctx context.Context, views []ViewUse, exact bool) (Snapshot, error)
}

// Snapshot is a Database at one moment. A feed that follows is Unsupported.
type Snapshot interface {
	Database
	// Close gives it up: reads fail from then on. Until then the store keeps what is overwritten. Idempotent, and safe
	// for any goroutine.
	Close()
}

// ViewUse is a view's design document and how fresh a statement wants it.
type ViewUse struct {
	Design string
	Update UpdateMode
}

// Row is one row of any read. Fields that a read does not list are left at their zero value.
type Row struct {
	ID      string
	Rev     string // "1-abc"
	Seq     string // lower-case hex, sorts as text
	Shard   string
	Deleted bool
	Key     json.RawMessage // as emitted
	Value   json.RawMessage // as emitted
	Doc     json.RawMessage // the whole body with _id and _rev, as HTTP answers it; nil when not asked for
}

// ErrIdle may be returned by Next of a read that follows, once each time when everything up to the present has been
// given: the next call waits. It lets FETCH 100 answer with the 30 changes that there are.
var ErrIdle = errors.New("no change for now")

// Rows is a stream of rows.
type Rows interface {
	// Next sets every field of row and returns nil, or returns io.EOF at the end, or another error. It blocks until
	// there is a row or ctx ends; with ChangesRead.Follow that may be for ever. After an error only Close may be
	// called, but for ErrIdle.
	Next(ctx context.Context, row *Row) error
	// Close ends the read early or late and may be called twice. It never blocks for long.
	Close() error
}

// Skipper is an optional ability of Rows: it tells how many rows were read and dropped so far because of Skip.
type Skipper interface{ Skipped() int64 }

// DocsRead is a range of ids, or a set of them.
type DocsRead struct {
	// Low and High bound the ids by bytes: Low <= id < High. "" leaves that side open. The order of Low and High does
	// not depend on Descending.
	Low, High string
	// IDs, when not nil, replaces the range: only these ids, distinct, sorted in the order of the read. Ids that are
	// not there are skipped.
	IDs        []string
	Descending bool
	// NoDesigns leaves design documents out, before Skip and Limit.
	NoDesigns bool
	// Limit ends the read after that many rows when it is above zero; Skip drops rows first.
	Limit, Skip int64
	// WithDoc asks for the bodies.
	WithDoc bool
}

// ChangesRead is a part of the change feed.
type ChangesRead struct {
	// Since is exclusive; "" is the beginning.
	Since string
	// Shard restricts the read to one shard's feed; a shard that never existed has no rows. "" is the merged feed.
	Shard      string
	Descending bool
	// Limit ends the read after that many rows when it is above zero.
	Limit   int64
	WithDoc bool
	// Follow never ends: at the present, Next waits for the next change. Not together with Descending.
	Follow bool
}

// UpdateMode says how fresh a view must be; CouchDB's parameter update.
type UpdateMode int

// The values of CouchDB's update parameter.
const (
	UpdateTrue  UpdateMode = iota // reflect every write acknowledged before the call; wait for it
	UpdateFalse                   // the index as it is
	UpdateLazy                    // the index as it is, and start an update afterwards
)

// ViewRead is a range of keys of a view, or a set of them.
type ViewRead struct {
	// Design is the design document without "_design/".
	Design, View string
	// Low and High are JSON texts and both inclusive, by the view's collation; nil leaves that side open. Their order
	// does not depend on Descending.
	Low, High json.RawMessage
	// Keys, when not nil, replaces the range: the rows of these keys, distinct, sorted in the order of the read.
	Keys       []json.RawMessage
	Descending bool
	// Limit ends the read after that many rows when it is above zero; Skip drops rows first.
	Limit, Skip int64
	WithDoc     bool
	Update      UpdateMode
	// Partition is the one that a view of a partitioned design document is read in; others have no such view. "" reads
	// all partitions one after the other, each in the order of keys.
	Partition string
}

// ReduceRead is a reduce query: a ViewRead without documents.
type ReduceRead struct {
	Design, View string
	Low, High    json.RawMessage // as in ViewRead
	Keys         []json.RawMessage
	// Ranges, when not nil, replaces the range: rows of several ranges, in the order of keys and without common ones,
	// which may be of one group.
	Ranges []KeyRange
	// GroupLevel 0 is one row for all (none at all when the range is empty), n the leading n parts of array keys, -1
	// whole keys.
	GroupLevel  int
	Descending  bool
	Limit, Skip int64
	Update      UpdateMode
	Partition   string // as in ViewRead
}

// KeyRange is a range of keys with bounds as ViewRead has them.
type KeyRange struct{ Low, High json.RawMessage }

// Design is a design document as the catalogue shows it.
type Design struct {
	Name  string // without "_design/"
	Views []View // in byte order of their names
	// Partitioned says that its views are in the order of keys within each partition only.
	Partitioned bool
}

// View is one view of a design document.
type View struct {
	Name string
	// Reduce is "_count", "_sum", "_stats" or another built-in name, "javascript" for a function, "" for none. An
	// implementation that is no Reducer leaves it empty or not, as it likes.
	Reduce string
	// RawCollation says that options.collation is "raw": keys are not in CouchDB's order, so that ranges and orders of
	// the gateway do not apply to it.
	RawCollation bool
}

// SystemTable describes a relation of schema divan.
type SystemTable struct {
	Name    string
	Columns []SystemColumn
	Comment string
}

// SystemColumn is a column of a SystemTable.
type SystemColumn struct {
	Name string
	// Type is "text", "bool", "int8", "float8", "timestamptz" or "jsonb".
	Type string
}

// Kind classifies errors of reads; query assigns the SQLSTATE.
type Kind int

// Kinds of read errors.
const (
	Internal    Kind = iota // XX000
	NotFound                // 3D000 for a database, 42P01 for a view
	Forbidden               // 42501
	Invalid                 // 22023: a parameter the store refuses
	Timeout                 // 57014
	Unavailable             // 57P03: the store cannot be reached now
	TooLarge                // 54000
	Unsupported             // 0A000
	Full                    // 53100: the disk of the store has no room
	Stale                   // 40001: the store has moved on; the transaction can be tried again
	Expired                 // 72000: the store does not hold the moment any more that a Snapshot reads
)

// ReadError is an error of a read that the user may see.
type ReadError struct {
	Kind    Kind
	Message string // for the user; no secrets
	Err     error  // cause, or nil
}

func (e *ReadError) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

func (e *ReadError) Unwrap() error { return e.Err }

// KindOf returns the kind of the first ReadError in err's chain, Internal without one.
func KindOf(err error) Kind {
	var re *ReadError
	if errors.As(err, &re) {
		return re.Kind
	}
	return Internal
}

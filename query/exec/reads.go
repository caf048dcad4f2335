package exec

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/rowshape"
)

// The interfaces in this file and in writing.go are all that query depends on in the store. Package node implements
// them over layer, tests implement them in memory. These rules hold for all of them:
//
//   - Calls observe ctx down to the engine and may block. A session makes its calls from one goroutine; several
//     sessions call concurrently.
//   - Returned bytes (keys, values, documents) are never changed by anyone; the receiver may keep them without a copy.
//   - Rows are streamed. A limit allows a read to stop early, but Close may also come at any row.
//   - An error that a user caused or can act on is a *ReadError. Anything else is reported as an internal error.

// SystemDatabase is the virtual database that always exists and holds only the system schemas.
const SystemDatabase = "divan"

// Catalog is what the user of one session may see. Query asks for one after authentication, and again for every message
// that runs a statement, because roles may have changed.
type Catalog interface {
	// Admin reports whether the user is a server admin, the equivalent of PostgreSQL's superuser.
	Admin() bool
	// Databases returns the names of the databases that the user may read, in byte order, without the virtual database
	// "divan".
	Databases(ctx context.Context) ([]string, error)
	// Database opens a database. It returns a *ReadError of kind NotFound if it does not exist, and of kind Forbidden
	// if the user may not read it. It is called once per statement, so it should be cheap. Nothing has to be closed.
	Database(ctx context.Context, name string) (Database, error)
	// SystemTables describes the relations of schema divan. The result never changes.
	SystemTables() []SystemTable
	// SystemRows returns the rows of one of SystemTables, as seen from database (the session's; "divan" for the virtual
	// one). A row has one value per column: nil, string, bool, int64, float64, time.Time or json.RawMessage, according
	// to the column's type.
	SystemRows(ctx context.Context, table, database string) iter.Seq2[[]any, error]
}

type warnings struct{}

// WithWarnings returns a context in which Warn calls warn.
func WithWarnings(ctx context.Context, warn func(text string)) context.Context {
	return context.WithValue(ctx, warnings{}, warn)
}

// Warn warns the client of the statement whose relation is being read that the relation lacks something.
func Warn(ctx context.Context, text string) {
	if warn, ok := ctx.Value(warnings{}).(func(string)); ok {
		warn(text)
	}
}

// PartedCatalog is a Catalog some of whose relations of schema divan come in parts, one for each database that the user
// may read, since there may be very many. SystemRows returns the same rows at once.
type PartedCatalog interface {
	Catalog
	// PartColumn returns the column that has the name of the database that a row is about, if a relation, as seen from
	// a database, comes in parts; otherwise "".
	PartColumn(table, database string) string
	// PartsAfter returns the names of at most most databases after a name, in byte order, also of those that the user
	// may not read. There are none at the end.
	PartsAfter(ctx context.Context, after string, most int) ([]string, error)
	// Parts returns the rows of some databases, in this order, as far as they exist and the user may read them.
	Parts(ctx context.Context, table string, databases []string) iter.Seq2[[]any, error]
}

// Database provides the reads of one database. All orders are CouchDB's: ids by bytes, rows of views by key collation
// and then by id, sequences by their text.
type Database interface {
	// Designs returns the live design documents that have views or declare relations, in byte order of their names.
	Designs(ctx context.Context) ([]Design, error)
	// Design returns a design document by its name without the prefix "_design/". The error is of kind NotFound if
	// there is none.
	Design(ctx context.Context, name string) (Design, error)

	// Document reads the winning leaf of a document into row (ID, Rev, and Doc if withDoc). It returns false for a
	// document that does not exist or is deleted. Local documents ("_local/...") are not found.
	Document(ctx context.Context, id string, withDoc bool, row *Row) (bool, error)
	// AllDocs streams live documents: ID, Rev, and Doc if requested.
	AllDocs(ctx context.Context, read DocsRead) (Rows, error)
	// LocalDocs streams local documents. Their ids have the prefix "_local/".
	LocalDocs(ctx context.Context, read DocsRead) (Rows, error)
	// Conflicts streams the leaves that are not the winner, by id and then revision: ID, Rev, Deleted, and Doc if
	// requested. It reads the metadata of every document in the range.
	Conflicts(ctx context.Context, read DocsRead) (Rows, error)
	// Changes streams the change feed: Seq, Shard, ID, Rev, Deleted, and Doc if requested (a tombstone has its
	// tombstone body).
	Changes(ctx context.Context, read ChangesRead) (Rows, error)
	// View streams map rows: ID, Key, Value, and Doc if requested (nil where include_docs has null). The error is of
	// kind NotFound if the design document has no such view, and of kind Timeout if the index is not ready before ctx
	// ends.
	View(ctx context.Context, read ViewRead) (Rows, error)
}

// Counter is an optional interface of a Database, for count(*) and the estimates of EXPLAIN.
type Counter interface {
	// Count returns the number of live documents, which the store knows without reading them; without design documents
	// if noDesigns is set. In a Snapshot or a Transaction it is exact, and shows the writes of that.
	Count(ctx context.Context, noDesigns bool) (int64, error)
}

// Reducer is an optional interface of a Database. The planner uses it to group and count the rows of views, and for
// views whose Design entry names a built-in reduce function.
type Reducer interface {
	// Reduce streams one row per group: Value or Count, and Key (the whole key, or its first GroupLevel parts; nil if
	// GroupLevel is 0). The error is of kind Irreducible if the function cannot reduce the values.
	Reduce(ctx context.Context, read ReduceRead) (Rows, error)
}

// Snapshotter is an optional interface of a Database: it provides a snapshot for any number of reads.
type Snapshotter interface {
	// Snapshot returns a snapshot of what is committed now. It first updates the views that ask for that, so that they
	// are as of the same moment. If writers outpace the update, the result is an error of kind Stale if exact is set;
	// otherwise these views are as of a moment between the call and the snapshot. Reading another view in an exact
	// snapshot fails with kind Stale if its index was behind at that moment. If the store cannot keep a snapshot for
	// long, later reads of an exact snapshot fail with kind Expired, and those of other snapshots continue at a later
	// moment.
	Snapshot(ctx context.Context, views []ViewUse, exact bool) (Snapshot, error)
}

// Snapshot is a Database at one moment. Following its feed is Unsupported.
type Snapshot interface {
	Database
	// Close releases the snapshot; later reads fail. Until then the store keeps overwritten data. It is idempotent and
	// safe for concurrent use.
	Close()
}

// ViewUse is a view's design document and how fresh a statement needs it.
type ViewUse struct {
	Design string
	Update UpdateMode
	// Optional is set if the statement can do without the view: no snapshot has to wait for it for long, or fail.
	Optional bool
}

// Indexer is an optional interface of a Database. The planner uses it to find views for conditions on documents.
type Indexer interface {
	// IndexState returns the state of the index of a view. If it is not Usable, the current Database, but not a
	// Snapshot, asks for it to be brought up to date, without waiting.
	IndexState(ctx context.Context, design, view string, want IndexCounts) (IndexState, error)
}

// IndexCounts are the parts of an IndexState that are read on request: Rows and Docs, and Letters.
type IndexCounts struct{ Rows, Letters bool }

// Letters says what strings are made of, as collate.LettersOf does.
type Letters = collate.Letters

// The values of Letters.
const (
	PlainLetters = collate.Plain
	AnyLetters   = collate.AnyLetters
	KeyParts     = collate.KeyParts
)

// IndexState describes the index of a view.
type IndexState struct {
	// Usable reports that the index is up to date or, if this is not a Snapshot, will be soon after it is asked for.
	Usable bool
	// Skipped is the number of documents that the view skipped because its function failed for them or because a row
	// was too large.
	Skipped int64
	// Unambiguous reports that keys that are equal in the order of views have the same strings in them.
	Unambiguous bool
	// Letters says what the strings in the parts of the keys are made of. NoControls reports that they have no control
	// characters that the order of views ignores. Both are known if IndexCounts.Letters is set.
	Letters    [KeyParts]Letters
	NoControls bool
	// Rows and Docs are the numbers of the view's rows and of the documents of the database.
	Rows, Docs int64
}

// Row is one row of any read. Fields that a read does not set are zero.
type Row struct {
	ID      string
	Rev     string // "1-abc"
	Seq     string // lower-case hex, sorts as text
	Shard   string
	Deleted bool
	Key     json.RawMessage // as emitted
	Value   json.RawMessage // as emitted
	Count   int64           // of the rows or documents of a read that counts
	Doc     json.RawMessage // the whole body with _id and _rev, as in HTTP; nil if not requested
}

// ErrIdle may be returned by Next of a read that follows the feed, once each time all present rows have been returned.
// The next call waits. So FETCH 100 can return the 30 changes that there are.
var ErrIdle = errors.New("no change for now")

// Rows is a stream of rows.
type Rows interface {
	// Next sets every field of row and returns nil, or returns io.EOF at the end, or another error. It blocks until
	// there is a row or ctx ends, with ChangesRead.Follow possibly for ever. After an error other than ErrIdle only
	// Close may be called.
	Next(ctx context.Context, row *Row) error
	// Close ends the read, at any time. It may be called twice and does not block for long.
	Close() error
}

// Batcher is an optional interface of Rows.
type Batcher interface {
	// Batch returns the next rows, at least one, or an error as Next does. They are valid until the next call. It may
	// be mixed with Next.
	Batch(ctx context.Context) ([]Row, error)
}

// Skipper is an optional interface of Rows. It returns how many rows have been read and dropped because of Skip.
type Skipper interface{ Skipped() int64 }

// DocsRead is a range of ids, or a set of ids.
type DocsRead struct {
	// Low and High bound the ids by bytes: Low <= id < High. "" means no bound. Low is below High even if Descending.
	Low, High string
	// IDs, if not nil, replaces the range by a set of ids: distinct, and sorted in the order of the read. Ids without a
	// document are skipped.
	IDs        []string
	Descending bool
	// NoDesigns excludes design documents before Skip and Limit apply.
	NoDesigns bool
	// Limit ends the read after that many rows if it is above zero. Skip drops rows first.
	Limit, Skip int64
	// WithDoc requests the bodies, WithRev the revisions. Either may be returned without being requested.
	WithDoc, WithRev bool
	// Members tells that only members of the bodies are read whose names do not begin with an underscore. The others
	// may then be missing in them.
	Members bool
}

// ChangesRead is a part of the change feed.
type ChangesRead struct {
	// Since is exclusive; "" is the beginning.
	Since string
	// Shard restricts the read to one shard's feed. A shard that never existed has no rows. "" is the merged feed.
	Shard      string
	Descending bool
	// Limit ends the read after that many rows if it is above zero.
	Limit            int64
	WithDoc, WithRev bool
	// Follow makes the read endless: at the present, Next waits for the next change. It cannot be combined with
	// Descending.
	Follow bool
}

// UpdateMode says how fresh a view must be. It is CouchDB's parameter update.
type UpdateMode int

// The values of CouchDB's update parameter.
const (
	UpdateTrue  UpdateMode = iota // include every write acknowledged before the call; wait for it
	UpdateFalse                   // use the index as it is
	UpdateLazy                    // use the index as it is, and start an update afterwards
)

// ViewRead is a range or a set of keys of a view.
type ViewRead struct {
	// Design is the name of the design document without "_design/".
	Design, View string
	// Low and High are JSON texts, both inclusive, in the view's collation; nil means no bound. Low is below High even
	// if Descending.
	Low, High json.RawMessage
	// Keys, if not nil, replaces the range by the rows of these keys: distinct, and sorted in the order of the read.
	Keys []json.RawMessage
	// Ranges, if not nil, replaces the range by several ranges without overlaps, in the order of the read.
	Ranges     []KeyRange
	Descending bool
	// Limit ends the read after that many rows if it is above zero. Skip drops rows first.
	Limit, Skip int64
	WithDoc     bool
	Update      UpdateMode
	// Partition is the partition to read; "" reads all partitions one after the other, each in key order. It is used
	// only for views of partitioned design documents.
	Partition string
}

// ReduceRead is a reduce query: a ViewRead without documents.
type ReduceRead struct {
	Design, View string
	Low, High    json.RawMessage // as in ViewRead
	Keys         []json.RawMessage
	// Ranges, if not nil, replaces the range by several ranges, sorted by key and without overlaps. Several ranges may
	// fall into one group.
	Ranges []KeyRange
	// GroupLevel 0 is one row for everything (none if the range is empty), n > 0 groups by the first n parts of array
	// keys, -1 by whole keys.
	GroupLevel int
	// Function is the view's reduce function, for EXPLAIN.
	Function string
	// Count counts the rows of the groups, whatever the view's reduce function is; it need not have one.
	Count       bool
	Descending  bool
	Limit, Skip int64
	Update      UpdateMode
	Partition   string // as in ViewRead
}

// KeyRange is a range of keys, with bounds as in ViewRead.
type KeyRange struct{ Low, High json.RawMessage }

// Design is a design document in the catalogue.
type Design struct {
	Name  string // without "_design/"
	Views []View // in byte order of their names
	// Partitioned reports that its views are in key order only within each partition.
	Partitioned bool
	// SQL is the member "sql", which declares relations, as JSON; "" for none.
	SQL string
}

// View is one view of a design document.
type View struct {
	Name string
	// Reduce is "_count", "_sum", "_stats" or another built-in name, "javascript" for a function, "" for none. It has
	// no effect if the Database is not a Reducer.
	Reduce string
	// RawCollation reports that options.collation is "raw". Its keys are not in CouchDB's order, so SQL does not use
	// key ranges or the order of the view.
	RawCollation bool
	// Shape describes the rows of a view whose function is plain; nil for others.
	Shape *rowshape.Shape
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
	// Comment says what the name does not, such as a unit. It may be empty.
	Comment string
}

// Kind classifies errors of reads. Query assigns the SQLSTATE.
type Kind int

// The kinds, with their SQLSTATEs.
const (
	Internal    Kind = iota // XX000
	NotFound                // 3D000 for a database, 42P01 for a view
	Forbidden               // 42501
	Invalid                 // 22023: the store refuses a parameter
	Timeout                 // 57014
	Unavailable             // 57P03: the store is unreachable
	TooLarge                // 54000
	Unsupported             // 0A000
	Full                    // 53100: the disk of the store is full
	Stale                   // 40001: the store has moved on; retry the transaction
	Expired                 // 72000: the store no longer has the moment of a Snapshot
	Exists                  // 23505: a write of a new document whose id exists
	Refused                 // 23514: a validation function, or the document itself, forbids a write
	Overdue                 // 25P04: a transaction that writes has taken longer than the store allows
	Irreducible             // 22023: a reduce function cannot reduce the values of rows
	Unknown                 // 08007: the store cannot tell whether a transaction has been committed
)

// ReadError is an error of a read that the user may see.
type ReadError struct {
	Kind    Kind
	Message string // for the user; no secrets
	Hint    string // what the user can do instead
	Err     error  // the cause, or nil
}

func (e *ReadError) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

func (e *ReadError) Unwrap() error { return e.Err }

// KindOf returns the kind of the first ReadError in err's chain, or Internal if there is none.
func KindOf(err error) Kind {
	var re *ReadError
	if errors.As(err, &re) {
		return re.Kind
	}
	return Internal
}

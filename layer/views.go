// The lead is writing the bodies of views*.go and jobs*.go (session 1); they land soon.

package layer

import (
	"context"
	"iter"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Design is a parsed design document: what indexing, filters and validation need of it.
type Design struct {
	ID        string // with "_design/"
	Rev       Rev
	Language  string
	Signature string // hex md5 of views, options and language (V1); the index's name in the store
	Views     []ViewDef
	Options   DesignOptions
	Filters   map[string]string
	Validate  string
	Lib       []byte // views.lib as JSON, nil if none
}

// ViewDef is one view of a design document; its position in Design.Views is its view id.
type ViewDef struct {
	Name, Map, Reduce string
}

// DesignOptions of a design document.
type DesignOptions struct {
	Interactive   bool
	LocalSeq      bool
	IncludeDesign bool
	Partitioned   *bool
	RawCollation  bool
}

// Design reads and parses a design document. NotFound. The parse is cached by revision.
func (d *Database) Design(ctx context.Context, name string) (*Design, error) { panic("unwritten") }

// Designs lists all design documents, parsed. Those that do not parse are left out and logged.
func (d *Database) Designs(ctx context.Context) ([]*Design, error) { panic("unwritten") }

// Index is the stored index of a design document's views, shared by all design documents with the same signature.
type Index struct {
	db     *Database
	design *Design
}

// Index of a design. It does no I/O; the index may be empty.
func (d *Database) Index(design *Design) *Index { return &Index{db: d, design: design} }

// IndexState is where an index stands, at one read version.
type IndexState struct {
	Seq       Seq // documents up to here are in the index, as they were at a read version at or after Seq
	LastSeq   Seq // of the database
	Building  bool
	Views     []ViewState
	Errors    int64 // documents skipped (V10)
	Collation int   // collation version the rows were written with (V5)
}

// ViewState is one view's figures.
type ViewState struct {
	Name  string
	Rows  int64
	Bytes int64
}

// State reads where the index stands.
func (ix *Index) State(ctx context.Context) (IndexState, error) { panic("unwritten") }

// Watch reads where the index stands and arms a watch that becomes ready when its sequence has changed, on whatever node that happens: a
// requester waits with it for a build (V3). It also fires when the database is deleted.
func (ix *Index) Watch(ctx context.Context) (kv.Watch, IndexState, error) { panic("unwritten") }

// Build is one run of an index from where it stands to a goal, on behalf of a job (P8, V3). The indexer drives it: StartBuild, then Step for each shard until
// done, then Finish. Every transaction of it checks the fencing token.
type Build struct {
	Index  *Index
	Token  int64 // fencing token of the job's lease
	From   Seq
	Goal   Seq
	Shards []ShardID
	// Changes is roughly how many entries lie between From and Goal, for showing progress.
	Changes int64
}

// StartBuild fixes goal and shards. Conflict where the token is not the newest.
func (ix *Index) StartBuild(ctx context.Context, token int64) (*Build, error) { panic("unwritten") }

// StepResult is the progress of one shard after a batch.
type StepResult struct {
	Documents int // processed in this step
	Rows      int // rows written
	Seq       Seq // reached
	Done      bool
}

// Step processes one batch of a shard's changes, at most n documents: reads, maps, writes rows in one or several transactions.
// Steps of different shards may run at the same time, on different nodes. The caller adapts n by how long and how large steps are.
func (b *Build) Step(ctx context.Context, shard ShardID, n int) (StepResult, error) {
	panic("unwritten")
}

// Finish makes the goal the index's sequence after every shard is done: from then on readers see it.
func (b *Build) Finish(ctx context.Context) error { panic("unwritten") }

// CatchUp applies a small lag in one transaction, without tasks (V9): false where more than n documents are behind.
func (ix *Index) CatchUp(ctx context.Context, n int) (bool, error) { panic("unwritten") }

// ViewQuery is a map query (V7). Keys are raw JSON.
type ViewQuery struct {
	View                 string
	Key                  []byte
	Keys                 [][]byte
	StartKey, EndKey     []byte
	StartDocID, EndDocID string
	ExcludeEnd           bool
	Descending           bool
	Limit, Skip          int // Limit < 0 is none
	IncludeDocs          bool
	Conflicts            bool
	Unsorted             bool
}

// ViewRow is one row. Key and Value are the emitted JSON.
type ViewRow struct {
	ID         string
	Key, Value []byte
	Doc        *Document // IncludeDocs: the row's document, or value._id's; nil where it is gone
}

// ViewResult is a view response under way.
type ViewResult struct {
	TotalRows int64
	Offset    int64
	UpdateSeq Seq
	Rows      iter.Seq2[ViewRow, error] // once
}

// Query streams rows of the index as it stands: freshness is the caller's business (actors.EnsureIndexed). Invalid for an unknown view or a query that
// CouchDB refuses (query_parse_error).
func (ix *Index) Query(ctx context.Context, q ViewQuery) (*ViewResult, error) { panic("unwritten") }

// IndexError is a document that its map skipped (V10).
type IndexError struct {
	View, DocID, Error string
	Seq                Seq
}

// Errors streams the documents that were skipped.
func (ix *Index) Errors(ctx context.Context) iter.Seq2[IndexError, error] { panic("unwritten") }

// CleanupViews removes the indexes whose signature no design document has (V8).
func (d *Database) CleanupViews(ctx context.Context) error { panic("unwritten") }

// Job is a piece of background work in the store (V3).
type Job struct {
	Type     string
	ID       string // unique within Type; enqueueing it again while it waits or runs is one job (a run that has begun is followed by another)
	Data     []byte // JSON, opaque to the queue
	State    JobState
	Token    int64 // fencing token; grows with each lease
	Worker   string
	Progress []byte // JSON, opaque
	Failures int
	Error    string
	Updated  time.Time
}

// JobState of a Job.
type JobState string

// The states.
const (
	JobPending  JobState = "pending"
	JobRunning  JobState = "running"
	JobFinished JobState = "finished"
)

// Enqueue adds or resubmits a job.
func (s *Store) Enqueue(ctx context.Context, typ, id string, data []byte) error { panic("unwritten") }

// Claim takes the oldest waiting job of a type, or one whose lease ran out; nil where there is none.
func (s *Store) Claim(ctx context.Context, typ, worker string, lease time.Duration) (*Job, error) {
	panic("unwritten")
}

// Renew extends the lease and stores progress; Conflict where another worker has taken the job over.
func (s *Store) Renew(ctx context.Context, j *Job, lease time.Duration, progress []byte) error {
	panic("unwritten")
}

// Finish ends a job, with the error of the run or nil; a failed one waits again after a pause that grows.
func (s *Store) Finish(ctx context.Context, j *Job, runErr error) error { panic("unwritten") }

// Job reads one job; nil where there was never one with that id, or it was forgotten since it finished.
func (s *Store) Job(ctx context.Context, typ, id string) (*Job, error) { panic("unwritten") }

// WatchJobs becomes ready when a job of the type is enqueued.
func (s *Store) WatchJobs(ctx context.Context, typ string) (<-chan struct{}, func(), error) {
	panic("unwritten")
}

// Jobs streams all jobs.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[Job, error] { panic("unwritten") }

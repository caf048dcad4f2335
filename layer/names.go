package layer

import (
	"io"

	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/check"
	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
)

// Of fault.
type (
	Error = fault.Error
	Kind  = fault.Kind
)

const (
	Conflict       = fault.Conflict
	Exists         = fault.Exists
	Forbidden      = fault.Forbidden
	Full           = fault.Full
	FunctionFailed = fault.FunctionFailed
	Internal       = fault.Internal
	Invalid        = fault.Invalid
	NotFound       = fault.NotFound
	NotImplemented = fault.NotImplemented
	Timeout        = fault.Timeout
	TooLarge       = fault.TooLarge
	Unauthorized   = fault.Unauthorized
	Unavailable    = fault.Unavailable
)

// KindOf is the kind of the first Error in err's chain. Engine errors that reach an edge are classified too: cancelled
// and timed out are Timeout, disk failures and a store that does not answer Unavailable, a full disk Full.
func KindOf(err error) Kind {
	return fault.KindOf(err)
}

// Local reports whether an error says nothing about the rest of the store: what was asked for is damaged on disk, or is
// too much for a transaction.
func Local(err error) bool {
	return fault.Local(err)
}

// Of jsontext.

// UnmarshalExact is json.Unmarshal into a struct whose fields have tags, by the exact names of members. Other members
// cost nothing.
func UnmarshalExact(object []byte, into any) error {
	return jsontext.UnmarshalExact(object, into)
}

// Of db.
type (
	CreateOptions = db.CreateOptions
	NamesOptions  = db.NamesOptions
	Rev           = db.Rev
	Security      = db.Security
	Seq           = db.Seq
	ShardID       = db.ShardID
	ShardMap      = db.ShardMap
	Subset        = db.Subset
	UserCtx       = db.UserCtx
	Validator     = db.Validator
)

const (
	AdminRole      = db.AdminRole
	DesignOnly     = db.DesignOnly
	Everything     = db.Everything
	LocalOnly      = db.LocalOnly
	MaxSecurity    = db.MaxSecurity
	WithoutDesigns = db.WithoutDesigns
)

// ParseSecurity reads a stored _security object. Names of members are taken as they are written, and of the same member
// twice the last one counts, as CouchDB reads JSON. What cannot be read is closed to everyone but server admins.
func ParseSecurity(object []byte) Security {
	return db.ParseSecurity(object)
}

// ParseSeq reads String's form and "0". "now" is not a sequence: ask LastSeq. Invalid otherwise.
func ParseSeq(s string) (Seq, error) {
	return db.ParseSeq(s)
}

// ValidateID refuses what CouchDB refuses as a document id: empty, over 512 bytes, invalid UTF-8, a leading underscore
// that is not _design/ or _local/.
func ValidateID(id string) error {
	return db.ValidateID(id)
}

// ValidateName refuses what CouchDB refuses as a database's name.
func ValidateName(name string) error {
	return db.ValidateName(name)
}

// ValidatePartition refuses what can be no partition's name, with CouchDB's words: Invalid (illegal_partition).
func ValidatePartition(name string) error {
	return db.ValidatePartition(name)
}

// Of rev.
type (
	Attachment     = rev.Attachment
	AttachmentEdit = rev.AttachmentEdit
	BulkGetRow     = rev.BulkGetRow
	DocRef         = rev.DocRef
	Document       = rev.Document
	Edit           = rev.Edit
	EditResult     = rev.EditResult
	GetOptions     = rev.GetOptions
	LargeBody      = rev.LargeBody
	OpenRev        = rev.OpenRev
	RevInfo        = rev.Info
	RevsDiffAsk    = rev.DiffAsk
	RevsDiffRow    = rev.DiffRow
	Upload         = rev.Upload
	WriteOptions   = rev.WriteOptions
)

// AppendAttachmentMembers appends the opening brace and the members that every rendering of an attachment begins with:
// content_type, revpos, digest.
func AppendAttachmentMembers(dst []byte, a *Attachment) []byte {
	return rev.AppendAttachmentMembers(dst, a)
}

// AppendStub appends an attachment as a stub: what a document answer without attachments=true shows.
func AppendStub(dst []byte, a *Attachment) []byte {
	return rev.AppendStub(dst, a)
}

// Of jobs.
type (
	DueJob   = jobs.DueJob
	IndexJob = jobs.IndexJob
	Job      = jobs.Job
	JobState = jobs.JobState
	Worker   = jobs.Worker
)

const (
	CleanupJobs = jobs.CleanupJobs
	IndexJobs   = jobs.IndexJobs
	JobFinished = jobs.JobFinished
	JobPending  = jobs.JobPending
	JobRunning  = jobs.JobRunning
)

// Of feed.
type (
	Change         = feed.Change
	ChangesOptions = feed.ChangesOptions
	ChangesPass    = feed.ChangesPass
)

// Of design.
type (
	Design        = design.Design
	DesignOptions = design.Options
	ViewDef       = design.ViewDef
)

// NewValidator returns a Validator that runs validate_doc_update functions in the sandbox, and refuses design documents
// whose functions do not compile.
func NewValidator(sandbox *script.Sandbox) Validator {
	return design.NewValidator(sandbox)
}

// Of write.
type (
	PurgeInfo = write.PurgeInfo
)

// ParseEdit turns a client's JSON document into an Edit: validates the JSON, splits off the underscore members (_id,
// _rev, _deleted, _attachments, _revisions; those that only answers have are ignored, unknown ones are Invalid with
// name doc_validation, as CouchDB), and keeps the rest as it came, but for line breaks between tokens: they would break
// a feed's lines. The Edit may share doc's memory. replicated selects how _rev and _revisions are read
// (new_edits=false).
func ParseEdit(doc []byte, replicated bool) (Edit, error) {
	return write.ParseEdit(doc, replicated)
}

// ValidateAttachmentName refuses what CouchDB refuses as an attachment's name.
func ValidateAttachmentName(name string) error {
	return write.ValidateAttachmentName(name)
}

// Of alldocs.
type (
	AllDocsOptions = alldocs.AllDocsOptions
	AllDocsResult  = alldocs.AllDocsResult
	AllDocsRow     = alldocs.AllDocsRow
	PartitionInfo  = alldocs.PartitionInfo
)

// Of index.
type (
	IndexError = index.IndexError
	IndexState = index.IndexState
	ShardState = index.ShardState
	ViewQuery  = index.ViewQuery
	ViewRow    = index.ViewRow
	ViewState  = index.ViewState
)

const (
	IndexBehind = index.IndexBehind
)

// Of build.
type (
	Build      = build.Build
	StepResult = build.StepResult
)

// Of query.
type (
	KeyRange     = query.KeyRange
	ReduceQuery  = query.ReduceQuery
	ReduceResult = query.ReduceResult
	ReduceRow    = query.ReduceRow
	ViewResult   = query.ViewResult
)

const (
	GroupExact = query.GroupExact
)

// BeginEnsured begins a Fresh query, and begins it again after ensure has brought the index up to date where begin
// answers IndexBehind: writers may be faster than a query for a while. It gives up after some attempts, with that
// error.
func BeginEnsured[T any](ensure func() error, begin func() (T, error)) (T, error) {
	return query.BeginEnsured(ensure, begin)
}

// Of compact.
type (
	CompactOptions  = compact.Options
	Compacted       = compact.Compacted
	Compaction      = compact.Compaction
	CompactionSeen  = compact.CompactionSeen
	CompactionState = compact.CompactionState
)

const (
	CompactionJobs = compact.CompactionJobs
)

// Of check.
type (
	Damage         = check.Damage
	Verified       = check.Verified
	VerifyOptions  = check.VerifyOptions
	VerifyProgress = check.VerifyProgress
)

// Of export.
type (
	ExportFile     = export.File
	ExportPosition = export.Position
	Left           = export.Left
)

var (
	ErrExport = export.ErrExport
)

// IsDamaged reports whether err says that what was asked for is damaged on disk, so that asking again does not help.
func IsDamaged(err error) bool {
	return export.IsDamaged(err)
}

// ParseExportPosition reads String's form. Invalid otherwise.
func ParseExportPosition(s string) (p ExportPosition, err error) {
	return export.ParseExportPosition(s)
}

// ReadExport checks an export: every record, and that it is whole. Where it is not, err is ErrExport with the reason,
// or why r could not be read. A file to be continued is cut off at the position's Offset, and what Export writes from
// there is appended.
func ReadExport(r io.Reader) (ExportFile, error) {
	return export.Read(r)
}

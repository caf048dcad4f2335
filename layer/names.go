package layer

import (
	"github.com/divandb/divan/layer/collate"
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
	"github.com/divandb/divan/layer/internal/partition"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
)

// From fault.
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

// KindOf returns the kind of the first Error in err's chain. It also classifies errors of the engine: cancellation and
// timeouts are Timeout, disk failures and a store that does not answer are Unavailable, and a full disk is Full.
func KindOf(err error) Kind {
	return fault.KindOf(err)
}

// Local reports whether an error concerns only the requested data, which is damaged on disk or too much for a
// transaction, and not the whole store.
func Local(err error) bool {
	return fault.Local(err)
}

// Plain returns the text of an error; that of the engine's errors without their numbers and where they came from.
func Plain(err error) string {
	return fault.Plain(err)
}

// From jsontext.

// UnmarshalExact is json.Unmarshal into a struct whose fields have tags, but it matches member names exactly. Other
// members cost nothing.
func UnmarshalExact(object []byte, into any) error {
	return jsontext.UnmarshalExact(object, into)
}

// From db.
type (
	CreateOptions = db.CreateOptions
	Counted       = db.Counted
	DatabaseEvent = db.DatabaseEvent
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
	AdminRole       = db.AdminRole
	DatabaseCreated = db.DatabaseCreated
	DatabaseDeleted = db.DatabaseDeleted
	DatabaseUpdated = db.DatabaseUpdated
	DesignOnly      = db.DesignOnly
	Everything      = db.Everything

	GlobalChangesDatabase = db.GlobalChangesDatabase

	LocalOnly      = db.LocalOnly
	MaxSecurity    = db.MaxSecurity
	WithoutDesigns = db.WithoutDesigns
)

// ParseSecurity decodes a stored _security object. As in CouchDB, member names are case-sensitive and the last of
// duplicate members counts. An object that cannot be decoded denies access to all but server admins.
func ParseSecurity(object []byte) Security {
	return db.ParseSecurity(object)
}

// ParseSeq parses Seq.String's form and "0". It returns Invalid for anything else, including "now", for which LastSeq
// is used.
func ParseSeq(s string) (Seq, error) {
	return db.ParseSeq(s)
}

// ValidateID rejects the document ids that CouchDB rejects: those that are empty, longer than 512 bytes, invalid UTF-8,
// or begin with an underscore other than that of _design/ or _local/.
func ValidateID(id string) error {
	return db.ValidateID(id)
}

// ValidateName rejects the database names that CouchDB rejects.
func ValidateName(name string) error {
	return db.ValidateName(name)
}

// ValidatePartition rejects invalid partition names, with CouchDB's messages: Invalid (illegal_partition).
func ValidatePartition(name string) error {
	return db.ValidatePartition(name)
}

// From rev.
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

// AppendAttachmentMembers appends an opening brace and the members that begin every rendering of an attachment:
// content_type, revpos, digest.
func AppendAttachmentMembers(dst []byte, a *Attachment) []byte {
	return rev.AppendAttachmentMembers(dst, a)
}

// AppendStub appends an attachment as a stub, as in documents requested without attachments=true.
func AppendStub(dst []byte, a *Attachment) []byte {
	return rev.AppendStub(dst, a)
}

// From jobs.
type (
	Claimed  = jobs.Claimed
	DueJob   = jobs.DueJob
	IndexJob = jobs.IndexJob
	Job      = jobs.Job
	JobState = jobs.JobState
	Worker   = jobs.Worker

	ReplicationJob = jobs.ReplicationJob
)

const (
	CleanupJobs     = jobs.CleanupJobs
	IndexJobs       = jobs.IndexJobs
	JobFinished     = jobs.JobFinished
	JobDamaged      = jobs.JobDamaged
	JobPending      = jobs.JobPending
	JobRunning      = jobs.JobRunning
	ReplicationJobs = jobs.ReplicationJobs
)

// ReplicationJobID returns the id of the job of a document in a _replicator database. With an empty name of a database,
// document is the id of a replication without a document.
func ReplicationJobID(database, document string) string {
	return jobs.ReplicationJobID(database, document)
}

// IsReplicator reports whether the documents of a database describe replications.
func IsReplicator(database string) bool { return jobs.IsReplicator(database) }

// From feed.
type (
	Change         = feed.Change
	ChangesOptions = feed.ChangesOptions
	ChangesPass    = feed.ChangesPass
)

// From design.
type (
	Design        = design.Design
	DesignOptions = design.Options
	ViewDef       = design.ViewDef
)

// NewValidator returns a Validator that runs validate_doc_update functions in the sandbox, and rejects design documents
// whose functions do not compile.
func NewValidator(sandbox *script.Sandbox) Validator {
	return design.NewValidator(sandbox)
}

// From write.
type (
	PurgeInfo   = write.PurgeInfo
	OwnState    = write.OwnState
	ReadSet     = write.ReadSet
	Transaction = write.Transaction
)

// ParseEdit converts a client's JSON document to an Edit. It validates the JSON and splits off the members that begin
// with an underscore (_id, _rev, _deleted, _attachments, _revisions). Like CouchDB, it ignores those that only occur in
// answers, and returns Invalid (doc_validation) for unknown ones. The rest is kept unchanged, except that line breaks
// between tokens are removed, because a feed has one line for each row. The Edit may share doc's memory. replicated
// determines how _rev and _revisions are interpreted (new_edits=false).
func ParseEdit(doc []byte, replicated bool) (Edit, error) {
	return write.ParseEdit(doc, replicated)
}

// ValidateAttachmentName rejects the attachment names that CouchDB rejects.
func ValidateAttachmentName(name string) error {
	return write.ValidateAttachmentName(name)
}

// From alldocs.
type (
	AllDocsOptions = alldocs.AllDocsOptions
	AllDocsResult  = alldocs.AllDocsResult
	AllDocsRow     = alldocs.AllDocsRow
	Bodies         = alldocs.Bodies
	BodiesOptions  = alldocs.BodiesOptions
	BodyRow        = alldocs.BodyRow
	PartitionInfo  = partition.Info
)

// From index.
type (
	IndexError = index.IndexError
	IndexState = index.IndexState
	ShardState = index.ShardState
	ViewQuery  = index.ViewQuery
	ViewRow    = index.ViewRow
	ViewState  = index.ViewState
	ViewCounts = index.ViewCounts
	KeyRange   = index.KeyRange
)

const (
	IndexBehind = index.IndexBehind
)

// From build.
type (
	Build         = build.Build
	BuildOptions  = build.Options
	BuildProgress = build.Progress
	StepResult    = build.StepResult
)

// From query.
type (
	ReduceQuery  = query.ReduceQuery
	ReduceResult = query.ReduceResult
	ReduceRow    = query.ReduceRow
	ViewResult   = query.ViewResult
)

const (
	GroupExact = query.GroupExact
)

// BeginEnsured begins a Fresh query. While begin returns IndexBehind, it calls ensure to bring the index up to date and
// tries again, since writers may be faster than a query for a while. After several attempts it returns that error.
func BeginEnsured[T any](ensure func() error, begin func() (T, error)) (T, error) {
	return query.BeginEnsured(ensure, begin)
}

// From compact.
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

// From check.
type (
	Damage         = check.Damage
	Verified       = check.Verified
	VerifyOptions  = check.VerifyOptions
	VerifyProgress = check.VerifyProgress
)

// From export.
type (
	ExportFile     = export.File
	ExportPosition = export.Position
	Left           = export.Left
)

// Errors of writes and exports.
var (
	ErrNotWritten = write.ErrNotWritten
	ErrExport     = export.ErrExport
)

// IsDamaged reports whether err is due to damage on disk, so that trying again is useless.
func IsDamaged(err error) bool {
	return export.IsDamaged(err)
}

// ParseExportPosition parses ExportPosition.String's form. It returns Invalid for anything else.
func ParseExportPosition(s string) (p ExportPosition, err error) {
	return export.ParseExportPosition(s)
}

// ReadExport checks an export: every record, and that it is complete. Otherwise err is ErrExport with the reason, or
// the error of r. To continue the export, the file is truncated at Position.Offset, and what Export writes is appended.
func ReadExport(r io.Reader) (ExportFile, error) {
	return export.Read(r)
}

// The versions of the order of strings in views, as CouchDB shows those of its ICU.
const (
	ICUVersion      = collate.ICUVersion
	CollatorVersion = collate.ICUCollator
	UCAVersion      = collate.UCAVersion
)

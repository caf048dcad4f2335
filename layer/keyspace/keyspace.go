// Package keyspace is the only place where key prefixes and format versions are assigned. Every key of Divan is
//
//	root + tuple(Section, ...)
//
// where root is the subspace of the store that the operator has given to Divan; it is empty in the embedded engine.
// Elements are tuple-encoded (layer/tuple), so that FoundationDB tools can decode keys.
//
// Numbers are never reused. A retired number stays in the list as a comment.
package keyspace

// Section is the first tuple element of every key.
type Section int64

const (
	// Format holds the store's format version: (Format) = tuple(FormatVersion). (Format, "installation") = 16 bytes of
	// UUID, 32 bytes of secret.
	Format Section = 0
	// Databases maps names: (Databases, name) = tuple(prefix number, created versionstamp). (Databases) = versionstamp
	// of the last creation or deletion, for watches.
	Databases Section = 1
	// DatabasePrefixes was the allocator of prefix numbers in format 1: (DatabasePrefixes) = next number, little-endian
	// 64 bits. (DatabasePrefixes, number) = the hour of the last progress of an import into a database that has no name
	// yet.
	DatabasePrefixes Section = 2
	// Data holds the databases: (Data, prefix number, Subspace, ...).
	Data Section = 3
	// Transactions holds transaction ids of writes whose commit may have to be looked up (C4): (Transactions, hour, id
	// 16 bytes) = versionstamp. The hour, by the store's versions (layer/internal/db/storeclock.go), only serves the
	// sweep of what dead nodes have left.
	Transactions Section = 4
	// Jobs holds background jobs (V3): (Jobs, type, ...). See layer/internal/jobs.
	Jobs Section = 5
	// Users have no section: they are documents of the database _users.

	// PrefixWindows is the allocator of prefix numbers. See layer/internal/db/prefixes.go.
	PrefixWindows Section = 6
	// Nodes records which node has a name: (Nodes, name) = JSON with its gossip address, and whether it is drained.
	// See layer/nodenames.go.
	Nodes Section = 7
	// Options holds the options that clients have changed at run time, for all nodes: (Options, section, key) = JSON,
	// a string, or null for one that was deleted although it is configured. (Options) = random, new with every change,
	// for watches. See layer/options.go.
	Options Section = 8
)

// FormatVersion numbers the layout of the whole store. A node rejects a store with a newer version than its own.
//
//	1: the first layout.
//	2: prefix numbers come from PrefixWindows instead of one counter, and a change of a Stamp also changes the store's
//	   metadata version. The first node of this version upgrades the store; databases stay where they are. Stop all
//	   nodes that only support version 1 first.
//	3: indexes have numbers (ViewNumber). Existing indexes keep their keys until they are rebuilt.
//	4: the bodies that refer to an attachment are counted (AttachmentRefs). A node that only supports version 3 would
//	   write and remove bodies without counting them, so that attachments could be removed that documents still have.
//	   Stop all such nodes first. Existing bodies are converted when compaction reaches them.
//	5: entries by id contain digests of values (EntryFormat 2). Existing entries stay until their document changes.
//	6: superseded bodies and counters are kept by changes shard. Existing ones stay where they are, and are read there
//	   too.
//	7: feed entries are counted in blocks (FeedCounts). Existing entries are counted when a node reaches them.
//	8: what superseded bodies and attachments occupy is counted. A body written before is not counted as superseded:
//	   it counts as live until compaction removes it.
//	9: the list of documents may be divided into ranges with counters (DocCounts). A node that only supports version 8
//	   would add documents without counting them. Existing databases have no ranges, and get them like new ones.
const FormatVersion = 9

// Subspace is the third tuple element of a key in Data.
type Subspace int64

const (
	// Stamp changes with every change of the database's configuration, and is cleared with the database: (Stamp) =
	// versionstamp. Every transaction reads it with conflict, so that writers conflict with a reshard (P4) and with the
	// deletion of the database. A transaction that changes or clears it also changes the store's metadata version
	// (kv.ChangeMetadataVersion), which tells that a cached configuration is current without reading the stamp.
	Stamp Subspace = 0
	// Config holds settings: (Config, name, ...) = value. Names are "uuid", "incarnation", "revs_limit", "security",
	// "partitioned", "changes_shards" (followed by the Sequence from which the map is active, P3),
	// "purged_infos_limit", "partition_counts" (see layer/internal/partition), "cuts" (followed by the signature of an
	// index; the value is (CutFormat, Sequence), the cut from which the index's build reads the feed, see
	// layer/internal/feed/cuts.go), and "doc_ranges" (followed by the DocID at which a range of AllDocs begins; the
	// value is (DocRangeFormat, number of the range); without DocID, the value has the highest number so far).
	Config Subspace = 1
	// Revisions holds branches (R1): (Revisions, DocID, NotDeleted, RevPosition, RevHash) = (RevFormat, Sequence,
	// BranchCount, [ancestors], size...) for the winner, (RevFormat, [ancestors], size...) for others. RevHash is 16
	// bytes if the id is 32 hex digits, otherwise a string. The size is that of the stored body in bytes, followed by
	// the number of attachments if there are any. It may be missing.
	Revisions Subspace = 2
	// Changes holds feed entries (C1, P1): (Changes, ShardID, Incarnation, Versionstamp) = (SeqFormat, DocID,
	// RevPosition, RevHash, BranchCount, NotDeleted).
	Changes Subspace = 3
	// ChangesDeprecated is the unsharded feed of a database written before sharding (P7): (ChangesDeprecated,
	// Incarnation, Versionstamp), with the same value.
	ChangesDeprecated Subspace = 4
	// Wake is watched by waiting feeds (C7): (Wake, ShardID) = versionstamp of the shard's newest entry.
	Wake Subspace = 5
	// Documents holds bodies: (Documents, DocID, RevPosition, RevHash, chunk) = bytes, in chunks of at most BodyChunk
	// bytes. Chunk 0 begins with the body header (BodyFormat, attachments).
	Documents Subspace = 6
	// AllDocs lists live documents: (AllDocs, DocID) = (RevPosition, RevHash).
	AllDocs Subspace = 7
	// Superseded was used instead of ShardSuperseded up to FormatVersion 5: (Superseded, Versionstamp), with the same
	// value. Compaction drains it.
	Superseded Subspace = 8
	// Local holds _local documents: (Local, DocID, chunk) = bytes. Chunk 0 begins with (LocalFormat, revision number).
	Local Subspace = 9
	// Attachments holds attachment data: (Attachments, DocID, AttachmentID 16 bytes, chunk) = bytes.
	Attachments Subspace = 10
	// Uploads lists attachments whose document has not been written yet: (Uploads, hour, DocID, AttachmentID) = life 16
	// bytes, renewed. See layer/internal/attach/uploadentry.go.
	Uploads Subspace = 11
	// Counters are little-endian 64-bit integers changed by atomic additions: (Counters, name) for purges, and for what
	// was counted up to FormatVersion 5, to which ShardCounters are added. In a partitioned database, document and body
	// counters are also kept for each partition: (Counters, name, partition). The documents of a partition share a
	// changes shard.
	Counters Subspace = 12
	// Designs lists design documents: (Designs, DocID) = (RevPosition, RevHash, flags, ...), so that they are found
	// without searching all documents. Flag 1: the document validates writes (layer.Validator). Flag 2: its index is
	// interactive (V4), and the signature follows.
	Designs Subspace = 13
	// Views holds indexes (V2): (Views, ViewSubspace, ...). See layer/internal/index.
	Views Subspace = 14
	// Purges is the purge history: (Purges, Versionstamp) = (DocID, revisions).
	Purges Subspace = 15
	// Moved holds copies of Changes entries from before a cut (Config "cuts") that have moved since: (Moved, ShardID,
	// Incarnation, Versionstamp) = (Incarnation, Versionstamp of the move, then the value of the entry). With a part
	// number appended to the key, it holds the document's conflicts (layer/internal/feed/movedentries.go). It is empty
	// while there is no cut.
	Moved Subspace = 16
	// ShardSuperseded is the queue of bodies that no longer belong to a leaf, until compaction removes them:
	// (ShardSuperseded, ShardID, Versionstamp) = (DocID, RevPosition, RevHash). The shard is that of new entries of the
	// document.
	ShardSuperseded Subspace = 17
	// ShardCounters are counters by changes shard: (ShardCounters, ShardID, name). The value for the database is the
	// sum over all shards, including replaced ones, and Counters.
	ShardCounters Subspace = 18
	// FeedCounts counts the entries of Changes in blocks of versions, as far as these are closed
	// (layer/internal/feed/counts.go): (FeedCounts, 1 + level, ShardID, Incarnation, block) = counter; (FeedCounts, 0,
	// ShardID, Incarnation) = (FeedCountFormat, leaf up to which they are closed, for each higher level the block at
	// which its next sweep continues).
	FeedCounts Subspace = 19
	// AttachmentRefs counts the bodies that refer to an attachment, and marks attachments that no leaf refers to:
	// (AttachmentRefs, DocID, AttachmentID) = little-endian counter; (AttachmentRefs, DocID) = empty. See
	// layer/internal/attach/refs.go.
	AttachmentRefs Subspace = 21
	// Compaction holds work for compaction in addition to the queue of bodies: (Compaction, 0) = a request;
	// (Compaction, 1, DocID, AttachmentID) and (Compaction, 2, DocID): attachments to check. See
	// layer/internal/compact/compaction.go and layer/internal/attach/checks.go.
	Compaction Subspace = 22
	// DocCounts counts the documents in ranges of AllDocs (Config "doc_ranges"): (DocCounts, number of the range) =
	// little-endian counter, changed by atomic additions. While the range is unsettled, (DocCounts, number, 1) =
	// (number of the range that it was cut off, or 0 for the part before the first range). See
	// layer/internal/db/docranges.go.
	DocCounts Subspace = 23
)

// Value formats. Each is the first tuple element or byte of the values it describes. A reader rejects an unknown format
// with an error that names it (R8).
const (
	RevFormat   = 2 // Revisions; format 1 had no size
	SeqFormat   = 1 // Changes
	BodyFormat  = 1 // Documents, chunk 0
	LocalFormat = 1 // Local, chunk 0
	ShardFormat = 1 // Config "changes_shards"
	CutFormat   = 1 // Config "cuts"
	// DocRangeFormat is the format of Config "doc_ranges".
	DocRangeFormat = 1
	// FeedCountFormat is the format of marks in FeedCounts.
	FeedCountFormat = 1
	IndexFormat     = 1 // Views
	// ViewIDs; entries of format 1 have no digests of values, and are replaced when their document is indexed again.
	EntryFormat = 2
	// IndexSeqFormat is the format of an index as a whole. Format 1 had no ViewBefore: nodes that only support it would
	// build without it. Both are readable; the first build writes format 2.
	IndexSeqFormat = 2
	// IndexNumberFormat is the format of an index's number. Rows of an index of format 1 are not counted by
	// ViewAmbiguous, those of format 2 not by ViewLowerCase and ViewLetters, and those of format 3 not by ViewControls.
	// All are readable; an index keeps its format until it is built anew.
	IndexNumberFormat = 4
	// AggregateFormat is the format of partial aggregates with their reductions and marks. Format 1 had no epochs.
	// Partials in an older format are dropped by the next writer, because they can be recomputed.
	AggregateFormat = 2
)

// BodyChunk is the size of a body or attachment chunk in bytes. It is less than kv.MaxValueSize, and the same as in
// CouchDB's own layer.
const BodyChunk = 96_000

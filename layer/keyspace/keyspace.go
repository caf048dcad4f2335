// Package keyspace is the only place where key prefixes and format versions are assigned. Every key of Divan is
//
//	root ++ tuple(Section, ...)
//
// where root is the subspace the operator gave Divan in the store (empty in the embedded engine). Elements are
// tuple-encoded (layer/tuple), so that a key can be read back by any FoundationDB tool.
//
// Numbers are never reused: a retired one stays in the list as a comment.
package keyspace

// Section is the first tuple element of every key.
type Section int64

const (
	// Format holds the store's format version: (Format) = tuple(FormatVersion). (Format, "installation") = 16 bytes of
	// UUID, 32 bytes of secret.
	Format Section = 0
	// Databases maps names: (Databases, name) = tuple(prefix number, created versionstamp). The key (Databases) itself
	// = versionstamp of the last creation or deletion, to be watched.
	Databases Section = 1
	// DatabasePrefixes was the allocator of prefix numbers in format 1: (DatabasePrefixes) = next number, little-endian
	// 64 bits. (DatabasePrefixes, number) = the hour of the last step of an import into a database that has no name
	// yet.
	DatabasePrefixes Section = 2
	// Data holds the databases: (Data, prefix number, Subspace, ...).
	Data Section = 3
	// Transactions holds transaction ids of writes whose commit may have to be looked up (C4): (Transactions, hour, id
	// 16 bytes) = versionstamp. The hour, of the store's versions (layer/internal/db/storeclock.go), only serves the
	// sweep of what a dead node left.
	Transactions Section = 4
	// Jobs holds background jobs (V3): (Jobs, type, ...). See layer/internal/jobs.
	Jobs Section = 5
	// Users holds nothing in the store itself: users are documents of the database _users.

	// PrefixWindows is the allocator of prefix numbers. See layer/internal/db/prefixes.go.
	PrefixWindows Section = 6
	// Nodes holds which node has a name: (Nodes, name) = JSON with its gossip address. See layer/nodenames.go.
	Nodes Section = 7
)

// FormatVersion numbers the layout of the whole store. A node refuses a store with a higher version than it knows.
//
//	1: the first layout.
//	2: prefix numbers come from PrefixWindows instead of one counter, and a change of a Stamp changes the metadata
//	   version of the store too. The first node that knows it makes a store of version 1 one of version 2, in which
//	   databases stay where they are. Stop the nodes that know only 1 first.
//	3: indexes have numbers (ViewNumber). Those that there are keep their keys until they are built anew.
//	4: bodies are counted for their attachments (AttachmentRefs). A node that knows only 3 would write and remove
//	   bodies without counting them, and attachments would be removed that documents still have. Stop the nodes that
//	   know only 3 first. What is there is converted as compaction meets it.
//	5: entries by id have digests of values (EntryFormat 2). Those that there are stay until their document changes.
//	6: superseded bodies and counters are kept by changes shard. What there is stays where it is, and is read there
//	   too.
//	7: entries of the feed are counted by blocks (FeedCounts). Those that there are count from when a node comes to
//	   it.
const FormatVersion = 7

// Subspace is the third tuple element of a key in Data.
type Subspace int64

const (
	// Stamp changes with every change of the database's configuration, and is cleared with the database: (Stamp) =
	// versionstamp. It is in the read conflicts of every transaction: that is how a writer conflicts with a reshard
	// (P4) and with the deletion of the database. Whoever changes or clears it changes the store's metadata version too
	// (kv.ChangeMetadataVersion): that is how a cached configuration is known to be current without reading the stamp.
	Stamp Subspace = 0
	// Config holds settings: (Config, name, ...) = value. Names: "uuid", "incarnation", "revs_limit", "security",
	// "partitioned", "changes_shards" (followed by the Sequence from which the map is active, P3),
	// "purged_infos_limit", "cuts" (followed by the signature of an index: (CutFormat, Sequence) as of which its build
	// reads the feed, see layer/internal/feed/cuts.go).
	Config Subspace = 1
	// Revisions (R1): (Revisions, DocID, NotDeleted, RevPosition, RevHash) =
	// winner: (RevFormat, Sequence, BranchCount, [ancestors]); others: (RevFormat, [ancestors]).
	// RevHash is 16 bytes where the text is 32 hex digits, otherwise a string.
	Revisions Subspace = 2
	// Changes (C1, P1): (Changes, ShardID, Incarnation, Versionstamp) = (SeqFormat, DocID, RevPosition, RevHash,
	// BranchCount, NotDeleted).
	Changes Subspace = 3
	// ChangesDeprecated is the unsharded feed of a database written before sharding (P7): (ChangesDeprecated,
	// Incarnation, Versionstamp), same value.
	ChangesDeprecated Subspace = 4
	// Wake is what waiting feeds watch (C7): (Wake, ShardID) = versionstamp of the shard's newest entry.
	Wake Subspace = 5
	// Documents holds bodies: (Documents, DocID, RevPosition, RevHash, chunk) = bytes, in chunks of at most BodyChunk
	// bytes; chunk 0 begins with the body header (BodyFormat, attachments).
	Documents Subspace = 6
	// AllDocs lists live documents: (AllDocs, DocID) = (RevPosition, RevHash).
	AllDocs Subspace = 7
	// Superseded is where ShardSuperseded was up to FormatVersion 5: (Superseded, Versionstamp), same value. Compaction
	// drains it.
	Superseded Subspace = 8
	// Local holds _local documents: (Local, DocID, chunk) = bytes; chunk 0 begins with (LocalFormat, revision number).
	Local Subspace = 9
	// Attachments holds attachment data: (Attachments, DocID, AttachmentID 16 bytes, chunk) = bytes.
	Attachments Subspace = 10
	// Uploads lists attachments whose document is not yet written: (Uploads, hour, DocID, AttachmentID) = life 16
	// bytes, renewed. See layer/internal/attach/uploadentry.go.
	Uploads Subspace = 11
	// Counters are little-endian 64-bit integers changed by atomic add: (Counters, name) for purges, and for what was
	// counted up to FormatVersion 5, to which ShardCounters adds. In a partitioned database those of documents and
	// bodies are kept for each partition too: (Counters, name, partition). A partition's documents share a changes
	// shard.
	Counters Subspace = 12
	// Designs lists design documents: (Designs, DocID) = (RevPosition, RevHash, flags, ...), so that none is searched
	// among the documents. Flag 1: writes are validated by it (layer.Validator). Flag 2: writes keep its index up to
	// date (V4); the signature follows.
	Designs Subspace = 13
	// Views holds indexes (V2): (Views, ViewSubspace, ...). See layer/internal/index.
	Views Subspace = 14
	// Purges is the purge history: (Purges, Versionstamp) = (DocID, revisions).
	Purges Subspace = 15
	// Moved holds copies of entries of Changes from before a cut (Config "cuts") that have moved since: (Moved,
	// ShardID, Incarnation, Versionstamp) = (Incarnation, Versionstamp of the move, then the value of the entry); with
	// the number of a part, conflicts that the document had (layer/internal/feed/movedentries.go). Empty while there is
	// no cut.
	Moved Subspace = 16
	// ShardSuperseded queues bodies that are no leaf any more, until compaction removes them: (ShardSuperseded,
	// ShardID, Versionstamp) = (DocID, RevPosition, RevHash). The shard is the one that new entries of the document
	// went to.
	ShardSuperseded Subspace = 17
	// ShardCounters are counters by changes shard: (ShardCounters, ShardID, name). A database's is the sum over all
	// shards, replaced ones too, and Counters.
	ShardCounters Subspace = 18
	// FeedCounts counts the entries of Changes by blocks of their versions, as far as they are closed
	// (layer/internal/feed/counts.go): (FeedCounts, 1 + level, ShardID, Incarnation, block) = counter; (FeedCounts, 0,
	// ShardID, Incarnation) = (FeedCountFormat, leaf up to which they are closed, where the sweep of each higher level
	// goes on).
	FeedCounts Subspace = 19
	// AttachmentRefs counts the bodies that refer to an attachment: (AttachmentRefs, DocID, AttachmentID) =
	// little-endian counter; (AttachmentRefs, DocID) = empty. See layer/internal/attach/refs.go.
	AttachmentRefs Subspace = 21
	// Compaction holds what compaction has to do, beside Superseded: (Compaction, 0) = a request, (Compaction, 1,
	// DocID, AttachmentID) and (Compaction, 2, DocID): attachments to look for. See
	// layer/internal/compact/compaction.go, layer/internal/attach/checks.go.
	Compaction Subspace = 22
)

// Value formats. Each is the first tuple element (or byte) of the value it describes; a reader that meets an unknown
// one refuses with an error that names it (R8).
const (
	RevFormat   = 1 // Revisions
	SeqFormat   = 1 // Changes
	BodyFormat  = 1 // Documents, chunk 0
	LocalFormat = 1 // Local, chunk 0
	ShardFormat = 1 // Config "changes_shards"
	CutFormat   = 1 // Config "cuts"
	// FeedCountFormat is that of the marks of FeedCounts.
	FeedCountFormat = 1
	IndexFormat     = 1 // Views
	EntryFormat     = 2 // ViewIDs. 1 had nothing of values: it is read, and replaced when its document is indexed again
	// IndexSeqFormat numbers what an index is as a whole. 1 had no ViewBefore: nodes that know only 1 would build on
	// without it. Both are read; the first build writes 2.
	IndexSeqFormat = 2
	// AggregateFormat numbers the layout of partial aggregates, of the reductions in them and of their marks. 1 had no
	// epochs. Those of a lower one are thrown away by whoever comes first to write: they can be made anew.
	AggregateFormat = 2
)

// BodyChunk is the size of a body or attachment chunk in bytes: below kv.MaxValueSize, as CouchDB's own layer had it.
const BodyChunk = 96_000

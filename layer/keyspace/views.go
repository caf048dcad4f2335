package keyspace

// ViewSubspace is the tuple element after Views.
type ViewSubspace int64

const (
	// ViewInfo holds what is known of an index as a whole: (Views, ViewInfo, ViewInfoKey, signature, ...).
	ViewInfo ViewSubspace = 0
	// ViewData holds its rows: (Views, ViewData, number of the index, ViewRange, ...). In an index that was begun
	// before FormatVersion 3 the signature is in the place of the number.
	ViewData ViewSubspace = 1
)

// ViewInfoKey is the tuple element after ViewInfo.
type ViewInfoKey int64

const (
	// ViewUpdateSeq: (.., signature) = (IndexSeqFormat, Incarnation, Versionstamp, collation version). Documents up to
	// here are in the index.
	ViewUpdateSeq ViewInfoKey = 0
	// ViewCreation: (.., signature) = (IndexFormat, Incarnation, Versionstamp) of the design document that made an
	// interactive index (V4). Writes after it keep the index up to date; what was written before is indexed by a build.
	// The index is ready from when ViewUpdateSeq is no less.
	ViewCreation ViewInfoKey = 1
	// ViewStatus: (.., signature) = (build token, Incarnation, Versionstamp of the goal, first, keeps) while a build is
	// under way, else missing. first is 1 where the index had nothing when the build began, keeps where the build
	// writes ViewBefore and ViewPending.
	ViewStatus ViewInfoKey = 2
	// ViewRowCount: (.., signature, view id) = counter. Writers of an interactive index count by changes shard: (..,
	// signature, view id, ShardID) = counter; a view's is the sum. So it is with the next two.
	ViewRowCount ViewInfoKey = 3
	// ViewSize: (.., signature, view id) = counter of the bytes of emitted keys and values.
	ViewSize ViewInfoKey = 4
	// ViewErrorCount: (.., signature, view id) = counter of documents that the view skipped.
	ViewErrorCount ViewInfoKey = 5
	// ViewProgress: (.., signature, ShardID) = (Incarnation, Versionstamp) or (Incarnation, Versionstamp, DocID): how
	// far the build under way has come in the shard. With an id only the documents up to that one are in the index as
	// of the sequence; with another Incarnation and Versionstamp in its place those that have not moved since, and of
	// Moved those up to there. In the place of the shard "purged": up to where purges are in the index.
	ViewProgress ViewInfoKey = 6
	// ViewAggregated: (.., signature) = (AggregateFormat, epoch) once the index has, or is about to have, partial
	// aggregates: who writes rows leaves marks of this epoch from then on.
	ViewAggregated ViewInfoKey = 7
	// ViewDraining: (.., signature) = (epoch) while there may be marks of this epoch, which is the one before that of
	// ViewAggregated.
	ViewDraining ViewInfoKey = 8
	// ViewPending: (.., signature, ViewRowCount or ViewSize or ViewErrorCount, view id) = counter by how much the build
	// under way of an index that has readers changes that one, which stays what it was until the build ends.
	ViewPending ViewInfoKey = 9
	// ViewNumber: (.., signature) = (IndexFormat, number of the index in ViewData). An index without one, of which
	// there is anything, has its signature there.
	ViewNumber ViewInfoKey = 10
	// ViewLastNumber: (..) = the last number that an index of the database got. None is given a second time.
	ViewLastNumber ViewInfoKey = 11
)

// ViewLevels is how many levels of partials there are.
const ViewLevels = 3

// ViewEpochs is how many places there are for marks. Two epochs at most have any at a time; the others are there to be
// left alone for long.
const ViewEpochs = 240

// ViewRange is the tuple element after the number, or signature, in ViewData.
type ViewRange int64

const (
	// ViewIDs: (.., document id, view id) = EntryFormat, number of rows and whether there was an error, for each row
	// the emitted key, and length and digest of the value: what the document has in the view, so that it can be taken
	// out again, and what stays the same is left alone. In EntryFormat 1: (1, rows, total size, error, emitted
	// keys...).
	ViewIDs ViewRange = 0
	// ViewRows: (.., view id, sort key, document id, number among equal keys of the document) = (emitted key, emitted
	// value). The sort key is the bytes that layer/collate makes of the emitted key. A partitioned index has the
	// partition after the view id.
	ViewRows ViewRange = 1
	// ViewErrors: (.., document id, view id) = (error, Incarnation, Versionstamp), for documents that were skipped
	// (V10).
	ViewErrors ViewRange = 2
	// 3 is where marks were before AggregateFormat 2.

	// ViewPartials: (.., view id, first position) = AggregateFormat, end position, rows, first and last key, reduction:
	// a memo of the rows in between. The next numbers are the same for the higher levels, whose partials stand for many
	// of the level below: 5 and 6.
	ViewPartials ViewRange = 4
	// ViewHoles: (.., view id, position) = empty: from there on a partial of the second level may be missing; 8 the
	// same for the third.
	ViewHoles ViewRange = 7
	// ViewBefore: (.., view id, position) = flags, value: what was at the position of ViewRows before the build under
	// way. Flag 1: a row, of this value. Flag 2: there is one now. Empty but for positions that the build has changed.
	ViewBefore ViewRange = 9
	// ViewMarks: (.., view id, position) = counter by how many rows (-1, 0, 1) there are more at the position than the
	// partial that covers it has counted. A position is what follows the view id in a row's key, or a beginning of it.
	// These are the marks of epoch 0; those of epoch n are at the number that is n modulo ViewEpochs higher, so that a
	// mark's key is as long as its row's, which may be as long as a key of the store can be.
	ViewMarks ViewRange = 16
)

package keyspace

// ViewSubspace is the tuple element after Views.
type ViewSubspace int64

const (
	// ViewInfo holds information about indexes: (Views, ViewInfo, ViewInfoKey, signature, ...).
	ViewInfo ViewSubspace = 0
	// ViewData holds their rows: (Views, ViewData, number of the index, ViewRange, ...). In an index begun before
	// FormatVersion 3, the signature takes the place of the number.
	ViewData ViewSubspace = 1
)

// ViewInfoKey is the tuple element after ViewInfo.
type ViewInfoKey int64

const (
	// ViewUpdateSeq: (.., signature) = (IndexSeqFormat, Incarnation, Versionstamp, collation version). Documents up to
	// this sequence are in the index.
	ViewUpdateSeq ViewInfoKey = 0
	// ViewCreation: (.., signature) = (IndexFormat, Incarnation, Versionstamp) of the creation of an interactive index
	// (V4). Later writes update the index themselves; a build indexes earlier ones. The index is ready when
	// ViewUpdateSeq has reached this sequence.
	ViewCreation ViewInfoKey = 1
	// ViewStatus: (.., signature) = (build token, Incarnation, Versionstamp of the goal, first, keeps) during a build,
	// otherwise missing. first is 1 if the index was empty when the build began, keeps is 1 if the build writes
	// ViewBefore and ViewPending.
	ViewStatus ViewInfoKey = 2
	// ViewRowCount: (.., signature, view id) = counter. Writers of an interactive index count by changes shard: (..,
	// signature, view id, ShardID) = counter; the value for the view is the sum. The same applies to the next two.
	ViewRowCount ViewInfoKey = 3
	// ViewSize: (.., signature, view id) = counter of the bytes of emitted keys and values.
	ViewSize ViewInfoKey = 4
	// ViewErrorCount: (.., signature, view id) = counter of documents that the view skipped.
	ViewErrorCount ViewInfoKey = 5
	// ViewProgress: (.., signature, ShardID) = (Incarnation, Versionstamp), (Incarnation, Versionstamp, DocID), or
	// (Incarnation, Versionstamp, Incarnation, Versionstamp): the progress of the running build in the shard, see
	// index.BuildPosition. With the shard "purged" it is the sequence up to which purges are applied.
	ViewProgress ViewInfoKey = 6
	// ViewAggregated: (.., signature) = (AggregateFormat, epoch) if the index has or is about to have partial
	// aggregates: writers of rows leave marks in this epoch.
	ViewAggregated ViewInfoKey = 7
	// ViewDraining: (.., signature) = (epoch) while there may be marks of this epoch, the one before that of
	// ViewAggregated.
	ViewDraining ViewInfoKey = 8
	// ViewPending: (.., signature, ViewRowCount or another counter, view id) = counter of the changes that the running
	// build of an index with readers makes to that counter, which is not changed before the end of the build.
	ViewPending ViewInfoKey = 9
	// ViewNumber: (.., signature) = (IndexNumberFormat, number of the index in ViewData). An existing index without a
	// number has its signature there.
	ViewNumber ViewInfoKey = 10
	// ViewLastNumber: (..) = the last number assigned to an index of the database. Numbers are never reused.
	ViewLastNumber ViewInfoKey = 11
	// ViewAmbiguous: (.., signature, view id) = counter of rows whose keys have strings that others may be equal to in
	// the order of views, in indexes whose number has IndexNumberFormat 2. It is counted like ViewRowCount.
	ViewAmbiguous ViewInfoKey = 12
	// ViewLowerCase: (.., signature, view id) = counter of rows whose keys have strings with lower-case letters, or
	// others than printable characters of ASCII, in part 0, in indexes whose number has IndexNumberFormat 3.
	// ViewLetters counts those beyond ASCII alone. The next three of each are for the parts 1, 2, and all others.
	ViewLowerCase ViewInfoKey = 13
	ViewLetters   ViewInfoKey = 17
	// ViewControls: (.., signature, view id) = counter of rows whose keys have control characters that the order of
	// views ignores, in indexes whose number has IndexNumberFormat 4.
	ViewControls ViewInfoKey = 21
	// ViewInfoEnd is the first key after these.
	ViewInfoEnd ViewInfoKey = 22
)

// ViewLevels is the number of levels of partial aggregates.
const ViewLevels = 3

// ViewEpochs is the number of ranges for marks. At most two epochs have marks at a time; the other ranges are unused
// long enough for the engine to compact them.
const ViewEpochs = 240

// ViewRange is the tuple element after the number or signature in ViewData.
type ViewRange int64

const (
	// ViewIDs: (.., document id, view id) = EntryFormat, number of rows and whether there was an error, then for each
	// row the emitted key, and length and digest of the value. An entry lists the rows of a document in a view, so that
	// they can be removed, and unchanged rows are not rewritten. EntryFormat 1 is (1, rows, total size, error, emitted
	// keys...).
	ViewIDs ViewRange = 0
	// ViewRows: (.., view id, sort key, document id, number among equal keys of the document) = (emitted key, emitted
	// value). layer/collate makes the sort key from the emitted key. A partitioned index has the partition after the
	// view id.
	ViewRows ViewRange = 1
	// ViewErrors: (.., document id, view id) = (error, Incarnation, Versionstamp), for documents that were skipped
	// (V10).
	ViewErrors ViewRange = 2
	// 3 was the range of marks before AggregateFormat 2.

	// ViewPartials: (.., view id, first position) = AggregateFormat, end position, rows, first and last key, reduction:
	// an aggregate of the rows in between. The next numbers, 5 and 6, are for the higher levels, whose partials combine
	// many of the level below.
	ViewPartials ViewRange = 4
	// ViewHoles: (.., view id, position) = empty: a partial of the second level may be missing from this position on. 8
	// is the same for the third level.
	ViewHoles ViewRange = 7
	// ViewBefore: (.., view id, position) = flags, value: what was at the position of ViewRows before the running
	// build. Flag 1: there was a row with this value. Flag 2: there is a row now. It only has the positions that the
	// build has changed.
	ViewBefore ViewRange = 9
	// ViewMarks: (.., view id, position) = counter of the rows (-1, 0, 1) added at the position since the partial that
	// covers it was written. A position is the part of a row's key after the view id, or a prefix of it. This is the
	// range of epoch 0; that of epoch n has a number higher by n modulo ViewEpochs. So a mark's key is as long as its
	// row's, which may have the maximum length of a key.
	ViewMarks ViewRange = 16
)

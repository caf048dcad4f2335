// Package kv is the engine contract: an ordered, strictly serialisable key-value store with FoundationDB's semantics
// (clause S1). The code above it is written once and runs on every engine; every engine passes the suite in kvtest.
//
// Source: the FoundationDB 7.3 client API and its developer guide. Where these comments are silent, FoundationDB's
// behaviour applies.
package kv

import "context"

// The limits of a transaction are the same on every engine, so that code that works on one works on all.
const (
	// MaxKeySize is the longest key, in bytes, that may be written or named by a read.
	MaxKeySize = 10_000
	// MaxValueSize is the longest value in bytes.
	MaxValueSize = 100_000
	// MaxTransactionSize bounds the total bytes of keys, values and conflict ranges of one transaction.
	MaxTransactionSize = 10_000_000
	// TransactionSeconds is how long a read version stays readable, and how long after its first read a transaction
	// can commit. Reads may succeed for some seconds more; a commit does not.
	TransactionSeconds = 5
)

// Engine is an open store. All methods may be called from any goroutine.
type Engine interface {
	// Begin returns a new transaction. It does no I/O and never blocks. ctx bounds the whole transaction: when it
	// ends, every pending and later call fails with CodeCancelled, or with CodeTimedOut if the deadline passed.
	Begin(ctx context.Context) Transaction

	// Name is the engine's name as in node.yaml: "embedded", "fdb" or "remote".
	Name() string

	// Close ends all transactions and watches with CodeCancelled, waits for them, and releases the store.
	// Acknowledged commits are durable whether or not Close is called.
	Close() error
}

// Snapshotter is the optional ability of an engine to hold one read version for longer than TransactionSeconds
// (clause C6). Use it through OpenSnapshot. There is no fallback: callers need another way for engines without it.
type Snapshotter interface {
	// OpenSnapshot pins the newest committed version. The caller closes the snapshot; ctx bounds its reads.
	OpenSnapshot(ctx context.Context) (Snapshot, error)
}

// SnapshotBeginner is the optional ability of a distant engine to open a snapshot without waiting for it. Use it
// through BeginSnapshot.
type SnapshotBeginner interface {
	// BeginSnapshot is OpenSnapshot, but the snapshot holds the newest version of some time before its first answer.
	// If it cannot be opened, its reads fail.
	BeginSnapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot reads one committed version for as long as it is open. Safe for concurrent use.
type Snapshot interface {
	Reader
	// Version is the read version that the snapshot holds. After BeginSnapshot it may block, and is 0 if the snapshot
	// could not be opened.
	Version() int64
	Close()
}

// Loser is the optional ability of a Snapshot to end by itself, with the engine's connection to the store. Its reads
// then fail with ErrConnectionLost.
type Loser interface {
	// Lost reports whether the snapshot has ended. It does not block.
	Lost() bool
}

// Lost reports whether a snapshot has ended by itself; nil has not.
func Lost(s Snapshot) bool {
	l, ok := s.(Loser)
	return ok && l.Lost()
}

// RetryLimiter is the optional ability of an engine to bound the attempts of transactions whose TransactOptions set
// no bound.
type RetryLimiter interface {
	// MaxAttempts is the bound, or 0 for none.
	MaxAttempts() int
}

// Checkpointer is the optional ability of an engine to copy its store while it runs.
type Checkpointer interface {
	// Checkpoint writes a consistent copy of the store to dir, which must not exist; the copy is not older than the
	// call, and another node can be started on it. It blocks until the copy is on disk and has been read back, and
	// fails with CodeFileCorrupt if the store is damaged. dir is a directory of the machine that has the store.
	Checkpoint(ctx context.Context, dir string) error
}

// Reclaimer is the optional ability of an engine to free the disk space of cleared keys sooner than it would by
// itself.
type Reclaimer interface {
	// Reclaim asks for the space of a range to be freed as soon as no reader needs the old rows. It returns once the
	// request is noted, without waiting for the space.
	Reclaim(ctx context.Context, r KeyRange) error
}

// Failer is the optional ability of an engine to report that its store takes no writes until it is opened again,
// because its disk has failed. A full disk whose space the engine waits for is not such a failure: see Degrader.
type Failer interface {
	// Failed returns the error that every commit gets until the store is opened again (CodeDiskFull or CodeIOError),
	// or nil. It does not block; it reports failures that commits have met so far. Stored data may still be readable.
	Failed() error
}

// Degrader is the optional ability of an engine to say why it needs an operator although it still serves.
type Degrader interface {
	// Degraded returns one string per reason, such as "disk_full: the disk of ... has 3 MB left; ...": a fixed name,
	// a colon, what is wrong and what to do. It is empty when all is well. It does not block and does no I/O.
	Degraded() []string
}

// OpenSnapshot opens a long snapshot. ok is false if the engine cannot hold one.
func OpenSnapshot(ctx context.Context, e Engine) (s Snapshot, ok bool, err error) {
	ss, ok := e.(Snapshotter)
	if !ok {
		return nil, false, nil
	}
	s, err = ss.OpenSnapshot(ctx)
	return s, err == nil, err
}

// BeginSnapshot opens a long snapshot for a caller that reads from it at once, and does not mind which version it holds
// until it has the first answer: on a distant engine this saves a round trip. ok is false if the engine cannot hold
// one.
func BeginSnapshot(ctx context.Context, e Engine) (s Snapshot, ok bool, err error) {
	b, ok := e.(SnapshotBeginner)
	if !ok {
		return OpenSnapshot(ctx, e)
	}
	s, err = b.BeginSnapshot(ctx)
	return s, err == nil, err
}

// Future is a pending read. Issue all reads of a step before waiting for the first: on FoundationDB they then share
// one round trip (clause R3 counts them).
type Future[T any] interface {
	// Wait blocks until the value arrives, the transaction fails, or its context ends. It may be called again and by
	// several goroutines, with the same result. Byte slices belong to the caller's transaction: do not modify them;
	// they stay valid after the transaction.
	Wait() (T, error)
}

// Reader reads at one read version. A Transaction's reads see its own earlier writes (read-your-writes); Get and
// GetKey see them as of the call. Reads through Snapshot() and through a long Snapshot add no read conflict.
type Reader interface {
	// Get reads one key; nil means the key does not exist (an empty value is empty, not nil).
	Get(key []byte) Future[[]byte]

	// GetKey resolves a selector to a key. It returns an empty key before the first key, and "\xff" past the last
	// one.
	GetKey(sel KeySelector) Future[[]byte]

	// GetRange starts a range read. Only the iterator blocks. Rows arrive in batches, and each batch sees the
	// transaction's writes as of its fetch: do not write ahead of an open iterator. Rows already read may be cleared
	// or overwritten.
	GetRange(r Range, o RangeOptions) RangeIterator

	// ReadVersion is the version at which this reader reads; the first read fixes it.
	ReadVersion() Future[int64]
}

// RangesReader is the optional ability of a Reader to read many small ranges in one call, for much less than one read
// each would cost. Use it through GetRanges: callers need another way for readers without it.
type RangesReader interface {
	// GetRanges reads the rows of ranges in order and without read conflicts. The ranges must ascend and not overlap.
	// Unlike those of other iterators, the keys and values of the rows may be kept. ok is false if this reader cannot
	// do so now.
	GetRanges(ranges []KeyRange) (rows RangeIterator, ok bool)
}

// GetRanges reads many ranges in one call. ok is false if the reader cannot do so.
func GetRanges(r Reader, ranges []KeyRange) (rows RangeIterator, ok bool) {
	rr, ok := r.(RangesReader)
	if !ok || len(ranges) == 0 {
		return nil, false
	}
	return rr.GetRanges(ranges)
}

// FollowingReader is the optional ability of a distant engine's Reader to read a key whose name depends on the value
// of another key, in one round trip. Callers need another way for readers without it.
type FollowingReader interface {
	// GetFollowing starts to read key and, if it exists, then prefix + its value + suffix, each as Get does. ok is
	// false if this reader cannot do so now.
	GetFollowing(key, prefix, suffix []byte) (f Future[Following], ok bool)
}

// Following is the result of GetFollowing: the value of the key, and that of the key which it leads to. nil means that
// a key does not exist.
type Following struct{ Value, Next []byte }

// KeyValue is one row of a range. The slices belong to the iterator and are valid until its next Next or Close; copy
// what you keep.
type KeyValue struct{ Key, Value []byte }

// KeyRange is the keys k with Begin <= k < End.
type KeyRange struct{ Begin, End []byte }

// Range is anything that a range read can cover: a KeyRange or a SelectorRange.
type Range interface {
	Selectors() (begin, end KeySelector)
}

// Selectors makes a KeyRange a Range.
func (r KeyRange) Selectors() (begin, end KeySelector) {
	return FirstGreaterOrEqual(r.Begin), FirstGreaterOrEqual(r.End)
}

// SelectorRange is the keys from where Begin resolves up to where End resolves, exclusive.
type SelectorRange struct{ Begin, End KeySelector }

// Selectors makes a SelectorRange a Range.
func (r SelectorRange) Selectors() (begin, end KeySelector) { return r.Begin, r.End }

// StreamingMode tells a remote engine how eagerly to fetch. An embedded engine may ignore it.
type StreamingMode int

const (
	// ModeIterator fetches small batches first, then larger ones: the caller may stop early.
	ModeIterator StreamingMode = iota
	// ModeWantAll fetches in large batches: the caller reads to the end.
	ModeWantAll
	// ModeExact fetches the whole Limit in one batch; Limit must be set.
	ModeExact
)

// RangeOptions are the options of a range read. The zero value reads everything forward in ModeIterator.
type RangeOptions struct {
	Limit   int // maximum number of rows; 0 is no limit
	Reverse bool
	Mode    StreamingMode
}

// RangeIterator streams the rows of a range. It is not safe for concurrent use. Close it, also after an error; Close
// may be called twice. The first batch is requested when the read is issued, so that several ranges can be started
// together.
type RangeIterator interface {
	// Next blocks until the next row is there. False means the end or an error: ask Err.
	Next() bool
	// KeyValue is the row that the last Next moved to.
	KeyValue() KeyValue
	Err() error
	Close()
}

// KeySelector names a key relative to another, as in FoundationDB: find the last key less than Key (or equal to it,
// if OrEqual is set), then move Offset keys on. All four of FoundationDB's constructors exist here, because the tests
// compare engines with FoundationDB through them (clause S1).
type KeySelector struct {
	Key     []byte
	OrEqual bool
	Offset  int
}

// FirstGreaterOrEqual selects the first key >= key.
func FirstGreaterOrEqual(key []byte) KeySelector { return KeySelector{Key: key, Offset: 1} }

// FirstGreaterThan selects the first key > key.
func FirstGreaterThan(key []byte) KeySelector { return KeySelector{Key: key, OrEqual: true, Offset: 1} }

// LastLessThan selects the last key < key.
func LastLessThan(key []byte) KeySelector { return KeySelector{Key: key} }

// LastLessOrEqual selects the last key <= key.
func LastLessOrEqual(key []byte) KeySelector { return KeySelector{Key: key, OrEqual: true} }

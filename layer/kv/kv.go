// Package kv is the engine contract: an ordered, strictly serialisable key-value store with FoundationDB's semantics
// (clause S1). Everything above it is written once and runs on every engine; every engine passes the suite in kvtest.
//
// Source: the FoundationDB 7.3 client API and its developer guide. Where this text is silent, FoundationDB's behaviour
// is meant.
package kv

import "context"

// Limits of a transaction, the same on every engine so that what works on one works on all.
const (
	// MaxKeySize is the longest key in bytes that may be written, and the longest a read may name.
	MaxKeySize = 10_000
	// MaxValueSize is the longest value in bytes.
	MaxValueSize = 100_000
	// MaxTransactionSize bounds the bytes of all keys, values and conflict ranges of one transaction.
	MaxTransactionSize = 10_000_000
	// TransactionSeconds is how long a read version can be read at, and a transaction that read can commit. Reads may
	// succeed for some seconds more; a commit does not.
	TransactionSeconds = 5
)

// Engine is an open store. All methods may be called from any goroutine.
type Engine interface {
	// Begin returns a new transaction. It does no I/O and never blocks. ctx bounds the whole transaction: when it ends,
	// every pending and later call fails with CodeCancelled, or CodeTimedOut where its deadline passed.
	Begin(ctx context.Context) Transaction

	// Name is the engine's name as in node.yaml: "embedded", "fdb" or "remote".
	Name() string

	// Close ends all transactions and watches with CodeCancelled, waits for them, and releases the store. What was
	// acknowledged is durable before Close and without it.
	Close() error
}

// Snapshotter is the optional ability of an engine to hold one exact read version for longer than TransactionSeconds
// (clause C6). Use it through OpenSnapshot, which falls back to nothing: callers ask and have a second way.
type Snapshotter interface {
	// OpenSnapshot pins the newest committed version. The caller closes the snapshot; ctx bounds its reads.
	OpenSnapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot reads one committed version for as long as it is open. Safe for concurrent use.
type Snapshot interface {
	Reader
	// Version is the read version that the snapshot holds.
	Version() int64
	Close()
}

// RetryLimiter is the optional ability of an engine to bound the attempts of transactions whose TransactOptions do not.
type RetryLimiter interface {
	// MaxAttempts is 0 where there is no bound.
	MaxAttempts() int
}

// Checkpointer is the optional ability of an engine to copy its store while it runs.
type Checkpointer interface {
	// Checkpoint makes dir, which must not exist, a store of its own with one consistent state, not older than the
	// call: another node can be started on it. It blocks until the copy is on disk and has been read back:
	// CodeFileCorrupt where the store is damaged. dir is a directory of the machine that has the store.
	Checkpoint(ctx context.Context, dir string) error
}

// Reclaimer is the optional ability of an engine to give the room of what was cleared back to its disk before it would
// by itself.
type Reclaimer interface {
	// Reclaim has it done for a range, as soon as nobody reads what was there before. It returns when it is noted.
	Reclaim(ctx context.Context, r KeyRange) error
}

// Failer is the optional ability of an engine to say that its store takes no writes until it is opened again, because
// its disk has failed. A full disk that the engine waits for is no such failure: see Degrader.
type Failer interface {
	// Failed is the error that every commit gets until the store is opened again (CodeDiskFull or CodeIOError), or nil.
	// It does not block, and knows what has happened to commits so far. What is stored may still be readable.
	Failed() error
}

// Degrader is the optional ability of an engine to say why it needs an operator although it serves.
type Degrader interface {
	// Degraded returns one string for each reason, such as "disk_full: the disk of ... has 3 MB left; ...": a name that
	// stays the same, a colon, what is wrong and what to do. Empty when all is well. It does not block and does no I/O.
	Degraded() []string
}

// OpenSnapshot opens a long snapshot if the engine can hold one. ok is false where it cannot.
func OpenSnapshot(ctx context.Context, e Engine) (s Snapshot, ok bool, err error) {
	ss, ok := e.(Snapshotter)
	if !ok {
		return nil, false, nil
	}
	s, err = ss.OpenSnapshot(ctx)
	return s, err == nil, err
}

// Future is a read under way. Issue all reads of a step before waiting for the first: on FoundationDB they then share
// one round trip (clause R3 counts them).
type Future[T any] interface {
	// Wait blocks until the value is there, the transaction failed, or its context ended. It may be called again and by
	// several goroutines, with the same answer. Byte slices belong to the caller's transaction: do not modify them;
	// they stay valid after the transaction.
	Wait() (T, error)
}

// Reader reads at one read version. A Transaction's reads see its own earlier writes (read-your-writes), Get and GetKey
// as they were when the read was issued; its Snapshot() and a long Snapshot's reads add no read conflict.
type Reader interface {
	// Get reads one key; nil means the key does not exist (an empty value is empty, not nil).
	Get(key []byte) Future[[]byte]

	// GetKey resolves a selector to a key. Before the first key it answers an empty key, past the last one the key
	// "\xff".
	GetKey(sel KeySelector) Future[[]byte]

	// GetRange starts a range read. It blocks only in the iterator. The rows come in batches, and each batch sees the
	// transaction's writes as they were when it was fetched: do not write ahead of an iterator that is open. What has
	// been read may be cleared or overwritten.
	GetRange(r Range, o RangeOptions) RangeIterator

	// ReadVersion is the version at which this reader reads; the first read fixes it.
	ReadVersion() Future[int64]
}

// RangesReader is the optional ability of a Reader to read many small ranges together, for much less than a read of
// each costs. Use it through GetRanges: callers have a second way.
type RangesReader interface {
	// GetRanges reads the rows of ranges, which ascend and do not overlap, in their order and without read conflicts.
	// ok is false where this reader cannot do that now.
	GetRanges(ranges []KeyRange) (rows RangeIterator, ok bool)
}

// GetRanges reads many ranges together where the reader can do that.
func GetRanges(r Reader, ranges []KeyRange) (rows RangeIterator, ok bool) {
	rr, ok := r.(RangesReader)
	if !ok || len(ranges) == 0 {
		return nil, false
	}
	return rr.GetRanges(ranges)
}

// KeyValue is one row of a range. The slices belong to the iterator: they are valid until its next Next; copy what you
// keep.
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

// RangeOptions of a range read. The zero value reads everything forward in ModeIterator.
type RangeOptions struct {
	Limit   int // rows at most; 0 is no limit
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

// KeySelector names a key relative to another, as in FoundationDB: take the last key that is less than Key (or equal to
// it, when OrEqual), then move Offset keys on. All of FoundationDB's four are here, since engines are compared with it
// by them (clause S1).
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

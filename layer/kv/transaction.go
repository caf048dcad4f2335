package kv

// Versionstamp is what a commit adds at the placeholder of a versionstamped key or value: 8 bytes of commit version,
// big-endian, then 2 bytes of order within that version. The user's 2 bytes that follow are not part of it.
type Versionstamp [10]byte

// AtomicOp is a read-modify-write that the store carries out at commit, without a read conflict.
type AtomicOp int

// The atomic operations, by FoundationDB's names. Numbers are little-endian integers of the operand's width; a missing
// or shorter stored value is extended with zero bytes (for Min, And, ByteMin and ByteMax a missing value becomes the
// operand).
const (
	AtomicAdd AtomicOp = iota + 1
	AtomicMin
	AtomicMax
	AtomicByteMin
	AtomicByteMax
	AtomicAnd
	AtomicOr
	AtomicXor
	// AtomicAppendIfFits appends the operand, or does nothing where the value would exceed MaxValueSize.
	AtomicAppendIfFits
	// AtomicCompareAndClear clears the key where its value equals the operand. Key selectors that walk past the key in
	// the same transaction may count it as there, as FoundationDB's client does.
	AtomicCompareAndClear
)

// Transaction is one attempt at a strictly serialisable unit of reads and writes. It is safe for concurrent use, but
// the order of concurrent calls is not defined. Use it through Transact; Begin directly only for reads that need no
// retry.
//
// Writes are buffered and do no I/O; an illegal one (key or value too long, malformed versionstamp offset) is reported
// by Commit and by every later read. Keys and values are copied.
type Transaction interface {
	Reader
	Writer
	Outcome

	// Snapshot reads at the same version, with the transaction's own writes, without adding read conflicts.
	Snapshot() Reader

	// AddReadConflict makes the commit fail if another transaction writes in the range after the read version.
	AddReadConflict(r KeyRange)

	// CausalReadRisky lets the reads be of a version that is not the newest while machines fail, and spares
	// FoundationDB the question whether it is. Before the first read, and only where what was true seconds ago does no
	// harm.
	CausalReadRisky()

	// SetReadVersion reads at a version that the engine handed out before, on any node. Before the first read only.
	// A version that is no longer held makes the reads fail with CodeTooOld.
	SetReadVersion(version int64)
}

// Writer is the part of a Transaction that gathers its writes.
type Writer interface {
	Set(key, value []byte)
	Clear(key []byte)
	ClearRange(r KeyRange)
	Atomic(op AtomicOp, key, operand []byte)

	// SetVersionstampedKey writes value at key, in which 10 bytes at offset are replaced by the commit's versionstamp.
	// A key set so cannot be read in the same transaction: a read that meets a key which this one might become fails
	// with CodeAccessedUnreadable. Those are the keys with a stamp of the read version or later, or any stamp where the
	// transaction has not read before.
	SetVersionstampedKey(key []byte, offset int, value []byte)
	// SetVersionstampedValue is the same for 10 bytes of the value.
	SetVersionstampedValue(key, value []byte, offset int)

	// AddWriteConflict makes other transactions that read in the range conflict with this one.
	AddWriteConflict(r KeyRange)

	// MakesRoom says that the transaction makes room, now or once what it clears has been compacted: it deletes, or
	// keeps house. An engine that refuses writes before its disk is full (CodeDiskFull) lets such ones in for longer.
	// FoundationDB does not tell them apart.
	MakesRoom()

	// Wrote reports whether anything was set, cleared or changed so far (write conflicts alone do not count).
	Wrote() bool

	// Size is the bytes that count against MaxTransactionSize so far, roughly.
	Size() int
}

// Outcome is the part of a Transaction about how it ends, and what lives on after that.
type Outcome interface {
	// Commit makes the writes durable and visible, or fails and leaves nothing, or fails with an error for which
	// MaybeCommitted is true. It blocks until the store has acknowledged. A transaction without writes commits at once.
	// A read of this transaction that failed may make the commit fail with its error. One that is cancelled, or whose
	// context ends, while the commit is under way may have been committed.
	Commit() error
	// CommittedVersion is the version after a successful Commit, -1 where nothing was written.
	CommittedVersion() (int64, error)
	// Versionstamp is the stamp after a successful Commit that wrote something.
	Versionstamp() (Versionstamp, error)

	// Watch becomes ready when the value of key has changed from what this transaction sees. It is armed by a
	// successful Commit, lives after it, and ends with CodeCancelled when Cancel of the returned watch is called or the
	// engine closes. It may fire without a change; it never stays silent after one. Unlike reads it is not bound to the
	// transaction's context.
	Watch(key []byte) Watch

	// Cancel fails everything pending with CodeCancelled. Idempotent; allowed after Commit.
	Cancel()
}

// Watch waits for one key to change.
type Watch interface {
	// Done is closed when the watch has fired or failed. The engine closes it.
	Done() <-chan struct{}
	// Err is nil where the key changed; meaningful after Done.
	Err() error
	// Cancel releases the watch. Idempotent.
	Cancel()
}

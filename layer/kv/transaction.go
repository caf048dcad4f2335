package kv

// Versionstamp is what a commit writes at the placeholder of a versionstamped key or value: 8 bytes of commit
// version, big-endian, then 2 bytes of order within that version. The 2 user bytes that follow are not part of it.
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
	// AtomicAppendIfFits appends the operand, or does nothing if the value would exceed MaxValueSize.
	AtomicAppendIfFits
	// AtomicCompareAndClear clears the key if its value equals the operand. Key selectors that walk past the key in
	// the same transaction may still count it as present, as in FoundationDB's client.
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

	// Snapshot returns a reader at the same version that sees the transaction's own writes and adds no read
	// conflicts.
	Snapshot() Reader

	// AddReadConflict makes the commit fail if another transaction writes in the range after the read version.
	AddReadConflict(r KeyRange)

	// CausalReadRisky allows the transaction to read a version that is slightly out of date while machines fail; in
	// return FoundationDB does not have to check that the version is the newest. Call it before the first read, and
	// only if data some seconds old does no harm.
	CausalReadRisky()

	// SetReadVersion reads at a version that the engine handed out before, on any node. Call it before the first
	// read. If the version is no longer held, reads fail with CodeTooOld.
	SetReadVersion(version int64)
}

// Writer is the part of a Transaction that buffers writes.
type Writer interface {
	Set(key, value []byte)
	Clear(key []byte)
	ClearRange(r KeyRange)
	Atomic(op AtomicOp, key, operand []byte)

	// SetVersionstampedKey writes value at key after replacing 10 bytes of key at offset by the commit's
	// versionstamp. The same transaction cannot read the key: a read that meets a key which this one might become
	// fails with CodeAccessedUnreadable. Those are keys whose stamp is the read version or later, or any stamp if the
	// transaction has not read before.
	SetVersionstampedKey(key []byte, offset int, value []byte)
	// SetVersionstampedValue does the same for 10 bytes of the value.
	SetVersionstampedValue(key, value []byte, offset int)

	// AddWriteConflict makes this transaction conflict with others that read in the range.
	AddWriteConflict(r KeyRange)

	// MakesRoom declares that the transaction frees disk space, now or once its clears are compacted: it deletes data
	// or does maintenance. An engine that refuses writes before its disk is full (CodeDiskFull) accepts such
	// transactions for longer. FoundationDB makes no such difference.
	MakesRoom()

	// Wrote reports whether anything was set, cleared or changed so far (write conflicts alone do not count).
	Wrote() bool

	// Size is roughly the bytes so far that count against MaxTransactionSize.
	Size() int
}

// Outcome is the part of a Transaction about its end and what outlives it.
type Outcome interface {
	// Commit makes the writes durable and visible, or fails and changes nothing, or fails with an error for which
	// MaybeCommitted is true. It blocks until the store has acknowledged. A transaction without writes commits at
	// once. If a read of this transaction failed, Commit may fail with the read's error. A transaction that is
	// cancelled, or whose context ends, during the commit may have been committed.
	Commit() error
	// CommittedVersion is the version after a successful Commit; -1 if nothing was written.
	CommittedVersion() (int64, error)
	// Versionstamp is the stamp after a successful Commit that wrote something.
	Versionstamp() (Versionstamp, error)

	// Watch becomes ready when the value of key differs from the value that this transaction sees. A successful
	// Commit arms it; it outlives the transaction, and ends with CodeCancelled when its Cancel is called or the
	// engine closes. It may fire without a change, but never misses one. Unlike reads, it is not bound to the
	// transaction's context.
	Watch(key []byte) Watch

	// Cancel fails everything pending with CodeCancelled. Idempotent; allowed after Commit.
	Cancel()
}

// Watch waits for one key to change.
type Watch interface {
	// Done is closed when the watch has fired or failed. The engine closes it.
	Done() <-chan struct{}
	// Err is nil if the key changed; meaningful after Done is closed.
	Err() error
	// Cancel releases the watch. Idempotent.
	Cancel()
}

package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// transaction implements kv.Transaction. Reads are carried out when they are issued, on the caller's goroutine: the store is in this process, and
// a goroutine per read would cost more than most reads.
type transaction struct {
	e   *Engine
	ctx context.Context

	// ended is set when the transaction can no longer be used, for iterators to look at without the lock.
	ended atomic.Bool

	mu struct {
		sync.Mutex
		state txState
		// illegal is the first illegal call; every later read and Commit reports it.
		illegal error

		// view is what is read, from the first read until the commit begins, the transaction ends or its time is over.
		view        *view
		since       time.Time
		expired     bool
		wantVersion int64 // of SetReadVersion, or -1

		writes    writeSet
		conflicts []span // of AddWriteConflict
		reads     []span
		readMem   arena
		// unread is set where reads were too many to remember: the transaction can only read.
		unread bool

		size  int
		wrote bool
		// makesRoom is set where the commit is let in on a disk that is nearly full.
		makesRoom bool
		scratch   []byte
		watches   []*watch

		committed int64
		stamp     kv.Versionstamp
	}
}

type txState uint8

const (
	txActive txState = iota
	txCommitting
	txCommitted
	txFailed // by a commit
	txCancelled
)

var (
	errCancelled     = kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	errTimedOut      = kv.NewError(kv.CodeTimedOut, "the transaction's deadline passed", nil)
	errUsedCommit    = kv.NewError(kv.CodeUsedDuringCommit, "the transaction is being committed or was", nil)
	errOutside       = kv.NewError(kv.CodeKeyOutsideRange, "the key is outside the legal range", nil)
	errInverted      = kv.NewError(kv.CodeInvertedRange, "the range ends before it begins", nil)
	errKeyTooLarge   = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)
	errValueTooLarge = kv.NewError(kv.CodeValueTooLarge, "the value is too large", nil)
	errTxTooLarge    = kv.NewError(kv.CodeTransactionTooLarge, "the transaction is too large", nil)
	errUnreadable    = kv.NewError(kv.CodeAccessedUnreadable, "the key is set from this transaction's own versionstamp", nil)
	errOffset        = kv.NewError(kv.CodeClientInvalid, "the versionstamp's offset is outside the key or value", nil)
	errMetadata      = kv.NewError(kv.CodeClientInvalid, "the metadata version is changed by its versionstamp alone", nil)
	errAtomic        = kv.NewError(kv.CodeClientInvalid, "no such atomic operation", nil)
	errVersionSet    = kv.NewError(kv.CodeClientInvalid, "the read version is already set", nil)
	errNotYet        = kv.NewError(kv.CodeClientInvalid, "the transaction is not committed", nil)
	errNoStamp       = kv.NewError(kv.CodeClientInvalid, "the transaction wrote nothing and has no versionstamp", nil)
)

// contextError is the engine's error for an ended context.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errTimedOut
	}
	return errCancelled
}

// usable reports why the transaction cannot go on, or nil. Called with mu locked.
func (t *transaction) usable() error {
	switch t.mu.state {
	case txCancelled:
		return errCancelled
	case txCommitting, txCommitted, txFailed:
		return errUsedCommit
	}
	if t.e.closing.Load() {
		return errClosed
	}
	if err := contextError(t.ctx); err != nil {
		return err
	}
	return t.mu.illegal
}

// readable is usable, and fixes the read version. Called with mu locked.
func (t *transaction) readable() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.mu.view == nil && !t.mu.expired {
		if err := t.acquire(); err != nil {
			return err
		}
	}
	if !t.mu.expired && time.Since(t.mu.since) > t.e.views.limit {
		t.releaseView()
		t.mu.expired = true
	}
	if t.mu.expired {
		return errTooOld
	}
	return nil
}

func (t *transaction) acquire() (err error) {
	t.mu.since = time.Now()
	if t.mu.wantVersion >= 0 {
		t.mu.view, err = t.e.views.acquireAt(t.mu.wantVersion)
	} else {
		t.mu.view, err = t.e.views.acquire()
	}
	return err
}

func (t *transaction) releaseView() {
	if t.mu.view != nil {
		t.e.views.release(t.mu.view)
		t.mu.view = nil
	}
}

// writable prepares for a write of size bytes: false where it must be left. Called with mu locked.
func (t *transaction) writable(size int) bool {
	if t.mu.illegal != nil || t.mu.state != txActive {
		return false
	}
	if t.mu.size += size; t.mu.size > kv.MaxTransactionSize {
		t.mu.illegal = errTxTooLarge // now, so that a runaway transaction stops growing
		return false
	}
	return true
}

// refuse remembers the first illegal call. Called with mu locked.
func (t *transaction) refuse(err error) {
	if t.mu.illegal == nil && t.mu.state == txActive {
		t.mu.illegal = err
	}
}

// legalKey is why a key cannot be cleared, or set where legalPair has no other reason, or nil.
func legalKey(key []byte) error {
	switch {
	case len(key) > 0 && key[0] == 0xff:
		return errOutside
	case len(key) > kv.MaxKeySize:
		return errKeyTooLarge
	}
	return nil
}

// legalBound is why a key cannot be one end of a range, or nil. It may be one byte longer than a key, to come after the longest.
func legalBound(key []byte) error {
	switch {
	case bytes.Compare(key, endOfKeys) > 0:
		return errOutside
	case len(key) > kv.MaxKeySize+1:
		return errKeyTooLarge
	}
	return nil
}

func legalRange(r kv.KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return errInverted
	}
	return errors.Join(legalBound(r.Begin), legalBound(r.End))
}

// legalRead is why a key cannot be read by itself, or nil.
func legalRead(key []byte) error {
	if string(key) == kv.MetadataVersionKey {
		return nil
	}
	return legalKey(key)
}

func legalPair(key, value []byte) error {
	if string(key) == kv.MetadataVersionKey {
		return errMetadata
	}
	if err := legalKey(key); err != nil {
		return err
	}
	if len(value) > kv.MaxValueSize {
		return errValueTooLarge
	}
	return nil
}

// change carries out one write under the lock, or remembers why it is illegal.
func (t *transaction) change(illegal error, size int, write func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if t.writable(size) {
		t.mu.wrote = true
		t.mu.writes.begin()
		write()
	}
}

// writeOverhead is what a write counts against the limit beside its key, value and conflict range.
const writeOverhead = 12

func (t *transaction) Set(key, value []byte) {
	t.change(legalPair(key, value), writeOverhead+2*len(key)+len(value), func() { t.mu.writes.set(key, value) })
}

func (t *transaction) Clear(key []byte) {
	t.change(legalKey(key), writeOverhead+2*len(key), func() { t.mu.writes.clear(key) })
}

func (t *transaction) ClearRange(r kv.KeyRange) {
	t.change(legalRange(r), writeOverhead+2*(len(r.Begin)+len(r.End)), func() {
		if s := spanOf(r); !s.empty() {
			t.mu.writes.clearRange(s)
		}
	})
}

func (t *transaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	illegal := legalPair(key, operand)
	if !validAtomic(op) {
		illegal = errAtomic
	}
	t.change(illegal, writeOverhead+2*len(key)+len(operand), func() { t.mu.writes.atomic(op, key, operand) })
}

func stampFits(b []byte, offset int) bool {
	return offset >= 0 && offset+len(kv.Versionstamp{}) <= len(b)
}

func (t *transaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	illegal := legalPair(key, value)
	if illegal == nil && (!stampFits(key, offset) || offset == 0) {
		illegal = errOffset // a key that begins with a versionstamp could leave the legal range
	}
	t.change(illegal, writeOverhead+3*len(key)+len(value), func() {
		t.mu.writes.stampKey(key, offset, value, t.possibleKeys(key, offset))
	})
}

// possibleKeys are the keys that key may become with a versionstamp: those of versions after the read version. Older entries stay readable. The span
// is valid until the next call.
func (t *transaction) possibleKeys(key []byte, offset int) span {
	first := int64(0)
	if t.mu.view != nil {
		first = t.mu.view.version + 1
	}
	buf := append(t.mu.scratch[:0], key[:offset]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(first))
	mid := len(buf)
	buf = append(append(buf, key[:offset]...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	t.mu.scratch = buf
	return span{begin: buf[:mid:mid], end: buf[mid:]}
}

func (t *transaction) SetVersionstampedValue(key, value []byte, offset int) {
	illegal := legalPair(key, value)
	switch {
	case illegal == nil && !stampFits(value, offset):
		illegal = errOffset
	case string(key) == kv.MetadataVersionKey && offset == 0 && string(value) == string(make([]byte, len(kv.Versionstamp{}))):
		illegal = nil // kv.ChangeMetadataVersion
	}
	t.change(illegal, writeOverhead+2*len(key)+len(value), func() { t.mu.writes.stampValue(key, value, offset) })
}

func (t *transaction) AddReadConflict(r kv.KeyRange) {
	illegal := legalRange(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if t.mu.state == txActive {
		t.noteRead(spanOf(r))
	}
}

func (t *transaction) AddWriteConflict(r kv.KeyRange) {
	illegal := legalRange(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if s := spanOf(r); !s.empty() && t.writable(s.size()) {
		t.mu.conflicts = append(t.mu.conflicts, span{begin: bytes.Clone(s.begin), end: bytes.Clone(s.end)})
	}
}

// CausalReadRisky changes nothing: the newest version is known here.
func (t *transaction) CausalReadRisky() {}

// MakesRoom implements kv.Transaction.
func (t *transaction) MakesRoom() {
	t.mu.Lock()
	t.mu.makesRoom = true
	t.mu.Unlock()
}

func (t *transaction) SetReadVersion(version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.view != nil || t.mu.expired || t.mu.wantVersion >= 0:
		t.refuse(errVersionSet)
	case version < 0:
		t.refuse(kv.NewError(kv.CodeClientInvalid, "a negative read version", nil))
	default:
		t.mu.wantVersion = version
	}
}

// smallReads is the memory of a transaction's first reads, in one piece.
type smallReads struct {
	spans [4]span
	mem   [192]byte
}

// noteRead adds a read conflict and returns its index in reads, or -1. It copies s's keys. Called with mu locked.
func (t *transaction) noteRead(s span) int {
	if t.mu.unread || s.empty() {
		return -1
	}
	size := s.size()
	if t.mu.size+size > kv.MaxTransactionSize {
		// A transaction that only reads may go on. One that writes cannot commit any more.
		t.mu.reads, t.mu.unread = nil, true
		return -1
	}
	t.mu.size += size
	if t.mu.reads == nil {
		small := new(smallReads)
		t.mu.reads, t.mu.readMem.free = small.spans[:0], small.mem[:0]
	}
	c := span{begin: t.mu.readMem.copy(s.begin)}
	if s.end != nil {
		c.end = t.mu.readMem.copyValue(s.end)
	}
	t.mu.reads = append(t.mu.reads, c)
	return len(t.mu.reads) - 1
}

func (t *transaction) Wrote() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.wrote
}

func (t *transaction) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.size
}

func (t *transaction) Cancel() {
	t.mu.Lock()
	if t.mu.state == txActive {
		t.mu.state = txCancelled
	}
	t.ended.Store(true)
	t.releaseView()
	unarmed := t.mu.watches
	t.mu.watches = nil
	t.mu.Unlock()
	for _, w := range unarmed {
		w.finish(errCancelled)
	}
}

func (t *transaction) CommittedVersion() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != txCommitted {
		return 0, errNotYet
	}
	return t.mu.committed, nil
}

func (t *transaction) Versionstamp() (kv.Versionstamp, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.state != txCommitted:
		return kv.Versionstamp{}, errNotYet
	case t.mu.committed < 0:
		return kv.Versionstamp{}, errNoStamp
	}
	return t.mu.stamp, nil
}

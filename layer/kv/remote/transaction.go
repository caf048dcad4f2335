package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
)

// transaction implements kv.Transaction. It exists at the server from its first request on; until then, and between
// requests, its writes are buffered here.
//
// It consists of embedded parts, each built on the one before and with its own state: its life and connection to the
// server (txLink), its writes (txWrites), and its end. One lock guards them all.
type transaction struct {
	txWrites
	once sync.Once   // for Cancel
	over atomic.Bool // committed, or failed by a commit: Cancel has no effect any more

	// Guarded by mu.

	watches []*watch // to be armed by the commit
	version int64
	stamp   kv.Versionstamp
}

// txLink is a transaction's state and its connection to the server. It implements source.
type txLink struct {
	e   *Engine
	ctx context.Context

	// cancelled is closed by Cancel before it takes the lock, so that waits under the lock end.
	cancelled chan struct{}

	mu sync.Mutex // guards the fields marked "Guarded by mu" in all parts

	// Guarded by mu.

	state   txState
	illegal error // the known error of every further call

	conn   *conn // nil before the first request
	object uint64

	gathered []byte // encoded writes that are not sent yet
	cuts     []int  // offsets where they can be split
}

// txWrites are a transaction's writes so far.
type txWrites struct {
	txLink

	// Guarded by mu.

	asks  bool // there were writes or write conflicts: Commit asks the server
	wrote bool
	size  int
}

type txState uint8

const (
	txActive txState = iota
	txCommitting
	txCommitted
	txFailed // by its commit
	txCancelled
)

// usable reports why the transaction cannot continue, or nil. Called with mu locked.
func (t *txLink) usable() error {
	switch t.state {
	case txCancelled:
		return errCancelled
	case txCommitting, txCommitted, txFailed:
		return errUsedCommit
	}
	if err := contextError(t.ctx); err != nil {
		return err
	}
	return t.illegal
}

// beginFlag marks the first request of an object.
const beginFlag kind = 0x80

// request implements source: it sends the buffered writes, then a request.
func (t *txLink) request(k kind, build func(dst []byte) []byte) (*call, error) {
	return t.requestAs(&call{kind: k, done: make(chan struct{})}, build)
}

func (t *txLink) requestAs(k *call, build func(dst []byte) []byte) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.requestLocked(k, build)
}

func (t *txLink) requestLocked(k *call, build func(dst []byte) []byte) (*call, error) {
	first := t.conn == nil
	if first {
		c, object, err := t.e.connection(t.ctx, t.cancelled)
		if err != nil {
			if t.illegal == nil {
				t.illegal = err // it waited once and does not wait again
			}
			return nil, err
		}
		t.conn, t.object = c, object
	}
	sent := 0
	for _, cut := range t.cuts {
		if cut-sent < flushWrites {
			continue
		}
		piece := t.gathered[sent:cut]
		kd := kindWrites
		if first {
			kd, first = kd|beginFlag, false
		}
		// If this fails, the connection is broken, and the call below gets the error.
		_ = t.conn.send(kd, t.object, 0, func(dst []byte) []byte { return appendWrites(dst, piece) })
		sent = cut
	}
	rest := t.gathered[sent:]
	if first {
		k.kind |= beginFlag
	}
	k = t.conn.askAs(k, t.object, func(dst []byte) []byte {
		dst = appendWrites(dst, rest)
		if build != nil {
			dst = build(dst)
		}
		return dst
	})
	t.gathered, t.cuts = t.gathered[:0], t.cuts[:0]
	return k, nil
}

// able implements source. It asks the current connection, which need not be the transaction's: a server keeps its
// abilities, unless it is replaced, which ends the transaction's connection.
func (t *txLink) able(ability uint64) bool { return t.e.able(ability) }

// follow implements source: it sends a request for a range read, without writes.
func (t *txLink) follow(k kind, number uint32) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.conn.followUp(k, t.object, number), nil
}

// drop implements source: it sends a request without answer, if the connection still exists.
func (t *txLink) drop(k kind, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil && t.state == txActive {
		_ = t.conn.hold(k, t.object, number, nil)
	}
}

// patience implements source.
func (t *txLink) patience() (context.Context, <-chan struct{}) { return t.ctx, t.cancelled }

// ended implements source.
func (t *txLink) ended() error {
	select {
	case <-t.cancelled:
		return errCancelled
	default:
		return nil
	}
}

// effect is what an operation does to the outcome of a commit.
type effect uint8

const (
	effectNone     effect = iota // nothing, unless the transaction writes: a read conflict or an option
	effectConflict               // a write conflict
	effectWrite
)

// write buffers one operation. Called without the lock.
func (t *txWrites) write(e effect, size int, build func(dst []byte) []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != txActive || t.illegal != nil {
		return
	}
	t.asks, t.wrote = t.asks || e != effectNone, t.wrote || e == effectWrite
	if t.size += size; t.size > kv.MaxTransactionSize {
		t.illegal = errTxTooLarge // checked now, so that a runaway transaction stops growing
		t.gathered, t.cuts = nil, nil
		return
	}
	t.gathered = build(t.gathered)
	if n := len(t.cuts); n == 0 && len(t.gathered) >= flushWrites ||
		n > 0 && len(t.gathered)-t.cuts[n-1] >= flushWrites {
		t.cuts = append(t.cuts, len(t.gathered))
	}
}

// writeOverhead counts against the size limit for each write, beside its key, value and conflict range.
const writeOverhead = 12

// oversized reports whether a key or value is too large to send. It then fails the transaction as the server would.
func (t *txWrites) oversized(key, value []byte) bool {
	code, what := kv.CodeKeyTooLarge, "the key is too large"
	if len(value) > kv.MaxValueSize {
		code, what = kv.CodeValueTooLarge, "the value is too large"
	}
	if len(key) <= kv.MaxKeySize+1 && len(value) <= kv.MaxValueSize {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.illegal == nil && t.state == txActive {
		t.illegal = kv.NewError(code, what, nil)
	}
	return true
}

func (t *txWrites) pair(op byte, key, value []byte, more func(dst []byte) []byte) {
	if t.oversized(key, value) {
		return
	}
	t.write(effectWrite, writeOverhead+2*len(key)+len(value), func(dst []byte) []byte {
		dst = appendOp(dst, op, key, value)
		if more != nil {
			dst = more(dst)
		}
		return dst
	})
}

func (t *txWrites) Set(key, value []byte) { t.pair(opSet, key, value, nil) }

func (t *txWrites) Clear(key []byte) {
	if !t.oversized(key, nil) {
		t.write(effectWrite, writeOverhead+2*len(key), func(dst []byte) []byte {
			return appendBytes(append(dst, opClear), key)
		})
	}
}

func (t *txWrites) ClearRange(r kv.KeyRange) { t.rangeOp(opClearRange, effectWrite, r) }

func (t *txWrites) rangeOp(op byte, e effect, r kv.KeyRange) {
	if t.oversized(r.Begin, nil) || t.oversized(r.End, nil) {
		return
	}
	t.write(e, writeOverhead+2*(len(r.Begin)+len(r.End)), func(dst []byte) []byte {
		return appendOp(dst, op, r.Begin, r.End)
	})
}

func (t *txWrites) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.pair(opAtomic, key, operand, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(op)) })
}

func (t *txWrites) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.pair(opStampKey, key, value, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(offset)) })
}

func (t *txWrites) SetVersionstampedValue(key, value []byte, offset int) {
	t.pair(opStampValue, key, value, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(offset)) })
}

func (t *txWrites) AddReadConflict(r kv.KeyRange)  { t.rangeOp(opReadConflict, effectNone, r) }
func (t *txWrites) AddWriteConflict(r kv.KeyRange) { t.rangeOp(opWriteConflict, effectConflict, r) }

// CausalReadRisky has no effect: the store always knows its newest version.
func (t *txWrites) CausalReadRisky() {}

// MakesRoom implements kv.Transaction.
func (t *txWrites) MakesRoom() {
	t.write(effectNone, 0, func(dst []byte) []byte { return append(dst, opMakesRoom) })
}

func (t *txWrites) SetReadVersion(version int64) {
	t.write(effectNone, 0, func(dst []byte) []byte {
		return binary.AppendVarint(append(dst, opSetReadVersion), version)
	})
}

func (t *transaction) Commit() error {
	t.mu.Lock()
	if err := t.usable(); err != nil {
		t.failWatches(err)
		t.mu.Unlock()
		return err
	}
	if !t.asks && len(t.watches) == 0 {
		t.state, t.version = txCommitted, -1
		t.over.Store(true)
		t.end()
		t.mu.Unlock()
		return nil
	}
	k, err := t.requestLocked(&call{kind: kindCommit, commit: true, done: make(chan struct{})}, nil)
	t.state = txCommitting
	t.gathered = nil
	t.mu.Unlock()

	var f frame
	if err == nil {
		if f, err = k.wait(t.ctx, nil); err != nil && !k.answered() {
			err = maybe(err)
		}
	}
	if err == nil && (f.kind != kindCommitted || len(f.payload) != 18) {
		err = maybe(errProtocol)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over.Store(true)
	if err != nil {
		t.state = txFailed
		t.failWatches(err)
		if t.conn != nil && kv.IsCode(err, kv.CodeIOError) {
			t.conn.failure.Store(&err)
		}
		return err
	}
	t.state = txCommitted
	t.version = int64(binary.BigEndian.Uint64(f.payload))
	copy(t.stamp[:], f.payload[8:])
	for _, w := range t.watches {
		w.arm()
	}
	t.watches = nil
	return nil
}

// maybe returns err with Maybe set, for a commit that may have happened.
func maybe(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	m := *e
	m.Maybe = true
	return &m
}

// end tells the server that the transaction is no longer needed. Called with mu locked.
func (t *txLink) end() {
	if t.conn != nil {
		_ = t.conn.hold(kindEnd, t.object, 0, nil)
	}
	t.gathered = nil
}

func (t *transaction) failWatches(err error) {
	for _, w := range t.watches {
		w.finish(err)
	}
	t.watches = nil
}

func (t *transaction) Cancel() {
	if t.over.Load() {
		return
	}
	t.once.Do(func() { close(t.cancelled) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == txActive {
		t.state = txCancelled
		t.failWatches(errCancelled)
		t.end()
	}
}

func (t *txWrites) Wrote() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrote
}

func (t *txWrites) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

func (t *transaction) CommittedVersion() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != txCommitted {
		return 0, errNotYet
	}
	return t.version, nil
}

func (t *transaction) Versionstamp() (kv.Versionstamp, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.state != txCommitted:
		return kv.Versionstamp{}, errNotYet
	case t.version < 0:
		return kv.Versionstamp{}, errNoStamp
	}
	return t.stamp, nil
}

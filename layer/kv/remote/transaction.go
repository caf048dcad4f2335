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
// requests, its writes are gathered here.
type transaction struct {
	e   *Engine
	ctx context.Context

	// cancelled is closed by Cancel, before it takes the lock: what waits under the lock ends then.
	cancelled chan struct{}
	once      sync.Once
	over      atomic.Bool // committed, or failed by a commit: Cancel changes nothing any more

	mu struct {
		sync.Mutex
		state   txState
		illegal error // what every call fails with, as far as it is known here

		conn   *conn // nil before the first request
		object uint64

		writes []byte // encoded, not sent yet
		cuts   []int  // where writes can be cut into pieces
		any    bool   // there were writes or conflicts: Commit asks the server
		wrote  bool
		size   int

		watches []*watch // to be armed by the commit

		version int64
		stamp   kv.Versionstamp
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

// usable reports why the transaction cannot go on, or nil. Called with mu locked.
func (t *transaction) usable() error {
	switch t.mu.state {
	case txCancelled:
		return errCancelled
	case txCommitting, txCommitted, txFailed:
		return errUsedCommit
	}
	if err := contextError(t.ctx); err != nil {
		return err
	}
	return t.mu.illegal
}

// beginFlag marks the first request of an object.
const beginFlag kind = 0x80

// request implements source: it sends the gathered writes and a request, in this order.
func (t *transaction) request(k kind, build func(dst []byte) []byte) (*call, error) {
	return t.requestAs(&call{kind: k, done: make(chan struct{})}, build)
}

func (t *transaction) requestAs(k *call, build func(dst []byte) []byte) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.requestLocked(k, build)
}

func (t *transaction) requestLocked(k *call, build func(dst []byte) []byte) (*call, error) {
	first := t.mu.conn == nil
	if first {
		c, object, err := t.e.connection(t.ctx, t.cancelled)
		if err != nil {
			if t.mu.illegal == nil {
				t.mu.illegal = err // it waited once
			}
			return nil, err
		}
		t.mu.conn, t.mu.object = c, object
	}
	sent := 0
	for _, cut := range t.mu.cuts {
		if cut-sent < flushWrites {
			continue
		}
		piece := t.mu.writes[sent:cut]
		kd := kindWrites
		if first {
			kd, first = kd|beginFlag, false
		}
		// An error is the connection's, and the call below is answered with it.
		_ = t.mu.conn.send(kd, t.mu.object, 0, func(dst []byte) []byte { return appendWrites(dst, piece) })
		sent = cut
	}
	rest := t.mu.writes[sent:]
	if first {
		k.kind |= beginFlag
	}
	k = t.mu.conn.askAs(k, t.mu.object, func(dst []byte) []byte {
		dst = appendWrites(dst, rest)
		if build != nil {
			dst = build(dst)
		}
		return dst
	})
	t.mu.writes, t.mu.cuts = t.mu.writes[:0], t.mu.cuts[:0]
	return k, nil
}

// follow implements source: a request about one that is answered, without writes.
func (t *transaction) follow(k kind, number uint32) (*call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t.mu.conn.followUp(k, t.mu.object, number), nil
}

// drop implements source: a request that needs no answer, if anyone still listens.
func (t *transaction) drop(k kind, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.conn != nil && t.mu.state == txActive {
		_ = t.mu.conn.send(k, t.mu.object, number, nil)
	}
}

// patience implements source.
func (t *transaction) patience() (context.Context, <-chan struct{}) { return t.ctx, t.cancelled }

// ended implements source.
func (t *transaction) ended() error {
	select {
	case <-t.cancelled:
		return errCancelled
	default:
		return nil
	}
}

// write gathers one operation. Called without the lock.
func (t *transaction) write(wrote bool, size int, build func(dst []byte) []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != txActive || t.mu.illegal != nil {
		return
	}
	t.mu.any, t.mu.wrote = true, t.mu.wrote || wrote
	if t.mu.size += size; t.mu.size > kv.MaxTransactionSize {
		t.mu.illegal = errTxTooLarge // now, so that a runaway transaction stops growing
		t.mu.writes, t.mu.cuts = nil, nil
		return
	}
	t.mu.writes = build(t.mu.writes)
	if n := len(t.mu.cuts); n == 0 && len(t.mu.writes) >= flushWrites || n > 0 && len(t.mu.writes)-t.mu.cuts[n-1] >= flushWrites {
		t.mu.cuts = append(t.mu.cuts, len(t.mu.writes))
	}
}

// writeOverhead is what a write counts against the limit beside its key, value and conflict range.
const writeOverhead = 12

// oversized reports whether a key or value is too large to be worth sending: it is refused here as the server would.
func (t *transaction) oversized(key, value []byte) bool {
	code, what := kv.CodeKeyTooLarge, "the key is too large"
	if len(value) > kv.MaxValueSize {
		code, what = kv.CodeValueTooLarge, "the value is too large"
	}
	if len(key) <= kv.MaxKeySize+1 && len(value) <= kv.MaxValueSize {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.illegal == nil && t.mu.state == txActive {
		t.mu.illegal = kv.NewError(code, what, nil)
	}
	return true
}

func (t *transaction) pair(op byte, key, value []byte, more func(dst []byte) []byte) {
	if t.oversized(key, value) {
		return
	}
	t.write(true, writeOverhead+2*len(key)+len(value), func(dst []byte) []byte {
		dst = appendOp(dst, op, key, value)
		if more != nil {
			dst = more(dst)
		}
		return dst
	})
}

func (t *transaction) Set(key, value []byte) { t.pair(opSet, key, value, nil) }

func (t *transaction) Clear(key []byte) {
	if !t.oversized(key, nil) {
		t.write(true, writeOverhead+2*len(key), func(dst []byte) []byte { return appendBytes(append(dst, opClear), key) })
	}
}

func (t *transaction) ClearRange(r kv.KeyRange) { t.rangeOp(opClearRange, true, r) }

func (t *transaction) rangeOp(op byte, wrote bool, r kv.KeyRange) {
	if t.oversized(r.Begin, nil) || t.oversized(r.End, nil) {
		return
	}
	t.write(wrote, writeOverhead+2*(len(r.Begin)+len(r.End)), func(dst []byte) []byte { return appendOp(dst, op, r.Begin, r.End) })
}

func (t *transaction) Atomic(op kv.AtomicOp, key, operand []byte) {
	t.pair(opAtomic, key, operand, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(op)) })
}

func (t *transaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	t.pair(opStampKey, key, value, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(offset)) })
}

func (t *transaction) SetVersionstampedValue(key, value []byte, offset int) {
	t.pair(opStampValue, key, value, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(offset)) })
}

func (t *transaction) AddReadConflict(r kv.KeyRange)  { t.rangeOp(opReadConflict, false, r) }
func (t *transaction) AddWriteConflict(r kv.KeyRange) { t.rangeOp(opWriteConflict, false, r) }

// CausalReadRisky changes nothing: the store knows its newest version.
func (t *transaction) CausalReadRisky() {}

// MakesRoom implements kv.Transaction.
func (t *transaction) MakesRoom() {
	t.write(false, 0, func(dst []byte) []byte { return append(dst, opMakesRoom) })
}

func (t *transaction) SetReadVersion(version int64) {
	t.write(false, 0, func(dst []byte) []byte { return binary.AppendVarint(append(dst, opSetReadVersion), version) })
}

func (t *transaction) Commit() error {
	t.mu.Lock()
	if err := t.usable(); err != nil {
		t.failWatches(err)
		t.mu.Unlock()
		return err
	}
	if !t.mu.any && len(t.mu.watches) == 0 {
		t.mu.state, t.mu.version = txCommitted, -1
		t.over.Store(true)
		t.end()
		t.mu.Unlock()
		return nil
	}
	k, err := t.requestLocked(&call{kind: kindCommit, commit: true, done: make(chan struct{})}, nil)
	t.mu.state = txCommitting
	t.mu.writes = nil
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
		t.mu.state = txFailed
		t.failWatches(err)
		if t.mu.conn != nil && kv.IsCode(err, kv.CodeIOError) {
			t.mu.conn.failure.Store(&err)
		}
		return err
	}
	t.mu.state = txCommitted
	t.mu.version = int64(binary.BigEndian.Uint64(f.payload))
	copy(t.mu.stamp[:], f.payload[8:])
	for _, w := range t.mu.watches {
		w.arm()
	}
	t.mu.watches = nil
	return nil
}

// maybe is err for a commit that may have happened all the same.
func maybe(err error) error {
	var e *kv.Error
	if !errors.As(err, &e) {
		return err
	}
	m := *e
	m.Maybe = true
	return &m
}

// end tells the server that the transaction is not needed any more. Called with mu locked.
func (t *transaction) end() {
	if t.mu.conn != nil {
		_ = t.mu.conn.send(kindEnd, t.mu.object, 0, nil)
	}
	t.mu.writes = nil
}

func (t *transaction) failWatches(err error) {
	for _, w := range t.mu.watches {
		w.finish(err)
	}
	t.mu.watches = nil
}

func (t *transaction) Cancel() {
	if t.over.Load() {
		return
	}
	t.once.Do(func() { close(t.cancelled) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state == txActive {
		t.mu.state = txCancelled
		t.failWatches(errCancelled)
		t.end()
	}
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

func (t *transaction) CommittedVersion() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != txCommitted {
		return 0, errNotYet
	}
	return t.mu.version, nil
}

func (t *transaction) Versionstamp() (kv.Versionstamp, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.state != txCommitted:
		return kv.Versionstamp{}, errNotYet
	case t.mu.version < 0:
		return kv.Versionstamp{}, errNoStamp
	}
	return t.mu.stamp, nil
}

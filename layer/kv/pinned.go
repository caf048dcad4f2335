package kv

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrSnapshotLost is in the error chain of a Pinned's reads once the engine no longer holds its version.
var ErrSnapshotLost = errors.New("the store no longer holds the snapshot")

// Pinned is a read-only Engine whose transactions and snapshots all read one version. With it, code written for an
// Engine can read one consistent state over many calls.
//
// If the engine can hold snapshots, Pinned uses one. Otherwise its transactions set the read version, which is
// readable for TransactionSeconds; afterwards reads fail for good with ErrSnapshotLost.
type Pinned struct {
	e    Engine
	snap Snapshot // nil if transactions set version instead
	// without snap: kept open at version, for engines that hold the versions of open transactions
	anchor  Transaction
	version int64
	moves   bool
	// lost is set when a read found the version too old, closed by Close.
	lost, closed atomic.Bool
	traced       func(TraceEnd) // nil if nobody traces it
}

// Pin pins the newest committed version of e for reading. The caller closes it; every read fails afterwards.
func Pin(ctx context.Context, e Engine) (*Pinned, error) {
	snap, ok, err := OpenSnapshot(context.WithoutCancel(ctx), e)
	if err != nil {
		return nil, err
	}
	p := &Pinned{e: e, snap: snap, traced: Trace(ctx, TracedSnapshot)}
	if ok {
		p.version = snap.Version()
		return p, nil
	}
	p.version, _, err = Transact(ctx, e, TransactOptions{}, func(Transaction) (int64, error) {
		if p.anchor != nil {
			p.anchor.Cancel()
		}
		p.anchor = e.Begin(context.WithoutCancel(ctx))
		return p.anchor.ReadVersion().Wait()
	})
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// Version is the pinned version.
func (p *Pinned) Version() int64 { return p.version }

// Moving returns the engine for the pages of a long answer: its transactions read the pinned version while it is
// held, and the newest version afterwards. A transaction that is open when the version is lost fails with a retryable
// error. A version held by a snapshot is never lost. Without one, Moving opens no snapshots.
func (p *Pinned) Moving() Engine {
	if p.snap != nil {
		return p
	}
	return moving{&Pinned{e: p.e, anchor: p.anchor, version: p.version, moves: true, traced: p.traced}}
}

// moving hides the OpenSnapshot method of a Pinned.
type moving struct{ p *Pinned }

func (m moving) Begin(ctx context.Context) Transaction { return m.p.Begin(ctx) }
func (m moving) Name() string                          { return m.p.Name() }
func (m moving) Close() error                          { return m.p.Close() }

// Begin implements Engine.
func (p *Pinned) Begin(ctx context.Context) Transaction {
	return &pinnedTransaction{pinnedReader: p.newReader(ctx)}
}

// OpenSnapshot implements Snapshotter.
func (p *Pinned) OpenSnapshot(ctx context.Context) (Snapshot, error) {
	return p.newReader(ctx).snapshot(), nil
}

// Name implements Engine.
func (p *Pinned) Name() string { return p.e.Name() }

// Close implements Engine. It releases the version. Idempotent.
func (p *Pinned) Close() error {
	if !p.closed.Swap(true) && p.traced != nil {
		p.traced(TraceEnd{Attempts: 1})
	}
	if p.snap != nil {
		p.snap.Close()
	}
	if p.anchor != nil {
		p.anchor.Cancel()
	}
	return nil
}

// newReader returns a reader of the version.
func (p *Pinned) newReader(ctx context.Context) *pinnedReader {
	l := &pinnedReader{p: p, ctx: ctx, r: p.snap}
	if p.snap == nil {
		l.tx = p.e.Begin(ctx)
		if l.r = l.tx.Snapshot(); !p.moves || !p.lost.Load() {
			l.tx.SetReadVersion(p.version)
		}
	}
	return l
}

// pinnedReader is one caller's reader of the pinned version. Closing it leaves other readers open.
type pinnedReader struct {
	p      *Pinned
	r      Reader
	tx     Transaction // the reader's own transaction; nil when it reads from a snapshot
	ctx    context.Context
	closed atomic.Bool
}

// snapshot returns the reader, with GetRanges if the engine's reader has it.
func (l *pinnedReader) snapshot() Snapshot {
	if _, ok := l.r.(RangesReader); ok {
		return pinnedRanges{l}
	}
	return l
}

// pinnedRanges is a pinnedReader whose engine has GetRanges.
type pinnedRanges struct{ *pinnedReader }

// GetRanges implements RangesReader.
func (l pinnedRanges) GetRanges(ranges []KeyRange) (RangeIterator, bool) {
	rows, ok := GetRanges(l.r, ranges)
	if !ok {
		return nil, false
	}
	return &pinnedIterator{RangeIterator: rows, l: l.pinnedReader}, true
}

func (l *pinnedReader) Version() int64 { return l.p.version }

func (l *pinnedReader) Close() {
	l.closed.Store(true)
	if l.tx != nil {
		l.tx.Cancel()
	}
}

// ended returns the error of reads after the reader, the Pinned or the context has ended.
func (l *pinnedReader) ended() error {
	switch {
	case l.closed.Load() || l.p.closed.Load():
		return NewError(CodeCancelled, "the reader is closed", nil)
	case l.ctx.Err() != nil:
		return NewError(CodeCancelled, "the reader's context has ended", context.Cause(l.ctx))
	}
	return nil
}

func (l *pinnedReader) Get(key []byte) Future[[]byte] {
	if err := l.ended(); err != nil {
		return pinnedFuture[[]byte]{err: err}
	}
	return pinnedFuture[[]byte]{f: l.r.Get(key), l: l}
}

func (l *pinnedReader) GetKey(sel KeySelector) Future[[]byte] {
	if err := l.ended(); err != nil {
		return pinnedFuture[[]byte]{err: err}
	}
	return pinnedFuture[[]byte]{f: l.r.GetKey(sel), l: l}
}

func (l *pinnedReader) ReadVersion() Future[int64] { return l.r.ReadVersion() }

func (l *pinnedReader) GetRange(r Range, o RangeOptions) RangeIterator {
	return &pinnedIterator{RangeIterator: l.r.GetRange(r, o), l: l}
}

// pinnedFuture is a read at the pinned version.
type pinnedFuture[T any] struct {
	f   Future[T]
	l   *pinnedReader
	err error
}

func (f pinnedFuture[T]) Wait() (T, error) {
	if f.err != nil {
		var zero T
		return zero, f.err
	}
	v, err := f.f.Wait()
	return v, f.l.failed(err)
}

// failed translates the error of a read. A version that the engine no longer holds cannot be read by another attempt,
// unless that attempt reads a newer version (Moving).
func (l *pinnedReader) failed(err error) error {
	if !IsCode(err, CodeTooOld) {
		return err
	}
	l.p.lost.Store(true)
	if l.p.moves {
		return err
	}
	return &Error{Code: CodeTooOld, Message: "the snapshot is too old", Err: ErrSnapshotLost}
}

type pinnedIterator struct {
	RangeIterator
	l   *pinnedReader
	err error
}

func (r *pinnedIterator) Next() bool {
	if r.err == nil {
		r.err = r.l.ended()
	}
	return r.err == nil && r.RangeIterator.Next()
}

func (r *pinnedIterator) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.l.failed(r.RangeIterator.Err())
}

// pinnedTransaction only reads: Commit fails if anything was written.
type pinnedTransaction struct {
	*pinnedReader
	wrote atomic.Bool
}

var errPinned = NewError(CodeClientInvalid, "a pinned engine takes no writes", nil)

func (t *pinnedTransaction) Snapshot() Reader                          { return t.snapshot() }
func (t *pinnedTransaction) Set(_, _ []byte)                           { t.wrote.Store(true) }
func (t *pinnedTransaction) Clear([]byte)                              { t.wrote.Store(true) }
func (t *pinnedTransaction) ClearRange(KeyRange)                       { t.wrote.Store(true) }
func (t *pinnedTransaction) Atomic(AtomicOp, []byte, []byte)           { t.wrote.Store(true) }
func (t *pinnedTransaction) SetVersionstampedKey([]byte, int, []byte)  { t.wrote.Store(true) }
func (t *pinnedTransaction) SetVersionstampedValue(_, _ []byte, _ int) { t.wrote.Store(true) }
func (t *pinnedTransaction) AddReadConflict(KeyRange)                  {}
func (t *pinnedTransaction) AddWriteConflict(KeyRange)                 {}
func (t *pinnedTransaction) CausalReadRisky()                          {}
func (t *pinnedTransaction) MakesRoom()                                {}
func (t *pinnedTransaction) SetReadVersion(int64)                      {}
func (t *pinnedTransaction) CommittedVersion() (int64, error)          { return -1, nil }
func (t *pinnedTransaction) Versionstamp() (s Versionstamp, err error) { return s, errPinned }
func (t *pinnedTransaction) Wrote() bool                               { return t.wrote.Load() }
func (t *pinnedTransaction) Size() int                                 { return 0 }
func (t *pinnedTransaction) Cancel()                                   { t.Close() }
func (t *pinnedTransaction) Watch([]byte) Watch                        { return pinnedWatch{} }

func (t *pinnedTransaction) Commit() error {
	if t.Wrote() {
		return errPinned
	}
	return t.ended()
}

// pinnedWatch has failed from the start: a pinned version never changes.
type pinnedWatch struct{}

var neverChanges = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (pinnedWatch) Done() <-chan struct{} { return neverChanges }
func (pinnedWatch) Err() error            { return errPinned }
func (pinnedWatch) Cancel()               {}

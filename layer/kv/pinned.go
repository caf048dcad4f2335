package kv

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrSnapshotLost is in the chain of what reads of a Pinned get when the engine does not hold its version any more.
var ErrSnapshotLost = errors.New("the store does not hold the snapshot any more")

// Pinned is an engine to read from that stands still: all its transactions and snapshots read one version. It takes no
// writes. It lets what was written for one engine read, over many calls, what was committed at one moment.
//
// Where the engine holds snapshots, that is one of them. Elsewhere it is a version that transactions set, which can be
// read for TransactionSeconds; afterwards reads fail for good, with ErrSnapshotLost.
type Pinned struct {
	e       Engine
	snap    Snapshot    // nil: transactions set version
	anchor  Transaction // then this one is open at it, for engines that keep what is read
	version int64
	moves   bool
	// lost says that a read found the version too old, closed that Close was called.
	lost, closed atomic.Bool
}

// Pin pins the newest committed version of e, to read from. The caller closes it: every read fails from then on.
func Pin(ctx context.Context, e Engine) (*Pinned, error) {
	snap, ok, err := OpenSnapshot(context.WithoutCancel(ctx), e)
	if err != nil {
		return nil, err
	}
	p := &Pinned{e: e, snap: snap}
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

// Moving is the engine as the pages of a long answer want it: its transactions read the pinned version for as long as
// it is held, and the newest one from then on. The one that is open when it is lost can be tried again. An engine that
// holds snapshots never loses it. Elsewhere it opens no snapshots.
func (p *Pinned) Moving() Engine {
	if p.snap != nil {
		return p
	}
	return moving{&Pinned{e: p.e, anchor: p.anchor, version: p.version, moves: true}}
}

// moving hides that a Pinned opens snapshots.
type moving struct{ p *Pinned }

func (m moving) Begin(ctx context.Context) Transaction { return m.p.Begin(ctx) }
func (m moving) Name() string                          { return m.p.Name() }
func (m moving) Close() error                          { return m.p.Close() }

// Begin implements Engine.
func (p *Pinned) Begin(ctx context.Context) Transaction {
	return &pinnedTransaction{lent: p.lend(ctx)}
}

// OpenSnapshot implements Snapshotter.
func (p *Pinned) OpenSnapshot(ctx context.Context) (Snapshot, error) {
	return p.lend(ctx).snapshot(), nil
}

// Name implements Engine.
func (p *Pinned) Name() string { return p.e.Name() }

// Close implements Engine: it gives the version up. Idempotent.
func (p *Pinned) Close() error {
	p.closed.Store(true)
	if p.snap != nil {
		p.snap.Close()
	}
	if p.anchor != nil {
		p.anchor.Cancel()
	}
	return nil
}

// lend makes a reader of the version.
func (p *Pinned) lend(ctx context.Context) *lent {
	l := &lent{p: p, ctx: ctx, r: p.snap}
	if p.snap == nil {
		l.tx = p.e.Begin(ctx)
		if l.r = l.tx.Snapshot(); !p.moves || !p.lost.Load() {
			l.tx.SetReadVersion(p.version)
		}
	}
	return l
}

// lent is the pinned version for one reader, who may close it.
type lent struct {
	p      *Pinned
	r      Reader
	tx     Transaction // its own; nil of a snapshot
	ctx    context.Context
	closed atomic.Bool
}

// snapshot is the reader, which reads ranges together where the engine's does.
func (l *lent) snapshot() Snapshot {
	if _, ok := l.r.(RangesReader); ok {
		return lentRanges{l}
	}
	return l
}

// lentRanges is a lent whose engine reads ranges together.
type lentRanges struct{ *lent }

// GetRanges implements RangesReader.
func (l lentRanges) GetRanges(ranges []KeyRange) (RangeIterator, bool) {
	rows, ok := GetRanges(l.r, ranges)
	if !ok {
		return nil, false
	}
	return &lentRange{RangeIterator: rows, l: l.lent}, true
}

func (l *lent) Version() int64 { return l.p.version }

func (l *lent) Close() {
	l.closed.Store(true)
	if l.tx != nil {
		l.tx.Cancel()
	}
}

// ended is why there are no more reads.
func (l *lent) ended() error {
	switch {
	case l.closed.Load() || l.p.closed.Load():
		return NewError(CodeCancelled, "the reader is closed", nil)
	case l.ctx.Err() != nil:
		return NewError(CodeCancelled, "the reader's context has ended", context.Cause(l.ctx))
	}
	return nil
}

func (l *lent) Get(key []byte) Future[[]byte] {
	if err := l.ended(); err != nil {
		return lentFuture[[]byte]{err: err}
	}
	return lentFuture[[]byte]{f: l.r.Get(key), l: l}
}

func (l *lent) GetKey(sel KeySelector) Future[[]byte] {
	if err := l.ended(); err != nil {
		return lentFuture[[]byte]{err: err}
	}
	return lentFuture[[]byte]{f: l.r.GetKey(sel), l: l}
}

func (l *lent) ReadVersion() Future[int64] { return l.r.ReadVersion() }

func (l *lent) GetRange(r Range, o RangeOptions) RangeIterator {
	return &lentRange{RangeIterator: l.r.GetRange(r, o), l: l}
}

// lentFuture is a read of the version.
type lentFuture[T any] struct {
	f   Future[T]
	l   *lent
	err error
}

func (f lentFuture[T]) Wait() (T, error) {
	if f.err != nil {
		var zero T
		return zero, f.err
	}
	v, err := f.f.Wait()
	return v, f.l.failed(err)
}

// failed is the error of a read. That the engine has let go of the version is nothing that another attempt cures, but
// where that one reads a newer version.
func (l *lent) failed(err error) error {
	if !IsCode(err, CodeTooOld) {
		return err
	}
	l.p.lost.Store(true)
	if l.p.moves {
		return err
	}
	return &Error{Code: CodeTooOld, Message: "the snapshot is too old", Err: ErrSnapshotLost}
}

type lentRange struct {
	RangeIterator
	l   *lent
	err error
}

func (r *lentRange) Next() bool {
	if r.err == nil {
		r.err = r.l.ended()
	}
	return r.err == nil && r.RangeIterator.Next()
}

func (r *lentRange) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.l.failed(r.RangeIterator.Err())
}

// pinnedTransaction reads, and refuses to commit what it was given to write.
type pinnedTransaction struct {
	*lent
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

// pinnedWatch has failed: nothing changes.
type pinnedWatch struct{}

var neverChanges = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (pinnedWatch) Done() <-chan struct{} { return neverChanges }
func (pinnedWatch) Err() error            { return errPinned }
func (pinnedWatch) Cancel()               {}

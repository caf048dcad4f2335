package kv

import (
	"context"
	"sync/atomic"
)

// Pinned is an engine to read from that stands still: all its transactions and snapshots read one long snapshot. It
// takes no writes. It lets what was written for one engine read, over many calls, what was committed at one moment.
type Pinned struct {
	snap Snapshot
	name string
}

// Pin opens a snapshot of e to read from. ok is false where e holds none. The caller closes it: every read fails from
// then on.
func Pin(ctx context.Context, e Engine) (p *Pinned, ok bool, err error) {
	snap, ok, err := OpenSnapshot(context.WithoutCancel(ctx), e)
	if !ok || err != nil {
		return nil, false, err
	}
	return &Pinned{snap: snap, name: e.Name()}, true, nil
}

// Begin implements Engine.
func (p *Pinned) Begin(ctx context.Context) Transaction {
	return &pinnedTransaction{lent: lent{snap: p.snap, ctx: ctx}}
}

// OpenSnapshot implements Snapshotter.
func (p *Pinned) OpenSnapshot(ctx context.Context) (Snapshot, error) {
	return &lent{snap: p.snap, ctx: ctx}, nil
}

// Name implements Engine.
func (p *Pinned) Name() string { return p.name }

// Close implements Engine: it gives the snapshot up. Idempotent.
func (p *Pinned) Close() error {
	p.snap.Close()
	return nil
}

// lent is the pinned snapshot for one reader, who may close it.
type lent struct {
	snap   Snapshot
	ctx    context.Context
	closed atomic.Bool
}

func (l *lent) Version() int64 { return l.snap.Version() }
func (l *lent) Close()         { l.closed.Store(true) }

// ended is why there are no more reads.
func (l *lent) ended() error {
	switch {
	case l.closed.Load():
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
	return lentFuture[[]byte]{f: l.snap.Get(key)}
}

func (l *lent) GetKey(sel KeySelector) Future[[]byte] {
	if err := l.ended(); err != nil {
		return lentFuture[[]byte]{err: err}
	}
	return lentFuture[[]byte]{f: l.snap.GetKey(sel)}
}

func (l *lent) ReadVersion() Future[int64] { return l.snap.ReadVersion() }

func (l *lent) GetRange(r Range, o RangeOptions) RangeIterator {
	return &lentRange{RangeIterator: l.snap.GetRange(r, o), l: l}
}

// lentFuture is a read of the snapshot. That the engine has let go of it is nothing that another attempt cures.
type lentFuture[T any] struct {
	f   Future[T]
	err error
}

func (f lentFuture[T]) Wait() (T, error) {
	if f.err != nil {
		var zero T
		return zero, f.err
	}
	v, err := f.f.Wait()
	return v, lost(err)
}

func lost(err error) error {
	if IsCode(err, CodeTooOld) {
		return NewError(CodeTimedOut, "the snapshot is not held any more", err)
	}
	return err
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
	return lost(r.RangeIterator.Err())
}

// pinnedTransaction reads, and refuses to commit what it was given to write.
type pinnedTransaction struct {
	lent
	wrote atomic.Bool
}

var errPinned = NewError(CodeClientInvalid, "a pinned engine takes no writes", nil)

func (t *pinnedTransaction) Snapshot() Reader                          { return &t.lent }
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

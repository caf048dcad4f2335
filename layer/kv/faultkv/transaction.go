package faultkv

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// transaction injects faults into a transaction of the engine below. Writes are passed on unchanged.
type transaction struct {
	kv.Transaction
	e    *engine
	life *life
	ctx  context.Context

	mu struct {
		sync.Mutex
		read    bool  // something was read
		room    bool  // it makes room on a full disk
		failure error // the injected failure; final
		watches []*watch
	}
}

// fail makes err the transaction's final failure.
func (t *transaction) fail(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.failure == nil {
		t.mu.failure = err
	}
	return t.mu.failure
}

func (t *transaction) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.failure
}

// checkKilled returns the error of a killed engine.
func (t *transaction) checkKilled() error {
	if t.life.ended() {
		t.e.injected[Killed].Add(1)
		return t.fail(errKilled)
	}
	return nil
}

// checkRead decides whether a read fails.
func (t *transaction) checkRead() error {
	t.e.delay()
	if err := t.e.answers(t.ctx, t.life); err != nil {
		return t.fail(err)
	}
	if err := t.checkKilled(); err != nil {
		return err
	}
	if err := t.failure(); err != nil {
		return err
	}
	t.mu.Lock()
	first := !t.mu.read
	t.mu.read = true
	t.mu.Unlock()
	if first && t.e.strikes(FutureVersion, t.e.o.Rates.FutureVersion) {
		return t.fail(injected(kv.CodeFutureVersion, "future version"))
	}
	if t.e.strikes(TooOld, t.e.o.Rates.TooOld) {
		return t.fail(injected(kv.CodeTooOld, "age"))
	}
	return nil
}

func (t *transaction) reader(below kv.Reader) reader { return reader{below, t.checkRead} }

func (t *transaction) Get(key []byte) kv.Future[[]byte] { return t.reader(t.Transaction).Get(key) }
func (t *transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return t.reader(t.Transaction).GetKey(sel)
}
func (t *transaction) ReadVersion() kv.Future[int64] { return t.reader(t.Transaction).ReadVersion() }
func (t *transaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return t.reader(t.Transaction).GetRange(r, o)
}
func (t *transaction) Snapshot() kv.Reader { return newReader(t.Transaction.Snapshot(), t.checkRead) }

func (t *transaction) Commit() error {
	t.e.delay()
	err := t.commit()
	watches := t.takeWatches()
	for _, w := range watches {
		if err != nil {
			w.fail(err)
		} else if w.spurious {
			w.fail(nil)
		}
	}
	return err
}

func (t *transaction) takeWatches() []*watch {
	t.mu.Lock()
	defer t.mu.Unlock()
	ws := t.mu.watches
	t.mu.watches = nil
	return ws
}

// MakesRoom implements kv.Transaction.
func (t *transaction) MakesRoom() {
	t.mu.Lock()
	t.mu.room = true
	t.mu.Unlock()
	t.Transaction.MakesRoom()
}

func (t *transaction) makesRoom() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.room
}

func (t *transaction) commit() error {
	if err := t.e.answers(t.ctx, t.life); err != nil {
		return t.abandon(err)
	}
	if err := t.checkKilled(); err != nil {
		return err
	}
	if err := t.failure(); err != nil {
		return err
	}
	if !t.Wrote() {
		return t.Transaction.Commit() // nothing is sent, so nothing can go wrong
	}
	rates := t.e.o.Rates
	switch {
	case t.e.isFull() && !t.makesRoom():
		t.e.injected[Full].Add(1)
		return t.abandon(kv.NewError(kv.CodeDiskFull, "faultkv: the disk is full", nil))
	case t.e.strikes(Conflict, rates.Conflict):
		return t.abandon(injected(kv.CodeNotCommitted, "conflict"))
	case t.e.strikes(TooOld, rates.TooOld):
		return t.abandon(injected(kv.CodeTooOld, "age"))
	case t.e.strikes(UnknownLost, rates.UnknownLost):
		return t.abandon(injected(kv.CodeUnknownResult, "unknown result"))
	}
	err := t.Transaction.Commit()
	t.e.delay() // of the answer, so that the engine may be killed before it arrives
	if silent := t.e.answers(t.ctx, t.life); silent != nil {
		return t.fail(injected(kv.CodeUnknownResult, "silence while committing"))
	}
	if t.life.ended() {
		t.e.injected[Killed].Add(1)
		return t.fail(injected(kv.CodeUnknownResult, "death while committing"))
	}
	if err == nil && t.e.strikes(UnknownCommitted, rates.UnknownCommitted) {
		return t.fail(injected(kv.CodeUnknownResult, "unknown result"))
	}
	return err
}

// abandon ends the transaction without committing it.
func (t *transaction) abandon(err error) error {
	err = t.fail(err)
	for _, w := range t.takeWatches() {
		w.fail(err) // before they hear of the Cancel
	}
	t.Transaction.Cancel()
	return err
}

func (t *transaction) CommittedVersion() (int64, error) {
	if err := t.failure(); err != nil {
		return 0, err
	}
	return t.Transaction.CommittedVersion()
}

func (t *transaction) Versionstamp() (kv.Versionstamp, error) {
	if err := t.failure(); err != nil {
		return kv.Versionstamp{}, err
	}
	return t.Transaction.Versionstamp()
}

// watch forwards a watch of the engine below, and fails if the commit that armed it seemed to fail.
type watch struct {
	below    kv.Watch
	spurious bool // fires when it is armed
	done     chan struct{}
	once     sync.Once
	err      error
}

func (w *watch) fail(err error) {
	w.once.Do(func() {
		w.err = err
		close(w.done)
	})
	w.below.Cancel()
}

func (w *watch) Done() <-chan struct{} { return w.done }

func (w *watch) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

func (w *watch) Cancel() { w.fail(kv.NewError(kv.CodeCancelled, "the watch was cancelled", nil)) }

func (t *transaction) Watch(key []byte) kv.Watch {
	err := t.checkRead()
	w := &watch{below: t.Transaction.Watch(key), done: make(chan struct{})}
	if err != nil {
		w.fail(err)
		return w
	}
	w.spurious = t.e.strikes(Spurious, t.e.o.Rates.Spurious)
	t.mu.Lock()
	t.mu.watches = append(t.mu.watches, w)
	t.mu.Unlock()
	t.e.watches.Go(func() {
		select {
		case <-w.below.Done():
			if resumed := t.e.silence(); resumed != nil {
				select {
				case <-resumed:
				case <-t.life.over:
				case <-w.done:
				}
			}
			w.fail(w.below.Err())
		case <-t.life.over:
			t.e.injected[Killed].Add(1)
			w.fail(errKilled)
		case <-w.done:
		}
	})
	return w
}

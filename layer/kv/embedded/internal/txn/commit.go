package txn

import (
	"slices"

	"github.com/divandb/divan/layer/kv/embedded/internal/commit"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// request builds the commit.Request of the transaction's writes. Called with mu locked.
func (t *transaction) request() *commit.Request {
	w := &t.writes
	t.begin() // a transaction may have only conflict ranges
	r := &t.small.request
	r.Reads = slices.DeleteFunc(t.reads, keys.Span.Empty)
	r.Batch = t.p.Store.DB.Load().NewBatchWithSize(t.size + 64)
	r.Done = make(chan struct{})
	if t.view != nil {
		r.ReadVersion = t.view.Version
	}
	written := t.small.written[:0]
	if n := w.Table.Len() + len(w.Cleared.Spans) + len(t.conflicts); n > len(t.small.written) {
		written = make([]keys.Span, 0, n)
	}
	w.Table.Ascend(func(v *writes.Write) {
		written = append(written, keys.Point(v.Key))
		r.Add(v)
	})
	for i := range w.Stamped {
		r.AddStamped(&w.Stamped[i])
	}
	r.Cleared = w.Cleared.Spans
	if len(r.Cleared)+len(t.conflicts) > 0 {
		written = append(append(written, r.Cleared...), t.conflicts...)
		written = keys.Unite(written)
	}
	r.Writes = written
	return r
}

func (t *transaction) Commit() error {
	t.mu.Lock()
	if err := t.usable(); err != nil {
		t.failWatches(err) // unlocks
		return err
	}
	if !t.wrote && len(t.conflicts) == 0 {
		t.finish(txCommitted)
		t.armWatches() // unlocks
		return nil
	}
	if err := t.committable(); err != nil {
		t.finish(txFailed)
		t.failWatches(err) // unlocks
		return err
	}
	if t.p.Space.Opening.Load() { // a batch belongs to one store, and the store is being opened for writing
		err := t.p.Space.Refusal()
		t.finish(txFailed)
		t.failWatches(err) // unlocks
		return err
	}
	size, makesRoom := t.size, t.makesRoom
	r := t.request()
	t.finish(txCommitting) // the read view is not needed while the commit waits for disk space
	t.mu.Unlock()

	t.p.Commits.Foresee(r)
	err := t.p.Space.Admit(t.ctx, size, makesRoom, t.p.Store.Stop)
	if err == nil {
		err = t.p.Commits.Commit(t.ctx, r)
		t.p.Space.Leave(size)
	}
	t.mu.Lock()
	if err != nil {
		t.state = txFailed
		t.failWatches(err) // unlocks
		return err
	}
	t.state = txCommitted
	t.committed, t.stamp = r.Version, r.Stamp
	t.armWatches() // unlocks
	return nil
}

// committable reports why the transaction cannot be sent to the sequencer, or nil. Called with mu locked.
func (t *transaction) committable() error {
	if err := t.p.Store.Failed(); err != nil {
		return err
	}
	if t.p.ReadOnly {
		return failure.ErrReadOnly
	}
	if t.unread {
		return errTxTooLarge
	}
	if t.view != nil || t.expired || len(t.reads) > 0 {
		// the time limit has not passed; and a transaction without reads gets a version for its conflict ranges
		return t.readable()
	}
	return nil
}

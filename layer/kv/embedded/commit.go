package embedded

import (
	"slices"
)

// request turns the transaction's writes into a commitRequest. Called with mu locked.
func (t *transaction) request() *commitRequest {
	w := &t.writes
	t.begin() // a transaction may have conflicts alone
	r := &t.small.request
	r.reads = slices.DeleteFunc(t.reads, span.empty)
	r.batch = t.p.store.db.Load().NewBatchWithSize(t.size + 64)
	r.done = make(chan struct{})
	if t.view != nil {
		r.readVersion = t.view.version
	}
	written := t.small.written[:0]
	if n := w.table.len() + len(w.cleared.spans) + len(t.conflicts); n > len(t.small.written) {
		written = make([]span, 0, n)
	}
	w.table.ascend(func(v *write) {
		written = append(written, pointSpan(v.key))
		r.add(v)
	})
	for i := range w.stamped {
		r.addStamped(&w.stamped[i])
	}
	r.cleared = w.cleared.spans
	if len(r.cleared)+len(t.conflicts) > 0 {
		written = append(append(written, r.cleared...), t.conflicts...)
		written = unite(written)
	}
	r.writes = written
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
	if t.p.space.opening.Load() { // a batch is of the store that it is for
		err := t.p.space.refusal()
		t.finish(txFailed)
		t.failWatches(err) // unlocks
		return err
	}
	size, makesRoom := t.size, t.makesRoom
	r := t.request()
	t.finish(txCommitting) // what it has read is not held while it waits for room
	t.mu.Unlock()

	t.p.commits.foresee(r)
	err := t.p.space.admit(t.ctx, size, makesRoom, t.p.store.stop)
	if err == nil {
		err = t.p.commits.commit(t.ctx, r)
		t.p.space.leave(size)
	}
	t.mu.Lock()
	if err != nil {
		t.state = txFailed
		t.failWatches(err) // unlocks
		return err
	}
	t.state = txCommitted
	t.committed, t.stamp = r.version, r.stamp
	t.armWatches() // unlocks
	return nil
}

// committable reports why the transaction cannot be sent to the sequencer, or nil. Called with mu locked.
func (t *transaction) committable() error {
	if err := t.p.store.failed(); err != nil {
		return err
	}
	if t.p.readOnly {
		return errReadOnly
	}
	if t.unread {
		return errTxTooLarge
	}
	if t.view != nil || t.expired || len(t.reads) > 0 {
		return t.readable() // its time is not over; and conflicts without a read have a version to count from
	}
	return nil
}

package embedded

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// commitRequest is a transaction on its way to the disk. The committing goroutine fills it, the sequencer and then the syncer own it,
// until done is closed.
type commitRequest struct {
	readVersion int64
	reads       []span
	writes      []span // what later readers conflict with, but for stamped keys; sorted and disjoint

	batch   *pebble.Batch // the writes that need nothing but a versionstamp
	stamps  []int         // where in batch's bytes versionstamps go
	keys    []stampedAt   // which keys in batch's bytes are stamped
	cleared []span
	dropped []span       // those of cleared that held more than a little (see committer.clear); the sequencer's
	merges  []*write     // of a stored or stamped value
	late    []stampedKey // ranges cleared after them may hold them
	stamped []span       // the conflicts of stamped keys, like writes; the sequencer's

	state atomic.Int32 // requestWaiting, then one of the others
	done  chan struct{}

	err     error
	version int64
	stamp   kv.Versionstamp
}

const (
	requestWaiting int32 = iota
	requestTaken         // by the sequencer: its answer counts
	requestGone          // the committer no longer waits; nothing was written
)

type stampedAt struct{ pos, len int }

// request turns the transaction's writes into a commitRequest. Called with mu locked.
func (t *transaction) request() *commitRequest {
	w := &t.mu.writes
	w.begin() // a transaction may have conflicts alone
	r := &w.small.request
	r.reads = slices.DeleteFunc(t.mu.reads, span.empty)
	r.batch = t.e.db.Load().NewBatchWithSize(t.mu.size + 64)
	r.done = make(chan struct{})
	if t.mu.view != nil {
		r.readVersion = t.mu.view.version
	}
	written := w.small.written[:0]
	if n := w.table.len() + len(w.cleared.spans) + len(t.mu.conflicts); n > len(w.small.written) {
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
	if len(r.cleared)+len(t.mu.conflicts) > 0 {
		written = append(append(written, r.cleared...), t.mu.conflicts...)
		written = unite(written)
	}
	r.writes = written
	return r
}

// add puts one key's write into the batch, or among the merges.
func (r *commitRequest) add(v *write) {
	switch {
	case len(v.ops) > 0:
		r.merges = append(r.merges, v)
	case v.kind == kindSet:
		_ = r.batch.Set(v.key, v.value, nil) // a batch in memory has no error
	case v.kind == kindClear:
		_ = r.batch.Delete(v.key, nil)
	case v.kind == kindStamped:
		_, value := r.set(v.key, v.value)
		r.stamps = append(r.stamps, value+v.offset)
	}
}

func (r *commitRequest) addStamped(s *stampedKey) {
	if len(s.cleared) > 0 {
		r.late = append(r.late, *s)
		return
	}
	key, _ := r.set(s.key, s.value)
	r.stamps = append(r.stamps, key+s.offset)
	r.keys = append(r.keys, stampedAt{key, len(s.key)})
}

// set adds a pair to the batch and says where in its bytes key and value are: a record is its kind, and each part after its length as a varint.
func (r *commitRequest) set(key, value []byte) (keyAt, valueAt int) {
	_ = r.batch.Set(key, value, nil)
	valueAt = r.batch.Len() - len(value)
	return valueAt - varintLen(len(value)) - len(key), valueAt
}

func varintLen(n int) int {
	return len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32), uint64(n)))
}

func (t *transaction) Commit() error {
	t.mu.Lock()
	if err := t.usable(); err != nil {
		t.failWatches(err) // unlocks
		return err
	}
	if !t.mu.wrote && len(t.mu.conflicts) == 0 {
		t.finish(txCommitted)
		t.armWatches() // unlocks
		return nil
	}
	if err := t.committable(); err != nil {
		t.finish(txFailed)
		t.failWatches(err) // unlocks
		return err
	}
	if t.e.space.opening.Load() { // a batch is of the store that it is for
		err := t.e.space.refusal()
		t.finish(txFailed)
		t.failWatches(err) // unlocks
		return err
	}
	size, makesRoom := t.mu.size, t.mu.makesRoom
	r := t.request()
	t.finish(txCommitting) // what it has read is not held while it waits for room
	t.mu.Unlock()

	t.e.foresee(r)
	err := t.e.space.admit(t.ctx, size, makesRoom, t.e.stop)
	if err == nil {
		err = t.e.commits.commit(t.ctx, r)
		t.e.space.leave(size)
	}
	t.mu.Lock()
	if err != nil {
		t.mu.state = txFailed
		t.failWatches(err) // unlocks
		return err
	}
	t.mu.state = txCommitted
	t.mu.committed, t.mu.stamp = r.version, r.stamp
	t.armWatches() // unlocks
	return nil
}

// committable reports why the transaction cannot be sent to the sequencer, or nil. Called with mu locked.
func (t *transaction) committable() error {
	if err := t.e.Failed(); err != nil {
		return err
	}
	if t.e.reading != nil {
		return errReadOnly
	}
	if t.mu.unread {
		return errTxTooLarge
	}
	if t.mu.view != nil || t.mu.expired || len(t.mu.reads) > 0 {
		return t.readable() // its time is not over; and conflicts without a read have a version to count from
	}
	return nil
}

// finish ends reading. Called with mu locked.
func (t *transaction) finish(s txState) {
	t.mu.state = s
	t.ended.Store(true)
	t.releaseView()
}

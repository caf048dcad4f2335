package remote

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// object is a transaction or snapshot of a session.
type object struct {
	s  *session
	id uint64

	mu struct {
		sync.Mutex
		queue     []frame
		running   bool // a worker is running
		abandoned bool // the session has ended
	}

	// The fields below belong to the worker.

	tx     kv.Transaction
	snap   kv.Snapshot
	failed error // why the snapshot could not be opened: the answer to its reads
	ranges map[uint32]*openRange
	ended  bool
}

// openRange is a range read between two batches.
type openRange struct {
	it   kv.RangeIterator
	rows int // of the next batch
}

// push queues a request. It reports whether the object needs a worker, which the caller starts.
func (o *object) push(f frame) (idle bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.queue = append(o.mu.queue, f)
	idle = !o.mu.running
	o.mu.running = true
	return idle
}

// abandon ends the object because its session has ended. A commit in progress finishes first; the end of the session
// waits for it.
func (o *object) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.abandoned = true
	o.mu.queue = nil
	if !o.mu.running {
		o.mu.running = true
		o.s.work(o)
	}
}

// work processes the queue. Answers are held until it is empty.
func (o *object) work() {
	for {
		o.mu.Lock()
		if len(o.mu.queue) == 0 {
			abandoned := o.mu.abandoned
			o.mu.running = abandoned
			o.mu.Unlock()
			if abandoned {
				o.end()
			}
			o.s.out.flush(o.s.others())
			return
		}
		f := o.mu.queue[0]
		o.mu.queue = o.mu.queue[1:]
		o.mu.Unlock()
		o.s.taken(len(f.payload))
		if err := o.do(f); err != nil {
			o.s.fail(err)
		}
	}
}

// do processes one request. An error means that the client violated the protocol.
func (o *object) do(f frame) error {
	if o.ended {
		return o.s.late(f) // sent before the client knew that the object had ended
	}
	if o.failed != nil {
		return o.refuse(f)
	}
	if f.kind == kindOpenSnapshot || f.kind == kindCheckpoint || f.kind == kindReclaim || o.snap != nil {
		return o.doOther(f)
	}
	if o.tx == nil {
		o.tx = o.s.server.e.Begin(o.s.server.ctx)
	}
	d := &decoder{b: f.payload}
	if f.kind != kindRangeNext && f.kind != kindRangeClose && f.kind != kindEnd {
		if err := applyWrites(o.tx, d.bytes()); err != nil {
			return err
		}
	}
	switch f.kind {
	case kindWrites:
	case kindCommit:
		o.commit(f)
	case kindWatch:
		key := d.bytes()
		if d.err == nil {
			o.s.addWatch(f, o.tx.Watch(key))
		}
	default:
		var r kv.Reader = o.tx
		if hasFlags(f.kind) && d.byte()&flagSnapshot != 0 {
			r = o.tx.Snapshot()
		}
		return o.read(f, d, r)
	}
	return d.err
}

// flagSnapshot marks a read without a read conflict.
const flagSnapshot = 1

// doOther is do for objects other than transactions.
func (o *object) doOther(f frame) error {
	d := &decoder{b: f.payload}
	switch f.kind {
	case kindOpenSnapshot:
		snap, ok, err := kv.OpenSnapshot(o.s.server.ctx, o.s.server.e)
		if err == nil && !ok {
			err = kv.NewError(kv.CodeClientInvalid, "the store does not support long snapshots", nil)
		}
		if err != nil {
			o.failed = err
			return o.refuse(f)
		}
		o.snap = snap
		o.answerVersion(f, snap.Version())
		return nil
	case kindReclaim:
		r := d.keyRange()
		err := d.err
		if c, ok := o.s.server.e.(kv.Reclaimer); ok && err == nil {
			err = c.Reclaim(o.s.server.ctx, r)
		}
		if err != nil {
			o.s.answerError(f, err)
		} else {
			_ = o.s.answer(f, kindDone, nil) // if sending fails, nobody waits for the answer
		}
		o.end()
		return nil
	case kindCheckpoint:
		dir := string(d.bytes())
		err := d.err
		if err == nil {
			err = kv.NewError(kv.CodeClientInvalid, "the store does not support checkpoints", nil)
			if c, ok := o.s.server.e.(kv.Checkpointer); ok {
				err = c.Checkpoint(o.s.server.ctx, dir)
			}
		}
		if err != nil {
			o.s.answerError(f, err)
		} else {
			_ = o.s.answer(f, kindDone, nil) // if sending fails, nobody waits for the answer
		}
		o.end()
		return nil
	}
	if hasFlags(f.kind) {
		d.bytes() // no writes
		d.byte()
	}
	return o.read(f, d, o.snap)
}

// hasFlags reports whether a request is a read, which begins with flags.
func hasFlags(k kind) bool { return k >= kindGet && k <= kindRange || k == kindGetFollowing }

// refuse processes a request for a snapshot that could not be opened: its client may have asked for more before it
// knew.
func (o *object) refuse(f frame) error {
	switch f.kind {
	case kindEnd:
		o.end()
	case kindRangeClose:
	default:
		o.s.answerError(f, o.failed)
	}
	return nil
}

// read processes the requests that transactions and snapshots share.
func (o *object) read(f frame, d *decoder, r kv.Reader) error {
	switch f.kind {
	case kindGet:
		if key := d.bytes(); d.err == nil {
			v, err := r.Get(key).Wait()
			o.answerValue(f, v, err)
		}
	case kindGetKey:
		if sel := d.selector(); d.err == nil {
			k, err := r.GetKey(sel).Wait()
			o.answerValue(f, k, err)
		}
	case kindGetFollowing:
		key, prefix := d.pair()
		if suffix := d.bytes(); d.err == nil {
			o.getFollowing(f, r, key, prefix, suffix)
		}
	case kindReadVersion:
		v, err := r.ReadVersion().Wait()
		if err != nil {
			o.s.answerError(f, err)
		} else {
			o.answerVersion(f, v)
		}
	case kindRange:
		return o.startRange(f, d, r)
	case kindRangeNext:
		if or := o.ranges[f.request]; or != nil {
			o.batch(f, or)
		} // else it has ended, and an earlier answer tells the client so
	case kindRangeClose:
		if or := o.ranges[f.request]; or != nil {
			or.it.Close()
			delete(o.ranges, f.request)
		}
	case kindEnd:
		o.end()
	default:
		return errFrame
	}
	return d.err
}

// answer holds the answer to f until work has processed the queue. build appends the payload.
func (o *object) answer(f frame, k kind, build func(dst []byte) []byte) error {
	return o.s.out.hold(encode(k, f.object, f.request, build))
}

func (o *object) answerValue(f frame, v []byte, err error) {
	if err != nil {
		o.s.answerError(f, err)
		return
	}
	_ = o.answer(f, kindValue, func(dst []byte) []byte { // if sending fails, nobody waits for the answer
		if v == nil {
			return append(dst, 0)
		}
		return append(append(dst, 1), v...)
	})
}

func (o *object) getFollowing(f frame, r kv.Reader, key, prefix, suffix []byte) {
	var found kv.Following
	var err error
	if found.Value, err = r.Get(key).Wait(); err == nil && found.Value != nil {
		found.Next, err = r.Get(slices.Concat(prefix, found.Value, suffix)).Wait()
	}
	if err != nil {
		o.s.answerError(f, err)
		return
	}
	_ = o.answer(f, kindFollowing, func(dst []byte) []byte { // if sending fails, nobody waits for the answer
		return appendOptional(appendOptional(dst, found.Value), found.Next)
	})
}

func (o *object) answerVersion(f frame, v int64) {
	_ = o.answer(f, kindVersion, func(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) })
}

func (o *object) commit(f frame) {
	o.mu.Lock()
	abandoned := o.mu.abandoned
	o.mu.Unlock()
	if abandoned {
		return // nobody would get the answer, and a commit begun now would delay the client's next connection
	}
	err := o.tx.Commit()
	var version int64
	var stamp kv.Versionstamp
	if err == nil {
		version, err = o.tx.CommittedVersion()
	}
	if err == nil && version >= 0 {
		stamp, err = o.tx.Versionstamp()
	}
	if err != nil {
		o.s.answerError(f, err)
	} else {
		// if sending fails, the commit is in doubt for the client
		_ = o.answer(f, kindCommitted, func(dst []byte) []byte {
			return append(binary.BigEndian.AppendUint64(dst, uint64(version)), stamp[:]...)
		})
	}
	o.end()
}

// end releases what the object holds.
func (o *object) end() {
	if o.ended {
		return
	}
	o.ended = true
	for _, or := range o.ranges {
		or.it.Close()
	}
	o.ranges = nil
	if o.tx != nil {
		o.tx.Cancel()
	}
	if o.snap != nil {
		o.snap.Close()
	}
	o.s.forget(o)
}

// The number of rows in a range read's batches: few at first, for readers that stop early.
const (
	firstRows     = 32
	maxRows       = 1024
	maxBatchBytes = 128 << 10
)

func (o *object) startRange(f frame, d *decoder, r kv.Reader) error {
	sel := kv.SelectorRange{Begin: d.selector(), End: d.selector()}
	opts := kv.RangeOptions{Limit: int(d.uvarint()), Reverse: d.byte() == 1, Mode: kv.StreamingMode(d.byte())}
	if d.err != nil || opts.Limit < 0 {
		return errFrame
	}
	or := &openRange{it: r.GetRange(sel, opts), rows: firstRows}
	if opts.Mode != kv.ModeIterator {
		or.rows = maxRows
	}
	if o.ranges == nil {
		o.ranges = make(map[uint32]*openRange)
	}
	o.ranges[f.request] = or
	o.batch(f, or)
	return nil
}

// The flags of a batch.
const (
	flagMore   = 1 << iota // there are more batches
	flagFailed             // the batch ends with an error, which comes first in the payload
)

// batches are buffers for the rows of a batch. The largest one is maxBatchBytes and one row.
var batches = sync.Pool{New: func() any { return new(make([]byte, 0, 4096)) }}

// batch answers with the next rows of a range read.
func (o *object) batch(f frame, or *openRange) {
	scratch := batches.Get().(*[]byte)
	defer batches.Put(scratch)
	rows := (*scratch)[:0]
	more := false
	for n := 0; ; n++ {
		if n == or.rows || len(rows) >= maxBatchBytes {
			more = true
			break
		}
		if !or.it.Next() {
			break
		}
		row := or.it.KeyValue()
		rows = appendBytes(appendBytes(rows, row.Key), row.Value)
	}
	*scratch = rows
	or.rows = min(4*or.rows, maxRows)
	var err error
	if !more {
		err = or.it.Err()
		or.it.Close()
		delete(o.ranges, f.request)
	}
	_ = o.answer(f, kindRows, func(dst []byte) []byte { // if sending fails, nobody waits for the answer
		dst = append(dst, flag(more, flagMore)|flag(err != nil, flagFailed))
		if err != nil {
			dst = appendBytes(dst, appendError(nil, err))
		}
		return append(dst, rows...)
	})
}

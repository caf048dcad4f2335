package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// maxPending bounds the bytes of transactions that are combined in one Pebble batch. All but the first are copied
// into it.
const maxPending = 256 << 10

// add applies r as the group's next commit: its writes join the pending batch.
func (c *Committer) add(g *group, r *Request) error {
	first := g.applied == 0
	if first {
		g.version = c.clock.next()
	}
	r.Version = g.version
	binary.BigEndian.PutUint64(r.Stamp[:8], uint64(g.version))
	binary.BigEndian.PutUint16(r.Stamp[8:], uint16(g.applied))
	r.fillStamps()
	batch, err := c.complete(g, r)
	if kv.IsCode(err, kv.CodeFileCorrupt) { // only this transaction depends on the damaged data
		r.err = err
		return nil
	}
	if err != nil {
		return err
	}
	r.Batch = nil
	if err := c.Rows.WriteAll(batch, g.version, len(r.merges)); err != nil {
		return err
	}
	if first {
		_ = batch.Set(store.VersionKey, r.Stamp[:8], nil)
	}
	g.applied++
	g.bytes += batch.Len()
	if err := c.gather(g, batch); err != nil {
		return err
	}
	c.resolver.Add(r.Writes, g.version)
	c.resolver.Add(r.stamped, g.version)
	return nil
}

// gather adds a batch to the pending one.
func (c *Committer) gather(g *group, batch *pebble.Batch) error {
	if g.pending != nil && g.pending.Len()+batch.Len() > maxPending {
		if err := c.applyPending(g); err != nil {
			return err
		}
	}
	if g.pending == nil && !batch.Empty() { // Pebble would not sync an empty batch
		g.pending = batch
		return nil
	}
	if g.pending == nil {
		return batch.Close()
	}
	return errors.Join(g.pending.Apply(batch, nil), batch.Close())
}

// fillStamps writes the versionstamp at every placeholder and records the keys that contain it.
func (r *Request) fillStamps() {
	repr := r.Batch.Repr()
	for _, at := range r.stamps {
		copy(repr[at:], r.Stamp[:])
	}
	if len(r.keys)+len(r.late) == 0 {
		return
	}
	spans := make([]keys.Span, 0, len(r.keys)+len(r.late))
	var mem keys.Arena // the spans outlive the batch's memory
	for _, k := range r.keys {
		spans = append(spans, keys.Point(mem.Copy(repr[k.pos:k.pos+k.len])))
	}
	for _, s := range r.late {
		copy(s.Key[s.Offset:], r.Stamp[:])
		holds := func(c keys.Span) bool { return c.EndsAfter(s.Key) && bytes.Compare(c.Begin, s.Key) <= 0 }
		if !slices.ContainsFunc(s.Cleared, holds) {
			_ = r.Batch.Set(s.Key, s.Value, nil)
			spans = append(spans, keys.Point(s.Key))
		}
	}
	r.stamped = keys.Unite(spans)
}

// complete adds to r's batch everything that depends on stored data: the clears, which come first, and the merges.
func (c *Committer) complete(g *group, r *Request) (*pebble.Batch, error) {
	batch := r.Batch
	if len(r.Cleared) > 0 {
		if err := c.applyPending(g); err != nil { // clear reads them
			return nil, err
		}
		batch = c.Store.DB.Load().NewBatchWithSize(r.Batch.Len() + 256)
		var err error
		if r.dropped, err = c.clear(batch, r.Cleared); err != nil {
			return nil, err
		}
		if !r.Batch.Empty() {
			if err := batch.Apply(r.Batch, nil); err != nil {
				return nil, err
			}
		}
		if err := r.Batch.Close(); err != nil {
			return nil, err
		}
		r.Batch = nil
	}
	for _, w := range r.merges {
		var stored []byte
		var err error
		if w.Kind == writes.KindStamped {
			copy(w.Value[w.Offset:], r.Stamp[:])
			stored = w.Value
		} else if stored, err = c.stored(g, w.Key); err != nil {
			return nil, err
		}
		if value, exists := writes.Fold(w.Ops, stored, stored != nil); exists {
			_ = batch.Set(w.Key, value, nil)
		} else {
			_ = batch.Delete(w.Key, nil)
		}
	}
	return batch, nil
}

// stored returns the value of a key after all earlier commits of the group. The row cache usually has it, from the
// last write of the key or from Foresee. Then the sequencer, which all commits wait for, need not search the tables,
// nor apply the pending batch first. (Pebble could merge operands by itself. But then each read of a counter would
// add up all operands since the last flush, and an older binary with other merge rules would apply them before it
// finds that the store's format is too new.)
func (c *Committer) stored(g *group, key []byte) ([]byte, error) {
	if value, known := c.Rows.Get(key, g.version); known {
		return value, nil
	}
	if err := c.applyPending(g); err != nil {
		return nil, err
	}
	return store.Value(c.Store.DB.Load(), key)
}

// foreseen is the largest number of atomic operations in a transaction for which Foresee reads.
const foreseen = 64

// Foresee loads into the row cache the values that r's atomic operations need. It runs on the committing goroutine so
// that the sequencer need not read them. It is only a hint: the sequencer sees later writes of the keys.
func (c *Committer) Foresee(r *Request) {
	if len(r.merges) > foreseen {
		return
	}
	var v *versions.View
	for _, w := range r.merges {
		if w.Kind != writes.KindOps || c.Rows.Knows(w.Key) {
			continue
		}
		if v == nil {
			var err error
			if v, err = c.Views.Acquire(); err != nil {
				return
			}
			defer c.Views.Release(v)
		}
		_, _ = v.Get(w.Key) // the sequencer will meet the same error
	}
}

// fewRows is the largest number of rows in a cleared range that are deleted one by one. A range deletion slows every
// Pebble read near it until it is compacted away, and most cleared ranges hold a handful of rows or none.
const fewRows = 64

// worthReclaiming is the size from which a cleared range with few rows is compacted soon.
const worthReclaiming = 256 << 10

// clear adds the deletion of all rows in ranges to batch. It returns the ranges that held more than a little.
func (c *Committer) clear(batch *pebble.Batch, ranges []keys.Span) (dropped []keys.Span, err error) {
	iter, err := c.Store.DB.Load().NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Close repeats the error that the iterator met.
		if closeErr := iter.Close(); closeErr != nil && !failure.IsDamage(closeErr) {
			err = errors.Join(err, closeErr)
		}
	}()
	for _, r := range ranges {
		iter.SetBounds(versions.LowerBound(r), r.End)
		n, size := 0, 0
		for ok := iter.First(); ok && n <= fewRows; ok = iter.Next() {
			n++
			value := iter.LazyValue()
			size += value.Len()
		}
		err := iter.Error()
		if err != nil && !failure.IsDamage(err) {
			return dropped, err
		}
		// Damaged rows can still be cleared. The damage is gone only if all of it was cleared.
		damaged := err != nil || c.Damage.Within(r)
		if n > fewRows || size >= worthReclaiming || damaged {
			dropped = append(dropped, r)
		}
		if n > fewRows || damaged {
			_ = batch.DeleteRange(r.Begin, r.End, nil)
			continue
		}
		for ok := n > 0 && iter.First(); ok; ok = iter.Next() {
			_ = batch.Delete(iter.Key(), nil)
		}
		if err := iter.Error(); err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

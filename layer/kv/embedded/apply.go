package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// maxPending is up to how many bytes transactions are gathered in one batch of Pebble's, for which the later ones are copied.
const maxPending = 256 << 10

// add has r written at the group's version, next in order: with what is pending.
func (c *committer) add(g *group, r *commitRequest) error {
	first := g.applied == 0
	if first {
		g.version = c.clock.next()
	}
	r.version = g.version
	binary.BigEndian.PutUint64(r.stamp[:8], uint64(g.version))
	binary.BigEndian.PutUint16(r.stamp[8:], uint16(g.applied))
	r.fillStamps()
	batch, err := c.complete(g, r)
	if kv.IsCode(err, kv.CodeFileCorrupt) { // it depends on what is damaged; others do not
		r.err = err
		return nil
	}
	if err != nil {
		return err
	}
	r.batch = nil
	if err := c.rows.writeAll(batch, g.version, len(r.merges)); err != nil {
		return err
	}
	if first {
		_ = batch.Set(versionKey, r.stamp[:8], nil)
	}
	g.applied++
	g.bytes += batch.Len()
	if err := c.gather(g, batch); err != nil {
		return err
	}
	c.resolver.add(r.writes, g.version)
	c.resolver.add(r.stamped, g.version)
	return nil
}

// gather adds a batch to what is pending.
func (c *committer) gather(g *group, batch *pebble.Batch) error {
	if g.pending != nil && g.pending.Len()+batch.Len() > maxPending {
		if err := c.applyPending(g); err != nil {
			return err
		}
	}
	if g.pending == nil && !batch.Empty() { // an empty one would not be synced
		g.pending = batch
		return nil
	}
	if g.pending == nil {
		return batch.Close()
	}
	return errors.Join(g.pending.Apply(batch, nil), batch.Close())
}

// fillStamps puts the versionstamp wherever the transaction left room for it, and notes the keys that it makes.
func (r *commitRequest) fillStamps() {
	repr := r.batch.Repr()
	for _, at := range r.stamps {
		copy(repr[at:], r.stamp[:])
	}
	if len(r.keys)+len(r.late) == 0 {
		return
	}
	spans := make([]span, 0, len(r.keys)+len(r.late))
	var mem arena // the batch's memory is given back before the spans are
	for _, k := range r.keys {
		spans = append(spans, pointSpan(mem.copy(repr[k.pos:k.pos+k.len])))
	}
	for _, s := range r.late {
		copy(s.key[s.offset:], r.stamp[:])
		if !slices.ContainsFunc(s.cleared, func(c span) bool { return c.endsAfter(s.key) && bytes.Compare(c.begin, s.key) <= 0 }) {
			_ = r.batch.Set(s.key, s.value, nil)
			spans = append(spans, pointSpan(s.key))
		}
	}
	r.stamped = unite(spans)
}

// complete adds to r's batch what depends on what is stored: the rows to clear, which come first, and the merges.
func (c *committer) complete(g *group, r *commitRequest) (*pebble.Batch, error) {
	batch := r.batch
	if len(r.cleared) > 0 {
		if err := c.applyPending(g); err != nil { // it is read
			return nil, err
		}
		batch = c.store.db.Load().NewBatchWithSize(r.batch.Len() + 256)
		var err error
		if r.dropped, err = c.clear(batch, r.cleared); err != nil {
			return nil, err
		}
		if !r.batch.Empty() {
			if err := batch.Apply(r.batch, nil); err != nil {
				return nil, err
			}
		}
		if err := r.batch.Close(); err != nil {
			return nil, err
		}
		r.batch = nil
	}
	for _, w := range r.merges {
		var stored []byte
		var err error
		if w.kind == kindStamped {
			copy(w.value[w.offset:], r.stamp[:])
			stored = w.value
		} else if stored, err = c.stored(g, w.key); err != nil {
			return nil, err
		}
		if value, exists := fold(w.ops, stored, stored != nil); exists {
			_ = batch.Set(w.key, value, nil)
		} else {
			_ = batch.Delete(w.key, nil)
		}
	}
	return batch, nil
}

// stored is the value of a key as all before in the group have left it. It is mostly remembered: either from when the
// key was written last, or by foresee. Then the sequencer, which all commits wait for, neither searches the tables nor
// has what is pending applied for the sake of a search. (Pebble could merge operands by itself. But then each read of a
// counter would add up all of them since the last flush, and a binary of before would join them in another way before
// it finds out that the store is not for it.)
func (c *committer) stored(g *group, key []byte) ([]byte, error) {
	if value, known := c.rows.get(key, g.version); known {
		return value, nil
	}
	if err := c.applyPending(g); err != nil {
		return nil, err
	}
	return readCopy(c.store.db.Load(), key)
}

// foreseen is up to how many atomic operations of a transaction are looked after by foresee.
const foreseen = 64

// foresee reads, on the committing goroutine, what the request's atomic operations need and nothing remembers, so that
// the sequencer need not. It is no more than a hint: who writes the key meanwhile is seen by the sequencer.
func (c *committer) foresee(r *commitRequest) {
	if len(r.merges) > foreseen {
		return
	}
	var v *view
	for _, w := range r.merges {
		if w.kind != kindOps || c.rows.knows(w.key) {
			continue
		}
		if v == nil {
			var err error
			if v, err = c.views.acquire(); err != nil {
				return
			}
			defer c.views.release(v)
		}
		_, _ = v.get(w.key) // an error is the sequencer's to meet
	}
}

// fewRows is up to how many rows of a cleared range are deleted one by one. Pebble pays for every range deletion at every read near it until it
// is compacted away, and most ranges that are cleared hold a handful of rows or none.
const fewRows = 64

// worthReclaiming is from how many bytes on a range with few rows is compacted soon after it was cleared.
const worthReclaiming = 256 << 10

// clear adds the deletion of all rows in the ranges to batch. It returns the ranges that held more than a little.
func (c *committer) clear(batch *pebble.Batch, ranges []span) (dropped []span, err error) {
	iter, err := c.store.db.Load().NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := iter.Close(); closeErr != nil && !isDamage(closeErr) { // it says again what an iterator met
			err = errors.Join(err, closeErr)
		}
	}()
	for _, r := range ranges {
		iter.SetBounds(lowerBound(r), r.end)
		n, size := 0, 0
		for ok := iter.First(); ok && n <= fewRows; ok = iter.Next() {
			n++
			value := iter.LazyValue()
			size += value.Len()
		}
		err := iter.Error()
		if err != nil && !isDamage(err) {
			return dropped, err
		}
		// What is damaged can still be cleared, and is dead after it only where all of it was.
		damaged := err != nil || c.damage.within(r)
		if n > fewRows || size >= worthReclaiming || damaged {
			dropped = append(dropped, r)
		}
		if n > fewRows || damaged {
			_ = batch.DeleteRange(r.begin, r.end, nil)
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

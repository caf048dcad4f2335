package feeds

import (
	"encoding/binary"
	"hash/fnv"
)

// In most beats nothing has changed. So a node tells another one in full only once what it follows, then differences,
// and in every beat a digest. The answer names the shards that have changed lately, whose wakes may still be on their
// way, and has a digest of the others. If the digests differ, the next beat has the list again. Shards that the owner
// does not cover are listed beside the digest.

// recentBeats is how long, in beats, a changed shard is named in answers.
const recentBeats = 4

// digest is the number of shards and the sum of their hashes.
type digest struct {
	N   int    `json:"n"`
	Sum uint64 `json:"s"`
}

// add adds a shard, with its tally if the digest is of positions.
func (d *digest) add(key int64, tally string) {
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(key)))
	h.Write([]byte(tally))
	d.N++
	d.Sum += h.Sum64()
}

// same returns the shards that a member follows here if they have a digest, and remembers them for longer.
func (x *exchange) same(member string, d digest, until func(memberKey) memberKey) (list map[int64]shardKey, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var here digest
	list = make(map[int64]shardKey, len(x.mu.inKeys[member]))
	for key, k := range x.mu.inKeys[member] {
		here.add(key, "")
		list[key] = k
	}
	if here != d {
		return nil, false
	}
	for _, k := range list {
		x.mu.in[member][k] = until(x.mu.in[member][k])
	}
	return list, true
}

// uncovered returns those of some shards that the next beat must list for an owner with the same digest.
func uncovered(shards []*following) (list []*following) {
	for _, f := range shards {
		if !f.covered {
			list = append(list, f)
		}
	}
	return list
}

// agrees compares the digest of the shards that an owner did not name with what this node knows, and relies on them for
// longer if they agree. The caller holds mu.
func (x *exchange) agrees(from string, l *message) (rest []*following, ok bool) {
	named := make(map[int64]bool, len(l.Positions))
	for _, p := range l.Positions {
		named[p.Key] = true
	}
	var here digest
	for key, f := range x.mu.byKey {
		if f.owner == from && f.covered && !named[key] {
			here.add(key, f.tally)
			rest = append(rest, f)
		}
	}
	return rest, here == *l.Rest
}

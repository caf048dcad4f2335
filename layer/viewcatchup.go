package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// CatchUp applies a small lag in one transaction, without tasks (V9): false where more than n documents are behind or a build is under way.
func (ix *Index) CatchUp(ctx context.Context, n int) (bool, error) {
	c := catchUp{ix: ix, n: n}
	defer unpin(&c.docs)
	done, _, err := transact(ctx, ix.db, c.run)
	c.publishing.settle(done && err == nil, false)
	if tooLarge(err) {
		return false, nil // what the documents had in the index before is more than one transaction takes out
	}
	return done, err
}

// catchUp is one call of CatchUp and what its last attempt found.
type catchUp struct {
	ix   *Index
	n    int
	docs kv.Snapshot // what is applied comes from here, where the engine holds snapshots

	publishing publishing
}

func (c *catchUp) run(t *txn) (bool, error) {
	keys := c.ix.keys(t.keys)
	status, state := t.Get(keys.infoKey(keyspace.ViewStatus)), t.Get(keys.infoKey(keyspace.ViewUpdateSeq))
	if building, err := parseStatus(status); building != nil || err != nil {
		return false, err
	}
	at, err := parseIndexSeq(state)
	if err != nil || at.stale() {
		return false, err
	}
	if err := c.ix.pin(t.ctx, &c.docs); err != nil {
		return false, err
	}
	from := t.Snapshot()
	if c.docs != nil {
		from = c.docs
	}
	upTo, err := readLastSeq(from, t.keys, t.cfg)()
	if err != nil {
		return false, err
	}
	if upTo == at.seq && at.collation != 0 {
		c.publish(t, upTo)
		return true, nil
	}
	since := make(map[ShardID]Seq)
	for _, shard := range shardsSince(t.cfg, at.seq) {
		since[shard] = at.seq
	}
	batch, err := c.ix.collectAll(t, from, &keys, since, at.seq, c.n)
	if err != nil || !batch.done || cutAt(&keys, batch.docs, stepBytes) < len(batch.docs) {
		return false, err
	}
	if err := applyRows(t, &keys, batch.docs); err != nil {
		return false, err
	}
	setIndexSeq(t, &keys, upTo)
	c.publish(t, upTo)
	return true, nil
}

// publish keeps the documents that the rows are made from.
func (c *catchUp) publish(t *txn, seq Seq) {
	if c.docs != nil {
		c.publishing.offer(t, c.ix, seq, c.docs, nil)
		c.docs = nil
	}
}

package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// CatchUp applies a small lag in one transaction, without tasks (V9): false where more than n documents are behind or a
// build is under way.
func (ix *Index) CatchUp(ctx context.Context, n int) (bool, error) {
	c := catchUp{ix: ix, n: n}
	defer unpin(&c.docs)
	done, _, err := transact(ctx, ix.db, c.run)
	c.publishing.settle(done && err == nil, false)
	if tooMuch(err) {
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
	found := keys.find(t)
	status, state := t.Get(keys.infoKey(keyspace.ViewStatus)), t.Get(keys.infoKey(keyspace.ViewUpdateSeq))
	building, err := parseStatus(status)
	if err != nil {
		return false, err
	}
	at, err := parseIndexSeq(state)
	if err != nil || at.stale() {
		return false, err
	}
	if err := found(); err != nil {
		return false, err
	}
	if t.cfg.maintains(c.ix.design.Signature) {
		return c.runInteractive(t, &keys, at, building != nil)
	}
	if _, cut := t.cfg.cutOf(keys.signature); cut || building != nil { // a build is under way or about to begin
		return false, nil
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
	batch, err := c.ix.collectAll(t, from, &keys, sinceOf(t.cfg, at.seq), at.seq, Seq{}, c.n)
	if err != nil || !batch.done || cutAt(&keys, batch.docs, stepBytes) < len(batch.docs) {
		return false, err
	}
	if at.collation == 0 {
		if err := keys.ensureNumber(t); err != nil {
			return false, err
		}
	}
	if err := applyRows(t, &keys, batch.docs); err != nil {
		return false, err
	}
	setIndexSeq(t, &keys, upTo)
	c.publish(t, upTo)
	return true, nil
}

// runInteractive makes an interactive index ready. Writers have kept it up to date since its creation.
func (c *catchUp) runInteractive(t *txn, keys *indexKeys, at indexSeq, building bool) (bool, error) {
	c.publishing.settle(false, false) // of an attempt that did not know yet that writers keep the index
	creation, err := parseCreation(t.Get(keys.infoKey(keyspace.ViewCreation)))
	if err != nil || at.ready(creation) {
		return err == nil, err
	}
	if building {
		return false, nil
	}
	since := sinceOf(t.cfg, at.seq)
	batch, err := c.ix.collectAll(t, t.Snapshot(), keys, since, at.seq, creation, c.n)
	if err != nil || !batch.done || cutAt(keys, batch.docs, stepBytes) < len(batch.docs) {
		return false, err
	}
	docs, err := unmoved(t, since, creation, batch.docs)
	if err != nil {
		return false, err
	}
	if err := applyRows(t, keys, docs); err != nil {
		return false, err
	}
	setIndexSeq(t, keys, creation)
	return true, nil
}

// sinceOf is where a pass over the feed from seq on begins in each shard.
func sinceOf(cfg *config, seq Seq) map[ShardID]Seq {
	since := make(map[ShardID]Seq)
	for _, shard := range shardsSince(cfg, seq) {
		since[shard] = seq
	}
	return since
}

// publish keeps the documents that the rows are made from.
func (c *catchUp) publish(t *txn, seq Seq) {
	if c.docs != nil {
		c.publishing.offer(t, c.ix, seq, c.docs, nil)
		c.docs = nil
	}
}

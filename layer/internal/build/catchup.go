package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// CatchUp applies a small number of changes in one transaction, without a job (V9). It returns false if more than n
// documents are behind or if a build is running.
func (ix Index) CatchUp(ctx context.Context, n int) (bool, error) {
	c := catchUp{ix: ix.Index, n: n}
	defer index.Unpin(&c.docs)
	done, _, err := db.Transact(ctx, ix.Db, c.run)
	c.publishing.End(done && err == nil, false)
	if db.TooMuch(err) {
		return false, nil // the old rows of the documents are too many to remove in one transaction
	}
	return done, err
}

// catchUp is one call of CatchUp, with the results of its last attempt.
type catchUp struct {
	ix   *index.Index
	n    int
	docs kv.Snapshot // the snapshot that changes are read from, if the engine holds snapshots

	publishing index.Publishing
}

func (c *catchUp) run(t *db.Txn) (bool, error) {
	keys := c.ix.Keys(t.Keys)
	found := keys.Find(t)
	status, state := t.Get(keys.InfoKey(keyspace.ViewStatus)), t.Get(keys.InfoKey(keyspace.ViewUpdateSeq))
	building, err := index.ParseStatus(status)
	if err != nil {
		return false, err
	}
	at, err := index.ParseIndexSeq(state)
	if err != nil || at.Stale() {
		return false, err
	}
	if err := found(); err != nil {
		return false, err
	}
	if t.Cfg.Maintains(c.ix.Design().Signature) {
		return c.runInteractive(t, &keys, at, building != nil)
	}
	// A build is running or about to begin.
	if _, cut := t.Cfg.CutOf(keys.Signature); cut || building != nil {
		return false, nil
	}
	if err := c.ix.Pin(t.Ctx, &c.docs); err != nil {
		return false, err
	}
	from := t.Snapshot()
	if c.docs != nil {
		from = c.docs
	}
	upTo, err := db.ReadLastSeq(from, t.Keys, t.Cfg)()
	if err != nil {
		return false, err
	}
	if upTo == at.Seq && at.Collation != 0 {
		c.publish(t, upTo)
		return true, nil
	}
	batch, err := CollectAll(c.ix, t, from, &keys, sinceOf(t.Cfg, at.Seq), at.Seq, db.Seq{}, c.n)
	if err != nil || !batch.Done || CutAt(&keys, batch.Docs, stepBytes) < len(batch.Docs) {
		return false, err
	}
	if at.Collation == 0 {
		if err := keys.EnsureNumber(t); err != nil {
			return false, err
		}
	}
	if err := ApplyRows(t, &keys, batch.Docs); err != nil {
		return false, err
	}
	index.SetIndexSeq(t, &keys, upTo)
	c.publish(t, upTo)
	return true, nil
}

// runInteractive makes an interactive index ready. Writers have kept it up to date since its creation.
func (c *catchUp) runInteractive(t *db.Txn, keys *index.Keys, at index.IndexSeq, building bool) (bool, error) {
	c.publishing.End(false, false) // left by an attempt that did not know yet that the index is interactive
	creation, err := index.ParseCreation(t.Get(keys.InfoKey(keyspace.ViewCreation)))
	if err != nil || at.Ready(creation) {
		return err == nil, err
	}
	if building {
		return false, nil
	}
	since := sinceOf(t.Cfg, at.Seq)
	batch, err := CollectAll(c.ix, t, t.Snapshot(), keys, since, at.Seq, creation, c.n)
	if err != nil || !batch.Done || CutAt(keys, batch.Docs, stepBytes) < len(batch.Docs) {
		return false, err
	}
	docs, err := unmoved(t, since, creation, batch.Docs)
	if err != nil {
		return false, err
	}
	if err := ApplyRows(t, keys, docs); err != nil {
		return false, err
	}
	index.SetIndexSeq(t, keys, creation)
	return true, nil
}

// sinceOf returns, for each shard, the sequence after which to read the feed.
func sinceOf(cfg *db.Config, seq db.Seq) map[db.ShardID]db.Seq {
	since := make(map[db.ShardID]db.Seq)
	for _, shard := range db.ShardsSince(cfg, seq) {
		since[shard] = seq
	}
	return since
}

// publish hands over the snapshot that the rows were made from, so that readers find the same documents.
func (c *catchUp) publish(t *db.Txn, seq db.Seq) {
	if c.docs != nil {
		c.publishing.Publish(t, c.ix, seq, c.docs, nil)
		c.docs = nil
	}
}

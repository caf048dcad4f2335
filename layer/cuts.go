package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// A cut lets a build go through the feed as of one sequence where no snapshot can be held for so long. Entries move
// when documents are written, so that a build that goes through the feed as it is now has to chase what writers do, and
// never gets there where they are faster. A cut is a part of the configuration, which every writer conflicts with: so
// each write is known to be before it or after it. From the cut on, who moves an entry from before it leaves a copy
// (movedentries.go), and compaction leaves alone the bodies of those. The feed together with the copies is the feed as
// of the cut, and does not change: a build goes through it at its own pace, and what is written meanwhile is left to
// the next one.
//
// A cut ends with its build, in the transaction that makes the index current as of the cut. One whose build nobody
// works on is dropped by Compact: the next build takes the progress over and makes a newer cut.
//
// Only a purge takes from a cut: what is purged is gone at once, also for builds that go by an older cut.
//
// A node of a version that knows no cuts, in a cluster that is upgraded node by node, leaves no copies. An index that
// is built meanwhile lacks the documents that such a node has moved, or has them as they were before; it is put right
// by the next build or by the query that asks for them, since their entries are behind the cut.

func (t *txn) cutKey(signature string) []byte {
	return tuple.AppendString(t.keys.config(nil, configCuts), signature)
}

// cutFeed makes a cut at the transaction's own sequence, which becomes the database's last.
func (t *txn) cutFeed(signature string) {
	t.touch(t.cfg.current().subspaces()[0], t.entries)
	t.entries++
	value, offset := t.stampNow(keyspace.CutFormat)
	t.SetVersionstampedValue(t.cutKey(signature), value, offset)
	t.restamp = true
}

// endCut ends the cut for an index, if there is one.
func (t *txn) endCut(signature string) {
	t.endCuts(func(other string) bool { return other == signature })
}

// endCuts ends the cuts for the indexes that are over. The copies go with the last one.
func (t *txn) endCuts(over func(signature string) bool) {
	left := len(t.cfg.cuts)
	for _, c := range t.cfg.cuts {
		if over(c.signature) {
			t.Clear(t.cutKey(c.signature))
			t.restamp = true
			left--
		}
	}
	if left == 0 && len(t.cfg.cuts) > 0 {
		t.ClearRange(prefixRange(t.keys.sub(nil, keyspace.Moved)))
	}
}

// dropCuts ends the cuts of builds that nobody works on.
func (d *Database) dropCuts(ctx context.Context) error {
	_, _, err := transact(ctx, d, func(t *txn) (struct{}, error) {
		over := make(map[string]bool, len(t.cfg.cuts))
		for _, c := range t.cfg.cuts {
			job, err := d.store.readJob(t, IndexJobs, IndexJob{Database: d.name, Signature: c.signature}.ID())
			if err != nil {
				return struct{}{}, err
			}
			over[c.signature] = job == nil || job.State != JobRunning
		}
		t.endCuts(func(signature string) bool { return over[signature] })
		return struct{}{}, nil
	})
	return err
}

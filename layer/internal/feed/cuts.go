package feed

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/jobs"
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

func cutKey(t *db.Txn, signature string) []byte {
	return tuple.AppendString(t.Keys.Config(nil, db.ConfigCuts), signature)
}

// CutFeed makes a cut at the transaction's own sequence, which becomes the database's last.
func CutFeed(t *db.Txn, signature string) {
	t.Touch(t.Cfg.Current().Subspaces()[0], t.Entries)
	t.Entries++
	value, offset := t.StampNow(keyspace.CutFormat)
	t.SetVersionstampedValue(cutKey(t, signature), value, offset)
	t.Restamp = true
}

// EndCut ends the cut for an index, if there is one.
func EndCut(t *db.Txn, signature string) {
	EndCuts(t, func(other string) bool { return other == signature })
}

// EndCuts ends the cuts for the indexes that are over. The copies go with the last one.
func EndCuts(t *db.Txn, over func(signature string) bool) {
	left := len(t.Cfg.Cuts)
	for _, c := range t.Cfg.Cuts {
		if over(c.Signature) {
			t.Clear(cutKey(t, c.Signature))
			t.Restamp = true
			left--
		}
	}
	if left == 0 && len(t.Cfg.Cuts) > 0 {
		t.ClearRange(db.PrefixRange(t.Keys.Sub(nil, keyspace.Moved)))
	}
}

// DropCuts ends the cuts of builds that nobody works on.
func DropCuts(ctx context.Context, d *db.Database) error {
	_, _, err := db.Transact(ctx, d, func(t *db.Txn) (struct{}, error) {
		over := make(map[string]bool, len(t.Cfg.Cuts))
		for _, c := range t.Cfg.Cuts {
			job, err := jobs.ReadJob(d.Store, t, jobs.IndexJobs,
				jobs.IndexJob{Database: d.Name(), Signature: c.Signature}.ID())
			if err != nil {
				return struct{}{}, err
			}
			over[c.Signature] = job == nil || job.State != jobs.JobRunning
		}
		EndCuts(t, func(signature string) bool { return over[signature] })
		return struct{}{}, nil
	})
	return err
}

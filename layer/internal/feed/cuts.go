package feed

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// A cut lets a build read the feed as of one sequence if the engine cannot hold a snapshot for that long. Entries move
// when documents are written. A build that reads the current feed follows the writers, and never ends if they are
// faster. A cut is part of the configuration, which every writer conflicts with, so that each write is known to be
// before or after it. After the cut, a writer that moves an entry from before it leaves a copy (movedentries.go), and
// compaction does not remove the body that the entry refers to. The feed together with the copies is the feed as of the
// cut, and does not change: the build reads it at its own pace, and leaves later writes to the next build.
//
// A build that gives its worker to others goes on in its next turn up to the same cut. The transaction that makes the
// index current as of the cut also ends the cut. Compact drops the cuts of builds that no worker has or will have soon;
// the next build takes over their progress and makes a newer cut.
//
// Only a purge removes data from a cut: purged documents are gone at once, also for builds that read an older cut.
//
// In a cluster that is upgraded node by node, nodes of a version without cuts leave no copies. An index built during
// that time may lack the documents that such a node has moved, or have older versions of them. The next build or query
// corrects it, since their entries are after the cut.

func cutKey(t *db.Txn, signature string) []byte {
	return tuple.AppendString(t.Keys.Config(nil, db.ConfigCuts), signature)
}

// CutFeed makes a cut at the transaction's own sequence, which becomes the database's last sequence.
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

// EndCuts ends the cuts for the indexes that over selects. The copies are removed with the last cut.
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

// DropCuts ends the cuts of builds that have no job, or whose job waits after a failure.
func DropCuts(ctx context.Context, d *db.Database) error {
	_, _, err := db.Transact(ctx, d, func(t *db.Txn) (struct{}, error) {
		over := make(map[string]bool, len(t.Cfg.Cuts))
		for _, c := range t.Cfg.Cuts {
			job, err := jobs.ReadJob(d.Store, t, jobs.IndexJobs,
				jobs.IndexJob{Database: d.Name(), Signature: c.Signature}.ID())
			if err != nil {
				return struct{}{}, err
			}
			over[c.Signature] = job == nil || job.State == jobs.JobFinished ||
				job.State == jobs.JobPending && job.Failures > 0
		}
		EndCuts(t, func(signature string) bool { return over[signature] })
		return struct{}{}, nil
	})
	return err
}

package build

import (
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Build is one run of an index from where it stands to a goal, on behalf of a job (P8, V3). The indexer drives it:
// StartBuild, then Step for each shard until it is done, then Finish; Close in any case. Every transaction checks the
// fencing token, so that of two builds of one index the older one stops with a Conflict.
//
//	state     what happens                                        next
//	starting  finds where the index stands and where to go        cutting, creating, purging, stepping
//	cutting   the feed was cut: starts again, up to the cut       creating, purging, stepping
//	creating  an interactive index was cleared: starts again      purging, stepping
//	purging   takes out what was purged up to the goal            stepping
//	stepping  steps write rows, of several shards at a time       finished
//	finished  the index is as of the goal                         closed
//	closed    nothing is held; every state may come to this
//
// Why each change happens is said in state.go, where they all are. Beside its state a build has two settings that its
// start finds: how it reads (reading) and how it writes (writing).
//
// All steps read the feed as of the goal, and the index ends as of exactly that: from a snapshot where the engine can
// hold one, and elsewhere with the help of a cut (feed/cuts.go).
type Build struct {
	Index *index.Index
	// Token is the fencing token of the job's lease.
	Token  int64
	From   db.Seq
	Goal   db.Seq
	Shards []db.ShardID
	// Changes is roughly how many entries the build processes, for showing progress; 0 where that is not known without
	// counting them, which is when the index was built before.
	Changes int64
	// Shared: other nodes may do a shard's steps, after JoinBuild (shared.go).
	Shared bool
	// Resumed says that it goes on with what an earlier run of the same build has done.
	Resumed bool

	machine
	reads  reading
	writes atomic.Int32 // a writing
	joined bool         // by JoinBuild: the build is another's, this is a worker of one shard

	space      db.Space
	keys       index.Keys
	number     int64       // of the database
	cutAt      db.Seq      // of fromCut
	snapshot   kv.Snapshot // of fromSnapshot; Finish gives it away
	cfg        *db.Config  // of the snapshot
	publishing index.Publishing
	// Progress is not changed as a map, so that steps of different shards may run at once.
	Progress  map[db.ShardID]*index.BuildPosition
	purged    db.Seq       // purges up to here are in the index
	documents atomic.Int64 // that steps have processed
}

// stepBytes bounds the rows of one transaction: FoundationDB is at its best below 1 MB.
const stepBytes = 1_000_000

func (b *Build) writing() writing { return writing(b.writes.Load()) }

// beginning is where a scan begins.
func (b *Build) beginning() index.BuildPosition { return index.BuildPosition{Seq: b.Goal, Scans: true} }

// status is the value of ViewStatus.
func (b *Build) status() []byte {
	value := b.Goal.AppendTuple(tuple.AppendInt(nil, b.Token))
	for _, flag := range []bool{b.writing() == adding, b.writing() == keeping} {
		n := int64(0)
		if flag {
			n = 1
		}
		value = tuple.AppendInt(value, n)
	}
	return value
}

// take has the build write as one does whose status says so.
func (b *Build) take(first, keeps bool) {
	how := replacing
	switch {
	case keeps:
		how = keeping
	case first:
		how = adding
	}
	b.writes.Store(int32(how))
}

// shardProgress is where the shard's steps go on: behind what was done of the build before.
func (b *Build) shardProgress(tx kv.Transaction, shard db.ShardID) (index.BuildPosition, error) {
	value, err := tx.Get(b.keys.ProgressKey(shard)).Wait()
	if value == nil || err != nil {
		return index.BuildPosition{Seq: b.From}, err
	}
	return index.ParsePosition(value)
}

// checkToken is a Conflict where another build of the index is under way.
func (b *Build) checkToken(status kv.Future[[]byte]) error {
	now, err := index.ParseStatus(status)
	if err != nil {
		return err
	}
	if now == nil || now.Token != b.Token {
		return fault.Errf(fault.Conflict, "job_lost", "another build of the index has taken over")
	}
	return nil
}

// Close releases the snapshot. Idempotent.
func (b *Build) Close() {
	_ = b.enter(closed) // it may be already
	index.Unpin(&b.snapshot)
	if b.joined {
		return
	}
	of := index.Publication{Database: b.number, Signature: b.Index.Design().Signature}
	index.PublishedOf(b.Index.Db.Store).Release(of, b.From)
}

package build

import (
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Build is one run that brings an index from its current sequence to a goal, on behalf of a job (P8, V3). The indexer
// calls StartBuild, then Step for each shard until it is done, then Finish, and always Close. Every transaction checks
// the fencing token: if two builds of one index are running, the older one stops with a Conflict.
//
//	state     what happens                                         next
//	starting  finds the index's sequence and sets the goal         cutting, creating, purging, stepping
//	cutting   the feed has been cut: starts again, up to the cut   creating, purging, stepping
//	creating  an interactive index has been cleared: starts again  purging, stepping
//	purging   removes the rows of documents purged up to the goal  stepping
//	stepping  steps write rows, several shards at a time           finished
//	finished  the index is as of the goal                          closed
//	closed    everything is released; reached from every state
//
// state.go lists all transitions with their reasons. Besides its state, a build has two settings that are chosen at its
// start: how it reads (reading) and how it writes (writing).
//
// All steps read the feed as of the goal, so that the index ends as of exactly that sequence. They read a snapshot if
// the engine can hold one, and a cut of the feed otherwise (feed/cuts.go), or if the build takes several turns.
type Build struct {
	Index *index.Index // nil until the start has found it
	// Token is the fencing token of the job's lease.
	Token  int64
	From   db.Seq
	Goal   db.Seq
	Shards []db.ShardID
	// Changes is the approximate number of entries that the build processes, for showing progress. It is 0 if the index
	// was built before: then the number is not known without counting the entries.
	Changes int64
	// Shared reports whether other nodes may do the steps of shards, after JoinBuild (shared.go).
	Shared bool
	// Resumed reports whether the build continues an earlier run of the same build.
	Resumed bool

	machine
	reads  reading
	writes atomic.Int32 // holds a writing
	joined bool         // made by JoinBuild: another worker's build, of which this one does one shard

	space      db.Space
	keys       index.Keys
	number     int64       // the database's
	cutAt      db.Seq      // used by fromCut
	snapshot   kv.Snapshot // used by fromSnapshot; Finish hands it over
	cfg        *db.Config  // as of the snapshot
	publishing index.Publishing
	// The map itself does not change, only the positions in it, so that steps of different shards may run concurrently.
	Progress  map[db.ShardID]*index.BuildPosition
	purged    db.Seq       // the index reflects purges up to here
	documents atomic.Int64 // processed by steps
	hurried   atomic.Bool  // see Hurry
}

// stepBytes limits the size of the rows written in one transaction. FoundationDB recommends less than 1 MB.
const stepBytes = 1_000_000

func (b *Build) writing() writing { return writing(b.writes.Load()) }

// beginning returns the position at which a scan begins.
func (b *Build) beginning() index.BuildPosition { return index.BuildPosition{Seq: b.Goal, Scans: true} }

// status encodes the value of ViewStatus.
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

// setWriting sets how steps write, given the flags of the build's status.
func (b *Build) setWriting(first, keeps bool) {
	how := replacing
	switch {
	case keeps:
		how = keeping
	case first:
		how = adding
	}
	b.writes.Store(int32(how))
}

// shardProgress returns the position after the last change that has been processed in the shard, also by earlier runs
// of the build.
func (b *Build) shardProgress(tx kv.Transaction, shard db.ShardID) (index.BuildPosition, error) {
	value, err := tx.Get(b.keys.ProgressKey(shard)).Wait()
	if value == nil || err != nil {
		return index.BuildPosition{Seq: b.From}, err
	}
	return index.ParsePosition(value)
}

// checkToken returns a Conflict if another build of the index is running.
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

// Close releases what the build holds. It may be called more than once.
func (b *Build) Close() {
	_ = b.enter(closed) // fails if already closed
	index.Unpin(&b.snapshot)
	if b.joined || b.Index == nil {
		return
	}
	of := index.Publication{Database: b.number, Signature: b.Index.Design().Signature}
	index.PublishedOf(b.Index.Db.Store).Release(of, b.From)
}

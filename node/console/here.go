package console

import (
	"context"
	"iter"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// Here reads the parts of this node. All functions are safe for concurrent use. None but Cluster may be nil.
type Here struct {
	// Members are the members of the cluster, with State "ok", "silent" or "gone", and without a Report.
	Members func() []state.Node
	// Awaited is how many nodes that used the store before this one started have not been members since; it is 0 when
	// they are not expected any more. It may be nil.
	Awaited func() int
	// Displaced reports whether another node has taken this one's name, so that it is not a member. It may be nil.
	Displaced func() bool
	// Report is what this node says about itself, without Now.
	Report func(ctx context.Context) state.Report
	// Actors, Sessions, Shards and Tasks are those of this node. Their field Node is set. Actors have Look in place of
	// Facts.
	Actors func() iter.Seq[state.Actor]
	// ActorsBehind calls visit for the actors behind a place in the tree, or for all, until it returns false. Then it
	// returns the place of that actor. It takes no longer for what it does not visit.
	ActorsBehind func(place []string, visit func(state.Actor) bool) (at []string)

	Sessions func() iter.Seq[state.Session]
	Shards   func() iter.Seq[state.Shard]
	Tasks    func() []state.Task
	// Indexes are those of all databases, in any order, as this node has read them last, without Task, Nodes and
	// Failures. It reads a few of them, and does not wait long for the store.
	Indexes func(ctx context.Context) (iter.Seq[state.Index], Known)
	// IndexesOf reads those of one database, of which there may be none.
	IndexesOf func(ctx context.Context, database string) ([]state.Index, error)
	// Index reads one of them anew. It may return the row itself if the index was deleted a moment ago.
	Index func(ctx context.Context, row state.Index) (state.Index, error)
	// FailedBuilds are the jobs of a database, or of all, that build indexes and have failed.
	FailedBuilds func(ctx context.Context, database string) iter.Seq2[state.Job, error]
	// Jobs are the jobs in the store that are not finished, and Databases the names of the databases there.
	Jobs func(ctx context.Context) iter.Seq2[state.Job, error]
	// Replications are those of all nodes, also those that have ended whose documents are there. missing says why some
	// of these are not listed, or is empty.
	Replications func(ctx context.Context) (list iter.Seq[state.Replication], missing string, err error)
	Databases    func(ctx context.Context) iter.Seq2[string, error]
	// Database is what the store knows about a database. Without whole, Indexes is nil, which is cheaper.
	Database func(ctx context.Context, name string, whole bool) (state.Database, error)
	// Version reads the version of a database, and InConflict counts its documents that are in conflict.
	Version    func(ctx context.Context, name string) (Version, error)
	InConflict func(ctx context.Context, name string) (int64, error)
	// Storage, Scripts and Settings are those of this node. P50 and P99, and Changed and Nodes, are not set.
	Storage  func(ctx context.Context) state.Storage
	Scripts  func() state.Scripts
	Settings func() []state.Setting
	// Cluster is what FoundationDB says about itself; it may be nil with other engines.
	Cluster func(ctx context.Context) (*state.StoreCluster, error)
	// Used calls visit for each database that this node has in memory, with what it has done there since it started.
	Used func(visit func(name string, done Use))
}

// Known is how much of the databases a node has read: how many there are, how many of them it has not read since it
// started, whether it has read their names, how often it reads each, and whether there are more indexes than it
// remembers.
type Known struct {
	Databases, Unread int
	Named             bool
	Every             time.Duration
	Full              bool
}

// Use is what was done in a database: documents written, edits refused, documents read, rows of feeds.
type Use struct{ Writes, Refused, Reads, Feed int64 }

// rates returns the rates per second between two readings.
func (u Use) rates(before Use, passed time.Duration) Rates {
	per := func(now, before int64) float64 { return float64(max(0, now-before)) / passed.Seconds() }
	return Rates{Writes: per(u.Writes, before.Writes), Refused: per(u.Refused, before.Refused),
		Reads: per(u.Reads, before.Reads), Feed: per(u.Feed, before.Feed)}
}

// Rates are a Use per second.
type Rates struct {
	Writes  float64 `json:"w,omitempty"`
	Refused float64 `json:"x,omitempty"`
	Reads   float64 `json:"r,omitempty"`
	Feed    float64 `json:"f,omitempty"`
	// Written is how many documents were written since the node started, or 0 if none were lately: with another value
	// than before, there have been writes since.
	Written int64 `json:"n,omitempty"`
}

func (r Rates) sum() float64 { return r.Writes + r.Refused + r.Reads + r.Feed }

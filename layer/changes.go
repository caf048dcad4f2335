package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/kv"
)

// ChangesOptions of Changes.
type ChangesOptions struct {
	Since Seq
	// Until, where not zero, ends the pass after that sequence.
	Until Seq
	// Shard restricts the pass to one shard, also a replaced one (P5). NotFound where it never existed.
	Shard       ShardID
	Descending  bool
	Limit       int // < 0 is none
	IncludeDocs bool
	Conflicts   bool
	AllLeaves   bool // style=all_docs: Leaves of every row; no extra read where BranchCount is 1 (C5)
	// Match, where not nil, is asked before a row's body or leaves are read; the rows it refuses are not yielded but advance LastSeq.
	Match func(c *Change) bool
}

// Change is one entry of the feed.
type Change struct {
	Seq     Seq
	Shard   ShardID
	ID      string
	Rev     Rev // winner
	Deleted bool
	Leaves  []Rev     // winner first
	Doc     *Document // IncludeDocs
}

// ChangesPass is one reading of the feed up to the present. Rows are valid until the next one.
type ChangesPass struct {
	Rows iter.Seq2[Change, error] // once
	// LastSeq, after Rows ended: where the next pass goes on. Never before the last row, and at the read version's end for a pass that was not cut by Limit.
	LastSeq func() Seq
	// Pending, after Rows ended: how many entries are left behind a Limit; 0 where the end was reached.
	Pending func(ctx context.Context) (int64, error)
	// Resharded, after Rows ended: the newer map where Shard was replaced and its end has been reached (P5), else nil.
	Resharded func() *ShardMap
}

// Changes opens one pass over the feed: the merged shards in total order (P6), or one Shard. At one snapshot where the engine holds one, otherwise
// stitched from several transactions (C6).
func (d *Database) Changes(ctx context.Context, o ChangesOptions) (*ChangesPass, error) {
	panic("unwritten")
}

// LastSeq is the newest sequence of the database (since=now).
func (d *Database) LastSeq(ctx context.Context) (Seq, error) { panic("unwritten") }

// WatchShard arms a watch on the shard's wake key (C7). It fires after the next commit of an entry in the shard, after a reshard and after the deletion of
// the database. seen is the newest sequence at the moment the watch was armed: read from it on, then wait.
func (d *Database) WatchShard(ctx context.Context, shard ShardID) (w kv.Watch, seen Seq, err error) {
	panic("unwritten")
}

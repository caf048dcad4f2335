package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ChangesOptions of Changes.
type ChangesOptions struct {
	// Since: entries after it, also with Descending.
	Since Seq
	// Until, where not zero, ends the pass after that sequence.
	Until Seq
	// Shard restricts the pass to one shard, also a replaced one (P5). NotFound where it never existed.
	Shard       ShardID
	Descending  bool
	Limit       int // < 0 is none
	IncludeDocs bool
	Large       bool // with IncludeDocs: leave large bodies in the store: Doc.Large
	Conflicts   bool // with IncludeDocs: Doc.Conflicts
	AllLeaves   bool // style=all_docs: Leaves of every row; no extra read where BranchCount is 1 (C5)
	// IDs, where not nil, and Only narrow the pass to some documents (DesignOnly is the one subset that has a feed). Their entries are found by id and not by reading
	// the feed, which is what makes a pass over a large one cheap; Pending counts them alone.
	IDs  []string
	Only Subset
	// Match, where not nil, is asked before a row's body or leaves are read; the rows it refuses are not yielded but advance LastSeq.
	Match func(c *Change) bool
}

// Change is one entry of the feed.
type Change struct {
	Seq     Seq
	Shard   ShardID // "" in the deprecated subspace (P7)
	ID      string
	Rev     Rev // winner
	Deleted bool
	Leaves  []Rev     // winner first; with AllLeaves all, otherwise the winner alone
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
	// Shards are those that new entries go to, as of the pass's read version: what a reader who waits has to watch.
	Shards func() []ShardID
}

// Changes opens one pass over the feed: the merged shards in total order (P6), or one Shard. At one snapshot where the engine holds one, otherwise
// stitched from several transactions (C6). The snapshot ends with Rows, or with ctx where Rows is not used.
func (d *Database) Changes(ctx context.Context, o ChangesOptions) (*ChangesPass, error) {
	s, err := d.openStream(ctx)
	if err != nil {
		return nil, err
	}
	if o.Shard != "" && s.cfg.mapOf(o.Shard) < 0 {
		s.close()
		return nil, errNoShard(o.Shard)
	}
	if err := s.checkSince(o.Since); err != nil {
		s.close()
		return nil, err
	}
	s.leaveLarge = o.Large
	f := &feed{s: s, o: o, since: o.Since, until: o.Until, last: o.Since}
	return &ChangesPass{
		Rows: func(yield func(Change, error) bool) {
			defer s.close()
			f.yield = yield
			if err := f.run(); err != nil && !f.refused {
				yield(Change{}, err)
			}
		},
		LastSeq:   func() Seq { return f.last },
		Pending:   f.pending,
		Resharded: func() *ShardMap { return f.resharded },
		Shards:    func() []ShardID { return s.cfg.current().Shards },
	}, nil
}

func (s *stream) checkSince(since Seq) error {
	return s.try(func() error { return s.cfg.checkSince(s.r, s.keys, since) })
}

// feed is a pass under way.
type feed struct {
	s     *stream
	o     ChangesOptions
	yield func(Change, error) bool
	queue docPipe[feedPending]

	// What is still to be read: since < seq <= until.
	since, until Seq

	left    int // rows wanted, < 0: no limit
	scanned int64
	cut     bool // by Limit, or because nobody wanted more
	refused bool // the last row was the last that was wanted: no error can be told after it

	own rawKeys
	doc Document // of the row that is yielded

	last      Seq   // LastSeq
	passed    int64 // entries up to last
	total     int64 // entries in the feed, -1 where not asked
	resharded *ShardMap
}

// feedPending is a row and what it needs.
type feedPending struct {
	change  Change
	scanned int64
	needs   docNeeds
}

func (f *feed) run() error {
	f.left = f.o.Limit
	if f.left == 0 {
		f.cut = true
		return f.noteTotal()
	}
	f.queue = docPipe[feedPending]{s: f.s, emit: f.emit}
	if f.o.IncludeDocs || f.o.AllLeaves {
		f.queue.needs = func(p *feedPending) *docNeeds { return &p.needs }
	}
	// Match is the caller's, who may not expect it beside the rows.
	beside := f.o.IncludeDocs && f.o.Match == nil && (f.left < 0 || f.left > pipeFew)
	if f.o.IDs != nil || f.o.Only != Everything {
		return f.runChosen()
	}
	for {
		turn := 0
		more, err := f.queue.run(beside, func() (err error) {
			turn, err = f.read()
			return err
		})
		if err != nil {
			return err
		}
		if f.cut = f.cut || !more; f.cut {
			return f.noteTotal()
		}
		if turn == f.s.turn {
			return f.atEnd(readLastSeq(f.s.r, f.s.keys, f.s.cfg)())
		}
		// The last rows' bodies were read in a newer transaction: its newest sequence stands for entries that have not been read.
	}
}

// read walks the maps of shards one after the other: all entries of a map are older than those of the next. turn is the stream's, in which the end
// was reached.
func (f *feed) read() (turn int, err error) {
	var patience kv.Patience
	for {
		turn, since, until := f.s.turn, f.since, f.until
		err := f.readMaps()
		if since != f.since || until != f.until {
			patience.Progress()
		}
		switch {
		case err == nil && (f.cut || turn == f.s.turn):
			return turn, nil
		case err == nil: // the end is that of a transaction that is over
		case turn != f.s.turn && f.s.ctx.Err() == nil && (kv.Retryable(err) || kv.IsCode(err, kv.CodeCancelled)):
			// a body was read again in a new transaction, and the rows' own is gone
		default:
			if err := f.s.renew(patience.Tried(err)); err != nil {
				return turn, err
			}
		}
	}
}

func (f *feed) readMaps() error {
	if f.o.Shard != "" {
		_, err := f.readMap([]ShardID{f.o.Shard})
		return err
	}
	maps := f.s.cfg.mapsFrom(f.since)
	for i := range maps {
		m := &maps[i]
		if f.o.Descending {
			m = &maps[len(maps)-1-i]
		}
		if more, err := f.readMap(m.subspaces()); err != nil || !more {
			return err
		}
	}
	return nil
}

// readMap reads what is left in some shards.
func (f *feed) readMap(shards []ShardID) (more bool, err error) {
	m := openMerge(f.s.r, f.s.keys, shards, f.since, f.until, f.o.Descending)
	defer m.close()
	if err := m.start(); err != nil {
		return false, err
	}
	for c := m.least(); c != nil; c = m.least() {
		more, err := f.take(&c.next)
		if err != nil {
			return false, err
		}
		if f.o.Descending {
			f.until = before(c.next.seq)
		} else {
			f.since = c.next.seq
		}
		if !more {
			f.cut = true
			return false, nil
		}
		if f.s.old() {
			return false, kv.NewError(kv.CodeTooOld, "the transaction has been read for long enough", nil)
		}
		if err := c.advance(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// before is the last sequence before s.
func before(s Seq) Seq {
	for i := len(s.Stamp) - 1; i >= 0; i-- {
		s.Stamp[i]--
		if s.Stamp[i] != 0xff {
			break
		}
	}
	return s
}

// take queues an entry, or passes over it.
func (f *feed) take(e *entry) (more bool, err error) {
	f.scanned++
	p := feedPending{change: Change{Seq: e.seq, Shard: e.shard, ID: e.id, Rev: e.rev, Deleted: e.deleted}, scanned: f.scanned}
	if f.o.Match != nil && !f.o.Match(&p.change) {
		return true, nil
	}
	p.needs = docNeeds{id: e.id, rev: e.rev, wantsBody: f.o.IncludeDocs,
		wantsTree: e.branches > 1 && (f.o.AllLeaves || f.o.IncludeDocs && f.o.Conflicts)}
	if p.needs.wantsBody && e.raw != nil {
		p.needs.key = f.s.keys.bodyOf(&f.own, e.raw, nil)
	}
	if more, err = f.queue.push(&p); err != nil || !more {
		return more, err
	}
	if f.left > 0 {
		f.left--
	}
	return f.left != 0, nil
}

// emit yields a row that has what it needs.
func (f *feed) emit(p *feedPending) (more bool, err error) {
	c := &p.change
	if p.needs.found {
		f.doc = *p.needs.body.document(c.ID, c.Rev)
		c.Doc = &f.doc
	}
	var winner [1]Rev
	winner[0] = c.Rev
	c.Leaves = winner[:]
	if tree := p.needs.tree; tree != nil {
		if f.o.AllLeaves {
			for i := len(tree.leaves) - 2; i >= 0; i-- {
				c.Leaves = append(c.Leaves, tree.leaves[i].rev)
			}
		}
		if f.o.Conflicts && c.Doc != nil {
			c.Doc.Conflicts = tree.conflicts(false)
		}
	}
	f.last, f.passed = c.Seq, p.scanned
	f.refused = !f.yield(*c, nil)
	return !f.refused, nil
}

// atEnd notes what a pass that reached the end knows: the newest sequence at its read version, and whether its shard was replaced.
func (f *feed) atEnd(last Seq, err error) error {
	if f.o.Descending {
		return nil
	}
	if err != nil {
		if f.s.exact() || !kv.Retryable(err) {
			return err
		}
		return nil // the last row's sequence is right too
	}
	if !f.o.Until.IsZero() && f.o.Until.Compare(last) < 0 {
		last = f.o.Until
	}
	if last.Compare(f.last) > 0 {
		f.last = last
	}
	if f.o.Shard == "" {
		return nil
	}
	if i := f.s.cfg.mapOf(f.o.Shard); i+1 < len(f.s.cfg.maps) {
		next := f.s.cfg.maps[i+1].clone()
		if f.o.Until.IsZero() || f.o.Until.Compare(next.Since) >= 0 {
			f.resharded = &next
		}
	}
	return nil
}

// appendEntryValue encodes (SeqFormat, DocID, RevPosition, RevHash, BranchCount, NotDeleted) (C1).
func appendEntryValue(dst []byte, id string, r Rev, branches int64, deleted bool) []byte {
	dst = tuple.AppendInt(dst, keyspace.SeqFormat)
	dst = tuple.AppendString(dst, id)
	dst = appendRev(dst, r)
	dst = tuple.AppendInt(dst, branches)
	return tuple.AppendBool(dst, !deleted)
}

// entryOf is the entry that a winner has in the feed.
func (c *config) entryOf(id string, w *leafKV) entry {
	return entry{seq: w.seq, shard: c.shardAt(id, w.seq), id: id, rev: w.rev, branches: w.branches, deleted: w.deleted}
}

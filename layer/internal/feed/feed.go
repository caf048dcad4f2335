package feed

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ChangesOptions are the options of Changes.
type ChangesOptions struct {
	// Since selects the entries after it, also with Descending.
	Since db.Seq
	// Until, unless zero, ends the pass after that sequence.
	Until db.Seq
	// Shard restricts the pass to one shard, which may have been replaced (P5). Changes returns NotFound if it never
	// existed.
	Shard       db.ShardID
	Descending  bool
	Limit       int // no limit if negative
	IncludeDocs bool
	Large       bool // with IncludeDocs: large bodies stay in the store (Doc.Large)
	Conflicts   bool // with IncludeDocs: sets Doc.Conflicts
	AllLeaves   bool // style=all_docs: all Leaves of every row; no extra read if BranchCount is 1 (C5)
	InConflict  bool // sets Change.InConflict; no extra read if BranchCount is 1
	// Uncounted leaves the rows out of Counts: nobody has asked for them.
	Uncounted bool
	// IDs, unless nil, and Only restrict the pass to some documents (DesignOnly is the only subset that has a feed).
	// Their entries are found by id, without reading the feed, so that such a pass over a large feed is cheap. Pending
	// counts only these documents.
	IDs  []string
	Only db.Subset
	// Match, unless nil, is called before a row's body or leaves are read. Rows for which it returns false are not
	// yielded, but advance LastSeq.
	Match func(c *Change) bool
}

// Change is one entry of the feed.
type Change struct {
	Seq     db.Seq
	Shard   db.ShardID // "" in the deprecated subspace (P7)
	ID      string
	Rev     db.Rev // the winner
	Deleted bool
	Leaves  []db.Rev      // the winner first; only the winner without AllLeaves
	Doc     *rev.Document // set with IncludeDocs
	// InConflict, with the option, is whether the document is there and has another leaf that is not deleted.
	InConflict bool
}

// ChangesPass reads the feed once, up to the present. A row is valid until the next one.
type ChangesPass struct {
	Rows iter.Seq2[Change, error] // can be used once
	// LastSeq, after Rows has ended, returns the sequence from which the next pass continues. It is not before the last
	// row. If Limit did not end the pass, it is the last sequence at the read version.
	LastSeq func() db.Seq
	// Pending, after Rows has ended, returns how many entries are left after a Limit; 0 if the end was reached.
	Pending func(ctx context.Context) (int64, error)
	// Resharded, after Rows has ended, returns the newer map if Shard was replaced and its end was reached (P5),
	// otherwise nil.
	Resharded func() *db.ShardMap
	// Shards returns the shards that get new entries, as of the pass's read version. A waiting reader watches these.
	Shards func() []db.ShardID
}

// Changes begins a pass over the feed: all shards merged in total order (P6), or one Shard. It reads one snapshot if
// the engine holds snapshots, and otherwise a sequence of transactions (C6). The snapshot is released when Rows ends,
// or with ctx if Rows is not used.
func (d Database) Changes(ctx context.Context, o ChangesOptions) (*ChangesPass, error) {
	s, err := rev.OpenStream(ctx, d.Database)
	if err != nil {
		return nil, err
	}
	if o.Shard != "" && s.Cfg.MapOf(o.Shard) < 0 {
		s.Close()
		return nil, db.ErrNoShard(o.Shard)
	}
	if err := CheckSince(s, o.Since); err != nil {
		s.Close()
		return nil, err
	}
	s.LeaveLarge = o.Large
	f := &Feed{S: s, O: o, Since: o.Since, until: o.Until, Last: o.Since}
	return &ChangesPass{
		Rows: func(yield func(Change, error) bool) {
			defer s.Close()
			f.Yield = yield
			defer f.count()
			if err := f.Run(); err != nil && !f.refused {
				yield(Change{}, err)
			}
		},
		LastSeq:   func() db.Seq { return f.Last },
		Pending:   f.pending,
		Resharded: func() *db.ShardMap { return f.resharded },
		Shards:    func() []db.ShardID { return s.Cfg.Current().Shards },
	}, nil
}

// CheckSince returns Invalid if the database has not reached the sequence.
func CheckSince(s *rev.Stream, since db.Seq) error {
	if since.IsZero() {
		return nil
	}
	return s.Begin(func() error {
		last, err := s.LastSeq()
		if err != nil {
			return err
		}
		return db.CheckSince(since, last)
	})
}

// countEvery is how many rows are yielded before they are counted, so that the counts of a long pass grow evenly.
const countEvery = 1000

// Feed is a pass in progress.
type Feed struct {
	S     *rev.Stream
	O     ChangesOptions
	Yield func(Change, error) bool
	queue rev.DocPipe[feedPending]
	next  feedPending // the row that is pushed, here so that it need not be allocated

	// The range still to be read: since < seq <= until.
	Since, until db.Seq

	left      int   // rows to yield; no limit if negative
	yielded   int   // rows so far
	uncounted int64 // rows that were yielded and are not in the database's counts
	scanned   int64
	cut       bool // ended by Limit or by the consumer
	refused   bool // the consumer has stopped, so that no error can be reported

	own db.RawKeys
	doc rev.Document // document of the current row

	Last   db.Seq // as returned by LastSeq
	passed int64  // entries up to Last
	total  int64  // entries in the feed, -1 if unknown
	// of the stream at the beginning
	exact     bool
	turn      int
	resharded *db.ShardMap
}

// feedPending is a row, with what has to be read for it.
type feedPending struct {
	change  Change
	scanned int64
	needs   rev.DocNeeds
}

// Run reads the feed and yields its rows. If the connection to the store breaks, it continues after the last row.
func (f *Feed) Run() error {
	f.exact, f.turn = f.S.Exact(), f.S.Turn
	for f.left = f.O.Limit; ; {
		err := f.run()
		if err == nil {
			return nil
		}
		if err := f.S.Resume(err); err != nil {
			return err
		}
		f.cut, f.scanned = false, f.passed
		f.Since, f.until = f.O.Since, f.O.Until
		if f.left = f.O.Limit; f.left > 0 {
			f.left -= f.yielded
		}
		switch {
		case f.yielded == 0:
		case f.O.Descending:
			f.until = before(f.Last)
		default:
			f.Since = f.Last
		}
	}
}

func (f *Feed) run() error {
	if f.left == 0 {
		f.cut = true
		return f.noteTotal()
	}
	f.queue = rev.DocPipe[feedPending]{S: f.S, Emit: f.emit}
	if f.O.IncludeDocs || f.O.AllLeaves || f.O.InConflict {
		f.queue.Needs = func(p *feedPending) *rev.DocNeeds { return &p.needs }
	}
	// The caller may not expect Match to run concurrently with the consumer of rows.
	beside := f.O.IncludeDocs && f.O.Match == nil && (f.left < 0 || f.left > rev.PipeFew)
	if f.O.IDs != nil || f.O.Only != db.Everything {
		return f.runChosen()
	}
	for {
		turn := 0
		more, err := f.queue.Run(beside, func() (err error) {
			turn, err = f.read()
			return err
		})
		if err != nil {
			return err
		}
		if f.cut = f.cut || !more; f.cut {
			return f.noteTotal()
		}
		if turn == f.S.Turn {
			return f.atEnd(f.S.LastSeq())
		}
		// The bodies of the last rows were read in a newer transaction, whose newest sequence includes entries that
		// have not been read.
	}
}

// read reads the maps of shards one after the other: all entries of a map are older than those of the next one. It
// returns the stream's turn in which it reached the end.
func (f *Feed) read() (turn int, err error) {
	var patience kv.Patience
	for {
		turn, since, until := f.S.Turn, f.Since, f.until
		err := f.readMaps()
		if since != f.Since || until != f.until {
			patience.Progress()
		}
		switch {
		case err == nil && (f.cut || turn == f.S.Turn):
			return turn, nil
		case err == nil: // the end was reached in a transaction that has ended since
		case turn != f.S.Turn && f.S.Ctx.Err() == nil && (kv.Retryable(err) || kv.IsCode(err, kv.CodeCancelled)):
			// a body was read in a new transaction, and the one that read rows has ended
		default:
			if err := f.S.Renew(patience.Tried(err)); err != nil {
				return turn, err
			}
		}
	}
}

func (f *Feed) readMaps() error {
	if f.O.Shard != "" {
		_, err := f.readMap([]db.ShardID{f.O.Shard})
		return err
	}
	maps := f.S.Cfg.MapsFrom(f.Since)
	for i := range maps {
		m := &maps[i]
		if f.O.Descending {
			m = &maps[len(maps)-1-i]
		}
		if more, err := f.readMap(m.Subspaces()); err != nil || !more {
			return err
		}
	}
	return nil
}

// readMap reads the rest of the given shards.
func (f *Feed) readMap(shards []db.ShardID) (more bool, err error) {
	m := openMerge(f.S.R, f.S.Keys, shards, f.Since, f.until, f.O.Descending)
	defer m.close()
	if err := m.start(); err != nil {
		return false, err
	}
	for c := m.least(); c != nil; c = m.least() {
		more, err := f.take(&c.next)
		if err != nil {
			return false, err
		}
		if f.O.Descending {
			f.until = before(c.next.Seq)
		} else {
			f.Since = c.next.Seq
		}
		if !more {
			f.cut = true
			return false, nil
		}
		if f.S.Old() {
			return false, kv.NewError(kv.CodeTooOld, "the transaction has been used for long enough", nil)
		}
		if err := c.advance(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// before returns the last sequence before s.
func before(s db.Seq) db.Seq {
	for i := len(s.Stamp) - 1; i >= 0; i-- {
		s.Stamp[i]--
		if s.Stamp[i] != 0xff {
			break
		}
	}
	return s
}

// take queues an entry, unless Match rejects it.
func (f *Feed) take(e *Entry) (more bool, err error) {
	f.scanned++
	p := &f.next
	*p = feedPending{change: Change{Seq: e.Seq, Shard: e.Shard, ID: e.Id, Rev: e.Rev, Deleted: e.Deleted},
		scanned: f.scanned}
	if f.O.Match != nil && !f.O.Match(&p.change) {
		return true, nil
	}
	p.needs = rev.DocNeeds{Id: e.Id, Rev: e.Rev, WantsBody: f.O.IncludeDocs,
		WantsTree: e.Branches > 1 && (f.O.AllLeaves || f.O.InConflict || f.O.IncludeDocs && f.O.Conflicts)}
	if p.needs.WantsBody && e.raw != nil {
		p.needs.Key = f.S.Keys.BodyOf(&f.own, e.raw, nil)
	}
	if more, err = f.queue.Push(p); err != nil || !more {
		return more, err
	}
	if f.left > 0 {
		f.left--
	}
	return f.left != 0, nil
}

// emit yields a row whose reads are complete.
func (f *Feed) emit(p *feedPending) (more bool, err error) {
	c := &p.change
	if p.needs.Found {
		f.doc = *p.needs.Body.Document(c.ID, c.Rev)
		c.Doc = &f.doc
	}
	var winner [1]db.Rev
	winner[0] = c.Rev
	c.Leaves = winner[:]
	if tree := p.needs.Tree; tree != nil {
		if f.O.AllLeaves {
			for i := len(tree.Leaves) - 2; i >= 0; i-- {
				c.Leaves = append(c.Leaves, tree.Leaves[i].Rev)
			}
		}
		if f.O.Conflicts && c.Doc != nil {
			c.Doc.Conflicts = tree.Conflicts(false)
		}
	}
	c.InConflict = f.O.InConflict && !c.Deleted && p.needs.Tree != nil && len(p.needs.Tree.Conflicts(false)) > 0
	f.Last, f.passed = c.Seq, p.scanned
	if f.uncounted++; f.uncounted == countEvery {
		f.count()
	}
	f.yielded++
	f.refused = !f.Yield(*c, nil)
	return !f.refused, nil
}

// count counts the rows that were yielded since the last call.
func (f *Feed) count() {
	if !f.O.Uncounted {
		f.S.D.Count(func(c *db.Counts) { c.Changes.Add(f.uncounted) })
	}
	f.uncounted = 0
}

// atEnd records the results of a pass that has reached the end: the newest sequence at its read version, and whether
// its shard has been replaced.
func (f *Feed) atEnd(last db.Seq, err error) error {
	if f.O.Descending {
		return nil
	}
	if err != nil {
		if f.S.Exact() || !kv.Retryable(err) {
			return err
		}
		return nil // the sequence of the last row is correct too
	}
	if !f.O.Until.IsZero() && f.O.Until.Compare(last) < 0 {
		last = f.O.Until
	}
	if last.Compare(f.Last) > 0 {
		f.Last = last
	}
	if f.O.Shard == "" {
		return nil
	}
	if i := f.S.Cfg.MapOf(f.O.Shard); i+1 < len(f.S.Cfg.Maps) {
		next := f.S.Cfg.Maps[i+1].Clone()
		if f.O.Until.IsZero() || f.O.Until.Compare(next.Since) >= 0 {
			f.resharded = &next
		}
	}
	return nil
}

// AppendEntryValue encodes (SeqFormat, DocID, RevPosition, RevHash, BranchCount, NotDeleted) (C1).
func AppendEntryValue(dst []byte, id string, r db.Rev, branches int64, deleted bool) []byte {
	dst = tuple.AppendInt(dst, keyspace.SeqFormat)
	dst = tuple.AppendString(dst, id)
	dst = db.AppendRev(dst, r)
	dst = tuple.AppendInt(dst, branches)
	return tuple.AppendBool(dst, !deleted)
}

// EntryOf returns a winner's entry in the feed.
func EntryOf(c *db.Config, id string, w *rev.LeafKV) Entry {
	return Entry{Seq: w.Seq, Shard: c.ShardAt(id, w.Seq), Id: id, Rev: w.Rev, Branches: w.Branches, Deleted: w.Deleted}
}

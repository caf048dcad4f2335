package feed

import (
	"cmp"
	"math"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// feedSpan is a range of entries of a shard, since < seq <= until. A zero until means the end.
type feedSpan struct {
	shard        db.ShardID
	since, until db.Seq
}

// countSpans counts the entries of spans: closed ones by the counts, others by reading them.
func countSpans(s *rev.Stream, spans []feedSpan) (n int64, err error) {
	var open []feedSpan
	// All at one version.
	err = s.Try(func() error {
		marks, err := ReadFeedMarks(s.R, s.Keys)()
		if err == nil {
			n, open, err = countClosed(s, spans, marks)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	rest, err := countOpen(s, open)
	return n + rest, err
}

// countClosed counts the closed entries of spans at the stream's version, and returns the parts that are not closed.
func countClosed(s *rev.Stream, spans []feedSpan, marks map[db.ShardID][]Mark) (n int64, open []feedSpan, err error) {
	ranks, open := StateOf(s.D.Store).Shape.divide(spans, marks)
	n, err = countRanks(s.R, s.Keys, ranks)
	return n, open, err
}

// countOpen counts the entries of spans by reading them. If there are many, it asks for a closing.
func countOpen(s *rev.Stream, open []feedSpan) (n int64, err error) {
	for _, o := range open {
		in := EntryRange(s.Keys, o.shard, o.since, o.until)
		err := s.Scan(in, kv.RangeOptions{Mode: kv.ModeWantAll}, func(kv.KeyValue) (bool, error) {
			n++
			return true, nil
		})
		if err != nil {
			return n, err
		}
	}
	if n > int64(2*closingBatch+DefaultShape.Least*len(open)) {
		StateOf(s.D.Store).Closings.ask(s.D)
	}
	return n, nil
}

// divide divides spans into ranks, which add up to the number of closed entries, and open spans.
func (f *Shape) divide(spans []feedSpan, marks map[db.ShardID][]Mark) (ranks []feedRank, open []feedSpan) {
	for _, s := range spans {
		at, over := s.since, false
		if !s.until.IsZero() && s.until.Compare(at) <= 0 {
			continue
		}
		for _, m := range marks[s.shard] {
			begin, end := db.Seq{Incarnation: m.Incarnation}, f.Before(m.Incarnation, m.Closed)
			if at.Compare(end) >= 0 {
				continue
			}
			if !s.until.IsZero() && s.until.Compare(begin) <= 0 {
				break
			}
			if at.Compare(begin) < 0 {
				open = append(open, feedSpan{s.shard, at, begin})
				at = begin
			}
			if at != begin {
				ranks = append(ranks, feedRank{shape: f, mark: m, at: at, sign: -1})
			}
			if over = !s.until.IsZero() && s.until.Compare(end) < 0; over {
				ranks = append(ranks, feedRank{shape: f, mark: m, at: s.until, sign: 1})
				break
			}
			ranks = append(ranks, feedRank{shape: f, mark: m, at: end, sign: 1})
			at = end
		}
		if !over && (s.until.IsZero() || at.Compare(s.until) < 0) {
			open = append(open, feedSpan{s.shard, at, s.until})
		}
	}
	return ranks, open
}

// feedRank is the number of an incarnation's entries at or before a sequence. All of these must be closed.
type feedRank struct {
	shape *Shape
	mark  Mark
	at    db.Seq
	sign  int64

	leaf uint64 // contains the sequence
	// The blocks before the sequence, and on higher levels also the block that contains it.
	rows [FeedLevels]kv.RangeIterator
	n    int64
	rest kv.RangeIterator // entries up to the sequence that are not covered by rows
}

// countRanks adds up ranks. Their reads run concurrently.
func countRanks(r kv.Reader, keys db.Space, ranks []feedRank) (n int64, err error) {
	for i := range ranks {
		ranks[i].start(r, keys)
	}
	for i := range ranks {
		if failed := ranks[i].addBlocks(r, keys); err == nil {
			err = failed
		}
	}
	for i := range ranks {
		if failed := ranks[i].addRest(); err == nil {
			err = failed
		}
		n += ranks[i].sign * ranks[i].n
	}
	return n, err
}

// start reads the rows of blocks. Some of them may turn out to be unnecessary.
func (f *feedRank) start(r kv.Reader, keys db.Space) {
	m := &f.mark
	if f.leaf = f.shape.Leaf(f.at); f.atEnd() {
		f.leaf = m.Closed
	}
	for level := range FeedLevels {
		from, to := uint64(0), f.shape.In(level, f.leaf)
		if level+1 < FeedLevels {
			from = f.shape.First(1, f.shape.In(level+1, f.leaf))
		}
		if level > 0 {
			to++
		}
		f.rows[level] = r.GetRange(CountRange(keys, level, m.Shard, m.Incarnation, from, to),
			kv.RangeOptions{Mode: kv.ModeWantAll})
	}
}

// atEnd reports whether the sequence is the last closed one.
func (f *feedRank) atEnd() bool { return f.at == f.shape.Before(f.mark.Incarnation, f.mark.Closed) }

// addBlocks adds up the blocks before the sequence, and starts reading the entries between these and the sequence.
func (f *feedRank) addBlocks(r kv.Reader, keys db.Space) error {
	m := &f.mark
	var err error
	rest := f.leaf
	level := FeedLevels - 1
	for ; level >= 0; level-- {
		block, own := f.shape.In(level, f.leaf), int64(0)
		prefix := len(CountsPrefix(keys, nil, level, m.Shard, m.Incarnation))
		err = EachBlock(f.rows[level], prefix, func(b BlockCount) bool {
			if b.block < block {
				f.n += b.N
			} else {
				own = b.N
			}
			return true
		})
		if err != nil {
			break
		}
		if closed := f.shape.First(level, block+1); level > 0 && closed <= m.Closed && own <= f.shape.Sparse {
			rest = f.shape.First(level, block)
			break
		}
	}
	for level--; level >= 0; level-- {
		f.rows[level].Close()
	}
	if err == nil && (rest < f.leaf || !f.atEnd()) {
		f.rest = r.GetRange(EntryRange(keys, m.Shard, f.shape.Before(m.Incarnation, rest), f.at),
			kv.RangeOptions{Mode: kv.ModeWantAll})
	}
	return err
}

// addRest counts the remaining entries.
func (f *feedRank) addRest() error {
	if f.rest == nil {
		return nil
	}
	defer f.rest.Close()
	for f.rest.Next() {
		f.n++
	}
	return f.rest.Err()
}

// countFeed returns how many entries the whole feed has after a sequence.
func countFeed(s *rev.Stream, since db.Seq) (n int64, err error) {
	var total int64
	var open []feedSpan
	fromEnd := false
	// All at one version.
	err = s.Try(func() error {
		newest, marks := db.ReadLastSeq(s.R, s.Keys, s.Cfg), ReadFeedMarks(s.R, s.Keys)
		counts, err := db.CountersOf(s.R, s.Keys, db.CounterDocs, db.CounterDeleted)
		known, failed := marks()
		last, failedToo := newest()
		if err = cmp.Or(err, failed, failedToo); err != nil {
			return err
		}
		total = counts[0] + counts[1]
		before, behind := spansBefore(s.Cfg, since), spansBehind(s.Cfg, since)
		fromEnd = openVersions(s, behind, known, last) < openVersions(s, before, known, last)
		if fromEnd {
			n, open, err = countClosed(s, behind, known)
		} else {
			n, open, err = countClosed(s, before, known)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	rest, err := countOpen(s, open)
	// The feed has one entry for each document.
	if n += rest; !fromEnd {
		n = max(0, total-n)
	}
	return n, err
}

// spansBehind returns the spans of the entries after a sequence, in the shards of all maps from the one active at the
// sequence. spansBefore returns those of all other entries.
func spansBehind(c *db.Config, since db.Seq) (spans []feedSpan) {
	for _, m := range c.MapsFrom(since) {
		for _, id := range m.Subspaces() {
			spans = append(spans, feedSpan{shard: id, since: since})
		}
	}
	return spans
}

func spansBefore(c *db.Config, since db.Seq) (spans []feedSpan) {
	if since.IsZero() {
		return nil
	}
	for i := range c.Maps {
		m := &c.Maps[i]
		if i > 0 && m.Since.Compare(since) >= 0 {
			break
		}
		until := since
		if i+1 < len(c.Maps) && c.Maps[i+1].Since.Compare(since) < 0 {
			until = c.Maps[i+1].Since
		}
		for _, id := range m.Subspaces() {
			spans = append(spans, feedSpan{shard: id, until: until})
		}
	}
	return spans
}

// openVersions returns over how many versions entries of the spans have to be read, as an estimate of the cost.
func openVersions(s *rev.Stream, spans []feedSpan, marks map[db.ShardID][]Mark, last db.Seq) (n uint64) {
	created := db.Seq{Incarnation: s.Cfg.Incarnation} // nothing in this incarnation is older than the database
	copy(created.Stamp[:], s.Core.Created[:])
	_, open := StateOf(s.D.Store).Shape.divide(spans, marks)
	for _, o := range open {
		if o.until.IsZero() {
			o.until = last
		}
		if o.since.Compare(created) < 0 && o.until.Compare(created) > 0 {
			o.since = created
		}
		switch {
		case o.since.Compare(o.until) >= 0:
		case o.since.Incarnation != o.until.Incarnation:
			return math.MaxUint64
		default:
			n = max(n, uint64(o.until.Version()-o.since.Version()))
		}
	}
	return n
}

package layer

import (
	"cmp"
	"math"

	"github.com/divandb/divan/layer/kv"
)

// feedSpan is the entries of a shard with since < seq <= until; until zero is the end.
type feedSpan struct {
	shard        ShardID
	since, until Seq
}

// countSpans counts entries of some spans in a shard each: from the counts what is closed, and the rest by reading it.
func (s *stream) countSpans(spans []feedSpan) (n int64, err error) {
	var open []feedSpan
	err = s.try(func() error { // at one version
		marks, err := readFeedMarks(s.r, s.keys)()
		if err == nil {
			n, open, err = s.countClosed(spans, marks)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	rest, err := s.countOpen(open)
	return n + rest, err
}

// countClosed counts what is closed of spans, at the stream's version, and returns what is not.
func (s *stream) countClosed(spans []feedSpan, marks map[ShardID][]feedMark) (n int64, open []feedSpan, err error) {
	ranks, open := feedOf(s.d.store).shape.divide(spans, marks)
	n, err = countRanks(s.r, s.keys, ranks)
	return n, open, err
}

// countOpen counts the entries of spans by reading them, and has the counts brought up where that are many.
func (s *stream) countOpen(open []feedSpan) (n int64, err error) {
	for _, o := range open {
		in := entryRange(s.keys, o.shard, o.since, o.until)
		err := s.scan(in, kv.RangeOptions{Mode: kv.ModeWantAll}, func(kv.KeyValue) (bool, error) {
			n++
			return true, nil
		})
		if err != nil {
			return n, err
		}
	}
	if n > int64(2*closingBatch+defaultShape.least*len(open)) {
		feedOf(s.d.store).closings.ask(s.d)
	}
	return n, nil
}

// divide finds out which entries the counts tell of: the ranks add up to their number. The others are open.
func (f *feedShape) divide(spans []feedSpan, marks map[ShardID][]feedMark) (ranks []feedRank, open []feedSpan) {
	for _, s := range spans {
		at, over := s.since, false
		if !s.until.IsZero() && s.until.Compare(at) <= 0 {
			continue
		}
		for _, m := range marks[s.shard] {
			begin, end := Seq{Incarnation: m.incarnation}, f.before(m.incarnation, m.closed)
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

// feedRank is how many entries of an incarnation are at or before a sequence up to which they are closed.
type feedRank struct {
	shape *feedShape
	mark  feedMark
	at    Seq
	sign  int64

	leaf uint64                       // that the sequence is in
	rows [feedLevels]kv.RangeIterator // of the blocks before, and of those of the higher levels that have the leaf
	n    int64
	rest kv.RangeIterator // entries up to the sequence that no row tells of
}

// countRanks adds up ranks. Their reads are under way together.
func countRanks(r kv.Reader, keys space, ranks []feedRank) (n int64, err error) {
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

// start asks for the rows that are needed, and for some that may not be.
func (f *feedRank) start(r kv.Reader, keys space) {
	m := &f.mark
	if f.leaf = f.shape.leaf(f.at); f.atEnd() {
		f.leaf = m.closed
	}
	for level := range feedLevels {
		from, to := uint64(0), f.shape.in(level, f.leaf)
		if level+1 < feedLevels {
			from = f.shape.first(1, f.shape.in(level+1, f.leaf))
		}
		if level > 0 {
			to++
		}
		f.rows[level] = r.GetRange(keys.feedCountRange(level, m.shard, m.incarnation, from, to),
			kv.RangeOptions{Mode: kv.ModeWantAll})
	}
}

// atEnd reports whether the sequence is the last one that is closed.
func (f *feedRank) atEnd() bool { return f.at == f.shape.before(f.mark.incarnation, f.mark.closed) }

// addBlocks adds up the blocks before the sequence, and asks for the entries between them and the sequence.
func (f *feedRank) addBlocks(r kv.Reader, keys space) error {
	m := &f.mark
	var err error
	rest := f.leaf
	level := feedLevels - 1
	for ; level >= 0; level-- {
		block, own := f.shape.in(level, f.leaf), int64(0)
		prefix := len(keys.feedCounts(nil, level, m.shard, m.incarnation))
		err = eachBlock(f.rows[level], prefix, func(b blockCount) bool {
			if b.block < block {
				f.n += b.n
			} else {
				own = b.n
			}
			return true
		})
		if err != nil {
			break
		}
		if closed := f.shape.first(level, block+1); level > 0 && closed <= m.closed && own <= f.shape.sparse {
			rest = f.shape.first(level, block)
			break
		}
	}
	for level--; level >= 0; level-- {
		f.rows[level].Close()
	}
	if err == nil && (rest < f.leaf || !f.atEnd()) {
		f.rest = r.GetRange(entryRange(keys, m.shard, f.shape.before(m.incarnation, rest), f.at),
			kv.RangeOptions{Mode: kv.ModeWantAll})
	}
	return err
}

// addRest counts the entries that are left.
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

// countFeed is how many entries the whole feed has behind a sequence.
func (s *stream) countFeed(since Seq) (n int64, err error) {
	var total int64
	var open []feedSpan
	fromEnd := false
	err = s.try(func() error { // at one version
		newest, marks := readLastSeq(s.r, s.keys, s.cfg), readFeedMarks(s.r, s.keys)
		counts, err := countersOf(s.r, s.keys, counterDocs, counterDeleted)
		known, failed := marks()
		last, failedToo := newest()
		if err = cmp.Or(err, failed, failedToo); err != nil {
			return err
		}
		total = counts[0] + counts[1]
		before, behind := s.cfg.spansBefore(since), s.cfg.spansBehind(since)
		fromEnd = s.openVersions(behind, known, last) < s.openVersions(before, known, last)
		if fromEnd {
			n, open, err = s.countClosed(behind, known)
		} else {
			n, open, err = s.countClosed(before, known)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	rest, err := s.countOpen(open)
	if n += rest; !fromEnd { // there is one entry for each document
		n = max(0, total-n)
	}
	return n, err
}

// spansBehind are the entries behind a sequence, spansBefore the others. They are in the shards of the maps from the
// one active at the sequence on, and of those up to there.
func (c *config) spansBehind(since Seq) (spans []feedSpan) {
	for _, m := range c.mapsFrom(since) {
		for _, id := range m.subspaces() {
			spans = append(spans, feedSpan{shard: id, since: since})
		}
	}
	return spans
}

func (c *config) spansBefore(since Seq) (spans []feedSpan) {
	if since.IsZero() {
		return nil
	}
	for i := range c.maps {
		m := &c.maps[i]
		if i > 0 && m.Since.Compare(since) >= 0 {
			break
		}
		until := since
		if i+1 < len(c.maps) && c.maps[i+1].Since.Compare(since) < 0 {
			until = c.maps[i+1].Since
		}
		for _, id := range m.subspaces() {
			spans = append(spans, feedSpan{shard: id, until: until})
		}
	}
	return spans
}

// openVersions is for how many versions entries of spans have to be read: what that costs, roughly.
func (s *stream) openVersions(spans []feedSpan, marks map[ShardID][]feedMark, last Seq) (n uint64) {
	created := Seq{Incarnation: s.cfg.incarnation} // nothing of this incarnation is older than the database
	copy(created.Stamp[:], s.core.created[:])
	_, open := feedOf(s.d.store).shape.divide(spans, marks)
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
			n = max(n, version(o.until)-version(o.since))
		}
	}
	return n
}

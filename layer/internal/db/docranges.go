package db

import (
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The list of live documents can be divided into ranges of ids with a counter each (keyspace.DocCounts), so that it can
// be told how many documents come before an id. The ranges are in the configuration, which every writer knows and with
// whose changes it conflicts: a writer adds to the counter of the range that its document is in, without reading. The
// documents before the first range are not counted. Their number is what the others lack to the number of all
// documents. A database without ranges, as almost all are, costs its writers nothing. Package alldocs makes ranges.
//
// A new range is cut off an older one. From the commit that adds it to the configuration on, its counter has what is
// added and removed; the documents that were there already are still in the counter of the older range. Until they are
// moved from one counter to the other, the new range is unsettled, and only the sum of the two is right.

// DocRange is a range of the list of live documents that has a counter. It ends where the next one begins.
type DocRange struct {
	First  string // the lowest id; there need not be such a document
	Number int64  // at least 1, and never reused in the database
}

// setDocRange sets a row of Config "doc_ranges". key is the part after the name.
func (c *Config) setDocRange(key, value []byte) error {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return err
	}
	if format != keyspace.DocRangeFormat {
		return UnknownFormat("a range of the list of documents", format, keyspace.DocRangeFormat)
	}
	n, _, err := tuple.TakeInt(rest)
	if err != nil || len(key) == 0 {
		c.LastDocRange = n
		return err
	}
	first, _, err := tuple.TakeString(key)
	if c.docRangeAt == nil {
		c.docRangeAt = map[int64]int{}
	}
	c.docRangeAt[n] = len(c.DocRanges)
	c.DocRanges = append(c.DocRanges, DocRange{first, n}) // rows come in order
	return err
}

// DocRangeOf returns the index of the range that an id is in, or -1 if it is before the first one.
func (c *Config) DocRangeOf(id string) int {
	low, high := -1, len(c.DocRanges)
	for high-low > 1 {
		if middle := (low + high) / 2; c.DocRanges[middle].First <= id {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// DocRangeNumber returns the number of the range with an index, or 0 for -1.
func (c *Config) DocRangeNumber(i int) int64 {
	if i < 0 {
		return 0
	}
	return c.DocRanges[i].Number
}

// DocCount is (DocCounts, number).
func (s Space) DocCount(dst []byte, number int64) []byte {
	return tuple.AppendInt(s.Sub(dst, keyspace.DocCounts), number)
}

// DocCountFrom is (DocCounts, number, 1), the key that a range has while it is unsettled.
func (s Space) DocCountFrom(dst []byte, number int64) []byte {
	return tuple.AppendInt(s.DocCount(dst, number), 1)
}

// docRangeDeltas are how a transaction changes the counters of ranges.
type docRangeDeltas struct {
	at  int   // the index of one of them, usually the only one
	n   int64 // by how much that one changes
	all []int64
}

// CountLive changes the number of live documents: of the database, of the document's partition, and of the range of the
// list that it is in. Every transaction that adds a document to the list or removes one calls it.
func (t *Txn) CountLive(id string, n int64) {
	t.CountFor(id, CounterDocs, n)
	if len(t.Cfg.DocRanges) == 0 {
		return
	}
	i, d := t.Cfg.DocRangeOf(id), &t.docRanges
	switch {
	case i < 0:
	case d.n == 0 || d.at == i:
		d.at, d.n = i, d.n+n
	default:
		if d.all == nil {
			d.all = make([]int64, len(t.Cfg.DocRanges))
		}
		d.all[i] += n
	}
}

// finishDocRanges writes the counters of ranges, each once.
func (t *Txn) finishDocRanges() {
	d := &t.docRanges
	if d.all == nil {
		t.countRange(d.at, d.n)
		return
	}
	d.all[d.at] += d.n
	for i, n := range d.all {
		t.countRange(i, n)
	}
}

func (t *Txn) countRange(i int, n int64) {
	if n != 0 {
		t.Atomic(kv.AtomicAdd, t.Close(t.Keys.DocCount(t.Open(), t.Cfg.DocRanges[i].Number)), LittleEndian(n))
	}
}

// DocCounts are the counters of all ranges at one version. The place i is where the range with the index i begins, -1
// is the beginning of the list, and len(Config.DocRanges) its end.
type DocCounts struct {
	cfg    *Config
	keys   Space
	before []int64 // the number of documents before each place, from the place -1 on
	exact  []bool  // whether before is right; otherwise the place is within ranges of which only the sum is
	// Unsettled are the numbers of unsettled ranges, and Unknown those of counters without a range.
	Unsettled, Unknown []int64
}

// ReadDocCounts reads the counters of the ranges in cfg, which must be the configuration at r's version. total is the
// number of all live documents at that version. It reads one short range.
func ReadDocCounts(r kv.Reader, keys Space, cfg *Config, total int64) (*DocCounts, error) {
	k := len(cfg.DocRanges)
	c := &DocCounts{cfg: cfg, keys: keys, before: make([]int64, k+2), exact: make([]bool, k+2)}
	for i := range c.exact {
		c.exact[i] = true
	}
	c.before[k+1] = total
	prefix := keys.Sub(nil, keyspace.DocCounts)
	rows := GetRange(r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	counted := make([]int64, k)
	for rows.Next() {
		row := rows.KeyValue()
		number, rest, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return nil, Corrupt("counter of a range of documents", err)
		}
		i, known := cfg.docRangeAt[number]
		switch {
		case !known:
			c.Unknown = append(c.Unknown, number)
		case len(rest) == 0:
			counted[i] = CounterValue(row.Value)
		default:
			if err := c.unsettled(i, row.Value); err != nil {
				return nil, err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := k - 1; i >= 0; i-- {
		c.before[i+1] = c.before[i+2] - counted[i]
	}
	return c, nil
}

// unsettled notes that the range with the index i is unsettled. value has the number of the one that it was cut off.
func (c *DocCounts) unsettled(i int, value []byte) error {
	number, _, err := tuple.TakeInt(value)
	if err != nil {
		return Corrupt("counter of a range of documents", err)
	}
	from := -1
	if number > 0 {
		var known bool
		if from, known = c.cfg.docRangeAt[number]; !known {
			return fault.Errf(fault.Internal, "", "there is no range %d of documents", number)
		}
	}
	for place := from + 1; place <= i; place++ {
		c.exact[place+1] = false
	}
	c.Unsettled = append(c.Unsettled, c.cfg.DocRanges[i].Number)
	return nil
}

// Around returns the nearest places around the range with the index i whose ranks are known.
func (c *DocCounts) Around(i int) (low, high int) {
	for low = i; !c.exact[low+1]; {
		low--
	}
	for high = i + 1; !c.exact[high+1]; {
		high++
	}
	return low, high
}

// Before returns the number of documents before a place. It is right if Around returns the place, or would for another
// range.
func (c *DocCounts) Before(place int) int64 { return c.before[place+1] }

// Exact reports whether Before is right.
func (c *DocCounts) Exact(place int) bool { return c.exact[place+1] }

// Key returns the lowest key of the list that may follow a place.
func (c *DocCounts) Key(place int) []byte { return c.cfg.docRangeKey(c.keys, place) }

func (c *Config) docRangeKey(keys Space, place int) []byte {
	all := PrefixRange(keys.Sub(nil, keyspace.AllDocs))
	switch {
	case place < 0:
		return all.Begin
	case place == len(c.DocRanges):
		return all.End
	}
	return keys.Doc(nil, keyspace.AllDocs, c.DocRanges[place].First)
}

// DocRangeKeys returns the keys of the list in the range with a number.
func (c *Config) DocRangeKeys(keys Space, number int64) (kv.KeyRange, bool) {
	i, ok := c.docRangeAt[number]
	if !ok {
		return kv.KeyRange{}, false
	}
	return kv.KeyRange{Begin: c.docRangeKey(keys, i), End: c.docRangeKey(keys, i+1)}, true
}

package check

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// stored checks that the rows are listed in their documents' entries.
func (c *indexChecker) stored() error {
	for view := range c.rows {
		c.forgetMany()
		prefix := c.k.RowPrefix(view)
		err := c.walk(walk{
			in: db.PrefixRange(prefix), of: single(prefix), begin: c.begin,
			row: func(_ string, position []byte, _ kv.KeyValue) error {
				c.count(fmt.Sprint("stored ", view), 1)
				return c.row(view, position)
			},
			flush: func() error { return c.compareRows(view) },
			reset: func() error {
				c.stores = nil
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// viewCounter is a counter of a view.
type viewCounter struct {
	what keyspace.ViewInfoKey
	name string
	sum  string // the sum from entries or stored to compare it with
}

// viewCounters are the counters of each view.
var viewCounters = func() []viewCounter {
	list := []viewCounter{
		{keyspace.ViewRowCount, "rows", "stored"},
		{keyspace.ViewSize, "bytes", "size"},
		{keyspace.ViewErrorCount, "skipped documents", "errors"},
	}
	for i := range (index.StringCounts{}) {
		what, name := index.StringCounter(i)
		list = append(list, viewCounter{what, name, name})
	}
	return list
}()

// indexCounts are the counters of all views of an index, and the sequences that tell whether its rows have changed.
type indexCounts struct {
	seq, last db.Seq
	counters  []int64
}

func (c *indexChecker) counts() (is indexCounts, err error) {
	err = c.at(func() error {
		if err := c.begin(); err != nil {
			return err
		}
		var waits []func() (int64, error)
		for view := range c.rows {
			for _, counter := range viewCounters {
				waits = append(waits, c.k.ViewCounter(c.r, counter.what, view))
			}
		}
		is = indexCounts{seq: c.seq, last: c.last}
		for _, wait := range waits {
			n, err := wait()
			if err != nil {
				return err
			}
			is.counters = append(is.counters, n)
		}
		return nil
	})
	return is, err
}

// counters compares the counters of views with the sums from entries and stored. It does nothing if there were
// concurrent writes and no snapshot.
func (c *indexChecker) counters(before indexCounts) error {
	now, err := c.counts()
	if err != nil {
		return err
	}
	if c.skip || now.seq != before.seq || now.last != before.last || !slices.Equal(now.counters, before.counters) {
		return nil
	}
	for view := range c.rows {
		name := c.ix.Design().Views[view].Name
		sum := func(what string) int64 { return c.sums[fmt.Sprint(what, " ", view)] }
		if noted, rows := sum("rows"), sum("stored"); noted != rows {
			c.bad("", "the view %s has %d rows, but its entries list %d", name, rows, noted)
		}
		for i, counter := range viewCounters {
			if n, there := now.counters[view*len(viewCounters)+i], sum(counter.sum); n != there {
				c.bad("", "the view %s counts %d %s, but has %d", name, n, counter.name, there)
			}
		}
	}
	return c.settle()
}

// forgetSums discards the sums of the previous index.
func (c *indexChecker) forgetSums() {
	for view := range c.rows {
		delete(c.sums, fmt.Sprint("rows ", view))
		for _, counter := range viewCounters {
			delete(c.sums, fmt.Sprint(counter.sum, " ", view))
		}
	}
}

// failures checks that the documents listed as skipped are marked as failed in their entries.
func (c *indexChecker) failures() error {
	prefix := c.k.AppendRange(nil, keyspace.ViewErrors)
	return c.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(id string, rest []byte, row kv.KeyValue) error {
			view, _, err := tuple.TakeInt(rest)
			if err != nil {
				return db.Corrupt("error of a view", err)
			}
			if _, err := c.ix.ParseError(len(prefix), row); err != nil {
				c.bad(id, "the reason for skipping it cannot be read: %v", err)
			}
			value, err := c.r.Get(c.k.IdKey(id, int(view))).Wait()
			if err != nil {
				return err
			}
			if e, err := index.ParseViewEntry(value); value == nil || err == nil && !e.Failed {
				c.bad(id, "it is listed as skipped, but was not")
			}
			return nil
		},
	})
}

// rowLook is a row whose document's entry is being read.
type rowLook struct {
	id       string
	position []byte
	entry    kv.Future[[]byte] // shared by rows of the same document; nil if cached
}

// row starts looking up a row in its document's entry. compareRows compares them.
func (c *indexChecker) row(view int, position []byte) error {
	name, rest := c.ix.Design().Views[view].Name, position
	var err error
	if c.ix.Design().Partitioned {
		if rest, err = tuple.Skip(rest); err != nil {
			c.bad("", "a row of the view %s has no partition", name)
			return nil //nolint:nilerr // already reported
		}
	}
	id, err := index.SplitRowKey(rest)
	if err != nil {
		c.bad("", "a row of the view %s has no document", name)
		return nil //nolint:nilerr // already reported
	}
	l := rowLook{id: id, position: bytes.Clone(position)}
	if c.many[id] == nil {
		if i := slices.IndexFunc(c.stores, func(l rowLook) bool { return l.id == id }); i >= 0 {
			l.entry = c.stores[i].entry
		} else {
			l.entry = c.r.Get(c.k.IdKey(id, view))
		}
	}
	c.stores = append(c.stores, l)
	return nil
}

func (c *indexChecker) compareRows(view int) error {
	for i := range c.stores {
		noted, err := c.notes(view, &c.stores[i])
		if err != nil {
			return err
		}
		if !noted {
			c.bad(c.stores[i].id, "the view %s has a row that the document's entry does not list",
				c.ix.Design().Views[view].Name)
		}
	}
	c.stores = c.stores[:0]
	return nil
}

// notes reports whether a document's entry lists a row.
func (c *indexChecker) notes(view int, l *rowLook) (bool, error) {
	if known := c.many[l.id]; known != nil {
		return known[string(l.position)], nil
	}
	// It was cached, but has been evicted.
	if l.entry == nil {
		l.entry = c.r.Get(c.k.IdKey(l.id, view))
	}
	value, err := l.entry.Wait()
	if value == nil || err != nil {
		return false, err
	}
	had := index.DocRows{Entry: value}
	if err := had.Parse(&c.k, view, l.id); err != nil {
		return true, nil //nolint:nilerr // documents reports it
	}
	c.keepMany(l.id, had.Rows)
	return slices.ContainsFunc(had.Rows, func(r index.Emitted) bool { return bytes.Equal(r.Position, l.position) }), nil
}

// keepMany caches the positions of a document with many rows.
func (c *indexChecker) keepMany(id string, rows []index.Emitted) {
	if len(rows) < manyRows {
		return
	}
	if c.manyRows += len(rows); c.manyRows > maxManyRows {
		c.forgetMany()
		c.manyRows = len(rows)
	}
	positions := make(map[string]bool, len(rows))
	for i := range rows {
		positions[string(rows[i].Position)] = true
	}
	c.many[id] = positions
}

func (c *indexChecker) forgetMany() { c.many, c.manyRows = map[string]map[string]bool{}, 0 }

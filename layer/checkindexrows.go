package layer

import (
	"bytes"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// stored goes through the rows: their documents have them. It compares their numbers with the counters.
func (c *indexChecker) stored() error {
	for view := range c.rows {
		c.forgetMany()
		prefix := c.k.rowPrefix(view)
		n := int64(0)
		err := c.walk(walk{
			in: prefixRange(prefix), of: single(prefix), begin: c.begin,
			row: func(_ string, position []byte, _ kv.KeyValue) error {
				n++
				return c.row(view, position)
			},
		})
		if err != nil {
			return err
		}
		if !c.exact {
			continue // the rows are of no one moment
		}
		if err := c.counters(view, n); err != nil {
			return err
		}
	}
	return nil
}

// counters compares what a view counts with what there is.
func (c *indexChecker) counters(view int, rows int64) error {
	name := c.ix.design.Views[view].Name
	sum := func(what string) int64 {
		key := fmt.Sprint(what, " ", view)
		n := c.sums[key]
		delete(c.sums, key)
		return n
	}
	if noted := sum("rows"); noted != rows {
		c.bad("", "the view %s has %d rows, and its documents note %d", name, rows, noted)
	}
	for _, counter := range []struct {
		what  keyspace.ViewInfoKey
		name  string
		there int64
	}{
		{keyspace.ViewRowCount, "rows", rows},
		{keyspace.ViewSize, "bytes", sum("size")},
		{keyspace.ViewErrorCount, "documents that it skipped", sum("errors")},
	} {
		n, err := c.k.viewCounter(c.r, counter.what, view)()
		if err != nil {
			return err
		}
		if n != counter.there {
			c.bad("", "the view %s counts %d %s, and has %d", name, n, counter.name, counter.there)
		}
	}
	return c.settle()
}

// failures goes through the documents that views have skipped: each says so in its entry, and those are all.
func (c *indexChecker) failures() error {
	prefix := c.k.appendRange(nil, keyspace.ViewErrors)
	return c.walk(walk{
		in: prefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(id string, rest []byte, _ kv.KeyValue) error {
			view, _, err := tuple.TakeInt(rest)
			if err != nil {
				return corrupt("error of a view", err)
			}
			value, err := c.r.Get(c.k.idKey(id, int(view))).Wait()
			if err != nil {
				return err
			}
			if e, err := parseViewEntry(value); value == nil || err == nil && !e.failed {
				c.bad(id, "it is listed as skipped, and is not")
			}
			return nil
		},
	})
}

// row looks for a row in the entry of its document.
func (c *indexChecker) row(view int, position []byte) error {
	name, rest := c.ix.design.Views[view].Name, position
	var err error
	if c.ix.design.Partitioned {
		if rest, err = tuple.Skip(rest); err != nil {
			c.bad("", "a row of the view %s has no partition", name)
			return nil //nolint:nilerr // it is told
		}
	}
	id, err := splitRowKey(rest)
	if err != nil {
		c.bad("", "a row of the view %s has no document", name)
		return nil //nolint:nilerr // it is told
	}
	if known := c.many[id]; known != nil {
		if !known[string(position)] {
			c.bad(id, "the view %s has a row that the document does not note", name)
		}
		return nil
	}
	value, err := c.r.Get(c.k.idKey(id, view)).Wait()
	if err != nil {
		return err
	}
	if value != nil {
		had := docRows{entry: value}
		if err := had.parse(&c.k, view, id); err != nil {
			return nil //nolint:nilerr // documents tells of it
		}
		c.keepMany(id, had.rows)
		for _, r := range had.rows {
			if bytes.Equal(r.position, position) {
				return nil
			}
		}
	}
	c.bad(id, "the view %s has a row that the document does not note", name)
	return nil
}

// keepMany keeps the positions of a document that has many.
func (c *indexChecker) keepMany(id string, rows []emitted) {
	if len(rows) < manyRows {
		return
	}
	if c.manyRows += len(rows); c.manyRows > maxManyRows {
		c.forgetMany()
		c.manyRows = len(rows)
	}
	positions := make(map[string]bool, len(rows))
	for i := range rows {
		positions[string(rows[i].position)] = true
	}
	c.many[id] = positions
}

func (c *indexChecker) forgetMany() { c.many, c.manyRows = map[string]map[string]bool{}, 0 }

package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// indexes computes every index anew from the documents, some at a time, and compares. An index that is being built, or
// that was never built, is left out; of one that is behind only the documents that it has as they are now are compared.
func (x *checker) indexes() error {
	d := x.v.s.handle(x.core)
	designs, err := d.Designs(x.ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, of := range designs {
		if len(of.Views) == 0 || seen[of.Signature] || designOf(x.v.s).scripts == nil {
			continue
		}
		seen[of.Signature] = true
		c := &indexChecker{checker: x, ix: d.Index(of), k: newIndexKeys(x.keys.sub(nil, keyspace.Views), of)}
		if err := c.run(); err != nil {
			return fmt.Errorf("index of %s: %w", of.ID, err)
		}
	}
	return nil
}

// indexChecker compares one index with the documents.
type indexChecker struct {
	*checker
	ix      *Index
	k       indexKeys
	skip    bool // nothing can be said of it
	seq     Seq  // up to which it is
	last    Seq  // of the database
	current bool
	rows    []int64 // by view, as its entries by id say

	many     map[string]map[string]bool // positions of documents with many rows in the view at work, by id
	manyRows int
}

const (
	// manyRows is from how many rows on the positions of a document are kept: its entry is long, and would be parsed
	// for each of them.
	manyRows = 64
	// maxManyRows is how many positions are kept, of all documents.
	maxManyRows = 200_000
)

func (c *indexChecker) run() error {
	if _, err := designOf(c.v.s).compile(c.ctx, c.ix.design); KindOf(err) == Invalid {
		return nil
	} else if err != nil {
		return err
	}
	if c.exact {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.rows = make([]int64, len(c.ix.design.Views))
	c.forgetSums()
	var before indexCounts
	count := func() (err error) { // finds out the number of the index, too
		before, err = c.counts()
		return err
	}
	counters := func() error { return c.counters(before) }
	for _, step := range []func() error{
		c.documents, count, c.entries, c.stored, counters, c.failures, c.aggregates,
	} {
		if err := step(); err != nil || c.skip {
			return err
		}
	}
	return nil
}

// begin finds out where the index stands at the moment of r.
func (c *indexChecker) begin() error {
	c.forgetMany()
	number, at := c.k.find(c.r), c.r.Get(c.k.infoKey(keyspace.ViewUpdateSeq))
	status, last := c.r.Get(c.k.infoKey(keyspace.ViewStatus)), readLastSeq(c.r, c.keys, c.cfg)
	if err := number(); err != nil {
		return err
	}
	is, err := parseIndexSeq(at)
	if err != nil {
		return err
	}
	building, err := parseStatus(status)
	if err != nil {
		return err
	}
	now, err := last()
	if err != nil {
		return err
	}
	c.skip = is.seq.IsZero() || is.stale() || building != nil
	c.seq, c.last, c.current = is.seq, now, is.seq.Compare(now) >= 0
	return nil
}

func (c *indexChecker) bad(id, format string, args ...any) {
	c.fault(keyspace.Views, id, "%s: %s", c.ix.design.ID, fmt.Sprintf(format, args...))
}

// documents maps the documents and compares what they emit with what the index has of them.
func (c *indexChecker) documents() error {
	prefix := c.keys.sub(nil, keyspace.Revisions)
	var last leafKV
	var docs []entry
	return c.walk(walk{
		in: prefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			last = leafKV{}
			if err := parseLeafKey(&last, rest); err != nil {
				return err
			}
			return parseLeafValue(&last, row.Value, false)
		},
		end: func(id string) error {
			if last.winner && (c.current || last.seq.Compare(c.seq) <= 0) {
				docs = append(docs, entry{id: id, rev: last.rev, seq: last.seq, branches: last.branches,
					deleted: last.deleted})
			}
			return nil
		},
		flush: func() error {
			defer func() { docs = docs[:0] }()
			for rest := docs; len(rest) > 0 && !c.skip; {
				n, err := c.compareSome(rest)
				if err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		},
		reset: func() error {
			docs = docs[:0]
			return nil
		},
	})
}

// compareSome compares as many of the documents as are mapped together.
func (c *indexChecker) compareSome(docs []entry) (n int, err error) {
	sources, err := c.ix.load(c.r, c.keys, docs)
	var lost *corruptError
	switch {
	case errors.As(err, &lost) && len(docs) == 1:
		return 1, nil // its body is told of already
	case errors.As(err, &lost):
		return c.compareSome(docs[:1])
	case err != nil:
		return 0, err
	}
	mapped, err := c.ix.mapAll(c.ctx, &c.k, sources, 0)
	if err != nil {
		return 0, err
	}
	for i := range mapped {
		for v := range mapped[i].views {
			if err := c.compareView(mapped[i].id, v, &mapped[i].views[v]); err != nil {
				return 0, err
			}
		}
	}
	return len(sources), nil
}

func (c *indexChecker) compareView(id string, view int, e *emission) error {
	name := c.ix.design.Views[view].Name
	value, err := c.r.Get(c.k.idKey(id, view)).Wait()
	if err != nil {
		return err
	}
	has := len(e.rows) > 0 || e.err != ""
	switch {
	case value == nil && has:
		c.bad(id, "the view %s has nothing of the document", name)
		return nil
	case value == nil:
		return nil
	case !has:
		c.bad(id, "the view %s has rows of the document, which emits none", name)
		return nil
	}
	if e.err != "" {
		listed, err := c.r.Get(c.k.errorKey(id, view)).Wait()
		if err != nil {
			return err
		}
		if listed == nil {
			c.bad(id, "the view %s has skipped the document, and does not list it", name)
		}
	}
	had := docRows{entry: value}
	if err := had.parse(&c.k, view, id); err != nil {
		c.bad(id, "the document's entry in the view %s cannot be read: %v", name, err)
		return nil
	}
	if had.failed != (e.err != "") || len(had.rows) != len(e.rows) {
		c.bad(id, "the view %s notes %d rows of the document, which emits %d", name, len(had.rows), len(e.rows))
		return nil
	}
	prefix := c.k.rowPrefix(view)
	reads := make([]kv.Future[[]byte], len(e.rows))
	noted := make(map[string]bool, len(had.rows))
	for i := range e.rows {
		noted[string(had.rows[i].position)] = true
		reads[i] = c.r.Get(append(prefix[:len(prefix):len(prefix)], e.rows[i].position...))
	}
	for i, r := range e.rows {
		row, err := reads[i].Wait()
		switch {
		case err != nil:
			return err
		case !noted[string(r.position)]:
			c.bad(id, "the view %s notes other rows than the document emits", name)
			return nil
		case row == nil:
			c.bad(id, "the view %s lacks the row with the key %s", name, r.key)
		case !bytes.Equal(row, tuple.AppendBytes(tuple.AppendBytes(nil, r.key), r.value)):
			c.bad(id, "the view %s has another row with the key %s than the document emits", name, r.key)
		}
	}
	return nil
}

// entries goes through the entries by id: their documents are there.
func (c *indexChecker) entries() error {
	prefix := c.k.appendRange(nil, keyspace.ViewIDs)
	return c.walk(walk{
		in: prefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(id string, rest []byte, row kv.KeyValue) error {
			view, _, err := tuple.TakeInt(rest)
			if err != nil || view < 0 || int(view) >= len(c.rows) {
				c.bad(id, "there is an entry of a view that the design document does not have")
				return nil //nolint:nilerr // it is told
			}
			e, err := parseViewEntry(row.Value)
			if err != nil {
				c.bad(id, "an entry cannot be read: %v", err)
				return nil
			}
			c.count(fmt.Sprint("rows ", view), int64(len(e.keys)))
			c.count(fmt.Sprint("size ", view), e.size)
			if e.failed {
				c.count(fmt.Sprint("errors ", view), 1)
			}
			return nil
		},
		end: func(id string) error {
			w, err := c.winner(id)
			if err == nil && w == nil && c.current {
				c.bad(id, "there are rows, and no such document")
			}
			return err
		},
	})
}

// once reads where the index stands in a transaction of its own.
func (c *indexChecker) once() error {
	_, _, err := kv.Transact(c.ctx, c.v.s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		c.r = tx.Snapshot()
		if err := c.load(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.begin()
	})
	return err
}

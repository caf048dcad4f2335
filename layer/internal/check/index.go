package check

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/internal/build"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// indexes recomputes every index from the documents, some at a time, and compares. It skips indexes that are being
// built or were never built. If an index is behind, only documents that have not changed since its sequence are
// compared.
func (x *checker) indexes() error {
	d := x.v.s.Handle(x.core)
	designs, err := design.Of(d).Designs(x.ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, of := range designs {
		if len(of.Views) == 0 || seen[of.Signature] || design.StateOf(x.v.s).Scripts == nil {
			continue
		}
		seen[of.Signature] = true
		c := &indexChecker{checker: x, ix: index.Of(d).Index(of), k: index.NewKeys(x.keys.Sub(nil, keyspace.Views), of)}
		if err := x.unlessLost(keyspace.Views, of.ID+": ", c.run()); err != nil {
			return fmt.Errorf("index of %s: %w", of.ID, err)
		}
	}
	return nil
}

// indexChecker compares one index with the documents.
type indexChecker struct {
	*checker
	ix      *index.Index
	k       index.Keys
	skip    bool   // the index cannot be checked
	seq     db.Seq // the index's
	last    db.Seq // the database's
	current bool
	rows    []int64 // by view, according to the entries by id

	stores   []rowLook                  // rows whose entries are being read
	many     map[string]map[string]bool // positions of documents with many rows in the current view, by id
	manyRows int
}

const (
	// manyRows is the number of rows from which on the positions of a document are cached, because parsing its long
	// entry for each row is expensive.
	manyRows = 64
	// maxManyRows limits the number of cached positions.
	maxManyRows = 200_000
)

func (c *indexChecker) run() error {
	_, err := design.StateOf(c.v.s).Compile(c.ctx, c.ix.Design())
	switch kind := fault.KindOf(err); {
	// It may be in another language.
	case kind == fault.Invalid || kind == fault.NotImplemented:
		return nil
	case err != nil:
		return err
	}
	if c.exact {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.rows = make([]int64, len(c.ix.Design().Views))
	c.forgetSums()
	var before indexCounts
	count := func() (err error) { // also finds the index's number
		if before, err = c.counts(); err != nil || c.skip || before.seq.Compare(before.last) <= 0 {
			return err
		}
		c.bad("", "its sequence is %s, but the database ends at %s", before.seq, before.last)
		return c.settle()
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

// begin reads the state of the index at r's version.
func (c *indexChecker) begin() error {
	c.forgetMany()
	number, at := c.k.Find(c.r), c.r.Get(c.k.InfoKey(keyspace.ViewUpdateSeq))
	status, last := c.r.Get(c.k.InfoKey(keyspace.ViewStatus)), db.ReadLastSeq(c.r, c.keys, c.cfg)
	if err := number(); err != nil {
		return err
	}
	is, err := index.ParseIndexSeq(at)
	if err != nil {
		return err
	}
	building, err := index.ParseStatus(status)
	if err != nil {
		return err
	}
	now, err := last()
	if err != nil {
		return err
	}
	c.skip = is.Seq.IsZero() || is.Stale() || building != nil
	c.seq, c.last, c.current = is.Seq, now, is.Seq.Compare(now) >= 0
	return nil
}

func (c *indexChecker) bad(id, format string, args ...any) {
	c.fault(keyspace.Views, id, "%s: %s", c.ix.Design().ID, fmt.Sprintf(format, args...))
}

// documents maps the documents and compares what they emit with the index.
func (c *indexChecker) documents() error {
	prefix := c.keys.Sub(nil, keyspace.Revisions)
	var last rev.LeafKV
	var docs []feed.Entry
	return c.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			last = rev.LeafKV{}
			if err := rev.ParseLeafKey(&last, rest); err != nil {
				return err
			}
			return rev.ParseLeafValue(&last, row.Value, false)
		},
		end: func(id string) error {
			if last.Winner && (c.current || last.Seq.Compare(c.seq) <= 0) {
				docs = append(docs, feed.Entry{Id: id, Rev: last.Rev, Seq: last.Seq, Branches: last.Branches,
					Deleted: last.Deleted})
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
func (c *indexChecker) compareSome(docs []feed.Entry) (n int, err error) {
	sources, err := build.Load(c.ix, c.r, c.keys, docs)
	var lost *db.CorruptError
	switch {
	case errors.As(err, &lost) && len(docs) == 1:
		return 1, nil // its body has been reported
	case errors.As(err, &lost):
		return c.compareSome(docs[:1])
	case err != nil:
		return 0, err
	}
	mapped, err := build.MapAll(c.ctx, c.ix, &c.k, sources, 0)
	if err != nil {
		return 0, err
	}
	var reads []viewRead
	compare := func() error {
		for i := range reads {
			if err := c.compareView(&reads[i]); err != nil {
				return err
			}
		}
		reads = reads[:0]
		return nil
	}
	under := 0
	for i := range mapped {
		for v := range mapped[i].Views {
			e := &mapped[i].Views[v]
			if under += 1 + len(e.Rows); under > checkRows {
				if err := compare(); err != nil {
					return 0, err
				}
				under = 1 + len(e.Rows)
			}
			reads = append(reads, c.readView(mapped[i].Id, v, e))
		}
	}
	return len(sources), compare()
}

// viewRead is the pending read of what a view has of a document, and what the document emits.
type viewRead struct {
	id    string
	view  int
	emits *index.Emission
	entry kv.Future[[]byte]
	rows  []kv.Future[[]byte] // by emitted row
}

func (c *indexChecker) readView(id string, view int, e *index.Emission) viewRead {
	r := viewRead{id: id, view: view, emits: e, entry: c.r.Get(c.k.IdKey(id, view)),
		rows: make([]kv.Future[[]byte], len(e.Rows))}
	prefix := c.k.RowPrefix(view)
	for i := range e.Rows {
		r.rows[i] = c.r.Get(append(prefix[:len(prefix):len(prefix)], e.Rows[i].Position...))
	}
	return r
}

func (c *indexChecker) compareView(read *viewRead) error {
	id, view, e := read.id, read.view, read.emits
	name := c.ix.Design().Views[view].Name
	value, err := read.entry.Wait()
	if err != nil {
		return err
	}
	has := len(e.Rows) > 0 || e.Err != ""
	switch {
	case value == nil && has && !e.Stopped:
		c.bad(id, "the view %s has no entry for the document", name)
		return nil
	case value == nil:
		return nil
	}
	had := index.DocRows{Entry: value}
	if err := had.Parse(&c.k, view, id); err != nil {
		c.bad(id, "the document's entry in the view %s cannot be read: %v", name, err)
		return nil
	}
	if e.Err != "" || had.Failed {
		stopped, err := c.failed(id, view, e)
		if stopped || err != nil {
			return err
		}
	}
	if !has {
		c.bad(id, "the view %s has rows of the document, but it emits none", name)
		return nil
	}
	if had.Failed != (e.Err != "") || len(had.Rows) != len(e.Rows) {
		c.bad(id, "the view %s lists %d rows of the document, but it emits %d", name, len(had.Rows), len(e.Rows))
		return nil
	}
	noted := make(map[string]int, len(had.Rows))
	for i := range had.Rows {
		noted[string(had.Rows[i].Position)] = i
	}
	for i, r := range e.Rows {
		row, err := read.rows[i].Wait()
		at, known := noted[string(r.Position)]
		switch {
		case err != nil:
			return err
		case !known:
			c.bad(id, "the view %s lists other rows than the document emits", name)
			return nil
		case !had.Notes(at, &e.Rows[i]):
			c.bad(id, "the view %s lists another key or value for the row with the key %s", name, r.Key)
		case row == nil:
			c.bad(id, "the view %s lacks the row with the key %s", name, r.Key)
		case !bytes.Equal(row, tuple.AppendBytes(tuple.AppendBytes(nil, r.Key), r.Value)):
			c.bad(id, "the view %s has another row with the key %s than the document emits", name, r.Key)
		}
	}
	return nil
}

// failed checks the recorded error of a document that a view has skipped. stopped reports that its function timed out,
// then or now. The next time it may not, so there is nothing to compare.
func (c *indexChecker) failed(id string, view int, e *index.Emission) (stopped bool, err error) {
	listed, err := c.r.Get(c.k.ErrorKey(id, view)).Wait()
	if err != nil {
		return false, err
	}
	if listed == nil && e.Err != "" && !e.Stopped {
		c.bad(id, "the view %s has skipped the document, but does not list it", c.ix.Design().Views[view].Name)
	}
	reason, _, err := tuple.TakeString(listed)
	return e.Stopped || err == nil && script.StoppedInTime(reason), nil
}

// entries checks that the documents of the entries by id exist.
func (c *indexChecker) entries() error {
	prefix := c.k.AppendRange(nil, keyspace.ViewIDs)
	return c.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix), begin: c.begin,
		row: func(id string, rest []byte, row kv.KeyValue) error {
			view, _, err := tuple.TakeInt(rest)
			if err != nil || view < 0 || int(view) >= len(c.rows) {
				c.bad(id, "there is an entry of a view that the design document does not have")
				return nil //nolint:nilerr // already reported
			}
			e, err := index.ParseViewEntry(row.Value)
			if err != nil {
				c.bad(id, "an entry cannot be read: %v", err)
				return nil
			}
			c.count(fmt.Sprint("rows ", view), int64(len(e.Keys)))
			c.count(fmt.Sprint("size ", view), e.Size)
			if e.Failed {
				c.count(fmt.Sprint("errors ", view), 1)
			}
			var counts index.StringCounts
			for _, key := range e.Keys {
				counts.Add(&c.k, key, 1)
			}
			for i, n := range counts {
				_, name := index.StringCounter(i)
				c.count(fmt.Sprint(name, " ", view), n)
			}
			return nil
		},
		end: func(id string) error {
			c.winners.look(c.checker, id, func(w *rev.LeafKV) error {
				if w == nil && c.current {
					c.bad(id, "there are rows, but no such document")
				}
				return nil
			})
			return nil
		},
	})
}

// once reads the state of the index in a transaction of its own.
func (c *indexChecker) once() error {
	_, _, err := kv.Transact(c.ctx, c.v.s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		c.r = tx.Snapshot()
		if err := c.load(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.begin()
	})
	return err
}

package console

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

var indexTable = table.Table[state.Index]{
	Columns: map[string]func(*state.Index) table.Key{
		"database": text(func(x *state.Index) string { return x.Database + "\x00" + x.Design }),
		"design":   text(func(x *state.Index) string { return x.Design }),
		"node":     text(func(x *state.Index) string { return strings.Join(x.Nodes, " ") }),
		"rows":     number(func(x *state.Index) int64 { return x.Rows }),
		"bytes":    number(func(x *state.Index) int64 { return x.Bytes }),
		"errors":   number(func(x *state.Index) int64 { return x.Errors }),
		"failures": number(func(x *state.Index) int { return x.Failures }),
		"lag":      number(func(x *state.Index) float64 { return x.Lag }),
	},
	Default: "database",
	ID:      func(x *state.Index) string { return x.Database + "\x00" + x.Design },
	Search: func(x *state.Index) []string {
		words := append(make([]string, 0, 6+len(x.Nodes)+len(x.Views)), x.Database, x.Design)
		words = append(append(words, x.Nodes...), x.Views...)
		if x.Building {
			words = append(words, "building")
		}
		if x.Failures > 0 {
			words = append(words, "failing")
		}
		if x.Errors > 0 {
			words = append(words, "skipping")
		}
		if !x.Current {
			words = append(words, "behind")
		}
		return words
	},
	Database: func(x *state.Index) string { return x.Database },
}

const (
	// oldValues is the age from which on the console says how old the values are by which indexes are sorted.
	oldValues = 30 * time.Second
	// maxNamed is how many words of a search are looked up as names of databases.
	maxNamed = 4
)

// Indexes returns a page of the indexes of all databases, used or not, each once. They are searched by their names and
// by "building", "behind", "skipping" and "failing", and sorted by what this node has read of them last; the rows of
// the page are read anew. Those of one database (q.Database) are all read anew.
func (c *Console) Indexes(ctx context.Context, q table.Query) (List[state.Index], error) {
	out := List[state.Index]{Now: time.Now().UTC()}
	if err := indexTable.Check(q); err != nil {
		return out, err
	}
	within, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	list, isNew := indexesFor(within, c, q, &out)
	working, absent, failed := workOn(within, c, q.Database)
	out.Absent = absent
	page, err := indexTable.Select(working.add(list), q)
	if err != nil {
		return out, err
	}
	out.Page = page
	if failed != nil {
		out.Partial = cmp.Or(out.Partial, "It is not known which builds have failed: "+short(c.o.told(failed)))
	}
	if !isNew {
		if unread, err := readIndexes(within, c, out.Rows); unread > 0 {
			out.Partial = fmt.Sprintf("The state of %d of the indexes is older: it was not read in time.", unread)
			if err != nil {
				out.Partial = "The state of indexes is older: " + short(c.o.told(err))
			}
		}
	}
	for i := range out.Rows {
		out.Rows[i].Skipped = short(out.Rows[i].Skipped)
	}
	return out, nil
}

// indexesFor returns the indexes that are searched, and whether they were read just now. It says in out what is
// missing.
func indexesFor(ctx context.Context, c *Console, q table.Query, out *List[state.Index]) (list iter.Seq[state.Index],
	isNew bool) {
	if q.Database != "" {
		list, err := c.o.Here.IndexesOf(ctx, q.Database)
		if err == nil {
			return slices.Values(list), true
		}
	}
	words := strings.Fields(q.Search)
	for _, name := range words[:min(len(words), maxNamed)] { // which may be too new to be known
		_, _ = c.o.Here.IndexesOf(ctx, name)
	}
	list, known := c.o.Here.Indexes(ctx)
	switch {
	case !known.Named:
		out.Partial = "The names of the databases have not all been read since this node started: indexes are " +
			"missing here until then."
	case known.Unread > 0:
		out.Partial = fmt.Sprintf("%d of %d databases have not been read since this node started: their indexes are "+
			"missing here until then.", known.Unread, known.Databases)
	case known.Full:
		out.Partial = "There are more indexes than a node remembers; the page of a database has all of its own."
	}
	if known.Every > oldValues {
		out.Note = fmt.Sprintf("Each database is read about every %s; the rows of this page are read now.",
			known.Every.Round(10*time.Second))
	}
	return list, false
}

// works is what is done on indexes.
type works struct {
	builds map[[2]string][]state.Task // by database and design document
	failed map[string]state.Job       // by id
}

// workOn returns the builds under way on all nodes, and the failures of those that wait: of a database, or of all. It
// also returns the nodes that have not answered, and why the failures are not known.
func workOn(ctx context.Context, c *Console, database string) (w works, absent []state.Absent, err error) {
	tasks, absent := c.Tasks(ctx)
	w.builds = map[[2]string][]state.Task{}
	for _, t := range tasks {
		if t.Design != "" {
			t.Raw = nil
			of := [2]string{t.Database, t.Design}
			w.builds[of] = append(w.builds[of], t)
		}
	}
	w.failed, err = c.failures.recent(ctx, c.o.Here.FailedBuilds, database)
	return w, absent, err
}

// add yields indexes with what is done on them.
func (w works) add(list iter.Seq[state.Index]) iter.Seq[state.Index] {
	return func(yield func(state.Index) bool) {
		for x := range list {
			if len(w.failed) > 0 {
				j := w.failed[x.Job]
				x.Failures, x.Failure = j.Failures, short(j.Error)
			}
			for _, t := range w.builds[[2]string{x.Database, x.Design}] {
				x.Building = true
				if !slices.Contains(x.Nodes, t.Node) {
					x.Nodes = append(x.Nodes, t.Node)
				}
				if t.Shard == "" { // and not a node that helps
					x.Task = &t
				}
			}
			if !yield(x) {
				return
			}
		}
	}
}

// failures keeps for a moment which builds of all databases have failed: every page with indexes asks for it, and there
// may be many jobs.
type failures struct {
	mu struct {
		sync.Mutex
		last   map[string]state.Job // not changed
		failed error
		at     time.Time
	}
}

const (
	// failuresFor is how long they are kept, and failuresWithin bounds how long they are read. There may be as many
	// jobs as indexes.
	failuresFor    = 2 * refresh
	failuresWithin = patience / 2
)

// recent returns the jobs by their ids. With an error they may be missing.
func (f *failures) recent(ctx context.Context, read func(context.Context, string) iter.Seq2[state.Job, error],
	database string) (map[string]state.Job, error) {
	if database != "" {
		within, cancel := context.WithTimeout(ctx, failuresWithin)
		defer cancel()
		return readFailures(read(within, database))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.mu.at) > failuresFor {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), failuresWithin) // others wait for it
		defer cancel()
		f.mu.last, f.mu.failed = readFailures(read(within, ""))
		f.mu.at = time.Now()
	}
	return f.mu.last, f.mu.failed
}

func readFailures(jobs iter.Seq2[state.Job, error]) (map[string]state.Job, error) {
	failed := map[string]state.Job{}
	for j, err := range jobs {
		if err != nil {
			return failed, err
		}
		if j.Failing() {
			failed[j.ID] = j
		}
	}
	return failed, nil
}

// readIndexes reads the state of indexes and returns how many it has not read in time, and why. Those keep
// their values.
func readIndexes(ctx context.Context, c *Console, list []state.Index) (unread int, failed error) {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	var next, read atomic.Int64
	var why atomic.Pointer[error]
	var reading sync.WaitGroup
	for range min(readers, len(list)) {
		reading.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				err := readIndex(ctx, c, &list[i])
				switch {
				case err == nil:
					read.Add(1)
				case ctx.Err() == nil:
					why.Store(&err)
				}
			}
		})
	}
	reading.Wait()
	if err := why.Load(); err != nil {
		failed = *err
	}
	return len(list) - int(read.Load()), failed
}

// readIndex reads the state of an index anew, but not what works on it.
func readIndex(ctx context.Context, c *Console, x *state.Index) error {
	now, err := c.o.Here.Index(ctx, *x)
	if err != nil {
		return err
	}
	now.Task, now.Nodes, now.Failures, now.Failure = x.Task, x.Nodes, x.Failures, x.Failure
	now.Building = now.Building || len(x.Nodes) > 0
	*x = now
	return nil
}

// indexesHere answers nodes of version 0.2.0, which ask each node for the indexes that it uses.
func (c *local) indexesHere(ctx context.Context, q table.Query) (table.Page[state.Index], error) {
	list, _ := c.o.Here.Indexes(ctx)
	p, err := indexTable.Select(list, q)
	for i := range p.Rows {
		p.Rows[i].Skipped = short(p.Rows[i].Skipped) // a page fits a message
	}
	return p, err
}

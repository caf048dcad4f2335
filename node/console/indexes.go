package console

import (
	"context"
	"fmt"
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
		words := slices.Concat([]string{x.Database, x.Design}, x.Nodes, x.Views)
		for word, is := range map[string]bool{"building": x.Building, "failing": x.Failures > 0,
			"skipping": x.Errors > 0, "behind": !x.Current} {
			if is {
				words = append(words, word)
			}
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
	list := indexesFor(within, c, q, &out)
	out.Absent = addBuilds(within, c, list)
	page, err := indexTable.Select(slices.Values(list), q)
	if err != nil {
		return out, err
	}
	out.Page = page
	if unread, err := readIndexes(within, out.Rows); unread > 0 {
		out.Partial = fmt.Sprintf("The state of %d of the indexes is older: it was not read in time.", unread)
		if err != nil {
			out.Partial = "The state of indexes is older: " + short(c.o.told(err))
		}
	}
	return out, nil
}

// indexesFor returns the indexes that are searched. It says in out what is missing.
func indexesFor(ctx context.Context, c *Console, q table.Query, out *List[state.Index]) []state.Index {
	if q.Database != "" {
		list, err := c.o.Here.IndexesOf(ctx, q.Database)
		if err == nil {
			for i := range list {
				list[i].Look = nil // it is new enough
			}
			return list
		}
	}
	words := strings.Fields(q.Search)
	for _, name := range words[:min(len(words), maxNamed)] { // which may be too new to be known
		_, _ = c.o.Here.IndexesOf(ctx, name)
	}
	list, known := c.o.Here.Indexes(ctx)
	switch {
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
	return list
}

// addBuilds adds the builds under way on all nodes, and the failures of those that wait. It returns the nodes that have
// not answered.
func addBuilds(ctx context.Context, c *Console, list []state.Index) []state.Absent {
	type name struct{ database, design string }
	tasks, absent := c.Tasks(ctx)
	builds := map[name][]state.Task{}
	for _, t := range tasks {
		if t.Design != "" {
			t.Raw = nil
			of := name{t.Database, t.Design}
			builds[of] = append(builds[of], t)
		}
	}
	failed := map[name]state.Job{}
	for j, err := range c.o.Here.Jobs(ctx) {
		if err != nil {
			break // the store does not answer, which the state of the indexes says
		}
		if j.Design != "" && j.Failures > 0 {
			failed[name{j.Database, j.Design}] = j
		}
	}
	for i := range list {
		x := &list[i]
		of := name{x.Database, x.Design}
		x.Failures, x.Failure = failed[of].Failures, short(failed[of].Error)
		for _, t := range builds[of] {
			x.Building = true
			if !slices.Contains(x.Nodes, t.Node) {
				x.Nodes = append(x.Nodes, t.Node)
			}
			if t.Shard == "" { // and not a node that helps
				x.Task = &t
			}
		}
	}
	return absent
}

// readIndexes reads the state of indexes and returns how many it has not read in time, and why. Those keep
// their values.
func readIndexes(ctx context.Context, list []state.Index) (unread int, failed error) {
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
				err := readIndex(ctx, &list[i])
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
func readIndex(ctx context.Context, x *state.Index) error {
	if x.Look != nil {
		now, err := x.Look(ctx)
		if err != nil {
			return err
		}
		now.Task, now.Nodes, now.Failures, now.Failure = x.Task, x.Nodes, x.Failures, x.Failure
		now.Building = now.Building || len(x.Nodes) > 0
		*x = now
	}
	x.Look, x.Skipped = nil, short(x.Skipped)
	return nil
}

// indexesHere answers nodes of version 0.2.0, which ask each node for the indexes that it uses.
func (c *local) indexesHere(ctx context.Context, q table.Query) (table.Page[state.Index], error) {
	list, _ := c.o.Here.Indexes(ctx)
	return indexTable.Select(slices.Values(list), q)
}

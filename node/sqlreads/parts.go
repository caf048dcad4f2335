package sqlreads

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var _ exec.PartedCatalog = (*Catalog)(nil)

const (
	// readers is how many databases are read at once.
	readers = 8
	// namesAtOnce is how many names of databases are read at once.
	namesAtOnce = 64
)

// PartColumn implements exec.PartedCatalog. In the virtual database, relations about one database are about all.
func (c *Catalog) PartColumn(table, database string) string {
	t := c.systemTable(table)
	switch {
	case t == nil || t.rowsOfOne == nil:
		return ""
	case t.ofAll:
		return "name"
	case database == exec.SystemDatabase:
		return "database"
	}
	return ""
}

// PartsAfter implements exec.PartedCatalog. It keeps no snapshot of the store between two calls.
func (c *Catalog) PartsAfter(ctx context.Context, after string, most int) (names []string, err error) {
	for name, err := range c.source.Store.Names(ctx, layer.NamesOptions{Start: after, Limit: most + 1}) {
		if err != nil {
			return nil, Error(err)
		}
		if name != after && len(names) < most {
			names = append(names, name)
		}
	}
	return names, nil
}

// Parts implements exec.PartedCatalog. Databases that have few rows are read several at once, but never far ahead of
// the rows that are taken: so only the rows of a few are in memory, and a database that cannot be read does not matter
// to who needs only the rows before it.
func (c *Catalog) Parts(ctx context.Context, table string, databases []string) iter.Seq2[[]any, error] {
	t := c.systemTable(table)
	return func(yield func([]any, error) bool) {
		if !t.few || len(databases) == 1 {
			for _, name := range databases {
				for row, err := range c.part(ctx, t, name) {
					if !yield(row, err) || err != nil {
						return
					}
				}
			}
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		parts := make([]chan readPart, len(databases)) // nil until a database is read; each gets one element
		begin := func(i int) {
			if i < len(databases) {
				parts[i] = make(chan readPart, 1)
				reading.Go(func() { parts[i] <- readAll(c.part(ctx, t, databases[i])) })
			}
		}
		for i := range readers {
			begin(i)
		}
		for i := range databases {
			p := <-parts[i]
			for _, row := range p.rows {
				if !yield(row, nil) {
					return
				}
			}
			if p.err != nil {
				yield(nil, p.err)
				return
			}
			begin(i + readers)
		}
	}
}

// readPart is the rows of one database, and the error after them.
type readPart struct {
	rows [][]any
	err  error
}

func readAll(rows iter.Seq2[[]any, error]) (p readPart) {
	for row, err := range rows {
		if err != nil {
			p.err = err
			break
		}
		p.rows = append(p.rows, row)
	}
	return p
}

// part returns the rows of one database; none if it does not exist or the user may not read it.
func (c *Catalog) part(ctx context.Context, t *Table, name string) iter.Seq2[[]any, error] {
	db, err := c.open(ctx, name)
	var re *exec.ReadError
	switch {
	case errors.As(err, &re) && (re.Kind == exec.NotFound || re.Kind == exec.Forbidden):
		return func(func([]any, error) bool) {}
	case err != nil:
		return fail(err)
	}
	return unlessGone(t.rowsOf(ctx, named{db, name}))
}

// unlessGone leaves out what a database lacks that is deleted while its rows are read.
func unlessGone(rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			var re *exec.ReadError
			if errors.As(err, &re) && re.Kind == exec.NotFound || !yield(row, err) {
				return
			}
		}
	}
}

// allParts returns the rows of all parts of a relation.
func (c *Catalog) allParts(ctx context.Context, table string) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		names, err := c.PartsAfter(ctx, "", namesAtOnce)
		for ; err == nil && len(names) > 0; names, err = c.PartsAfter(ctx, names[len(names)-1], namesAtOnce) {
			for row, err := range c.Parts(ctx, table, names) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

package sqlreads

import (
	"context"
	"errors"
	"iter"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

var _ exec.PartedCatalog = (*Catalog)(nil)

// InParts implements exec.PartedCatalog. In the virtual database, relations about one database are about all.
func (c *Catalog) InParts(table, database string) bool {
	t := c.systemTable(table)
	return t != nil && t.rowsOfOne != nil && (t.ofAll || database == exec.SystemDatabase)
}

// Part implements exec.PartedCatalog. It reads one name after the other, so that neither all names are in memory nor a
// snapshot of the store is kept between two parts.
func (c *Catalog) Part(ctx context.Context, table, after string) (string, iter.Seq2[[]any, error], error) {
	t := c.systemTable(table)
	for {
		name, err := c.nameAfter(ctx, after)
		if err != nil || name == "" {
			return "", nil, err
		}
		db, err := c.open(ctx, name)
		if err == nil {
			return name, unlessGone(t.rowsOf(ctx, named{db, name})), nil
		}
		var re *exec.ReadError
		if !errors.As(err, &re) || re.Kind != exec.NotFound && re.Kind != exec.Forbidden {
			return "", nil, err
		}
		after = name // deleted meanwhile, or not readable by this user
	}
}

// nameAfter returns the first name of a database after another one; "" if there is none.
func (c *Catalog) nameAfter(ctx context.Context, after string) (string, error) {
	for name, err := range c.source.Store.Names(ctx, layer.NamesOptions{Start: after, Limit: 2}) {
		if err != nil {
			return "", Error(err)
		}
		if name != after {
			return name, nil
		}
	}
	return "", nil
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
		name, rows, err := c.Part(ctx, table, "")
		for ; err == nil && name != ""; name, rows, err = c.Part(ctx, table, name) {
			for row, err := range rows {
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

// Package badvalues counts the values that typed columns of declared relations have shown as NULL because they cannot
// be cast. Package exec computes the casts.
package badvalues

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/divandb/divan/query/sqlstate"
)

// Counts are the bad values that the statements of one server have read. They are safe for concurrent use. A nil
// *Counts counts nothing.
type Counts struct {
	mu struct {
		sync.Mutex
		columns map[key]*Column
		total   int64
	}
}

type key struct{ database, cast string }

// Column is the count of one column.
type Column struct {
	Database string
	// Cast is the expression that could not be computed, and Example the last value.
	Cast, Example string
	Count         int64
}

const (
	maxColumns = 10_000 // further ones are only part of the total
	maxExample = 100    // bytes
)

// Add counts a value that the text of a cast could not be computed for.
func (c *Counts) Add(database, cast, value string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.total++
	k := key{database, cast}
	col := c.mu.columns[k]
	if col == nil {
		if len(c.mu.columns) == maxColumns {
			return
		}
		if c.mu.columns == nil {
			c.mu.columns = map[key]*Column{}
		}
		k.cast = strings.Clone(cast)
		col = &Column{Database: database, Cast: k.cast}
		c.mu.columns[k] = col
	}
	if len(value) > maxExample {
		value = strings.ToValidUTF8(value[:maxExample], "") + "..."
	}
	col.Count++
	col.Example = strings.Clone(value)
}

// Total returns the number of bad values.
func (c *Counts) Total() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.total
}

// Of returns the counts of a database's columns, sorted.
func (c *Counts) Of(database string) (list []Column) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, col := range c.mu.columns {
		if k.database == database {
			list = append(list, *col)
		}
	}
	slices.SortFunc(list, func(x, y Column) int { return cmp.Compare(x.Cast, y.Cast) })
	return list
}

// Is reports whether an error of a cast is about the value rather than about a statement's limits: a data exception, or
// a value that names what does not exist (regclass), or that is a text with a syntax of its own (jsonpath).
func Is(err error) bool {
	var e *sqlstate.Error
	return errors.As(err, &e) && (strings.HasPrefix(string(e.Code), "22") || strings.HasPrefix(string(e.Code), "42") ||
		e.Code == sqlstate.FeatureNotSupported) // an array of several dimensions
}

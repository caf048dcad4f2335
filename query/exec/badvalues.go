package exec

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/divandb/divan/query/sqlstate"
)

// BadValues counts the values that typed columns have shown as NULL because they cannot be cast. It is safe for
// concurrent use.
type BadValues struct {
	mu     sync.Mutex
	counts map[badColumn]*BadColumn
	total  int64
}

type badColumn struct{ database, cast string }

// BadColumn is the count of one column.
type BadColumn struct {
	Database string
	// Cast is the expression that could not be computed, and Example the last value.
	Cast, Example string
	Count         int64
}

// Bad counts the bad values that this process has read.
var Bad BadValues

const (
	maxBadColumns = 10_000 // further ones are only part of the total
	maxExample    = 100    // bytes
)

// Add counts a value.
func (b *BadValues) Add(database, cast, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total++
	k := badColumn{database, cast}
	c := b.counts[k]
	if c == nil {
		if len(b.counts) == maxBadColumns {
			return
		}
		if b.counts == nil {
			b.counts = map[badColumn]*BadColumn{}
		}
		c = &BadColumn{Database: database, Cast: strings.Clone(cast)}
		b.counts[k] = c
	}
	if len(value) > maxExample {
		value = strings.ToValidUTF8(value[:maxExample], "") + "..."
	}
	c.Count++
	c.Example = strings.Clone(value)
}

// Total returns the number of bad values.
func (b *BadValues) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Of returns the counts of a database's columns, sorted.
func (b *BadValues) Of(database string) (list []BadColumn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, c := range b.counts {
		if k.database == database {
			list = append(list, *c)
		}
	}
	slices.SortFunc(list, func(x, y BadColumn) int { return cmp.Compare(x.Cast, y.Cast) })
	return list
}

// badValue reports whether an error is about a value rather than about a statement's limits: a data exception.
func badValue(err error) bool {
	var e *sqlstate.Error
	return errors.As(err, &e) && strings.HasPrefix(string(e.Code), "22")
}

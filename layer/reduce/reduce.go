// Package reduce implements CouchDB's built-in reduce functions of emitted JSON (clause V11): _count, _sum, _stats,
// _approx_count_distinct, _top_N, _bottom_N, _first and _last. It does no I/O.
//
// The model is couch_query_servers.erl of apache/couchdb 3.5; results were compared with a running CouchDB. Where
// CouchDB fails with an Erlang crash (arrays of different length in _stats, mixed types in _sum), these functions
// return an error that says what is wrong.
package reduce

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/axiomhq/hyperloglog"
)

// Aggregate reduces rows. It is not safe for concurrent use.
type Aggregate interface {
	// Add adds one row, given as two JSON texts, which it does not retain. An error is meant for the author of the
	// view, and ends the reduction.
	Add(key, value []byte) error
	// AppendJSON appends the reduction of the rows so far.
	AppendJSON(dst []byte) []byte
	// AppendState appends the reduction of the rows so far in the form that Merge accepts. It returns false if the
	// state would be inexact because the sum has overflowed.
	AppendState(dst []byte) (state []byte, ok bool)
	// Merge adds the rows of a state, which it does not retain. Errors are those of Add, or report an invalid state.
	Merge(state []byte) error
	// Reset removes all rows.
	Reset()
}

// Counter is an Aggregate that only counts rows.
type Counter interface{ AddRows(n int64) }

// Error reports that the function cannot reduce a row's value.
type Error struct{ Function, Reason string }

func (e *Error) Error() string { return fmt.Sprintf("The %s function %s", e.Function, e.Reason) }

// New returns the built-in function with the name at the beginning of text, or nil if there is none. As in CouchDB, the
// rest of the text is ignored, except after _top_ and _bottom_. Rows are added in ascending order (see Ordered).
func New(text string) Aggregate {
	switch {
	case strings.HasPrefix(text, "_count"):
		return new(count)
	case strings.HasPrefix(text, "_sum"):
		return new(sum)
	case strings.HasPrefix(text, "_stats"):
		return new(stats)
	case strings.HasPrefix(text, "_approx_count_distinct"):
		return &distinct{hyperloglog.New()}
	case strings.HasPrefix(text, "_top_"), strings.HasPrefix(text, "_bottom_"):
		return newRanked(text)
	case strings.HasPrefix(text, "_first"):
		return new(end)
	case strings.HasPrefix(text, "_last"):
		return &end{replaces: true}
	}
	return nil
}

type count struct{ n int64 }

func (c *count) Add(_, _ []byte) error { c.n++; return nil }

func (c *count) AddRows(n int64) { c.n += n }

func (c *count) AppendJSON(dst []byte) []byte { return strconv.AppendInt(dst, c.n, 10) }

func (c *count) AppendState(dst []byte) ([]byte, bool) { return c.AppendJSON(dst), true }

func (c *count) Merge(state []byte) error {
	n, err := strconv.ParseInt(string(state), 10, 64)
	c.n += n
	return err
}

func (c *count) Reset() { c.n = 0 }

// distinct estimates the number of different keys, to within about 1%. Small numbers are exact.
type distinct struct{ sketch *hyperloglog.Sketch }

func (d *distinct) Add(key, _ []byte) error { d.sketch.Insert(key); return nil }

func (d *distinct) AppendJSON(dst []byte) []byte {
	return strconv.AppendUint(dst, d.sketch.Estimate(), 10)
}

func (d *distinct) AppendState(dst []byte) ([]byte, bool) {
	dst, err := d.sketch.AppendBinary(dst)
	return dst, err == nil
}

func (d *distinct) Merge(state []byte) error {
	other := new(hyperloglog.Sketch)
	if err := other.UnmarshalBinary(state); err != nil {
		return err
	}
	return d.sketch.Merge(other)
}

func (d *distinct) Reset() { d.sketch = hyperloglog.New() }

// UsesValues reports whether the reduce function, built-in or given as source, depends on the values of rows. The empty
// text means no function.
func UsesValues(text string) bool {
	switch a := New(text).(type) {
	case *count, *distinct:
		return false
	default:
		return a != nil || text != ""
	}
}

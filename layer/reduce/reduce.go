// Package reduce is CouchDB's built-in reduce functions over emitted JSON (clause V11): _count, _sum, _stats and
// _approx_count_distinct. It is pure: rows go in, a JSON value comes out.
//
// Source: couch_query_servers.erl of apache/couchdb 3.5, held against a running one. Where CouchDB answers with an
// Erlang crash (arrays of different length in _stats, mixtures in _sum), these answer with an error that says what is
// wrong.
package reduce

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/axiomhq/hyperloglog"
)

// Aggregate takes rows in and has their reduction. Not safe for concurrent use.
type Aggregate interface {
	// Add takes one row: two JSON texts, which it does not keep. The error is for the author of the view, and ends the
	// reduction.
	Add(key, value []byte) error
	// AppendJSON appends the reduction of the rows so far.
	AppendJSON(dst []byte) []byte
	// AppendState appends the reduction of the rows so far in a form that Merge reads. false where that would lose
	// something: the sum has overflowed.
	AppendState(dst []byte) (state []byte, ok bool)
	// Merge takes in the rows of a state, which it does not keep. The error is as of Add, or says that the state is
	// none.
	Merge(state []byte) error
	// Reset forgets all rows.
	Reset()
}

// Counter is an Aggregate that only counts rows.
type Counter interface{ AddRows(n int64) }

// Error says that a row's value is nothing that the function can reduce.
type Error struct{ Function, Reason string }

func (e *Error) Error() string { return fmt.Sprintf("The %s function %s", e.Function, e.Reason) }

// New returns the built-in function that a reduce text names; nil if it names none. Whatever follows the name is
// ignored, as in CouchDB.
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

// distinct estimates how many different keys there are, to within some 1%; small numbers are exact.
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

// UsesValues reports whether the function that a reduce text names, or that it is, looks at the values of rows. The
// empty text is none.
func UsesValues(text string) bool {
	switch a := New(text).(type) {
	case *count, *distinct:
		return false
	default:
		return a != nil || text != ""
	}
}

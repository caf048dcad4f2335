// Package reduce is CouchDB's built-in reduce functions over emitted JSON (clause V11): _count, _sum, _stats and _approx_count_distinct. It is pure:
// rows go in, a JSON value comes out.
//
// Source: couch_query_servers.erl of apache/couchdb 3.5, held against a running one. Where CouchDB answers with an Erlang crash (arrays of
// different length in _stats, mixtures in _sum), these answer with an error that says what is wrong.
package reduce

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/axiomhq/hyperloglog"
)

// Aggregate takes rows in and has their reduction. Not safe for concurrent use.
type Aggregate interface {
	// Add takes one row: two JSON texts, which it does not keep. The error is for the author of the view, and ends the reduction.
	Add(key, value []byte) error
	// AppendJSON appends the reduction of the rows so far.
	AppendJSON(dst []byte) []byte
	// Reset forgets all rows.
	Reset()
}

// Error says that a row's value is nothing that the function can reduce.
type Error struct{ Function, Reason string }

func (e *Error) Error() string { return fmt.Sprintf("The %s function %s", e.Function, e.Reason) }

// New returns the built-in function that a reduce text names; nil if it names none. Whatever follows the name is ignored, as in CouchDB.
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

func (c *count) AppendJSON(dst []byte) []byte { return strconv.AppendInt(dst, c.n, 10) }

func (c *count) Reset() { c.n = 0 }

// distinct estimates how many different keys there are, to within some 1%; small numbers are exact.
type distinct struct{ sketch *hyperloglog.Sketch }

func (d *distinct) Add(key, _ []byte) error { d.sketch.Insert(key); return nil }

func (d *distinct) AppendJSON(dst []byte) []byte {
	return strconv.AppendUint(dst, d.sketch.Estimate(), 10)
}

func (d *distinct) Reset() { d.sketch = hyperloglog.New() }

package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// Partial aggregates make reductions, offsets and skips over large ranges fast (V11). The decision, and its reasons:
//
// The flat, sorted rows of a view are the truth. A partial is a memo of some of them: how many rows there are from one
// position to another and what they reduce to. Who writes or clears a row sets a mark at its position, blindly, in the
// same transaction: an atomic addition, so that no writer of rows reads anything for the sake of partials, and tasks
// and requests never conflict over them. (A tree as CouchDB's, or sums that writers keep up to date, would be one
// structure that all tasks conflict on, and could not take a minimum back out of _stats.) A partial with a mark in its
// range is not used, its rows are read instead; so an answer is exact whatever has been written since, and the fewer
// marks the faster. Marks count by how much the rows have become more or fewer, so that for mere counting a partial
// together with its marks is as good as new.
//
// Marks are taken away by Index.Aggregate, which reads the rows of a stale range with conflict and writes its partials
// anew: it gives way to writers, never they to it. It runs at the end of each build and then and now behind requests.
// Three levels, of some hundred rows, partials, and partials of partials, make a reduction over millions of rows a
// matter of a few hundred reads. Whoever rewrites a partial clears the ones above it and leaves a hole there, which is
// to upper levels what a mark is to the lowest. Where marks are kept, and why not always in the same place, is in
// epochs.go.
//
// Where partials begin and end is for Aggregate to choose (cutItems): where a group of many rows begins or ends, so
// that groups are made of whole partials. Each states its range, so that any set of them that do not overlap is right,
// and none has to be there.

// MaxState is the longest reduction that is kept, in bytes: a partial is one value of the store, with its keys.
const MaxState = 30_000

func PartialPrefix(k *index.Keys, view, level int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewPartials+keyspace.ViewRange(level)), int64(view))
}

// holePrefix is where is listed what a level above the lowest lacks.
func holePrefix(k *index.Keys, view, level int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewHoles+keyspace.ViewRange(level-1)), int64(view))
}

// Partial is one stored memo. Slices may belong to an iterator.
type Partial struct {
	index.Span
	Rows        int64
	First, Last PartialKey // of its rows, where there are any
	State       []byte     // the reduction; nil where none is kept

	Stale bool // its first row, in the direction of the query, may be another one now
}

// PartialKey is the key of a row: as emitted, and as it sorts.
type PartialKey struct{ Json, Sort []byte }

func (p *Partial) Append(dst []byte) []byte {
	dst = append(dst, keyspace.AggregateFormat)
	dst = binary.AppendUvarint(dst, uint64(p.Rows))
	for _, field := range [][]byte{p.End, p.First.Json, p.First.Sort, p.Last.Json, p.Last.Sort} {
		dst = append(binary.AppendUvarint(dst, uint64(len(field))), field...)
	}
	if p.State == nil {
		return append(dst, 0)
	}
	return append(append(dst, 1), p.State...)
}

var errPartial = errors.New("partial aggregate is cut short")

// ParsePartial reads the partial at a position.
func ParsePartial(p *Partial, position, value []byte) error {
	*p = Partial{Span: index.Span{Begin: position}}
	if len(value) == 0 || value[0] != keyspace.AggregateFormat {
		return fmt.Errorf("partial aggregate of a format that this node, which knows %d, cannot read",
			keyspace.AggregateFormat)
	}
	rows, n := binary.Uvarint(value[1:])
	if n <= 0 {
		return errPartial
	}
	p.Rows, value = int64(rows), value[1+n:]
	for _, into := range []*[]byte{&p.End, &p.First.Json, &p.First.Sort, &p.Last.Json, &p.Last.Sort} {
		size, n := binary.Uvarint(value)
		if n <= 0 || uint64(len(value)-n) < size {
			return errPartial
		}
		*into, value = value[n:n+int(size)], value[n+int(size):]
	}
	if len(value) == 0 {
		return errPartial
	}
	if value[0] == 1 {
		p.State = value[1:]
	}
	return nil
}

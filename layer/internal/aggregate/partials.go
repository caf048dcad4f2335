package aggregate

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

// Partial aggregates make reductions, offsets and skips over large ranges fast (V11). This is the design, with its
// reasons:
//
// The flat, sorted rows of a view are authoritative. A partial caches facts about a range of rows: their number and
// their reduction. A transaction that writes or clears a row also leaves a mark at its position, by an atomic addition.
// So writers of rows read nothing for the sake of partials, and tasks and requests never conflict over them. (A tree
// like CouchDB's, or sums maintained by writers, would be one structure that all tasks conflict on, and a minimum could
// not be removed from _stats.) If a partial has marks in its range, the rows are read instead, so that the answer is
// always exact; fewer marks only make it faster. Marks count how many rows were added or removed, so for counting, a
// partial and its marks together are as good as a new partial.
//
// Index.Aggregate removes marks: it reads the rows of a stale range with conflict and rewrites its partials. It yields
// to writers, and never delays them. It runs at the end of each build and occasionally after requests. There are three
// levels: partials of some hundred rows, partials of partials, and partials of those, so that a reduction over millions
// of rows takes a few hundred reads. A transaction that rewrites a partial clears the partials above it and leaves a
// hole there; holes are to the upper levels what marks are to the lowest. File epochs.go explains where marks are kept.
//
// Aggregate chooses where partials begin and end (cutItems): at the ends of large groups, so that groups consist of
// whole partials. Each partial records its range, so any set of disjoint partials is correct, and none is required to
// exist.

// MaxState is the maximum size of a stored reduction in bytes. A partial is one value of the store, including its keys.
const MaxState = 30_000

// PartialPrefix returns the prefix of the keys of a level's partials.
func PartialPrefix(k *index.Keys, view, level int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewPartials+keyspace.ViewRange(level)), int64(view))
}

// holePrefix returns the prefix of the list of holes in a level above the lowest.
func holePrefix(k *index.Keys, view, level int) []byte {
	return tuple.AppendInt(k.AppendRange(nil, keyspace.ViewHoles+keyspace.ViewRange(level-1)), int64(view))
}

// Partial is a stored partial aggregate. Its slices may belong to an iterator.
type Partial struct {
	index.Span
	Rows        int64
	First, Last PartialKey // keys of the first and last row, if there are any
	State       []byte     // the reduction, or nil

	Stale bool // the first row, in the direction of the query, may have changed
}

// PartialKey is the key of a row, as emitted JSON and as sort key.
type PartialKey struct{ Json, Sort []byte }

// Append appends the encoded value of the partial.
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

// ParsePartial decodes the partial at a position.
func ParsePartial(p *Partial, position, value []byte) error {
	*p = Partial{Span: index.Span{Begin: position}}
	if len(value) == 0 || value[0] != keyspace.AggregateFormat {
		return fmt.Errorf("partial aggregate of an unknown format, this node supports %d",
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

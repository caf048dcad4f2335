package check

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
	"github.com/divandb/divan/layer/tuple"
)

// aggregateChecker compares the partial aggregates of one level of a view (aggregate/partials.go) with what they
// aggregate: those of the lowest level with the rows, taking into account the marks left since, and others with the
// level below. Missing partials are not faults.
type aggregateChecker struct {
	*indexChecker
	view, level int
	function    reduce.Aggregate // nil if rows are only counted
	now         aggregate.Aggregates
	until       []byte       // end of the previous partial
	wrong       []index.Span // wrong partials of the level below, and of this level; partials above them are wrong too
	found       []index.Span

	read, readBytes int // rows and marks read for the current partial
}

// maxPartialBytes limits what is read for a partial if the engine holds no snapshots. checkRows limits the rows.
const maxPartialBytes = 4 * checkBytes

// maxWrongPartials is how many wrong partials of a level are remembered.
const maxWrongPartials = 1000

func (c *indexChecker) aggregates() error {
	for view := range c.ix.Design().Views {
		var wrong []index.Span
		for level := range keyspace.ViewLevels {
			a := &aggregateChecker{indexChecker: c, view: view, level: level, wrong: wrong}
			if a.function = reduce.New(c.ix.Design().Views[view].Reduce); a.function != nil {
				if _, ok := a.function.(reduce.Counter); ok {
					a.function = nil
				}
			}
			if err := a.run(); err != nil || c.skip {
				return err
			}
			wrong = a.found
		}
	}
	return nil
}

func (a *aggregateChecker) run() error {
	if a.exact {
		if err := a.begin(); err != nil || !a.now.On {
			return err
		}
		// It also finds the index's number.
	} else if err := a.once(); err != nil || a.skip {
		return err
	}
	prefix := aggregate.PartialPrefix(&a.k, a.view, a.level)
	return a.walk(walk{
		in: db.PrefixRange(prefix), of: single(prefix), begin: a.begin,
		row: func(_ string, position []byte, row kv.KeyValue) error {
			if a.skip || !a.now.On {
				return nil
			}
			return a.partial(position, row.Value)
		},
		reset: func() error {
			a.until = nil
			return nil
		},
	})
}

// begin reads the state of the index at r's version.
func (a *aggregateChecker) begin() (err error) {
	if !a.exact {
		if err := a.indexChecker.begin(); err != nil {
			return err
		}
	}
	a.until = nil
	a.now, err = aggregate.GetMarked(a.r, &a.k)()
	return err
}

func (a *aggregateChecker) bad(format string, args ...any) {
	name := a.ix.Design().Views[a.view].Name
	a.indexChecker.bad("", "partial aggregate of view %s, level %d: "+format, append([]any{name, a.level}, args...)...)
}

func (a *aggregateChecker) partial(position, value []byte) error {
	var p aggregate.Partial
	if err := aggregate.ParsePartial(&p, bytes.Clone(position), bytes.Clone(value)); err != nil {
		a.bad("cannot be read: %v", err)
		return nil
	}
	if !bytes.Equal(p.Append(nil), value) {
		a.bad("from %s to %s is not in its canonical encoding", p.First.Json, p.Last.Json)
		a.note(p.Span)
		return nil
	}
	if bytes.Compare(p.Begin, p.End) >= 0 || bytes.Compare(p.Begin, a.until) < 0 {
		a.bad("overlaps the previous one")
		a.note(p.Span)
		return nil
	}
	a.until = p.End
	for _, w := range a.wrong {
		if bytes.Compare(w.Begin, p.End) < 0 && bytes.Compare(p.Begin, w.End) < 0 {
			a.note(p.Span)
			return nil
		}
	}
	is, known, err := a.sum(&p)
	if err != nil || !known {
		return err
	}
	marks := aggregate.NewMarkCursors(a.r, aggregate.MarkPrefixes(&a.k, a.view, a.now), p.Span, false)
	defer marks.Close()
	var delta int64
	stale := false
	if a.level == 0 {
		if stale, err = marks.Any(p.Span); err == nil && stale {
			var some bool
			fits := func(mark []byte, _ int64) bool { return a.room(len(mark)) }
			if delta, some, err = marks.Sum(p.Span, fits); err == nil && !some {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case is.Rows != p.Rows+delta:
		a.bad("counts %d rows and %d since, but there are %d", p.Rows, delta, is.Rows)
	case a.function == nil && p.State != nil:
		a.bad("from %s to %s has a reduction, although the view has none", p.First.Json, p.Last.Json)
	case stale:
		return nil
	case !equal(is.First, p.First) || !equal(is.Last, p.Last):
		a.bad("from %s to %s has rows from %s to %s", p.First.Json, p.Last.Json, is.First.Json, is.Last.Json)
	case a.function != nil && !a.same(is.State, p.State):
		a.bad("from %s to %s does not match its rows", p.First.Json, p.Last.Json)
	default:
		return nil
	}
	a.note(p.Span)
	return nil
}

func (a *aggregateChecker) note(s index.Span) {
	if len(a.found) < maxWrongPartials {
		a.found = append(a.found, index.Span{Begin: bytes.Clone(s.Begin), End: bytes.Clone(s.End)})
	}
}

func equal(k aggregate.PartialKey, o aggregate.PartialKey) bool {
	return bytes.Equal(k.Json, o.Json) && bytes.Equal(k.Sort, o.Sort)
}

// same compares two reductions by their JSON, because some have several encodings.
func (a *aggregateChecker) same(one, other []byte) bool {
	if one == nil || other == nil {
		return one == nil && other == nil
	}
	says := func(state []byte) string {
		a.function.Reset()
		if err := a.function.Merge(state); err != nil {
			return "error: " + err.Error()
		}
		return string(a.function.AppendJSON(nil))
	}
	return says(one) == says(other)
}

// room counts a row that is read for a partial, and reports whether more may be read. A partial usually covers few
// rows. But a partial written for an empty view covers all rows written until the next Index.Aggregate, which may be
// more than a transaction can read in its time.
func (a *aggregateChecker) room(size int) bool {
	a.beside, a.besideBytes = a.beside+1, a.besideBytes+size
	a.read, a.readBytes = a.read+1, a.readBytes+size
	return a.exact || a.read <= a.most() && a.readBytes <= maxPartialBytes
}

// sum recomputes a partial. known is false if not everything that it covers exists, or if it is too much for a
// transaction.
func (a *aggregateChecker) sum(p *aggregate.Partial) (is aggregate.Partial, known bool, err error) {
	is.Span, a.read, a.readBytes = p.Span, 0, 0
	if a.function != nil {
		a.function.Reset()
	}
	reduces := a.function != nil
	if a.level == 0 {
		known, err = a.sumRows(&is, &reduces)
	} else {
		known, err = a.sumPartials(&is, &reduces)
	}
	if reduces && is.Rows > 0 {
		if state, ok := a.function.AppendState(nil); ok && len(state) <= aggregate.MaxState {
			is.State = state
		}
	}
	return is, known, err
}

// add adds rows without their values.
func (a *aggregateChecker) add(is *aggregate.Partial, first, last aggregate.PartialKey, rows int64) {
	keep := func(k aggregate.PartialKey) aggregate.PartialKey {
		return aggregate.PartialKey{Json: bytes.Clone(k.Json), Sort: bytes.Clone(k.Sort)}
	}
	if is.Rows == 0 {
		is.First = keep(first)
	}
	is.Last.Json = append(is.Last.Json[:0], last.Json...)
	is.Last.Sort = append(is.Last.Sort[:0], last.Sort...)
	is.Rows += rows
}

// sumRows adds up rows. It sets reduces to false if they cannot be reduced. known is false if there are too many rows.
func (a *aggregateChecker) sumRows(is *aggregate.Partial, reduces *bool) (known bool, err error) {
	prefix := a.k.RowPrefix(a.view)
	rows := a.r.GetRange(is.At(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		if !a.room(len(row.Key) + len(row.Value)) {
			return false, nil
		}
		rest := row.Key[len(prefix):]
		var key aggregate.PartialKey
		if a.ix.Design().Partitioned {
			if rest, err = tuple.Skip(rest); err != nil {
				return false, db.Corrupt("view row", err)
			}
		}
		if key.Sort, _, err = tuple.TakeBytes(rest); err != nil {
			return false, db.Corrupt("view row", err)
		}
		if key.Json, rest, err = tuple.TakeBytes(row.Value); err != nil {
			return false, db.Corrupt("view row", err)
		}
		a.add(is, key, key, 1)
		if !*reduces {
			continue
		}
		var value []byte
		if value, _, err = tuple.TakeBytes(rest); err != nil {
			return false, db.Corrupt("view row", err)
		}
		*reduces = a.function.Add(key.Json, value) == nil
	}
	return true, rows.Err()
}

// sumPartials is sumRows for the partials of the level below.
func (a *aggregateChecker) sumPartials(is *aggregate.Partial, reduces *bool) (known bool, err error) {
	prefix := aggregate.PartialPrefix(&a.k, a.view, a.level-1)
	rows := a.r.GetRange(is.At(prefix), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	at := is.Begin
	for rows.Next() {
		row := rows.KeyValue()
		if !a.room(len(row.Key) + len(row.Value)) {
			return false, nil
		}
		var p aggregate.Partial
		if err := aggregate.ParsePartial(&p, row.Key[len(prefix):], row.Value); err != nil {
			return false, nil //nolint:nilerr // reported with its level
		}
		if !bytes.Equal(p.Begin, at) {
			return false, nil
		}
		at = bytes.Clone(p.End)
		if p.Rows == 0 {
			continue
		}
		a.add(is, p.First, p.Last, p.Rows)
		if *reduces {
			*reduces = p.State != nil && a.function.Merge(p.State) == nil
		}
	}
	return bytes.Equal(at, is.End), rows.Err()
}

package query

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/reduce"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// GroupExact is a GroupLevel: a row for each key (group=true).
const GroupExact = -1

// ReduceQuery is a reduce query (V11). Limit and Skip count groups; IncludeDocs and Conflicts have no meaning.
type ReduceQuery struct {
	index.ViewQuery
	// GroupLevel 0 is one row for the whole range, n one for each different first n elements of array keys, GroupExact
	// one for each key.
	GroupLevel int
	// AnySize lets results of a JavaScript function be as large as what they are made from, which is an error of their
	// group otherwise (CouchDB's reduce_limit).
	AnySize bool
	// Ranges, where it is not nil, has the start and end keys of several ranges, in the order of the query and without
	// common keys, in the place of StartKey and EndKey. Rows of several ranges may be of one group.
	Ranges []KeyRange
}

// KeyRange is a range of keys, both JSON and inclusive; nil leaves a side open.
type KeyRange struct{ StartKey, EndKey []byte }

// spans are the ranges that the query reads.
func (q *ReduceQuery) spans(k *index.Keys, view int) ([]index.Span, error) {
	if q.Ranges == nil {
		return ranges(&q.ViewQuery, k, view)
	}
	var all []index.Span
	for _, r := range q.Ranges {
		one := q.ViewQuery
		one.Keys, one.StartKey, one.EndKey = nil, r.StartKey, r.EndKey
		spans, err := ranges(&one, k, view)
		if err != nil {
			return nil, err
		}
		all = append(all, spans...)
	}
	return all, nil
}

// ReduceRow is one group. Valid until the next one.
type ReduceRow struct {
	Key   []byte // JSON; null without grouping
	Value []byte // JSON
	// Err says why the group has no value; Key is null then. The groups after it follow.
	Err *fault.Error
}

// groupError is that of one group.
type groupError struct{ cause *fault.Error }

func (e *groupError) Error() string { return e.cause.Error() }
func (e *groupError) Unwrap() error { return e.cause }

// ReduceResult is a reduce response under way.
type ReduceResult struct {
	UpdateSeq db.Seq
	Rows      iter.Seq2[ReduceRow, error] // once
}

// Reduce streams the groups of a query, reduced from the index as it stands. An empty range has no groups. NotFound and
// Invalid as Query; NotFound also where the view has no reduce function; Invalid (invalid_value, reduce_error) where
// the function cannot reduce the rows.
func (ix Index) Reduce(ctx context.Context, q ReduceQuery) (*ReduceResult, error) {
	id, def, ok := ix.Design().View(q.View)
	if !ok || def.Reduce == "" {
		return nil, fault.Errf(fault.NotFound, "", "missing_named_view")
	}
	function, err := newReduction(ctx, ix.Index, &def, q.AnySize)
	if err != nil {
		return nil, err
	}
	r, err := read(ctx, ix.Index, &q.ViewQuery, false)
	if err != nil {
		return nil, err
	}
	ranges, err := q.spans(&r.Keys, id)
	if err == nil {
		err = q.CheckPartition(ix.Design())
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	if r.Empty {
		ranges = nil
	}
	head := len(r.Keys.AppendPartition(nil, q.Partition))
	g := grouping{q: &q, view: id, raw: def.Raw, head: head, function: function, skip: q.Skip, left: q.Limit}
	return &ReduceResult{UpdateSeq: r.Seq, Rows: g.rows(r, ranges)}, nil
}

// grouping turns rows, which come in the order of their keys, into groups.
type grouping struct {
	q          *ReduceQuery
	view       int
	raw        bool
	head       int // bytes of a position before the sort key: the partition
	function   reduction
	skip, left int

	from   *index.Reading
	open   bool   // there is a group under way
	group  []byte // what its sort keys have in common
	key    []byte // its key, JSON
	buffer []byte
	yield  func(ReduceRow, error) bool
}

func (g *grouping) rows(from *index.Reading, ranges []index.Span) iter.Seq2[ReduceRow, error] {
	return func(yield func(ReduceRow, error) bool) {
		defer from.Close()
		g.yield, g.from = yield, from
		for _, r := range ranges {
			c := aggregate.Cover{S: from.Rows, View: g.view, Reverse: g.q.Descending, Counts: g.function.counts(),
				Partial: g.partial, Row: g.row}
			if g.q.GroupLevel != 0 {
				c.Alike = g.alike
			}
			more, err := c.Run(&from.Keys, r, g.function.merges())
			if err == nil && more && g.q.Ranges == nil {
				more, err = g.end() // the rows of each key are grouped by themselves, as CouchDB does
			}
			if err != nil {
				yield(ReduceRow{}, err)
				return
			}
			if !more {
				return
			}
		}
		if _, err := g.end(); err != nil {
			yield(ReduceRow{}, err)
		}
	}
}

// row takes the next row. more is false where no more are wanted.
func (g *grouping) row(position []byte, row kv.KeyValue) (more bool, err error) {
	sortKey, rest, err := tuple.TakeBytes(position[g.head:])
	if err != nil {
		return false, db.Corrupt("view row", err)
	}
	key, value, err := tuple.TakeBytes(row.Value)
	if err == nil {
		value, _, err = tuple.TakeBytes(value)
	}
	if err != nil {
		return false, db.Corrupt("view row", err)
	}
	if more, err := g.turn(g.common(sortKey), key); err != nil || !more || g.skip > 0 {
		return more, err
	}
	docID, _, err := tuple.TakeStringBytes(rest)
	if err != nil {
		return false, db.Corrupt("view row", err)
	}
	return true, g.function.add(key, docID, value)
}

// partial takes many rows at once, where they are of one group.
func (g *grouping) partial(p *aggregate.Partial) (taken, more bool, err error) {
	if p.Rows == 0 {
		return true, true, nil
	}
	if p.State == nil && !g.function.counts() {
		return false, true, nil
	}
	group := g.common(p.First.Sort)
	if !bytes.Equal(group, g.common(p.Last.Sort)) {
		return false, true, nil
	}
	key := p.First.Json
	if g.q.Descending {
		key = p.Last.Json
	}
	if opens := !g.open || !bytes.Equal(group, g.group); opens && p.Stale {
		if key, err = g.firstKey(p.Span); err != nil {
			return false, false, err
		}
	}
	if more, err := g.turn(group, key); err != nil || !more || g.skip > 0 {
		return true, more, err
	}
	return true, true, g.function.merge(p)
}

// alike is the test whether the rows of a partial, all of one group, are that still: whether those that were added are
// of the same. It notes where the first row may have changed. nil where the rows are of several groups.
func (g *grouping) alike(p *aggregate.Partial) func(position []byte, delta int64) bool {
	if p.Rows == 0 {
		return func(_ []byte, delta int64) bool { return delta <= 0 } // no group to compare with
	}
	group := g.common(p.First.Sort)
	if !bytes.Equal(group, g.common(p.Last.Sort)) {
		return nil
	}
	return func(position []byte, delta int64) bool {
		sortKey, _, err := tuple.TakeBytes(position[g.head:])
		if err != nil {
			return false // a place, and not a row
		}
		if g.q.Descending {
			p.Stale = p.Stale || bytes.Compare(sortKey, p.Last.Sort) >= 0
		} else {
			p.Stale = p.Stale || bytes.Compare(sortKey, p.First.Sort) <= 0
		}
		return delta <= 0 || bytes.Equal(g.common(sortKey), group)
	}
}

// firstKey is the key of the first row of a span that has rows.
func (g *grouping) firstKey(s index.Span) ([]byte, error) {
	row, err := db.FirstRow(g.from.Rows.R, s.At(g.from.Keys.RowPrefix(g.view)), g.q.Descending)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, db.Corrupt("aggregate", errors.New("it counts rows that there are not"))
	}
	key, _, err := tuple.TakeBytes(row.Value)
	if err != nil {
		return nil, db.Corrupt("view row", err)
	}
	return key, nil
}

// turn ends the group under way where the next row is of another one, and begins that: key is the first one in it.
func (g *grouping) turn(group, key []byte) (more bool, err error) {
	if g.open && !bytes.Equal(group, g.group) {
		if more, err := g.end(); err != nil || !more {
			return false, err
		}
	}
	if g.open {
		return true, nil
	}
	if g.left == 0 {
		return false, nil
	}
	g.open = true
	g.group = append(g.group[:0], group...)
	g.key = g.groupKey(g.key[:0], key)
	return true, nil
}

// common is the part of a sort key that decides the group.
func (g *grouping) common(sortKey []byte) []byte {
	switch {
	case g.q.GroupLevel == 0:
		return nil
	case g.q.GroupLevel == GroupExact:
		return sortKey
	case g.raw:
		prefix, _ := collate.RawPrefix(sortKey, g.q.GroupLevel)
		return prefix
	}
	prefix, _ := collate.Prefix(sortKey, g.q.GroupLevel)
	return prefix
}

// groupKey is the key that is shown of a group: its first row's, cut to the level.
func (g *grouping) groupKey(dst, key []byte) []byte {
	switch {
	case g.q.GroupLevel == 0:
		return append(dst, "null"...)
	case g.q.GroupLevel == GroupExact || len(key) == 0 || key[0] != '[':
		return append(dst, key...)
	}
	n := 0
	dst = append(dst, '[')
	gjson.ParseBytes(key).ForEach(func(_, item gjson.Result) bool {
		if n == g.q.GroupLevel {
			return false
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, item.Raw...)
		return true
	})
	return append(dst, ']')
}

// end yields the group under way, if there is one that is wanted.
func (g *grouping) end() (more bool, err error) {
	if !g.open {
		return true, nil
	}
	g.open = false
	if g.skip > 0 {
		g.skip--
		return true, nil
	}
	if g.left == 0 {
		return false, nil
	}
	g.left--
	row := ReduceRow{Key: g.key}
	g.buffer, err = g.function.result(g.buffer[:0])
	var failed *groupError
	switch {
	case errors.As(err, &failed):
		row.Key, row.Err = []byte("null"), failed.cause
	case err != nil:
		return false, err
	}
	row.Value = g.buffer
	return g.yield(row, nil) && g.left != 0, nil
}

// reduction reduces the rows of one group after the other.
type reduction interface {
	add(key, docID, value []byte) error
	// merge takes in the rows of a partial, if merges says that this can be done.
	merge(p *aggregate.Partial) error
	merges() bool
	// counts says that it counts rows, and needs no more of a partial than how many there are.
	counts() bool
	// result appends the group's reduction, or is its *groupError, and makes ready for the next group.
	result(dst []byte) ([]byte, error)
}

// State is what queries remember of a Store.
type State struct {
	Scripts    *script.Sandbox                      // nil: this node runs no functions
	Reduces    *cache.Cache[string, *script.Reduce] // by source
	ReduceTime time.Duration                        // of the JavaScript reductions of one query
}

// KeptReduces is what is kept in memory of reduce functions at most, in bytes of their text.
const KeptReduces = 32 << 20

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// newReduction is the view's reduce function.
func newReduction(ctx context.Context, ix *index.Index, def *design.ViewDef, anySize bool) (reduction, error) {
	if a := reduce.New(def.Reduce); a != nil {
		return builtin{a}, nil
	}
	q := StateOf(ix.Db.Store)
	if q.Scripts == nil || ix.Design().Language != "javascript" {
		return nil, fault.Errf(fault.NotImplemented, "unknown_query_language", "%s", ix.Design().Language)
	}
	ctx = script.Charge(ctx, ix.Db.Name(), script.Query)
	f, err := q.Reduces.Get(ctx, def.Reduce, func() (*script.Reduce, int, error) {
		f, err := q.Scripts.Reduce(ctx, script.Function{Name: "reduce", Source: def.Reduce})
		return f, len(def.Reduce), design.Compilation(err)
	})
	if err != nil {
		return nil, err
	}
	if anySize {
		f = f.AnySize()
	}
	return &scripted{ctx: ctx, f: f, until: time.Now().Add(q.ReduceTime)}, nil
}

type builtin struct{ reduce.Aggregate }

func (b builtin) add(key, _, value []byte) error {
	return reductionError(b.Add(key, value))
}

// reductionError is the query's error for rows that cannot be reduced.
func reductionError(err error) error {
	var invalid *reduce.Error
	if errors.As(err, &invalid) {
		return &fault.Error{Kind: fault.Invalid, Name: "invalid_value", Reason: err.Error(), Err: err}
	}
	return err
}

func (b builtin) merges() bool { return true }

func (b builtin) counts() bool {
	_, ok := b.Aggregate.(reduce.Counter)
	return ok
}

func (b builtin) merge(p *aggregate.Partial) error {
	if c, ok := b.Aggregate.(reduce.Counter); ok {
		c.AddRows(p.Rows)
		return nil
	}
	return reductionError(b.Merge(p.State))
}

func (b builtin) result(dst []byte) ([]byte, error) {
	dst = b.AppendJSON(dst)
	b.Reset()
	return dst, nil
}

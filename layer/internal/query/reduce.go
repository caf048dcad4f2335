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

// GroupExact is the GroupLevel with one row for each key (group=true).
const GroupExact = -1

// ReduceQuery is a reduce query (V11). Limit and Skip count groups; IncludeDocs and Conflicts are ignored.
type ReduceQuery struct {
	index.ViewQuery
	// GroupLevel 0 means one row for the whole range, n one row for each distinct list of the first n elements of array
	// keys, and GroupExact one row for each key.
	GroupLevel int
	// AnySize permits results of a JavaScript function that are not smaller than its input. Otherwise they are errors
	// of their groups (CouchDB's reduce_limit).
	AnySize bool
	// Count counts the rows instead of reducing them, as _count does. Then the view need not have a reduce function.
	Count bool
}

// ReduceRow is one group, valid until the next one.
type ReduceRow struct {
	Key   []byte // JSON; null without grouping
	Value []byte // JSON
	// Err is the reason why the group has no value; then Key is null. Other groups may follow.
	Err *fault.Error
}

// groupError is an error of one group.
type groupError struct{ cause *fault.Error }

func (e *groupError) Error() string { return e.cause.Error() }
func (e *groupError) Unwrap() error { return e.cause }

// ReduceResult is a reduce response in progress.
type ReduceResult struct {
	UpdateSeq db.Seq
	Rows      iter.Seq2[ReduceRow, error] // can be used once
}

// Reduce streams the groups of a query, reduced from the index in its current state. An empty range has no groups.
// Errors are those of Query; also NotFound if the view lacks the reduce function, and Invalid (invalid_value,
// reduce_error) if the function cannot reduce the rows.
func (ix Index) Reduce(ctx context.Context, q ReduceQuery) (*ReduceResult, error) {
	id, def, ok := ix.Design().View(q.View)
	if !ok || def.Reduce == "" && !q.Count {
		return nil, fault.Errf(fault.NotFound, "", "missing_named_view")
	}
	if q.Count {
		def.Reduce = "_count"
	}
	function, err := newReduction(ctx, ix.Index, &def, q.AnySize, q.Descending)
	if err != nil {
		return nil, err
	}
	r, err := read(ctx, ix.Index, -1, &q.ViewQuery, false)
	if err != nil {
		return nil, err
	}
	ranges, err := ranges(&q.ViewQuery, &r.Keys, id)
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
	partition := r.Keys.AppendPartition(nil, q.Partition)
	g := grouping{q: &q, view: id, raw: def.Raw, partition: partition, function: function,
		skip: q.Skip, left: q.Limit, from: r, seq: r.Seq, now: r.Seq}
	if q.GroupLevel != 0 || r.Refresh == nil {
		return &ReduceResult{UpdateSeq: r.Seq, Rows: g.rows(ranges)}, nil
	}
	// The answer is as of the transaction that finished it, which is known at its end.
	rows, err := collect(g.rows(ranges))
	if err != nil {
		return nil, err
	}
	return &ReduceResult{UpdateSeq: g.seq, Rows: rows}, nil
}

// collect reads all rows, of which there is one for each range at most.
func collect(rows iter.Seq2[ReduceRow, error]) (iter.Seq2[ReduceRow, error], error) {
	var all []ReduceRow
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, ReduceRow{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value), Err: row.Err})
	}
	return func(yield func(ReduceRow, error) bool) {
		for _, row := range all {
			if !yield(row, nil) {
				return
			}
		}
	}, nil
}

// grouping turns rows in key order into groups.
type grouping struct {
	q          *ReduceQuery
	view       int
	raw        bool
	partition  []byte // of a position, before the sort key
	function   reduction
	skip, left int

	from   *index.Reading
	seq    db.Seq // of the answer
	now    db.Seq // of the current transaction
	begun  place  // of the current group
	in     int    // the current range
	again  int    // how often the current group was begun again
	ended  bool   // a group has ended
	open   bool   // the current group has rows
	group  []byte // the common part of its sort keys
	key    []byte // its key, as JSON
	buffer []byte
	yield  func(ReduceRow, error) bool
}

// place is where a group begins: in one of the ranges, at a position.
type place struct {
	in       int
	position []byte // nil for the beginning of the range
}

// rest returns what is left of the range from the place on, in the direction of the query.
func (p place) rest(s index.Span, reverse bool) index.Span {
	switch {
	case p.position == nil:
	case reverse && bytes.Compare(p.position, s.End) < 0:
		s.End = p.position
	case !reverse && bytes.Compare(p.position, s.Begin) > 0:
		s.Begin = p.position
	}
	return s
}

// errAgain ends the read of a range if the current group has to be read again.
var errAgain = errors.New("the rows are of another sequence")

// maxAgain is how often a group is read again. Groups that take longer than a transaction lives, in a view that is
// always updated, are made from several.
const maxAgain = 3

// renewed runs in each new transaction. A group's rows must be of one sequence, and so must be all rows of an answer
// without groups. If the new transaction reads another sequence, the group is read again.
func (g *grouping) renewed() error {
	if err := g.from.Rows.Try(g.from.Refresh); err != nil {
		return err
	}
	order := g.from.Seq.Compare(g.now)
	if order == 0 {
		return nil
	}
	if order < 0 && g.q.Fresh {
		return index.ErrBehind()
	}
	g.now = g.from.Seq
	if g.again == maxAgain || g.ended && !g.open {
		return nil
	}
	g.again++
	if !g.ended {
		g.begun, g.seq = place{}, g.now
	}
	if g.open {
		g.open = false
		g.function.reset()
	}
	return errAgain
}

func (g *grouping) rows(ranges []index.Span) iter.Seq2[ReduceRow, error] {
	return func(yield func(ReduceRow, error) bool) {
		from := g.from
		defer from.Close()
		g.yield = yield
		var rest place // where to go on in the range
		for g.in = 0; g.in < len(ranges) && !from.Empty; g.in++ {
			c := aggregate.Cover{S: from.Rows, View: g.view, Reverse: g.q.Descending, Counts: g.function.counts(),
				Partial: g.partial, Row: g.row}
			if g.q.GroupLevel != 0 {
				c.Alike = g.alike
			}
			if from.Refresh != nil {
				c.Renewed = g.renewed
			}
			more, err := c.Run(&from.Keys, rest.rest(ranges[g.in], g.q.Descending), g.function.merges())
			if errors.Is(err, errAgain) {
				rest = g.begun
				g.in = rest.in - 1
				continue
			}
			rest = place{}
			if err == nil && more && g.q.Ranges == nil {
				// Like CouchDB, group the rows of each requested key separately.
				more, err = g.end()
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

// row adds the next row. It returns false if no more rows are needed.
func (g *grouping) row(position []byte, row kv.KeyValue) (more bool, err error) {
	sortKey, rest, err := tuple.TakeBytes(position[len(g.partition):])
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
	if err := g.turn(g.common(sortKey), key); err != nil || !g.open || g.skip > 0 {
		return g.open, err
	}
	docID, _, err := tuple.TakeStringBytes(rest)
	if err != nil {
		return false, db.Corrupt("view row", err)
	}
	return true, g.function.add(key, docID, value)
}

// partial adds many rows at once, if all are of one group.
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
	if err := g.turn(group, key); err != nil || !g.open || g.skip > 0 {
		return true, g.open, err
	}
	return true, true, g.function.merge(p)
}

// alike returns a function that reports whether a partial's rows are still of one group after a row was added or
// removed. It marks the partial stale if its first row may have changed. alike returns nil if the rows are of several
// groups.
func (g *grouping) alike(p *aggregate.Partial) func(position []byte, delta int64) bool {
	if p.Rows == 0 {
		return func(_ []byte, delta int64) bool { return delta <= 0 } // there is no group yet
	}
	group := g.common(p.First.Sort)
	if !bytes.Equal(group, g.common(p.Last.Sort)) {
		return nil
	}
	return func(position []byte, delta int64) bool {
		sortKey, _, err := tuple.TakeBytes(position[len(g.partition):])
		if err != nil {
			return false // position marks a boundary and is not a row
		}
		if g.q.Descending {
			p.Stale = p.Stale || bytes.Compare(sortKey, p.Last.Sort) >= 0
		} else {
			p.Stale = p.Stale || bytes.Compare(sortKey, p.First.Sort) <= 0
		}
		return delta <= 0 || bytes.Equal(g.common(sortKey), group)
	}
}

// firstKey returns the key of the first row of a span, which must contain rows.
func (g *grouping) firstKey(s index.Span) ([]byte, error) {
	row, err := db.FirstRow(g.from.Rows.R, s.At(g.from.Keys.RowPrefix(g.view)), g.q.Descending)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, db.Corrupt("aggregate", errors.New("it counts rows that do not exist"))
	}
	key, _, err := tuple.TakeBytes(row.Value)
	if err != nil {
		return nil, db.Corrupt("view row", err)
	}
	return key, nil
}

// turn ends the current group if the next row is of another one, and opens that group. key is the first key in it. No
// group is open afterwards if no more rows are needed.
func (g *grouping) turn(group, key []byte) error {
	if g.open && !bytes.Equal(group, g.group) {
		if more, err := g.end(); err != nil || !more {
			return err
		}
	}
	if g.open || g.left == 0 {
		return nil
	}
	g.open = true
	g.group = append(g.group[:0], group...)
	g.key = g.groupKey(g.key[:0], key)
	if g.from.Refresh == nil {
		return nil
	}
	var err error
	g.begun, err = g.begins()
	return err
}

// begins returns where the current group begins, in the direction of the query, whatever rows it has: its first row may
// be another one in the next transaction.
func (g *grouping) begins() (place, error) {
	if g.q.GroupLevel == 0 {
		return place{in: g.in}, nil
	}
	at := tuple.AppendBytes(bytes.Clone(g.partition), g.group)
	if g.q.GroupLevel != GroupExact {
		at = at[:len(at)-1] // the sort keys of the group continue here
	}
	if !g.q.Descending {
		return place{g.in, at}, nil
	}
	at, err := tuple.Strinc(at)
	return place{g.in, at}, err
}

// common returns the part of a sort key that determines the group.
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

// groupKey appends the key of a group in the answer: that of its first row, cut to the group level.
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

// end yields the current group, if there is one and it is not skipped.
func (g *grouping) end() (more bool, err error) {
	if !g.open {
		return true, nil
	}
	g.open, g.ended, g.again = false, true, 0
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
	// merge adds the rows of a partial. It may only be called if merges returns true.
	merge(p *aggregate.Partial) error
	merges() bool
	// reset makes the reduction ready for another group, without a result of the rows added so far.
	reset()
	// counts reports that the reduction only counts rows, so that it needs only a partial's row count.
	counts() bool
	// result appends the group's reduction, or returns a *groupError. Then the reduction is ready for the next group.
	result(dst []byte) ([]byte, error)
}

// State is what queries keep with a Store.
type State struct {
	Scripts    *script.Sandbox                      // nil if this node runs no functions
	Reduces    *cache.Cache[string, *script.Reduce] // by source
	ReduceTime time.Duration                        // time limit for the JavaScript reductions of one query
}

// KeptReduces limits the size of cached reduce functions, in bytes of source.
const KeptReduces = 32 << 20

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// newReduction returns the view's reduce function.
func newReduction(ctx context.Context, ix *index.Index, def *design.ViewDef, anySize, descending bool) (reduction,
	error) {
	if a := reduce.New(def.Reduce); a != nil {
		if o, ok := a.(reduce.Ordered); ok && descending {
			o.Descending()
		}
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

// reductionError returns the query's error for rows that cannot be reduced.
func reductionError(err error) error {
	var invalid *reduce.Error
	if errors.As(err, &invalid) {
		return &fault.Error{Kind: fault.Invalid, Name: "invalid_value", Reason: err.Error(), Err: err}
	}
	return err
}

func (b builtin) merges() bool { return true }

func (b builtin) reset() { b.Reset() }

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

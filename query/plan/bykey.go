package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// Reads by ids or keys that are only known when the plan runs.

// byKeys lets a scan of documents or of a view be narrowed to some ids or keys, within the intervals of its conditions.
func (p *planning) byKeys(f *bind.UserScan, s *exec.Scan, set ranges.Intervals, order *scanDirection) {
	if !keyed(f) {
		return
	}
	index, typ := sortedColumn(f)
	col := ranges.Column(index, typ, false)
	s.ByKeys = func(values []types.Datum) ([]exec.Access, error) {
		list := make([]exec.Expr, len(values))
		for i, d := range values {
			list[i] = &exec.Const{D: d, Typ: typ}
		}
		points, _ := col.Points(list)
		if len(values) > exec.MaxKeys && !points.AllPoints() {
			return s.Accesses, nil // ranges between many keys are no better than all rows
		}
		points = points.Intersect(set)
		var spans ranges.Intervals
		if order == nil && f.Rel.Kind == exec.ReadView {
			// All single keys are one read.
			for _, iv := range points {
				if !iv.IsPoint() {
					spans = append(spans, iv)
				}
			}
			points = slices.DeleteFunc(points, func(iv ranges.Interval) bool { return !iv.IsPoint() })
			if len(spans) > maxReads {
				points, spans = ranges.Union(append(points, spans...)), nil
			}
		}
		desc := order != nil && order.desc
		if len(points) > maxReads && !points.AllPoints() {
			points = points.Hull()
		}
		var out []exec.Access
		for some := range slices.Chunk(points, exec.MaxKeys) {
			read := p.accesses(f, some, desc)
			if desc {
				read, out = out, read
			}
			out = append(out, read...)
		}
		out = append(out, p.accesses(f, spans, desc)...)
		for i := range out {
			p.options(f, &out[i])
		}
		return out, nil
	}
}

// sortedColumn returns the place and the type of the column that a scan is sorted by.
func sortedColumn(f *bind.UserScan) (int, types.OID) {
	field := orderColumn(f.Rel.Kind)
	i := slices.IndexFunc(f.Rel.Columns, func(c naming.UserColumn) bool { return c.Field == field })
	return f.Base + i, f.Rel.Columns[i].Type
}

// byKey reads a scan by a condition that compares its id or key with columns of other rows, or with a sub-query. The
// conditions are still to be applied.
func (p *planning) byKey(f *bind.UserScan, s *exec.Scan, conds []exec.Expr) exec.Source {
	if s.ByKeys == nil || p.avoid.keys {
		return s
	}
	index, typ := sortedColumn(f)
	from, to := f.Span()
	out := &joins.ByKey{Scan: s, Name: fieldNames[orderColumn(f.Rel.Kind)], Column: index, Relation: f,
		From: from, To: to}
	for _, c := range conds {
		if out.Key = keyOf(f, c); out.Key != nil {
			return out
		}
		if n, ok := c.(*exec.Subquery); ok {
			if n.Kind == "any" && n.Lookup && !n.Any.All && !n.Correlated && n.Match == nil && isColumn(n.X, index) &&
				n.Any.Op.Collation == nil && n.X.Type() == typ {
				out.In = n
				return out
			}
		}
	}
	return s
}

// keyOf returns the value of enclosing rows that a condition compares with the column that a relation is sorted by, nil
// if it is no such condition.
func keyOf(f *bind.UserScan, c exec.Expr) exec.Expr {
	n, ok := c.(*exec.Call)
	if !ok || n.Op != "=" || len(n.Args) != 2 || n.Func.Collation != nil || !keyed(f) {
		return nil
	}
	index, typ := sortedColumn(f)
	x, y := n.Args[0], n.Args[1]
	if !isColumn(x, index) {
		x, y = y, x
	}
	if isColumn(x, index) && y.Type() == typ && fixed(y) {
		return y
	}
	return nil
}

// keyed reports whether a relation can be read by some ids or keys.
func keyed(f *bind.UserScan) bool {
	return !f.Raw && !f.Partitioned && (f.Rel.Kind == exec.ReadAllDocs || f.Rel.Kind == exec.ReadView)
}

// fixed reports whether an expression has columns of enclosing queries, but none of its own query, so that it has one
// value while the rows of this one are read.
func fixed(e exec.Expr) bool {
	ok, outer := true, false
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Col:
			ok, outer = ok && n.Depth > 0, true
		case *exec.Subquery, *exec.It:
			ok = false
		case *exec.Call:
			ok = ok && n.Func.Volatility != exec.Volatile
		}
	})
	return ok && outer
}

// isColumn reports whether an expression is a column of its row.
func isColumn(e exec.Expr, index int) bool {
	c, ok := collation.WithoutBytes(e).(*exec.Col)
	return ok && c.Depth == 0 && c.Index == index
}

// narrow lets a join read one side by the keys of the other. left is nil if it is not one item of FROM.
func (p *planning) narrow(j *joins.Join, left, right bind.From) {
	if j.Lateral || p.st.Reads.Follow || p.avoid.keys {
		return // rows of a feed without end must not wait for others
	}
	if j.Kind == "inner" || j.Kind == "left" {
		j.NarrowRight = p.narrowing(j.Right, right, j.RightKeys)
	}
	if j.NarrowRight == nil && left != nil && (j.Kind == "inner" || j.Kind == "right") {
		j.NarrowLeft = p.narrowing(j.Left, left, j.LeftKeys)
	}
}

// rowsOfLookup is the number of rows that are read one after the other in the time of one that is looked up with others
// by its id or key. maxLookups is the most that are looked up for a join.
const (
	rowsOfLookup = 8
	maxLookups   = 50000
)

// worth returns how many keys of a relation are read in less time than all of it, or nil if it is not read whole.
func (p *planning) worth(f *bind.UserScan, s *exec.Scan) func() int {
	a := &s.Accesses[0]
	if a.Docs.Low != "" || a.Docs.High != "" || a.Docs.IDs != nil || a.View.Low != nil || a.View.High != nil ||
		a.View.Keys != nil {
		return nil
	}
	// The batches must be as of one moment.
	p.st.Reads.Count = max(p.st.Reads.Count, several)
	return func() int {
		var rows int64
		if db, ok := p.db.(exec.Indexer); ok && f.Rel.Kind == exec.ReadView {
			if state, err := db.IndexState(p.st.Ctx, f.Design, f.View, exec.IndexCounts{Rows: true}); err == nil {
				rows = state.Rows
			}
		}
		if db, ok := p.db.(exec.Counter); ok && f.Rel.Kind == exec.ReadAllDocs {
			rows, _ = db.Count(p.st.Ctx, true) // without it, as few are read as if there were none
		}
		return int(min(rows/rowsOfLookup, maxLookups))
	}
}

// narrowing returns how a side is read by one of its keys, or nil.
func (p *planning) narrowing(src exec.Source, f bind.From, keys []exec.Expr) *joins.Narrowing {
	scan, ok := f.(*bind.UserScan)
	if !ok {
		return nil
	}
	if filter, ok := src.(*exec.Filter); ok {
		src = filter.Input
	}
	s, ok := src.(*exec.Scan)
	if !ok || s.ByKeys == nil || len(s.Accesses) != 1 || s.Accesses[0].Kind == exec.ReadDocument {
		return nil
	}
	index, typ := sortedColumn(scan)
	for i, k := range keys {
		if isColumn(k, index) && k.Type() == typ {
			return &joins.Narrowing{Scan: s, Key: i, Name: fieldNames[orderColumn(scan.Rel.Kind)],
				Worth: p.worth(scan, s)}
		}
	}
	return nil
}

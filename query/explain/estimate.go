package explain

import (
	"math"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Estimates of EXPLAIN. The store knows how many documents there are; what share of them satisfies a condition is
// guessed by the constants that PostgreSQL uses without statistics (selfuncs.h, plancat.c and costsize.c).

// The guesses, and the costs in PostgreSQL's unit: the time to read 8 KB in sequence.
const (
	equalShare   = 0.005   // of column = value
	oneSided     = 1.0 / 3 // of column < value
	twoSided     = 0.005   // of a range with both ends
	boolShare    = 0.5     // of other conditions
	distinct     = 200     // different values of a column
	defaultRows  = 1000    // of a relation whose size is not known, and of a function
	perKey       = 10      // rows of a view for a key
	roundTrip    = 4.0     // a read of the store
	page         = 8192.0  // bytes
	perRow       = 0.01    // to process a row
	perOperation = 0.0025  // to evaluate a condition or compare keys
	documentSize = 500     // bytes of a jsonb
	textSize     = 32      // bytes of a value whose length varies
	mostRows     = 1e15
)

// estimate is PostgreSQL's (cost=startup..total rows= width=).
type estimate struct {
	startup, total, rows float64
	width                int
}

// estimator estimates the nodes of a plan.
type estimator struct {
	docs float64 // in the database
	ctes map[string]estimate
}

// newEstimator returns an estimator. docs is the number of documents of the database, negative if it is not known.
func newEstimator(docs int64) *estimator {
	e := &estimator{docs: float64(docs), ctes: map[string]estimate{}}
	if docs < 0 {
		e.docs = defaultRows
	}
	return e
}

// node estimates a node and those below it.
func (e *estimator) node(d *node) estimate {
	var in []estimate
	once, each := 0.0, 0.0 // the costs of plans that are run once, and for each row
	for _, c := range d.inits {
		x := e.node(c.node)
		once += x.total
		if name, ok := strings.CutPrefix(c.name, "CTE "); ok {
			e.ctes[name] = x
		}
	}
	for _, c := range d.below {
		in = append(in, e.node(c))
	}
	for _, c := range d.subs {
		if x := e.node(c.node); c.once {
			once += x.total
		} else {
			each += x.total
		}
	}
	out := e.combine(d, in)
	if d.Columns != nil {
		out.width = 0
		for _, t := range d.Columns {
			out.width += widthOf(t)
		}
	}
	for _, c := range d.Conds {
		out.total += out.rows * perOperation * float64(operations(c))
		out.rows *= shareOf(c)
	}
	out.rows = min(max(math.Round(out.rows), 1), mostRows)
	if d.Node == "Nothing" {
		out.rows = 0
	}
	out.total += each * out.rows
	out.startup, out.total = out.startup+once, out.total+once
	d.est = out
	return out
}

// combine estimates a node from those below it, without its conditions.
func (e *estimator) combine(d *node, in []estimate) estimate {
	detail := func(name string) float64 {
		for _, x := range d.Details {
			if n, ok := x.Value.(int64); ok && x.Name == name {
				return float64(n)
			}
		}
		return -1
	}
	var one, two estimate
	if len(in) > 0 {
		one = in[0]
	}
	if len(in) > 1 {
		two = in[1]
	}
	is := func(names ...string) bool {
		for _, n := range names {
			if strings.HasPrefix(d.Node, n) {
				return true
			}
		}
		return false
	}
	switch {
	case d.Reads != nil:
		return e.reads(d.Description)
	case is("Hash Join", "Nested Loop"):
		return joinOf(d.Description, one, two)
	case is("Limit"):
		skip, count := max(detail("Offset"), 0), detail("Limit")
		all := max(one.rows, 1)
		last := all
		if count >= 0 {
			last = min(all, skip+count)
		}
		one.total = one.startup + (one.total-one.startup)*last/all
		one.startup += (one.total - one.startup) * min(skip/all, 1)
		one.rows = max(last-skip, 0)
		return one
	case is("Sort"):
		n := max(one.rows, 2)
		one.startup = one.total + 2*perOperation*n*math.Log2(n)
		one.total = one.startup + perOperation*n
		return one
	case is("Aggregate"):
		one.startup, one.rows = one.total+perOperation*one.rows, 1
		one.total = one.startup + perRow
		return one
	case is("Hash Lookup"):
		one.rows /= distinct
		return one
	case d.Node == "Hash":
		one.startup = one.total
		return one
	case is("HashAggregate", "Unique"):
		one.startup = one.total + perOperation*one.rows
		one.rows = min(one.rows, distinct)
		one.total = one.startup + perRow*one.rows
		return one
	case is("Recursive Union"):
		// PostgreSQL guesses that there are ten rounds.
		return estimate{one.startup, one.total + 10*two.total, one.rows + 10*two.rows, one.width}
	case is("CTE Scan"):
		if x, known := e.ctes[d.On]; known {
			return estimate{0, perRow * x.rows, x.rows, x.width}
		}
		return guess(defaultRows)
	case is("WorkTable Scan"):
		return guess(10 * perKey)
	case is("Nothing"):
		return estimate{}
	case is("Result") && len(in) == 0:
		return guess(1)
	case len(in) == 0 && d.Likely > 0:
		return guess(float64(d.Likely))
	case len(in) == 0:
		return guess(defaultRows)
	}
	// Append, set operations, windows and what only passes rows on.
	out := estimate{startup: one.startup, width: one.width}
	for _, x := range in {
		out.total += x.total + perOperation*x.rows
		out.rows += x.rows
	}
	return out
}

func guess(rows float64) estimate { return estimate{0, perRow * rows, rows, textSize} }

// reads estimates the reads of a relation of the store.
func (e *estimator) reads(d *exec.Description) estimate {
	var out estimate
	width := 0
	for _, t := range d.Columns {
		width += widthOf(t)
	}
	for _, x := range d.Details {
		if x.Name == "Read By" {
			d = &exec.Description{Reads: []exec.Access{{Kind: exec.ReadDocument}}}
		}
	}
	for i := range d.Reads {
		a := &d.Reads[i]
		n := e.docs
		ranged := func(low, high bool) {
			switch {
			case low && high:
				n *= twoSided
			case low || high:
				n *= oneSided
			}
		}
		limit := int64(0)
		switch a.Kind {
		case exec.ReadDocument:
			n = 1
		case exec.ReadAllDocs, exec.ReadLocalDocs, exec.ReadConflicts:
			limit = a.Docs.Limit
			if ranged(a.Docs.Low != "", a.Docs.High != ""); a.Docs.IDs != nil {
				n = min(n, float64(len(a.Docs.IDs)))
			}
		case exec.ReadChanges:
			limit = a.Changes.Limit
			ranged(a.Changes.Since != "", a.Until != "")
		case exec.ReadView:
			limit = a.View.Limit
			switch {
			case a.View.Keys != nil:
				n = min(n, perKey*float64(len(a.View.Keys)))
			case a.View.Low != nil && string(a.View.Low) == string(a.View.High):
				n = min(n, perKey)
			default:
				ranged(a.View.Low != nil, a.View.High != nil)
			}
		case exec.ReadReduce:
			n = min(n, distinct)
			if a.Reduce.GroupLevel == 0 {
				n = 1
			}
		}
		if limit > 0 {
			n = min(n, float64(limit))
		}
		out.rows += n
		out.total += roundTrip + n*(perRow+float64(width)/page)
	}
	out.startup, out.width = 0, width
	return out
}

// joinOf estimates a join.
func joinOf(d *exec.Description, l, r estimate) estimate {
	keys := 0
	for _, x := range d.Details {
		if text, ok := x.Value.(string); ok && x.Name == "Hash Cond" {
			keys = 1 + strings.Count(text, ") AND (")
		}
	}
	out := estimate{startup: l.startup, width: l.width + r.width}
	pairs := l.rows * r.rows
	out.rows = pairs
	if keys > 0 {
		// PostgreSQL guesses a share of 0.005, or that the values of the smaller side are all different.
		out.rows = pairs * math.Max(math.Pow(equalShare, float64(keys)), 1/max(l.rows, r.rows, 1))
		out.startup = r.total
		out.total = l.total + r.total + perOperation*(l.rows+r.rows)*float64(keys) + perRow*out.rows
	} else {
		out.total = l.total + r.total + perOperation*pairs + perRow*out.rows
	}
	switch d.Join {
	case "left":
		out.rows = max(out.rows, l.rows)
	case "right":
		out.rows = max(out.rows, r.rows)
	case "full":
		out.rows = max(out.rows, l.rows+r.rows)
	case "semi", "anti":
		out.rows, out.width = l.rows*boolShare, l.width
	}
	return out
}

// shareOf guesses what share of the rows satisfies a condition.
func shareOf(e exec.Expr) float64 {
	switch n := e.(type) {
	case *exec.Logic:
		all := 1.0
		switch n.Op {
		case "and":
			for _, a := range n.Args {
				all *= shareOf(a)
			}
			return all
		case "or":
			for _, a := range n.Args {
				all *= 1 - shareOf(a)
			}
			return 1 - all
		}
		return 1 - shareOf(n.Args[0])
	case *exec.Call:
		switch n.Op {
		case "=", "@>", "<@", "?", "~~", "~~*", "~", "~*":
			return equalShare
		case "<>", "!~~", "!~~*", "!~", "!~*":
			return 1 - equalShare
		case "<", "<=", ">", ">=":
			return oneSided
		}
	case *exec.Is:
		if n.What == "null" {
			if n.Not {
				return 1 - equalShare
			}
			return equalShare
		}
	case *exec.In:
		share := min(equalShare*float64(len(n.List)), boolShare)
		if n.Not {
			return 1 - share
		}
		return share
	case *exec.Const:
		if n.D.True() {
			return 1
		}
		return 0
	}
	return boolShare
}

func widthOf(t types.OID) int {
	switch t {
	case types.JSONB, types.JSON:
		return documentSize
	case types.Bool:
		return 1
	case types.Int2:
		return 2
	case types.Int4, types.Float4, types.Oid, types.Date:
		return 4
	case types.Int8, types.Float8, types.Timestamp, types.TimestampTZ:
		return 8
	}
	return textSize
}

// text returns the estimate as PostgreSQL prints it.
func (e estimate) text() string {
	return "(cost=" + cost(e.startup) + ".." + cost(e.total) + " rows=" + strconv.FormatFloat(e.rows, 'f', 0, 64) +
		" width=" + strconv.Itoa(e.width) + ")"
}

// kB prints bytes as PostgreSQL does.
func kB(n int64) string { return count(kilobytes(n)) + "kB" }

func kilobytes(n int64) int64 { return (n + 1023) / 1024 }

func count(n int64) string { return strconv.FormatInt(n, 10) }

func cost(c float64) string { return strconv.FormatFloat(c, 'f', 2, 64) }

// operations counts the nodes of an expression.
func operations(e exec.Expr) int {
	n := 0
	exec.Walk(e, func(exec.Expr) { n++ })
	return n
}

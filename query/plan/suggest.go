package plan

import (
	"slices"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// EXPLAIN suggests an index where a statement reads all documents although a view could answer it.

// proposal is an index that does not exist, and what its rows would be.
type proposal struct {
	text string // the request that creates it
	candidate
}

// suggestion returns the definition of an index that would narrow down a read of documents by conditions, sort them by
// the query's ORDER BY, or group them by its GROUP BY; "" if it knows none. n is how many rows of the query are needed,
// negative for all. What it returns has been tried: the statement would use it.
func (p *planning) suggestion(f *bind.UserScan, conds []exec.Expr, q *bind.Query, n int64) string {
	doc, ok := p.documents(f)
	if !ok || p.supposed != nil {
		return ""
	}
	s := &suggester{known: facts.New(conds, doc, p.root), doc: doc, conds: conds}
	for _, path := range facts.Members(conds, doc) {
		switch k := s.known.Of(path); {
		case len(k.Allowed) == 0:
			return "" // no document satisfies the conditions
		case k.Allowed.Unbounded(), !indexable(path):
		case k.Allowed.AllPoints():
			s.points = append(s.points, path)
		default:
			s.bounded = append(s.bounded, path)
		}
	}
	var list []*proposal
	switch {
	case q == nil:
	case q.Group:
		var values []exec.Expr
		for _, a := range q.Aggs {
			values = append(append(append(values, a.Args...), a.Filter), a.Order...)
		}
		values = slices.DeleteFunc(p.foldAll(values), func(e exec.Expr) bool { return e == nil })
		list = append(list, s.view(p.foldAll(q.Keys), values, true))
	case n >= 0 && n <= maxFetched && len(q.Order) > 0 && !q.Distinct && q.DistinctOn == nil:
		var keys []exec.Expr
		for _, k := range q.Order {
			keys = append(keys, p.fold(q.Targets[k.Index]))
		}
		list = s.sorted(keys, q.Order[0])
	default:
		n = -1
	}
	list = append(list, index(append(slices.Clip(s.points), s.bounded[:min(1, len(s.bounded))]...)))
	for _, one := range list {
		if one != nil && p.helps(one, f, conds, q, n) {
			return one.text
		}
	}
	return ""
}

// helps reports whether a query would use an index if it existed.
func (p *planning) helps(one *proposal, f *bind.UserScan, conds []exec.Expr, q *bind.Query, n int64) bool {
	reads := p.st.Reads
	p.supposed = &one.candidate
	defer func() { p.supposed, p.st.Reads = nil, reads }()
	var src exec.Source
	var err error
	switch {
	case q == nil:
	case q.Group:
		src, err = p.coveredGroups(q, f, conds)
	case n >= 0:
		src, err = p.coveredTop(q, f, conds, n, 0)
	}
	if src != nil && err == nil {
		return true
	}
	scan, err := p.recognise(f, conds)
	return scan != nil && err == nil
}

// suggester looks for an index.
type suggester struct {
	known           *facts.Known
	doc             int // the column of the documents
	conds           []exec.Expr
	points, bounded [][]string // members of conditions: those that have some values, and those in a range
}

// sorted returns an index of all members of the conditions and sort keys, the first sort key first after members that
// have one value, and then a view of them. The index lacks documents without one of the members.
func (s *suggester) sorted(keys []exec.Expr, first exec.SortKey) (list []*proposal) {
	e := keys[0]
	if n, ok := e.(*exec.CastExpr); ok && n.Mod == -1 &&
		(types.IsNumber(n.To) || first.Desc && ranges.IsMoment(n.To)) {
		e = n.X
	}
	path, text, ok := facts.MemberOf(e, s.doc)
	if !ok || len(path) == 0 || !text && e != keys[0] || first.Collation != nil {
		return nil
	}
	fields := slices.DeleteFunc(slices.Clone(s.points), func(p []string) bool {
		return slices.Equal(p, path) || len(s.known.Of(p).Allowed) > 1
	})
	fields = append(fields, path)
	for _, p := range facts.Members(slices.Concat(keys, s.conds), s.doc) {
		if !slices.ContainsFunc(fields, func(have []string) bool { return slices.Equal(p, have) }) {
			fields = append(fields, p)
		}
	}
	if !slices.ContainsFunc(fields, func(p []string) bool {
		return !indexable(p) || s.known.Of(p).MayBeNull() && (!slices.Equal(p, path) || first.NullsFirst)
	}) {
		list = append(list, index(fields))
	}
	return append(list, s.view(keys, nil, false))
}

// indexable reports whether Mango can name a member.
func indexable(path []string) bool {
	return path[0][:min(1, len(path[0]))] != "_" && !slices.ContainsFunc(path, func(name string) bool {
		return strings.Trim(name, "0123456789-") == ""
	})
}

// index returns an index of some members; nil if there are none.
func index(paths [][]string) *proposal {
	fields := make([]string, len(paths))
	shape := &rowshape.Shape{Array: true, Value: rowshape.Value{JSON: "null"}, Cond: &rowshape.Expr{Op: rowshape.And}}
	for i, path := range paths {
		parts := slices.Clone(path)
		for j := range parts {
			parts[j] = strings.ReplaceAll(parts[j], ".", `\.`)
		}
		fields[i] = string(jsontext.AppendQuoted(nil, strings.Join(parts, ".")))
		shape.Key = append(shape.Key, rowshape.Value{Path: path})
		shape.Cond.Args = append(shape.Cond.Args, rowshape.Expr{Op: rowshape.Exists, Path: path})
	}
	if len(fields) == 0 {
		return nil
	}
	return &proposal{`POST /{db}/_index {"index": {"fields": [` + strings.Join(fields, ", ") + `]}}`,
		candidate{shape: shape}}
}

// view returns a view by the members of group or sort keys and conditions; nil if it knows none. Aggregates of values
// may be reduced.
func (s *suggester) view(keys, values []exec.Expr, reduced bool) *proposal {
	var tests, emitted []string
	shape := &rowshape.Shape{AsJavaScript: true, Value: rowshape.Value{JSON: "null"}}
	cond := &rowshape.Expr{Op: rowshape.And}
	fixed := func(path []string) bool {
		values := s.known.Of(path).Allowed
		return len(values) == 1 && values.AllPoints() && types.JSONKindOf(values[0].Low.Val.S) == types.JSONString
	}
	inKey := facts.Members(slices.Concat(keys, s.conds), s.doc)
	for _, path := range inKey {
		if len(path) != 1 {
			return nil // the function would fail for documents without the outer one
		}
		name := "doc[" + string(jsontext.AppendQuoted(nil, path[0])) + "]"
		if isWord(path[0]) {
			name = "doc." + path[0]
		}
		if fixed(path) {
			is := s.known.Of(path).Allowed[0].Low.Val.S
			tests = append(tests, name+" === "+is)
			cond.Args = append(cond.Args, rowshape.Expr{Op: rowshape.Same,
				Args: []rowshape.Expr{{Op: rowshape.Member, Path: path}, {Op: rowshape.Constant, JSON: is}}})
		} else {
			emitted = append(emitted, name)
			shape.Key = append(shape.Key, rowshape.Value{Path: path})
		}
	}
	value, reduce := "null", `, "reduce": "_count"`
	for _, path := range facts.Members(values, s.doc) {
		switch {
		case slices.ContainsFunc(inKey, func(p []string) bool { return slices.Equal(p, path) }):
		case len(path) != 1 || !isWord(path[0]) || value != "null":
			return nil
		default:
			value, shape.Value = "doc."+path[0], rowshape.Value{Path: path}
		}
	}
	if len(emitted) == 0 && value == "null" {
		return nil
	}
	switch {
	case !reduced:
		reduce = ""
	case value != "null":
		reduce = `, "reduce": "_stats"`
	}
	key := strings.Join(emitted, ", ")
	if shape.Array = len(emitted) != 1; shape.Array {
		key = "[" + key + "]"
	}
	body := "emit(" + key + ", " + value + ")"
	if tests != nil {
		shape.Cond = cond
		body = "if (" + strings.Join(tests, " && ") + ") " + body
	}
	one := &proposal{`PUT /{db}/_design/NAME {"views": {"NAME": {"map": ` +
		string(jsontext.AppendQuoted(nil, "function (doc) { "+body+" }")) + reduce + `}}}`, candidate{shape: shape}}
	switch {
	case reduce == "":
	case value != "null":
		one.reduce = "_stats"
	default:
		one.reduce = "_count"
	}
	return one
}

// isWord reports whether a name can follow a dot in JavaScript.
func isWord(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

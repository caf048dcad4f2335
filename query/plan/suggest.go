package plan

import (
	"slices"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/types"
)

// EXPLAIN suggests an index where a statement reads all documents although a view could answer it.

// suggestion returns the definition of an index that would narrow down a read of documents by conditions, sort them by
// the query's ORDER BY, or group them by its GROUP BY; "" if it knows none. n is how many rows of the query are needed,
// negative for all.
func (p *planning) suggestion(f *bind.UserScan, conds []exec.Expr, q *bind.Query, n int64) string {
	doc, ok := p.documents(f)
	if !ok {
		return ""
	}
	s := &suggester{known: facts.New(conds, doc, p.root), doc: doc, conds: conds}
	for _, path := range facts.Members(conds, doc) {
		switch k := s.known.Of(path); {
		case k.Allowed.Unbounded(), !indexable(path):
		case k.Allowed.AllPoints():
			s.points = append(s.points, path)
		default:
			s.bounded = append(s.bounded, path)
		}
	}
	switch {
	case q == nil:
	case q.Group:
		var values []exec.Expr
		for _, a := range q.Aggs {
			values = append(append(append(values, a.Args...), a.Filter), a.Order...)
		}
		values = slices.DeleteFunc(values, func(e exec.Expr) bool { return e == nil })
		if text := s.view(p.foldAll(q.Keys), values, true); text != "" {
			return text
		}
	case n >= 0 && n <= maxFetched && len(q.Order) > 0 && !q.Distinct && q.DistinctOn == nil:
		var keys []exec.Expr
		for _, k := range q.Order {
			keys = append(keys, p.fold(q.Targets[k.Index]))
		}
		if text := s.sorted(keys, q.Order[0]); text != "" {
			return text
		}
	}
	return index(append(slices.Clip(s.points), s.bounded[:min(1, len(s.bounded))]...))
}

// suggester looks for an index.
type suggester struct {
	known           *facts.Known
	doc             int // the column of the documents
	conds           []exec.Expr
	points, bounded [][]string // members of conditions: those that have some values, and those in a range
}

// sorted returns an index of all members of the conditions and sort keys, the first sort key first after members that
// have one value. It is a view if there may be documents without one of the members, which an index lacks.
func (s *suggester) sorted(keys []exec.Expr, first exec.SortKey) string {
	e := keys[0]
	if n, ok := e.(*exec.CastExpr); ok && n.Mod == -1 && types.IsNumber(n.To) {
		e = n.X
	}
	path, text, ok := facts.MemberOf(e, s.doc)
	if !ok || !text || first.Collation != nil {
		return ""
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
	for _, p := range fields {
		if !indexable(p) || s.known.Of(p).MayBeNull() && (!slices.Equal(p, path) || first.NullsFirst) {
			return s.view(keys, nil, false)
		}
	}
	return index(fields)
}

// indexable reports whether Mango can name a member.
func indexable(path []string) bool {
	return path[0][:min(1, len(path[0]))] != "_" && !slices.ContainsFunc(path, func(name string) bool {
		return strings.Trim(name, "0123456789-") == ""
	})
}

// index returns a request that creates an index of some members; "" if there are none.
func index(paths [][]string) string {
	fields := make([]string, len(paths))
	for i, path := range paths {
		parts := slices.Clone(path)
		for j := range parts {
			parts[j] = strings.ReplaceAll(parts[j], ".", `\.`)
		}
		fields[i] = string(jsontext.AppendQuoted(nil, strings.Join(parts, ".")))
	}
	if len(fields) == 0 {
		return ""
	}
	return `POST /{db}/_index {"index": {"fields": [` + strings.Join(fields, ", ") + `]}}`
}

// view returns a request that creates a view by the members of group or sort keys and conditions; "" if it knows none.
// Aggregates of values may be reduced.
func (s *suggester) view(keys, values []exec.Expr, reduced bool) string {
	var tests, emitted []string
	fixed := func(path []string) bool {
		values := s.known.Of(path).Allowed
		return len(values) == 1 && values.AllPoints() && types.JSONKindOf(values[0].Low.Val.S) == types.JSONString
	}
	inKey := facts.Members(slices.Concat(keys, s.conds), s.doc)
	for _, path := range inKey {
		if len(path) != 1 {
			return "" // the function would fail for documents without the outer one
		}
		name := "doc[" + string(jsontext.AppendQuoted(nil, path[0])) + "]"
		if isWord(path[0]) {
			name = "doc." + path[0]
		}
		if fixed(path) {
			tests = append(tests, name+" === "+s.known.Of(path).Allowed[0].Low.Val.S)
		} else {
			emitted = append(emitted, name)
		}
	}
	value, reduce := "null", `, "reduce": "_count"`
	for _, path := range facts.Members(values, s.doc) {
		switch {
		case slices.ContainsFunc(inKey, func(p []string) bool { return slices.Equal(p, path) }):
		case len(path) != 1 || !isWord(path[0]) || value != "null":
			return ""
		default:
			value = "doc." + path[0]
		}
	}
	if len(emitted) == 0 && value == "null" {
		return ""
	}
	switch {
	case !reduced:
		reduce = ""
	case value != "null":
		reduce = `, "reduce": "_stats"`
	}
	key := strings.Join(emitted, ", ")
	if len(emitted) != 1 {
		key = "[" + key + "]"
	}
	body := "emit(" + key + ", " + value + ")"
	if tests != nil {
		body = "if (" + strings.Join(tests, " && ") + ") " + body
	}
	return `PUT /{db}/_design/NAME {"views": {"NAME": {"map": ` +
		string(jsontext.AppendQuoted(nil, "function (doc) { "+body+" }")) + reduce + `}}}`
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

package facts

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// MemberOf returns the path of the member of a document that an expression is: doc->'a'->>'b', doc #>> '{a,b}',
// doc['a']. text reports that it is the member's text. The document is a column of the row.
func MemberOf(e exec.Expr, doc int) (path []string, text, ok bool) {
	e = collation.WithoutBytes(e)
	if c, is := e.(*exec.Col); is {
		return nil, false, c.Depth == 0 && c.Index == doc
	}
	c, is := e.(*exec.Call)
	if !is || len(c.Args) != 2 {
		return nil, false, false
	}
	k, is := c.Args[1].(*exec.Const)
	if !is || k.D.IsNull() {
		return nil, false, false
	}
	path, text, ok = MemberOf(c.Args[0], doc)
	if !ok || text {
		return nil, false, false
	}
	path = slices.Clip(path)
	switch c.Op {
	case "->", "->>":
		if k.D.K != types.KText {
			return nil, false, false
		}
		return append(path, k.D.S), c.Op == "->>", true
	case "#>", "#>>":
		for _, step := range k.D.Array().Items {
			if step.IsNull() {
				return nil, false, false
			}
			path = append(path, step.S)
		}
		return path, c.Op == "#>>", true
	}
	return nil, false, false
}

// memberAt locates a member of a document.
func memberAt(doc int, path []string) ranges.Locator {
	return func(e exec.Expr) (found, text bool) {
		p, text, ok := MemberOf(e, doc)
		return ok && slices.Equal(p, path), text
	}
}

// Members returns the paths of the members that conditions look at, each once.
func Members(conds []exec.Expr, doc int) (list [][]string) {
	var walk func(e exec.Expr) exec.Expr
	walk = func(e exec.Expr) exec.Expr {
		if path, _, ok := MemberOf(e, doc); ok {
			if len(path) > 0 && !slices.ContainsFunc(list, func(p []string) bool { return slices.Equal(p, path) }) {
				list = append(list, path)
			}
			return e
		}
		return exec.RewriteChildren(e, walk)
	}
	for _, c := range conds {
		walk(c)
	}
	return list
}

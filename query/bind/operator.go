package bind

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
)

// operator binds a prefix or infix operator.
func (b *binder) operator(n *ast.Operator, sc *scope) (exec.Expr, error) {
	if c, ok := n.Args[0].(*ast.Literal); ok && n.Op == "-" && len(n.Args) == 1 &&
		(c.Kind == ast.Integer || c.Kind == ast.Number) {
		// The sign is part of the constant and affects its type.
		text, negative := strings.CutPrefix(c.Text, "-")
		if !negative {
			text = "-" + text
		}
		return b.literal(&ast.Literal{At: n.At, Kind: c.Kind, Text: text})
	}
	if row, ok := n.Args[0].(*ast.Row); ok && len(n.Args) == 2 {
		if s, ok := n.Args[1].(*ast.Subquery); ok && s.Kind == ast.Scalar {
			return b.rowQuery(n, row, s, sc)
		}
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	return b.Operator(n.Op, args, n.Pos())
}

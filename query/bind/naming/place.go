package naming

import "github.com/divandb/divan/query/sql/ast"

// ComputesOrder reports whether ORDER BY has anything but names and numbers of columns.
func ComputesOrder(s *ast.Select) bool {
	for _, it := range s.OrderBy {
		switch n := it.Expr.(type) {
		case *ast.Column:
			if len(n.Parts) != 1 {
				return true
			}
		case *ast.Literal:
		default:
			return true
		}
	}
	return false
}

// SetOpPlace returns the position where PostgreSQL reports that a column does not fit: its expression.
func SetOpPlace(s *ast.Select, i int) int {
	for s.Op != "" {
		s = s.Left
	}
	switch {
	case len(s.Values) > 0:
		return ast.Start(s.Values[0][min(i, len(s.Values[0])-1)])
	case len(s.Targets) > 0:
		return ast.Start(s.Targets[min(i, len(s.Targets)-1)].Expr)
	}
	return s.Pos()
}

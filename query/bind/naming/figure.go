package naming

import (
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// figureName returns a name and its strength: 2 for a real name, 1 for the name of a type.
func figureName(e ast.Expr) (string, int) {
	switch n := e.(type) {
	case *ast.Column:
		return n.Parts[len(n.Parts)-1], 2
	case *ast.Field:
		return n.Name, 2
	case *ast.Call:
		return n.Name[len(n.Name)-1], 2
	case *ast.Subscript:
		return figureName(n.X)
	case *ast.Collate:
		return figureName(n.X)
	case *ast.Cast:
		if name, strength := figureName(n.X); strength == 2 {
			return name, 2
		}
		name := n.Type.Parts[len(n.Type.Parts)-1]
		if oid, ok := types.ByName(name); ok {
			name = types.Lookup(oid).Name
		}
		return name, 1
	case *ast.Case:
		if n.Else != nil {
			if name, strength := figureName(n.Else); strength == 2 {
				return name, 2
			}
		}
		return "case", 1
	case *ast.IsTest:
		if n.What == "normalized" && !n.Not {
			return "is_normalized", 2
		}
	case *ast.Array:
		return "array", 2
	case *ast.Row:
		return "row", 2
	case *ast.Subquery:
		switch n.Kind {
		case ast.Exists:
			return "exists", 2
		case ast.ArrayOf:
			return "array", 2
		}
		if n.Query.Op == "" && len(n.Query.Targets) == 1 {
			if n.Query.Targets[0].Alias != "" {
				return n.Query.Targets[0].Alias, 2
			}
			return figureName(n.Query.Targets[0].Expr)
		}
	}
	return "", 0
}

// TargetName returns the name that PostgreSQL gives to a column without an alias (FigureColname).
func TargetName(e ast.Expr) string {
	name, _ := figureName(e)
	if name == "" {
		return "?column?"
	}
	return name
}

// OutputColumn resolves a position or an alias in the result. It returns -1 if e is neither.
func OutputColumn(e ast.Expr, targets []exec.Expr, names []exec.Column, clause string) (int, error) {
	switch n := e.(type) {
	case *ast.Literal:
		if n.Kind == ast.Integer {
			i, ok := smallInt(n.Text)
			if !ok || i < 1 || i > len(targets) {
				return 0, sqlstate.New(sqlstate.InvalidColumnReference, "%s position %s is not in select list", clause,
					n.Text).At(n.Pos())
			}
			return i - 1, nil
		}
		if n.Kind != ast.Null && n.Kind != ast.Boolean {
			return 0, refuse.Syntax(n.Pos(), "non-integer constant in %s", clause)
		}
	case *ast.Column:
		if len(n.Parts) != 1 || n.Star {
			return -1, nil
		}
		found := -1
		for i := range names {
			if names[i].Name == n.Parts[0] {
				if found >= 0 && exec.Key(targets[i]) != exec.Key(targets[found]) {
					return 0, sqlstate.New(sqlstate.AmbiguousColumn, `%s "%s" is ambiguous`, clause,
						n.Parts[0]).At(n.Pos())
				}
				if found < 0 {
					found = i
				}
			}
		}
		return found, nil
	}
	return -1, nil
}

func smallInt(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1e6 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

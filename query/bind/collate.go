package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Which collation a comparison uses, by the rules of PostgreSQL 15, section 24.2: a COLLATE clause goes before the collation that a column
// was made with in a sub-query, which goes before the default. Two different ones of the same strength are an error where it matters.

// collState is what is known of an expression's collation.
type collState struct {
	collation *types.Collation // nil for the default
	strength  collStrength
}

type collStrength uint8

const (
	collNone     collStrength = iota // no text
	collImplicit                     // of a column; the default
	collConflict                     // of columns that disagree
	collExplicit                     // of a COLLATE clause
)

// disagreeing stands for the collation of a column whose parts disagree.
var disagreeing = &types.Collation{Name: "(indeterminate)"}

// collate binds x COLLATE name.
func (b *binder) collate(n *ast.Collate, sc *scope) (exec.Expr, error) {
	name := strings.Join(n.Name, ".")
	if len(n.Name) > 1 && (len(n.Name) > 2 || n.Name[0] != "pg_catalog") {
		return nil, types.NoCollation(name).At(n.Pos())
	}
	coll, err := types.FindCollation(n.Name[len(n.Name)-1])
	if err != nil {
		return nil, sqlstate.Locate(err, n.Pos())
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	if untyped(x) {
		if x, err = b.coerce(x, types.Text, types.Implicit, n.Pos()); err != nil {
			return nil, err
		}
	}
	if !collatable(x.Type()) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "collations are not supported by type %s",
			types.NameOf(x.Type())).At(n.Pos())
	}
	return &exec.Collate{X: x, Collation: coll}, nil
}

func collatable(t types.OID) bool {
	if elem := types.ElemOf(t); elem != 0 {
		t = elem
	}
	return types.IsString(t)
}

// collationOf derives the collation of a bound expression.
func collationOf(e exec.Expr, off int) (collState, error) {
	if !collatable(e.Type()) {
		return collState{}, nil
	}
	implicit := func(c *types.Collation) (collState, error) {
		if c == disagreeing {
			return collState{nil, collConflict}, nil
		}
		return collState{c, collImplicit}, nil
	}
	switch n := e.(type) {
	case *exec.Collate:
		return collState{n.Collation, collExplicit}, nil
	case *exec.Col:
		return implicit(n.Collation)
	case *exec.Subquery:
		return implicit(n.Collation)
	case *exec.It:
		if n.Explicit {
			return collState{n.Collation, collExplicit}, nil
		}
		return implicit(n.Collation)
	case *exec.Let:
		return collationOf(n.Body, off)
	case *aggRef:
		return n.coll, nil
	case *winRef:
		return n.coll, nil
	case *exec.Case:
		results := []exec.Expr{}
		for _, w := range n.Whens {
			results = append(results, w.Result)
		}
		if n.Else != nil {
			results = append(results, n.Else)
		}
		return orDefault(mergeCollations(off, results...))
	}
	var operands []exec.Expr
	exec.RewriteChildren(e, func(x exec.Expr) exec.Expr {
		operands = append(operands, x)
		return x
	})
	return orDefault(mergeCollations(off, operands...))
}

// orDefault is for a text of operands that are none.
func orDefault(s collState, err error) (collState, error) {
	if s.strength == collNone {
		s.strength = collImplicit
	}
	return s, err
}

// mergeCollations is the collation of an operation on all of list.
func mergeCollations(off int, list ...exec.Expr) (collState, error) {
	var out collState
	for _, e := range list {
		s, err := collationOf(e, off)
		if err != nil {
			return out, err
		}
		switch {
		case s.strength > out.strength:
			out = s
		case s.strength < out.strength || sameCollation(s.collation, out.collation):
		case s.strength == collExplicit:
			return out, sqlstate.New(sqlstate.CollationMismatch, "collation mismatch between explicit collations %q and %q",
				out.collation.Name, s.collation.Name).At(off)
		case out.collation == nil:
			out = s
		case s.collation != nil:
			out = collState{nil, collConflict}
		}
	}
	return out, nil
}

func sameCollation(a, b *types.Collation) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name
}

// comparisonCollation is the collation by which an operator compares; nil for bytes.
func comparisonCollation(op string, off int, list ...exec.Expr) (*types.Collation, error) {
	s, err := mergeCollations(off, list...)
	if err != nil {
		return nil, err
	}
	if s.strength == collConflict {
		return nil, sqlstate.New(sqlstate.IndeterminateCollation, "could not determine which collation to use for string comparison").At(off).
			WithHint("Use the COLLATE clause to set the collation explicitly.")
	}
	if op == "=" || op == "<>" {
		return nil, nil
	}
	for _, e := range list {
		if t := e.Type(); (t == types.Record || types.ElemOf(t) != 0) && hasLocale(e) {
			return nil, unsupportedCollation(off, "the order of arrays and rows")
		}
	}
	if s.collation.Bytes() {
		return nil, nil
	}
	return s.collation, nil
}

// sortCollation is the collation of an item of ORDER BY; nil for bytes.
func sortCollation(e exec.Expr, off int) (*types.Collation, error) {
	return comparisonCollation("<", off, e)
}

// columnCollation is what a column of a query's result keeps for the query around it.
func columnCollation(e exec.Expr, off int) (*types.Collation, error) {
	s, err := collationOf(e, off)
	if err == nil && s.strength == collNone && hasLocale(e) && e.Type() == types.Record {
		return disagreeing, nil // so that rows with such a field are not ordered
	}
	return s.column(), err
}

// column is what a column of this state keeps.
func (s collState) column() *types.Collation {
	if s.strength == collConflict {
		return disagreeing
	}
	return s.collation
}

func unionCollation(a, b *types.Collation) *types.Collation {
	switch {
	case sameCollation(a, b) || b == nil:
		return a
	case a == nil:
		return b
	}
	return disagreeing
}

// hasLocale says that somewhere in e a text has another order than that of its bytes.
func hasLocale(e exec.Expr) bool {
	found := false
	exec.Walk(e, func(x exec.Expr) {
		var c *types.Collation
		switch n := x.(type) {
		case *exec.Collate:
			c = n.Collation
		case *exec.Col:
			c = n.Collation
		case *exec.Subquery:
			c = n.Collation
		case *exec.It:
			c = n.Collation
		case *aggRef:
			c = n.coll.collation
		case *winRef:
			c = n.coll.collation
		}
		found = found || c == disagreeing || !c.Bytes()
	})
	return found
}

func unsupportedCollation(off int, where string) error {
	return sqlstate.Unsupported(off, "Put COLLATE on the text that is compared or ordered by.", "the collation of a locale is not supported in %s", where)
}

// casing are the functions and operators that ask the collation about letters, which in some languages have other cases.
var casing = []string{"lower", "upper", "initcap", "~~*", "!~~*", "~", "~*", "!~", "!~*", "similar to"}

// casingCollation refuses those under a locale.
func casingCollation(name string, off int, args ...exec.Expr) error {
	if !slices.Contains(casing, name) && !strings.HasPrefix(name, "regexp_") {
		return nil
	}
	if s, err := mergeCollations(off, args...); err != nil || s.collation.Bytes() && s.strength != collConflict {
		return err
	}
	return unsupportedCollation(off, name)
}

// withoutCollate takes the COLLATE clause off an operand.
func withoutCollate(e exec.Expr) exec.Expr {
	for {
		c, ok := e.(*exec.Collate)
		if !ok {
			return e
		}
		e = c.X
	}
}

func withoutCollates(list []exec.Expr) []exec.Expr {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		out[i] = withoutCollate(e)
	}
	return out
}

// withoutBytes takes it off when it only says what is so anyway, so that a read in this order is recognised.
func WithoutBytes(e exec.Expr) exec.Expr {
	if c, ok := e.(*exec.Collate); ok && c.Collation.Bytes() && !hasLocale(c.X) {
		return withoutCollate(c)
	}
	return e
}

// collate gives the comparison of x with elements of y its collation.
func (a *anyMatch) collate(n *ast.Quantified, y exec.Expr) error {
	if funcs.Comparison(n.Op) == nil {
		return casingCollation(n.Op, n.Pos(), a.x, y)
	}
	if hasLocale(a.x) || hasLocale(y) {
		if a.x.Type() == types.JSONB {
			return unsupportedCollation(n.Pos(), "a comparison with jsonb")
		}
		s, err := mergeCollations(n.Pos(), a.x, y)
		if err != nil {
			return err
		}
		if s.strength == collConflict {
			_, err = comparisonCollation(n.Op, n.Pos(), a.x, y)
			return err
		}
		a.fn = funcs.CollatedComparison(n.Op, s.collation)
	}
	if a.fn.Collation == nil {
		a.x = withoutCollate(a.x)
	}
	return nil
}

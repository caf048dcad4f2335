// Package collation decides which collation a comparison uses, by the rules of PostgreSQL 15, section 24.2. How texts
// are ordered in one is for package types.
package collation

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// A COLLATE clause takes precedence over the collation that a column got in a sub-query, which takes precedence over
// the default. Two different collations of the same strength are an error if the result depends on them.

// State describes the collation of an expression.
type State struct {
	Collation *types.Collation // nil for the default
	Strength  Strength
}

// Collated is an expression whose collation has been determined.
type Collated interface{ State() State }

type Strength uint8

const (
	None     Strength = iota // not a text
	Implicit                 // of a column, or the default
	Conflict                 // of columns with different collations
	Explicit                 // of a COLLATE clause
)

// disagreeing is the collation of a column whose operands have different ones.
var disagreeing = &types.Collation{Name: "(indeterminate)"}

func Collatable(t types.OID) bool {
	if elem := types.ElemOf(t); elem != 0 {
		t = elem
	}
	return types.IsString(t)
}

// Of derives the collation of a bound expression.
func Of(e exec.Expr, off int) (State, error) {
	if !Collatable(e.Type()) {
		return State{}, nil
	}
	implicit := func(c *types.Collation) (State, error) {
		if c == disagreeing {
			return State{nil, Conflict}, nil
		}
		return State{c, Implicit}, nil
	}
	switch n := e.(type) {
	case *exec.Collate:
		return State{n.Collation, Explicit}, nil
	case *exec.Col:
		return implicit(n.Collation)
	case *exec.Subquery:
		return implicit(n.Collation)
	case *exec.It:
		if n.Explicit {
			return State{n.Collation, Explicit}, nil
		}
		return implicit(n.Collation)
	case *exec.Let:
		return Of(n.Body, off)
	case Collated:
		return n.State(), nil
	case *exec.Case:
		results := []exec.Expr{}
		for _, w := range n.Whens {
			results = append(results, w.Result)
		}
		if n.Else != nil {
			results = append(results, n.Else)
		}
		return orDefault(Merge(off, results...))
	}
	var operands []exec.Expr
	exec.RewriteChildren(e, func(x exec.Expr) exec.Expr {
		operands = append(operands, x)
		return x
	})
	return orDefault(Merge(off, operands...))
}

// orDefault returns the default for a text none of whose operands is a text.
func orDefault(s State, err error) (State, error) {
	if s.Strength == None {
		s.Strength = Implicit
	}
	return s, err
}

// Merge returns the collation of an operation on all expressions of list.
func Merge(off int, list ...exec.Expr) (State, error) {
	var out State
	for _, e := range list {
		s, err := Of(e, off)
		if err != nil {
			return out, err
		}
		switch {
		case s.Strength > out.Strength:
			out = s
		case s.Strength < out.Strength || sameCollation(s.Collation, out.Collation):
		case s.Strength == Explicit:
			return out, sqlstate.New(sqlstate.CollationMismatch,
				`collation mismatch between explicit collations "%s" and "%s"`,
				out.Collation.Name, s.Collation.Name).At(off)
		case out.Collation == nil:
			out = s
		case s.Collation != nil:
			out = State{nil, Conflict}
		}
	}
	return out, nil
}

func sameCollation(a, b *types.Collation) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name
}

// Comparison returns the collation that an operator compares with; nil for byte order.
func Comparison(op string, off int, list ...exec.Expr) (*types.Collation, error) {
	s, err := Merge(off, list...)
	if err != nil {
		return nil, err
	}
	if s.Strength == Conflict {
		return nil, sqlstate.New(sqlstate.IndeterminateCollation,
			"could not determine which collation to use for string comparison").At(off).
			WithHint("Use the COLLATE clause to set the collation explicitly.")
	}
	if op == "=" || op == "<>" {
		return nil, nil
	}
	for _, e := range list {
		if t := e.Type(); (t == types.Record || types.ElemOf(t) != 0) && HasLocale(e) {
			return nil, Unsupported(off, "the order of arrays and rows")
		}
	}
	if s.Collation.Bytes() {
		return nil, nil
	}
	return s.Collation, nil
}

// Sort returns the collation of an item of ORDER BY; nil for byte order.
func Sort(e exec.Expr, off int) (*types.Collation, error) {
	return Comparison("<", off, e)
}

// Column returns the collation that a column of a result has in the enclosing query.
func Column(e exec.Expr, off int) (*types.Collation, error) {
	s, err := Of(e, off)
	if err == nil && s.Strength == None && HasLocale(e) && e.Type() == types.Record {
		return disagreeing, nil // refuse to sort rows with such a field
	}
	return s.Column(), err
}

// Column returns the collation of a column with this state.
func (s State) Column() *types.Collation {
	if s.Strength == Conflict {
		return disagreeing
	}
	return s.Collation
}

func Union(a, b *types.Collation) *types.Collation {
	switch {
	case sameCollation(a, b) || b == nil:
		return a
	case a == nil:
		return b
	}
	return disagreeing
}

// HasLocale reports whether e contains a text that does not sort by its bytes.
func HasLocale(e exec.Expr) bool {
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
		case Collated:
			c = n.State().Collation
		}
		found = found || c == disagreeing || !c.Bytes()
	})
	return found
}

func Unsupported(off int, where string) error {
	return sqlstate.Unsupported(off, "Put COLLATE on the text that is compared or ordered by.",
		"the collation of a locale is not supported in %s", where)
}

// casing lists the functions and operators that depend on the case of letters, which differs in some languages.
var casing = []string{"lower", "upper", "initcap", "~~*", "!~~*", "~", "~*", "!~", "!~*", "similar to"}

// Casing refuses functions of casing for texts with a locale.
func Casing(name string, off int, args ...exec.Expr) error {
	if !slices.Contains(casing, name) && !strings.HasPrefix(name, "regexp_") {
		return nil
	}
	if s, err := Merge(off, args...); err != nil || s.Collation.Bytes() && s.Strength != Conflict {
		return err
	}
	return Unsupported(off, name)
}

// Without removes the COLLATE clause of an operand.
func Without(e exec.Expr) exec.Expr {
	for {
		c, ok := e.(*exec.Collate)
		if !ok {
			return e
		}
		e = c.X
	}
}

func Withouts(list []exec.Expr) []exec.Expr {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		out[i] = Without(e)
	}
	return out
}

// WithoutBytes removes a COLLATE clause that does not change the order, so that a read in this order is recognized.
func WithoutBytes(e exec.Expr) exec.Expr {
	if c, ok := e.(*exec.Collate); ok && c.Collation.Bytes() && !HasLocale(c.X) {
		return Without(c)
	}
	return e
}

// NameOf returns the expression of COLLATION FOR (x): the name of its collation as a text.
func NameOf(x exec.Expr, off int) (exec.Expr, error) {
	t := x.Type()
	if t == types.Unknown {
		return exec.NullOf(types.Text), nil
	}
	if !Collatable(t) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "collations are not supported by type %s",
			types.NameOf(t))
	}
	name := "default"
	if t == types.Name {
		name = "C"
	}
	state, err := Of(x, off)
	if c := state.Column(); c != nil {
		name = c.Name
	}
	return &exec.Const{D: types.NewText(`"` + name + `"`), Typ: types.Text}, err
}

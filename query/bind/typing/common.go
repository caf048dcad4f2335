package typing

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// CommonType returns the type that expressions of CASE, COALESCE, IN and UNION share, given that of those before one
// and that of it; 0 if they are of different categories. It need not be one to which both can be cast: see Misfit. The
// rule is PostgreSQL's (select_common_type in parse_coerce.c), and depends on the order.
func CommonType(a, b types.OID) types.OID {
	switch {
	case a == b, b == types.Unknown:
		return a
	case a == types.Unknown:
		return b
	}
	of, preferred := category(a)
	if other, _ := category(b); of != other {
		return 0
	}
	if !preferred && implicit(a, b) && !implicit(b, a) {
		return b
	}
	return a
}

func implicit(from, to types.OID) bool { return types.CastContext(from, to) == types.Implicit }

// common returns the common type of a list and -1, or the type so far and the index of an expression that has none with
// those before it, or that cannot be cast to it.
func common(list []types.OID) (types.OID, int) {
	typ := types.Unknown
	for i, t := range list {
		next := CommonType(typ, t)
		if next == 0 {
			return typ, i
		}
		typ = next
	}
	for i, t := range list {
		if !implicit(t, typ) {
			return typ, i
		}
	}
	return typ, -1
}

// Common returns the type to which Unify casts a list, or the index of an expression that does not fit the others.
func Common(list []exec.Expr) (typ types.OID, misfit int) {
	typ, misfit = common(TypesOf(list))
	if typ == types.Unknown {
		typ = types.Text
	}
	return typ, misfit
}

// Misfit returns the index of the first expression that does not fit the common type of a list, or -1.
func Misfit(list []exec.Expr) int {
	_, i := common(TypesOf(list))
	return i
}

// Unmatched returns the error for an expression whose type does not fit that of others; typ is theirs.
func Unmatched(what string, typ, other types.OID) *sqlstate.Error {
	a, _ := category(typ)
	if c, _ := category(other); a != c {
		return sqlstate.New(sqlstate.DatatypeMismatch, "%s types %s and %s cannot be matched", what, types.NameOf(typ),
			types.NameOf(other))
	}
	if what == "CASE" {
		what = "CASE/WHEN"
	}
	return sqlstate.New(sqlstate.CannotCoerce, "%s could not convert type %s to %s", what, types.NameOf(other),
		types.NameOf(typ))
}

// Unify casts a list of expressions to one type.
func (o *Open) Unify(list []exec.Expr, what string, off int) ([]exec.Expr, types.OID, error) {
	typ, misfit := Common(list)
	if misfit >= 0 {
		return nil, 0, Unmatched(what, typ, list[misfit].Type()).At(off)
	}
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = o.Coerce(e, typ, types.Implicit, off); err != nil {
			return nil, 0, err
		}
	}
	return out, typ, nil
}

// TextByDefault reports whether an expression of a select list is a literal, which is a text if nothing gives it
// another type, or a parameter without a type.
func TextByDefault(e exec.Expr) bool {
	if p, ok := e.(*exec.Param); ok {
		return Untyped(p)
	}
	c, ok := e.(*exec.Const)
	return ok && !c.Typed && (c.Typ == types.Unknown || c.Typ == types.Text)
}

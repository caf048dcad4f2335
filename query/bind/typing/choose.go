package typing

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// signature is what the choice among functions of one name, or operators of one symbol, depends on.
type signature struct {
	args     []types.OID
	variadic bool
}

func (s signature) at(i int) types.OID { return argType(s.args, s.variadic, i) }

// category returns the category of a type, and whether the type is the preferred one of it. Pseudo types have one of
// their own.
func category(t types.OID) (byte, bool) {
	if info := types.Lookup(t); info != nil {
		return info.Category, info.Prefer
	}
	return 'P', false
}

// Choose returns the candidate that PostgreSQL would choose (section 10.3 of its manual), and nil if none fits. It is
// an error if the choice is ambiguous.
func Choose(candidates []*exec.Func, args []exec.Expr) (*exec.Func, error) {
	list := make([]signature, len(candidates))
	for i, f := range candidates {
		list[i] = signature{f.Args, f.Variadic}
	}
	i, err := choose(list, args)
	if i < 0 {
		return nil, err
	}
	return candidates[i], err
}

// ChooseTable is Choose for functions that return rows.
func ChooseTable(candidates []*exec.TableFunc, args []exec.Expr) (*exec.TableFunc, error) {
	list := make([]signature, len(candidates))
	for i, f := range candidates {
		list[i] = signature{f.Args, f.Variadic}
	}
	i, err := choose(list, args)
	if i < 0 {
		return nil, err
	}
	return candidates[i], err
}

// choose returns the index of the signature, -1 if none fits. If the choice is ambiguous, it returns one of those that
// fit, and an error.
func choose(list []signature, args []exec.Expr) (int, error) {
	c := &choice{list: list, types: TypesOf(args), open: make([]bool, len(args))}
	for i, a := range args {
		c.open[i] = Untyped(a)
	}
	for i, s := range list {
		if _, ok := Score(s.args, s.variadic, args); ok {
			c.left = append(c.left, i)
		}
	}
	for _, narrow := range []func(){c.exact, c.preferred, c.literals, c.sameType} {
		if len(c.left) < 2 {
			break
		}
		narrow()
	}
	switch len(c.left) {
	case 0:
		return -1, nil
	case 1:
		return c.left[0], nil
	}
	return c.left[0], sqlstate.New(sqlstate.AmbiguousFunction, "ambiguous")
}

// choice narrows the signatures that fit down to one.
type choice struct {
	list  []signature
	left  []int // indexes in list
	types []types.OID
	open  []bool // which arguments are open literals and parameters
}

// most keeps the signatures with most arguments for which matches returns true.
func (c *choice) most(matches func(i int, have, want types.OID) bool) {
	var best []int
	most := -1
	for _, k := range c.left {
		n := 0
		for i, t := range c.types {
			if !c.open[i] && matches(i, t, c.list[k].at(i)) {
				n++
			}
		}
		if n > most {
			best, most = nil, n
		}
		if n == most {
			best = append(best, k)
		}
	}
	c.left = best
}

func (c *choice) exact() {
	c.most(func(_ int, have, want types.OID) bool { return have == want })
}

// preferred prefers the preferred type of an argument's category to others that it must be cast to.
func (c *choice) preferred() {
	c.most(func(_ int, have, want types.OID) bool {
		of, _ := category(have)
		to, prefer := category(want)
		return have == want || prefer && of == to
	})
}

// literals chooses a category for each open argument: that of texts if a signature has it there, otherwise the one that
// all have. Where one of them has the preferred type, the others are dropped.
func (c *choice) literals() {
	of, prefer := make([]byte, len(c.types)), make([]bool, len(c.types))
	for i := range c.types {
		if !c.open[i] {
			continue
		}
		conflict := false
		for _, k := range c.left {
			switch to, p := category(c.list[k].at(i)); {
			case of[i] == 0, to == 'S' && of[i] != 'S':
				conflict = conflict || of[i] != 0
				of[i], prefer[i] = to, p
			case to == of[i]:
				prefer[i] = prefer[i] || p
			default:
				conflict = true
			}
		}
		if conflict && of[i] != 'S' {
			return
		}
	}
	var kept []int
	for _, k := range c.left {
		keep := true
		for i := range c.types {
			if to, p := category(c.list[k].at(i)); c.open[i] && (to != of[i] || prefer[i] && !p) {
				keep = false
			}
		}
		if keep {
			kept = append(kept, k)
		}
	}
	if kept != nil {
		c.left = kept
	}
}

// sameType gives open arguments the type of the others, if these have one, and keeps the signature that then fits.
func (c *choice) sameType() {
	known := types.OID(0)
	for i, t := range c.types {
		switch {
		case c.open[i]:
		case known != 0 && known != t:
			return
		default:
			known = t
		}
	}
	if known == 0 {
		return
	}
	same := make([]exec.Expr, len(c.types))
	for i := range same {
		same[i] = &exec.Param{Typ: known}
	}
	var kept []int
	for _, k := range c.left {
		if _, ok := Score(c.list[k].args, c.list[k].variadic, same); ok {
			kept = append(kept, k)
		}
	}
	if len(kept) == 1 {
		c.left = kept
	}
}

package quals

import (
	"slices"

	"github.com/divandb/divan/query/exec"
)

// factored returns conditions in which what all parts of an OR have in common is a condition of its own, as in
// PostgreSQL (process_duplicate_ors in its prepqual.c): (a AND b) OR (a AND c) becomes a AND (b OR c).
func factored(conds []exec.Expr) []exec.Expr {
	return flat("and", conds)
}

// flat returns the factored operands of an AND or OR, without those that are the same operation inside.
func flat(op string, args []exec.Expr) []exec.Expr {
	out := make([]exec.Expr, 0, len(args))
	for _, a := range args {
		a = factor(a)
		if l, ok := a.(*exec.Logic); ok && l.Op == op {
			out = append(out, l.Args...)
		} else {
			out = append(out, a)
		}
	}
	return out
}

func factor(e exec.Expr) exec.Expr {
	l, ok := e.(*exec.Logic)
	switch {
	case !ok:
	case l.Op == "and":
		return unlessSame(l, flat("and", l.Args))
	case l.Op == "or":
		args := flat("or", l.Args)
		if shared := common(args); shared != nil {
			return logic("and", shared)
		}
		return unlessSame(l, args)
	}
	return e
}

// unlessSame returns an operation with other operands.
func unlessSame(l *exec.Logic, args []exec.Expr) exec.Expr {
	if slices.Equal(l.Args, args) {
		return l
	}
	return logic(l.Op, args)
}

func logic(op string, args []exec.Expr) exec.Expr {
	if len(args) == 1 {
		return args[0]
	}
	return &exec.Logic{Op: op, Args: args}
}

// common returns conditions that together are the OR of some: those that all have, and the OR of what is left; nil if
// they have none in common.
func common(args []exec.Expr) []exec.Expr {
	shortest := exec.Conjuncts(args[0])
	for _, a := range args[1:] {
		if c := exec.Conjuncts(a); len(c) < len(shortest) {
			shortest = c
		}
	}
	keys := make([][]string, len(args)) // of the conjuncts of each, when they are needed
	has := func(i int, key string) bool {
		if keys[i] == nil {
			for _, c := range exec.Conjuncts(args[i]) {
				keys[i] = append(keys[i], exec.Key(c))
			}
		}
		return slices.Contains(keys[i], key)
	}
	var shared []exec.Expr
	var sharedKeys []string
	for _, c := range shortest {
		key, all := exec.Key(c), true
		for i := 0; all && i < len(args); i++ {
			all = has(i, key)
		}
		if all && !slices.Contains(sharedKeys, key) {
			shared, sharedKeys = append(shared, c), append(sharedKeys, key)
		}
	}
	if shared == nil {
		return nil
	}
	var left []exec.Expr
	for i, a := range args {
		var rest []exec.Expr
		for j, c := range exec.Conjuncts(a) {
			if !slices.Contains(sharedKeys, keys[i][j]) {
				rest = append(rest, c)
			}
		}
		if rest == nil {
			return shared // this one says no more
		}
		left = append(left, logic("and", rest))
	}
	return append(shared, logic("or", flat("or", left)))
}

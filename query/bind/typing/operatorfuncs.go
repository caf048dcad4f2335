package typing

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

//go:embed operators.txt
var operatorsText string

// PgOperator is a row of pg_operator.
type PgOperator struct {
	OID    int64
	Symbol string
	// Func has the name, the argument types and the result type of the function behind the operator, but no
	// implementation: a call of it is bound as the operator.
	Func                *exec.Func
	Commutator, Negator int64
	Merge, Hash         bool
}

// PgOperators returns all operators, in the order of their OIDs.
var PgOperators = sync.OnceValue(func() []PgOperator {
	var all []PgOperator
	for _, line := range strings.Split(strings.TrimSpace(operatorsText), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var o PgOperator
		var left, right, ret types.OID
		var merge, hash int
		var volatility, function string
		if _, err := fmt.Sscan(line, &o.OID, &o.Symbol, &left, &right, &ret, &function, &o.Commutator, &o.Negator,
			&merge, &hash, &volatility); err != nil {
			panic("typing: operators.txt: " + line + ": " + err.Error())
		}
		o.Merge, o.Hash = merge == 1, hash == 1
		o.Func = &exec.Func{Name: function, Ret: ret}
		if volatility == "s" {
			o.Func.Volatility = exec.Stable
		}
		if left != 0 {
			o.Func.Args = append(o.Func.Args, left)
		}
		o.Func.Args = append(o.Func.Args, right)
		all = append(all, o)
	}
	return all
})

// anyNonArray is a type of operands that Divan resolves like anyelement.
const anyNonArray types.OID = 2776

// operatorFuncs has the functions by name, and the symbols of their operators.
var operatorFuncs = sync.OnceValues(func() (byName map[string][]*exec.Func, symbols map[*exec.Func]string) {
	byName, symbols = map[string][]*exec.Func{}, map[*exec.Func]string{}
	for _, o := range PgOperators() {
		f := *o.Func
		f.Args = make([]types.OID, len(o.Func.Args))
		for i, t := range o.Func.Args {
			if t == anyNonArray {
				t = exec.AnyElement
			}
			f.Args[i] = t
		}
		byName[f.Name], symbols[&f] = append(byName[f.Name], &f), o.Symbol
	}
	return byName, symbols
})

// OperatorFuncs returns the functions of a name that are behind operators, such as int4pl.
func OperatorFuncs(name string) []*exec.Func {
	byName, _ := operatorFuncs()
	return byName[name]
}

// OperatorOf returns the operator of a function that OperatorFuncs has returned, or "". A call of the function is bound
// as the operator.
func OperatorOf(fn *exec.Func) string {
	_, symbols := operatorFuncs()
	return symbols[fn]
}

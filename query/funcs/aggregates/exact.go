package aggregates

import (
	"math/big"
	"strings"

	"github.com/divandb/divan/query/types"
)

// Reduced returns what the reductions of jsonb values must satisfy: they are of numbers. It returns nil for other
// functions than _sum and _stats.
func Reduced(reduce string) func(value string) bool {
	switch reduce {
	case "_sum":
		return func(value string) bool { return types.JSONKindOf(value) == types.JSONNumber }
	case "_stats":
		return func(value string) bool { return types.JSONKindOf(value) == types.JSONObject }
	}
	return nil
}

// ReducedAs returns what the reductions of values must satisfy so that the numbers of a type to which the values are
// cast have the same: they are of integers of that type. A sum is written with a fraction or an exponent as soon as one
// of its numbers was. It returns nil if that says too little.
func ReducedAs(reduce string, typ types.OID) func(value string) bool {
	low, high := new(big.Int), new(big.Int)
	switch typ {
	case types.Int2, types.Int4, types.Int8:
		bits := map[types.OID]uint{types.Int2: 15, types.Int4: 31, types.Int8: 63}[typ]
		high.Lsh(big.NewInt(1), bits)
		low.Neg(high)
		high.Sub(high, big.NewInt(1))
	case types.Float8:
		high.SetInt64(1<<53 - 1)
		low.Neg(high)
	case types.Numeric:
		if reduce == "_sum" {
			return func(value string) bool { return integer(value) != nil }
		}
	default:
		return nil
	}
	if reduce != "_stats" {
		return nil // how large the numbers are is not known
	}
	return func(value string) bool {
		var of [4]*big.Int
		for i, name := range []string{"sum", "count", "min", "max"} {
			text, _ := types.JSONField(value, name)
			if of[i] = integer(text); of[i] == nil {
				return false
			}
		}
		if typ == types.Numeric {
			return true
		}
		if typ == types.Float8 {
			// No sum of some of them is rounded.
			of[2].Mul(of[2], of[1])
			of[3].Mul(of[3], of[1])
		}
		return of[2].Cmp(low) >= 0 && of[3].Cmp(high) <= 0
	}
}

// integer returns the value of an integer written without fraction and exponent; nil for anything else.
func integer(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || len(text) > maxDigits || strings.ContainsAny(text, "+_") {
		return nil
	}
	return n
}

// maxDigits is the length of integers that are compared.
const maxDigits = 1000

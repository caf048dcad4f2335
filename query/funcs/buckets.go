package funcs

import (
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The three forms of width_bucket: between two doubles or numerics, and between the items of an array.
func init() {
	mathFamily.Function("width_bucket", types.Int4, floatBucket, types.Float8, types.Float8, types.Float8, types.Int4)
	mathFamily.Function("width_bucket", types.Int4, numericBucket, types.Numeric, types.Numeric, types.Numeric,
		types.Int4)
	mathFamily.Add(&exec.Func{Name: "width_bucket", Args: []types.OID{exec.AnyCompatible, exec.AnyCompatibleArray},
		Ret: types.Int4, Eval: thresholdBucket})
}

// errBucket is an error about the arguments of width_bucket.
func errBucket(message string) error { return sqlstate.New(sqlstate.InvalidWidthBucket, "%s", message) }

const (
	bucketCount  = "count must be greater than zero"
	bucketNaN    = "operand, lower bound, and upper bound cannot be NaN"
	bucketFinite = "lower and upper bounds must be finite"
	bucketEqual  = "lower bound cannot equal upper bound"
)

func floatBucket(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	x, low, high, n := a[0].Float(), a[1].Float(), a[2].Float(), a[3].I
	switch {
	case n <= 0:
		return types.Null, errBucket(bucketCount)
	case math.IsNaN(x) || math.IsNaN(low) || math.IsNaN(high):
		return types.Null, errBucket(bucketNaN)
	case math.IsInf(low, 0) || math.IsInf(high, 0):
		return types.Null, errBucket(bucketFinite)
	case low == high:
		return types.Null, errBucket(bucketEqual)
	}
	if low > high {
		x, low, high = -x, -low, -high
	}
	switch {
	case x < low:
		return types.NewInt(0), nil
	case x >= high:
		return bucketAbove(n)
	}
	q := float64(n) * (x - low) / (high - low)
	if math.IsNaN(q) || math.IsInf(q, 0) { // the range, or its product with n, is no double
		q = float64(n) * ((x/2 - low/2) / (high/2 - low/2))
	}
	return types.NewInt(min(int64(q)+1, n)), nil
}

// bucketAbove is the bucket of what is not below the upper bound.
func bucketAbove(n int64) (types.Datum, error) {
	if n == math.MaxInt32 {
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "integer out of range")
	}
	return types.NewInt(n + 1), nil
}

func numericBucket(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	x, low, high, n := a[0].Decimal(), a[1].Decimal(), a[2].Decimal(), a[3].I
	switch {
	case n <= 0:
		return types.Null, errBucket(bucketCount)
	case x.IsNaN() || low.IsNaN() || high.IsNaN():
		return types.Null, errBucket(bucketNaN)
	case !low.IsFinite() || !high.IsFinite():
		return types.Null, errBucket(bucketFinite)
	}
	switch low.Cmp(high) {
	case 0:
		return types.Null, errBucket(bucketEqual)
	case 1:
		x, low, high = x.Neg(), low.Neg(), high.Neg()
	}
	switch {
	case x.Cmp(low) < 0:
		return types.NewInt(0), nil
	case x.Cmp(high) >= 0:
		return bucketAbove(n)
	}
	if err := env.Step(1 + int(max(x.Scale(), low.Scale(), high.Scale()))/64); err != nil {
		return types.Null, err
	}
	part, width, count := x.Sub(low), high.Sub(low), types.DecimalFromInt(n)
	product, err := part.Mul(count)
	if err != nil { // too large for a numeric, but the quotient is not
		tiny := types.DecimalOf(1, 11)
		if part, err = part.Mul(tiny); err == nil {
			width, err = width.Mul(tiny)
		}
		if err == nil {
			product, err = part.Mul(count)
		}
	}
	if err != nil {
		return types.Null, err
	}
	q, err := product.Div(width)
	if err != nil {
		return types.Null, err
	}
	b, _ := q.Floor().Int64()
	return types.NewInt(min(b+1, n)), nil
}

// thresholdBucket returns the number of thresholds that are not above the operand. They are sorted, and divided in
// half until one is left, as in PostgreSQL.
func thresholdBucket(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	list := a[1].Array()
	for _, it := range list.Items {
		if it.IsNull() {
			return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "thresholds array must not contain NULLs")
		}
	}
	low, high := 0, len(list.Items)
	for low < high {
		mid := (low + high) / 2
		c, err := env.Compare(a[0], list.Items[mid])
		if err != nil {
			return types.Null, err
		}
		if c < 0 {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return types.NewInt(int64(low)), nil
}

package aggregates

import (
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Ordered-set and hypothetical-set aggregates (PostgreSQL 15, tables 9.62 and 9.63).

// orderedRows collects the sorted values of a group.
type orderedRows struct {
	keepNull bool
	rows     [][]types.Datum
	finish   func(o *orderedRows, env *exec.Env, call *exec.AggCall, direct []types.Datum) (types.Datum, error)
}

func (o *orderedRows) Add(env *exec.Env, args []types.Datum) error {
	if !o.keepNull && args[0].IsNull() {
		return nil
	}
	// The sort has already counted the memory of the values.
	if err := env.Hold(32); err != nil {
		return err
	}
	o.rows = append(o.rows, args)
	return env.Step(1)
}

func (o *orderedRows) Result(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "an ordered-set aggregate without its direct arguments")
}

func (o *orderedRows) Finish(env *exec.Env, call *exec.AggCall, direct []types.Datum) (types.Datum, error) {
	return o.finish(o, env, call, direct)
}

func init() {
	same := func(args []types.OID) types.OID { return args[len(args)-1] }
	ordered := func(name string, retOf func([]types.OID) types.OID, args []types.OID,
		finish func(o *orderedRows, env *exec.Env, call *exec.AggCall, direct []types.Datum) (types.Datum, error)) {
		funcs.AggregateFamily.Aggregate(
			&exec.Aggregate{Name: name, Args: args, RetOf: retOf, Ordered: true, NullArgs: true,
				New: func([]types.OID) exec.Accumulator { return &orderedRows{finish: finish} }})
	}
	ordered("mode", same, []types.OID{exec.AnyElement}, mode)
	array := func(args []types.OID) types.OID { return types.ArrayOf(args[len(args)-1]) }
	for _, t := range []types.OID{types.Float8, types.Interval} {
		ordered("percentile_cont", same, []types.OID{types.Float8, t}, percentiles(continuous))
		ordered("percentile_cont", array, []types.OID{types.Float8Array, t}, percentiles(continuous))
	}
	ordered("percentile_disc", same, []types.OID{types.Float8, exec.AnyElement}, percentiles(discrete))
	ordered("percentile_disc", array, []types.OID{types.Float8Array, exec.AnyElement}, percentiles(discrete))
	hypothetical := func(name string, ret types.OID, value func(before, same, distinct, n int) types.Datum) {
		funcs.AggregateFamily.Aggregate(
			&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyValue}, Ret: ret, Ordered: true,
				Hypothetical: true, NullArgs: true, New: func([]types.OID) exec.Accumulator {
					return &orderedRows{keepNull: true, finish: placeOf(value)}
				}})
	}
	hypothetical("rank", types.Int8, func(before, _, _, _ int) types.Datum { return types.NewInt(int64(before) + 1) })
	hypothetical("dense_rank", types.Int8, func(_, _, distinct, _ int) types.Datum {
		return types.NewInt(int64(distinct) + 1)
	})
	hypothetical("percent_rank", types.Float8, func(before, _, _, n int) types.Datum {
		if n == 0 {
			return types.NewFloat(0)
		}
		return types.NewFloat(float64(before) / float64(n))
	})
	hypothetical("cume_dist", types.Float8, func(before, same, _, n int) types.Datum {
		return types.NewFloat(float64(before+same+1) / float64(n+1))
	})
}

// mode returns the most frequent value, the first if there are several.
func mode(o *orderedRows, env *exec.Env, _ *exec.AggCall, _ []types.Datum) (types.Datum, error) {
	best, most := types.Null, 0
	for i := 0; i < len(o.rows); {
		j := i + 1
		for ; j < len(o.rows); j++ {
			same, err := env.Equal(o.rows[i][0], o.rows[j][0])
			if err != nil {
				return types.Null, err
			}
			if !same {
				break
			}
		}
		if j-i > most {
			best, most = o.rows[i][0], j-i
		}
		i = j
	}
	return best, nil
}

// percentiles computes one percentile, or an array of percentiles.
func percentiles(one func(o *orderedRows, f float64) (types.Datum, error)) func(*orderedRows, *exec.Env, *exec.AggCall,
	[]types.Datum) (types.Datum, error) {
	return func(o *orderedRows, env *exec.Env, call *exec.AggCall, direct []types.Datum) (types.Datum, error) {
		if direct[0].IsNull() {
			return types.Null, nil
		}
		value := func(d types.Datum) (types.Datum, error) {
			if d.IsNull() {
				return d, nil
			}
			if f := d.Float(); f < 0 || f > 1 || math.IsNaN(f) {
				return types.Null, sqlstate.New(
					sqlstate.NumericOutOfRange,
					"percentile value %g is not between 0 and 1",
					f,
				)
			}
			if len(o.rows) == 0 {
				return types.Null, nil
			}
			return one(o, d.Float())
		}
		if direct[0].K != types.KArray {
			return value(direct[0])
		}
		items := make([]types.Datum, len(direct[0].Array().Items))
		if len(o.rows) == 0 {
			return types.Null, nil
		}
		for i, d := range direct[0].Array().Items {
			var err error
			if items[i], err = value(d); err != nil {
				return types.Null, err
			}
			if err := env.Step(1); err != nil {
				return types.Null, err
			}
		}
		return types.NewArray(call.Args[0].Type(), items), nil
	}
}

// discrete returns the first value whose position is at least the fraction f of all values.
func discrete(o *orderedRows, f float64) (types.Datum, error) {
	return o.rows[max(int(math.Ceil(f*float64(len(o.rows))))-1, 0)][0], nil
}

// continuous interpolates between two values.
func continuous(o *orderedRows, f float64) (types.Datum, error) {
	at := f * float64(len(o.rows)-1)
	low, high := o.rows[int(math.Floor(at))][0], o.rows[int(math.Ceil(at))][0]
	part := at - math.Floor(at)
	if low.K == types.KFloat {
		if math.Floor(at) == math.Ceil(at) {
			return low, nil
		}
		return types.NewFloat(low.Float() + part*(high.Float()-low.Float())), nil
	}
	a, b := low.Span(), high.Span()
	diff, err := b.Sub(a)
	if err == nil {
		diff, err = diff.Scale(part)
	}
	if err == nil {
		diff, err = a.Add(diff)
	}
	return types.NewInterval(diff), err
}

// compareOrdered compares rows by keys whose columns are counted from base.
func compareOrdered(env *exec.Env, a, b []types.Datum, keys []exec.SortKey, base int) (int, error) {
	var fail error
	for _, k := range keys {
		k.Index -= base
		if c := env.CompareRows(a, b, []exec.SortKey{k}, &fail); c != 0 || fail != nil {
			return c, fail
		}
	}
	return 0, nil
}

// placeOf computes where the direct arguments would sort among the rows: after how many rows, equal to how many rows,
// and after how many distinct values.
func placeOf(value func(before, same, distinct, n int) types.Datum) func(*orderedRows, *exec.Env, *exec.AggCall,
	[]types.Datum) (types.Datum, error) {
	return func(o *orderedRows, env *exec.Env, call *exec.AggCall, direct []types.Datum) (types.Datum, error) {
		before, same, distinct := 0, 0, 0
		for i, row := range o.rows {
			c, err := compareOrdered(env, row, direct, call.OrderKeys, len(call.Args))
			if err != nil {
				return types.Null, err
			}
			if c > 0 {
				break
			}
			if c == 0 {
				same++
				continue
			}
			before++
			if i == 0 {
				distinct++
			} else if c, err = compareOrdered(env, o.rows[i-1], row, call.OrderKeys, len(call.Args)); err != nil {
				return types.Null, err
			} else if c != 0 {
				distinct++
			}
		}
		return value(before, same, distinct, len(o.rows)), nil
	}
}

package exec

import "github.com/divandb/divan/query/types"

// Aggregate is an aggregate function.
type Aggregate struct {
	Name  string
	Args  []types.OID
	Ret   types.OID
	RetOf func(args []types.OID) types.OID
	// NullArgs reports whether rows with a NULL argument count too.
	NullArgs bool
	// Sorted reports whether the result depends on the order of the input. DISTINCT then sorts it.
	Sorted bool
	// Ordered aggregates have WITHIN GROUP: Args are the direct arguments followed by the sorted ones. Hypothetical
	// ones have as many direct as sorted arguments. The accumulators of both are OrderedAccumulators.
	Ordered, Hypothetical bool
	New                   func(args []types.OID) Accumulator
}

// Accumulator is the state of an aggregate over one group.
type Accumulator interface {
	Add(env *Env, args []types.Datum) error
	Result(env *Env) (types.Datum, error)
}

// OrderedAccumulator is the state of an ordered-set aggregate. Its rows are added in sort order.
type OrderedAccumulator interface {
	Accumulator
	// Finish is Result with the direct arguments.
	Finish(env *Env, call *AggCall, direct []types.Datum) (types.Datum, error)
}

// AggCall is one aggregate of a query.
type AggCall struct {
	Agg  *Aggregate
	Args []Expr
	// Direct are the direct arguments of an ordered-set aggregate, as expressions over the output of the grouping.
	Direct   []Expr
	Distinct bool
	Filter   Expr // may be nil
	// Order lists the expressions by which the rows are sorted before they are added.
	Order     []Expr
	OrderKeys []SortKey
	Text      string // for EXPLAIN
}

package window

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Func is a window function that is not an aggregate.
type Func struct {
	Name string
	Args []types.OID
	Ret  types.OID
	// RetOf returns the result type if it depends on the arguments.
	RetOf func(args []types.OID) types.OID
	// New begins a partition. It returns a function that computes the value for row i.
	New func() func(p *partitionRows, i int) (types.Datum, error)
}

// Funcs maps names to window functions (PostgreSQL 15, section 9.22).
var Funcs = map[string][]*Func{}

func addWindow(
	name string,
	ret types.OID,
	value func(p *partitionRows, i int) (types.Datum, error),
	args ...types.OID,
) {
	Funcs[name] = append(Funcs[name], &Func{Name: name, Args: args, Ret: ret,
		RetOf: func(args []types.OID) types.OID {
			if ret == exec.AnyElement || ret == exec.AnyCompatible {
				return args[0]
			}
			return ret
		},
		New: func() func(*partitionRows, int) (types.Datum, error) { return value }})
}

func init() {
	addWindow("row_number", types.Int8, func(_ *partitionRows, i int) (types.Datum, error) {
		return types.NewInt(int64(i) + 1), nil
	})
	addWindow("rank", types.Int8, func(p *partitionRows, i int) (types.Datum, error) {
		from, _, err := p.peers(i)
		return types.NewInt(int64(from) + 1), err
	})
	addWindow("dense_rank", types.Int8, func(p *partitionRows, i int) (types.Datum, error) {
		g, err := p.peer(i)
		return types.NewInt(int64(g) + 1), err
	})
	addWindow("percent_rank", types.Float8, func(p *partitionRows, i int) (types.Datum, error) {
		if p.n < 2 {
			return types.NewFloat(0), nil
		}
		from, _, err := p.peers(i)
		return types.NewFloat(float64(from) / float64(p.n-1)), err
	})
	addWindow("cume_dist", types.Float8, func(p *partitionRows, i int) (types.Datum, error) {
		_, to, err := p.peers(i)
		return types.NewFloat(float64(to) / float64(p.n)), err
	})
	Funcs["ntile"] = []*Func{{Name: "ntile", Args: []types.OID{types.Int4}, Ret: types.Int4,
		RetOf: func([]types.OID) types.OID { return types.Int4 }, New: ntile}}
	for name, sign := range map[string]int64{"lag": -1, "lead": 1} {
		f := shift(sign)
		addWindow(name, exec.AnyElement, f, exec.AnyElement)
		addWindow(name, exec.AnyElement, f, exec.AnyElement, types.Int4)
		addWindow(name, exec.AnyCompatible, f, exec.AnyCompatible, types.Int4, exec.AnyCompatible)
	}
	addWindow("first_value", exec.AnyElement, func(p *partitionRows, i int) (types.Datum, error) {
		return p.inFrame(i, 0, false)
	}, exec.AnyElement)
	addWindow("last_value", exec.AnyElement, func(p *partitionRows, i int) (types.Datum, error) {
		return p.inFrame(i, 0, true)
	}, exec.AnyElement)
	addWindow("nth_value", exec.AnyElement, func(p *partitionRows, i int) (types.Datum, error) {
		n, err := p.arg(1, i)
		if err != nil || n.IsNull() {
			return types.Null, err
		}
		if n.I <= 0 {
			return types.Null, sqlstate.New(sqlstate.InvalidNthValue, "argument of nth_value must be greater than zero")
		}
		return p.inFrame(i, int(n.I)-1, false)
	}, exec.AnyElement, types.Int4)
}

// ntile divides the partition into buckets. If they cannot be equal, the first ones are one row longer.
func ntile() func(p *partitionRows, i int) (types.Datum, error) {
	var n types.Datum
	return func(p *partitionRows, i int) (types.Datum, error) {
		if i == 0 {
			var err error
			if n, err = p.arg(0, 0); err != nil {
				return types.Null, err
			}
		}
		if n.IsNull() {
			return n, nil
		}
		if n.I <= 0 {
			return types.Null, sqlstate.New(sqlstate.InvalidNtile, "argument of ntile must be greater than zero")
		}
		size, longer := int64(p.n)/n.I, int64(p.n)%n.I
		at := int64(i)
		if at < longer*(size+1) {
			return types.NewInt(at/(size+1) + 1), nil
		}
		return types.NewInt((at-longer*(size+1))/max(size, 1) + longer + 1), nil
	}
}

// shift is lag or lead: the value a number of rows before or after this one, or the default.
func shift(sign int64) func(p *partitionRows, i int) (types.Datum, error) {
	return func(p *partitionRows, i int) (types.Datum, error) {
		offset := types.NewInt(1)
		if len(p.c.Args) > 1 {
			var err error
			if offset, err = p.arg(1, i); err != nil || offset.IsNull() {
				return types.Null, err
			}
		}
		if at := int64(i) + sign*offset.I; at >= 0 && at < int64(p.n) {
			return p.arg(0, int(at))
		}
		if len(p.c.Args) > 2 {
			return p.arg(2, i)
		}
		return types.Null, nil
	}
}

// inFrame returns the argument at the nth row of the frame of row i, counted from its end if back is set.
func (p *partitionRows) inFrame(i, n int, back bool) (types.Datum, error) {
	first, end, err := p.move(i)
	if err != nil {
		return types.Null, err
	}
	at, step := first, 1
	if back {
		at, step = end-1, -1
	}
	a, b, err := p.excluded(i)
	if err != nil {
		return types.Null, err
	}
	in := func(r [2]int) bool { return at >= r[0] && at < r[1] }
	for at >= first && at < end {
		switch {
		case in(a):
			at = over(a, back)
		case in(b):
			at = over(b, back)
		case n == 0:
			return p.arg(0, at)
		case a[0] == a[1] && b[0] == b[1]:
			at, n = at+step*n, 0
		default:
			// Go up to the next excluded rows.
			far := n
			for _, r := range [][2]int{a, b} {
				switch {
				case r[0] == r[1]:
				case !back && r[0] > at:
					far = min(far, r[0]-at)
				case back && r[1]-1 < at:
					far = min(far, at-r[1]+1)
				}
			}
			at, n = at+step*far, n-far
		}
	}
	return types.Null, nil
}

// over returns the row on the other side of excluded rows.
func over(r [2]int, back bool) int {
	if back {
		return r[0] - 1
	}
	return r[1]
}

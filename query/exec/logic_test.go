package exec_test

import (
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// newEnv returns an Env with a megabyte of memory.
func newEnv(t *testing.T) *exec.Env {
	session := work.NewNode(1 << 20).NewSession(1 << 20)
	t.Cleanup(session.Close)
	w := work.New(t.Context(), session, 1<<20, nil)
	t.Cleanup(func() { w.Close() })
	return &exec.Env{State: exec.NewState(w, nil, nil, &types.Env{})}
}

// TestLogic_Nulls checks the truth tables of three-valued logic.
func TestLogic_Nulls(t *testing.T) {
	values := map[string]types.Datum{"t": types.NewBool(true), "f": types.NewBool(false), "n": types.Null}
	env := newEnv(t)
	for _, c := range []struct{ op, args, want string }{
		{"and", "tt", "t"}, {"and", "tf", "f"}, {"and", "tn", "n"}, {"and", "nf", "f"}, {"and", "nn", "n"},
		{"or", "ff", "f"}, {"or", "ft", "t"}, {"or", "fn", "n"}, {"or", "nt", "t"}, {"or", "nn", "n"},
		{"and", "ntf", "f"}, {"or", "nft", "t"}, {"and", "ttn", "n"}, {"or", "ffn", "n"},
		{"not", "t", "f"}, {"not", "f", "t"}, {"not", "n", "n"},
	} {
		l := &exec.Logic{Op: c.op}
		for _, v := range c.args {
			l.Args = append(l.Args, &exec.Const{D: values[string(v)], Typ: types.Bool})
		}
		if got, err := l.Eval(env); err != nil || got != values[c.want] {
			t.Errorf("%s %s: %+v, %v, want %s", c.op, c.args, got, err, c.want)
		}
	}
}

// TestRowCompare_Nulls checks that rows are compared up to the first fields that differ, and that a NULL before that
// makes the result NULL.
func TestRowCompare_Nulls(t *testing.T) {
	compare := func(name string, test func(a, b int64) bool) *exec.Func {
		return &exec.Func{Name: name, Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewBool(test(a[0].I, a[1].I)), nil
		}}
	}
	less := compare("<", func(a, b int64) bool { return a < b })
	atMost := compare("<=", func(a, b int64) bool { return a <= b })
	equal := compare("=", func(a, b int64) bool { return a == b })
	const null = -1
	row := func(values []int64) (out []exec.Expr) {
		for _, v := range values {
			d := types.NewInt(v)
			if v == null {
				d = types.Null
			}
			out = append(out, &exec.Const{D: d, Typ: types.Int4})
		}
		return out
	}
	env := newEnv(t)
	for _, c := range []struct {
		x, y []int64
		want types.Datum
	}{
		{[]int64{1, 2}, []int64{1, 2}, types.NewBool(true)},
		{[]int64{1, 3}, []int64{1, 2}, types.NewBool(false)},
		{[]int64{1, null}, []int64{2, 0}, types.NewBool(true)},
		{[]int64{3, null}, []int64{2, 0}, types.NewBool(false)},
		{[]int64{2, null}, []int64{2, 0}, types.Null},
		{[]int64{null, 1}, []int64{2, 2}, types.Null},
	} {
		r := &exec.RowCompare{Op: "<=", X: row(c.x), Y: row(c.y), Decide: []*exec.Func{less, less},
			Equal: []*exec.Func{equal, equal}, Last: atMost}
		if got, err := r.Eval(env); err != nil || got != c.want {
			t.Errorf("%v <= %v: %+v, %v, want %+v", c.x, c.y, got, err, c.want)
		}
	}
}

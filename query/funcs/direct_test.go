package funcs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// TestFunc_Direct compares the two forms of functions that have a direct one, or return a member.
func TestFunc_Direct(t *testing.T) {
	long := strings.Repeat("x", exec.DirectLength)
	values := map[types.OID][]types.Datum{types.Text: {types.Null}, types.Int8: {types.Null}}
	for _, s := range []string{"", "a", "b", "B", "ä", "a ", "obj", "list", "null", "n", "twice", "\x00", "'", long} {
		values[types.Text] = append(values[types.Text], types.NewText(s))
	}
	values[types.Text] = append(values[types.Text], types.NewPadded("a  "))
	for _, i := range []int64{-1, 0, 1, 1 << 40} {
		values[types.Int8] = append(values[types.Int8], types.NewInt(i))
	}
	named := types.NewInt(1)
	named.S = "pg_class" // as a value of regclass
	values[types.Int8] = append(values[types.Int8], named)
	docs := []types.Datum{types.Null}
	for _, s := range []string{`{}`, `1`, `"a"`, `null`, `["a"]`, ` { "a" : 1.50e1 } `,
		`{"a":"x","b":null,"obj":{"a":  [1, 2]},"list":[1,"a"],"n":1e3,"twice":1,"twice":2,"":"empty"}`,
		`{"a":"q\"\u0000","\u00e4":true}`, `{"a":"` + long + `"}`} {
		docs = append(docs, types.NewJSONText(s))
	}
	values[types.JSON], values[types.JSONB] = docs, docs
	compared := 0
	compare := func(f *exec.Func, x, y types.OID) {
		slow := *f
		slow.Direct, slow.Member = nil, exec.NoMember
		w := work.New(t.Context(), nil, 0, nil)
		defer w.Close()
		env := &exec.Env{State: exec.NewState(w, nil, nil, &types.Env{})}
		for _, a := range values[x] {
			for _, b := range values[y] {
				args := []exec.Expr{&exec.Const{D: a, Typ: x}, &exec.Const{D: b, Typ: y}}
				got, gotErr := (&exec.Call{Func: f, Args: args, Typ: f.Ret}).Eval(env)
				want, wantErr := (&exec.Call{Func: &slow, Args: args, Typ: f.Ret}).Eval(env)
				if fmt.Sprint(got, gotErr) != fmt.Sprint(want, wantErr) {
					t.Errorf("%.40v %s %.40v (%d, %d): %v, %v; want %v, %v", a, f.Name, b, x, y, got, gotErr, want, wantErr)
				}
				compared++
			}
		}
	}
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		for _, typ := range []types.OID{types.Text, types.Int8, types.JSONB} {
			compare(funcs.Comparison(op), typ, typ)
		}
	}
	for _, list := range funcs.Operators {
		for _, f := range list {
			if f.Direct != nil || f.Member != exec.NoMember {
				compare(f, f.Args[0], f.Args[1])
			}
		}
	}
	if compared < 2000 {
		t.Errorf("only %d calls compared", compared)
	}
}

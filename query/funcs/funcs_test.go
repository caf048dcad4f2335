package funcs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	_ "github.com/divandb/divan/query/funcs/jsons"
	_ "github.com/divandb/divan/query/funcs/templates"
	_ "github.com/divandb/divan/query/funcs/texts"
	_ "github.com/divandb/divan/query/funcs/times"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// call calls a function or an operator by the exact types of its arguments, which are texts such as "int4:1". It
// returns the text of the result, NULL, or an SQLSTATE.
func call(t *testing.T, name string, args ...string) string {
	t.Helper()
	w := work.New(t.Context(), nil, 0, nil)
	defer w.Close()
	env := &exec.Env{State: exec.NewState(w, nil, nil, &types.Env{})}
	oids, list := make([]types.OID, len(args)), make([]exec.Expr, len(args))
	for i, a := range args {
		typ, text, ok := strings.Cut(a, ":")
		oid, known := types.ByName(typ)
		if !ok || !known {
			t.Fatalf("%s: %q names no type", name, a)
		}
		d := types.Null
		if text != "NULL" {
			var err error
			if d, err = types.ParseText(text, oid, nil); err != nil {
				t.Fatalf("%s: %q: %v", name, a, err)
			}
		}
		oids[i], list[i] = oid, &exec.Const{D: d, Typ: oid}
	}
	for _, f := range append(slices.Clone(funcs.Functions[name]), funcs.Operators[name]...) {
		if !slices.Equal(f.Args, oids) {
			continue
		}
		d, err := (&exec.Call{Func: f, Args: list, Typ: f.Ret}).Eval(env)
		var e *sqlstate.Error
		switch {
		case errors.As(err, &e):
			return string(e.Code)
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		case d.IsNull():
			return "NULL"
		}
		return types.TextOf(d, f.Ret, nil)
	}
	t.Fatalf("there is no %s of %v", name, args)
	return ""
}

// TestFunctions has what PostgreSQL 15 answers.
func TestFunctions(t *testing.T) {
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"hashtext", "1075015857", []string{"text:a"}},
		{"hashtext", "-1477818771", []string{"text:"}},
		{"hashtext", "1021725223", []string{"text:hello world"}},
		{"hashtextextended", "-931906032101711207", []string{"text:hello world, how are you", "int8:42"}},
		{"hashint8", "-431047693", []string{"int8:12345678901"}},
		{"hashint8", "385747274", []string{"int8:-1"}},
		{"hashfloat8", "0", []string{"float8:-0"}},
		{"log", "-1", []string{"float8:0.1"}},
		{"log", "2201E", []string{"float8:0"}},
		{"radians", "0.026179938779914945", []string{"float8:1.5"}},
		{"round", "100", []string{"numeric:123.456", "int4:-2"}},
		{"round", "0", []string{"numeric:5.5", "int4:-2147483648"}},
		{"div", "-Infinity", []string{"numeric:Infinity", "numeric:-2.5"}},
		{"div", "22012", []string{"numeric:1", "numeric:0"}},
		{"lcm", "NaN", []string{"numeric:0", "numeric:NaN"}},
		{"gcd", "22003", []string{"int4:-2147483648", "int4:0"}},
		{"width_bucket", "22003", []string{"float8:5", "float8:0", "float8:1", "int4:2147483647"}},
		{"width_bucket", "3", []string{"float8:5.35", "float8:0.024", "float8:10.06", "int4:5"}},
		{"+", "22003", []string{"int4:2147483647", "int4:1"}},
		{"/", "22012", []string{"int8:1", "int8:0"}},
		{"%", "-2", []string{"int4:-5", "int4:3"}},
		{"+", "2024-01-02 00:00:00", []string{"interval:1 day", "timestamp:2024-01-01"}},
		{"+", "2024-01-02 00:00:00", []string{"interval:1 day", "date:2024-01-01"}},
		{"-", "2024-02-29 00:00:00", []string{"timestamp:2024-03-31", "interval:1 month"}},
		{"split_part", "c", []string{"text:a,b,c", "text:,", "int4:-1"}},
		{"split_part", "22023", []string{"text:a", "text:,", "int4:0"}},
		{"lpad", "xya", []string{"text:a", "int4:3", "text:xy"}},
		{"jsonb_set", `{"a": {"b": 2}}`, []string{`jsonb:{"a":{"b":1}}`, "_text:{a,b}", "jsonb:2"}},
		{"?", "t", []string{`jsonb:{"a":1}`, "text:a"}},
		{"-", `{"b": 2}`, []string{`jsonb:{"a":1,"b":2}`, "text:a"}},
		{"jsonb_array_length", "22023", []string{"jsonb:{}"}},
		{"jsonb_array_length", "NULL", []string{"jsonb:NULL"}},
	} {
		if got := call(t, c.name, c.args...); got != c.want {
			t.Errorf("%s(%s) = %s, want %s", c.name, strings.Join(c.args, ", "), got, c.want)
		}
	}
}

// TestFamilies checks the tables themselves: signatures are unique, results have a type, and defaults fit their
// arguments.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	once := func(kind, name string, args []types.OID) {
		key := kind + " " + name
		for _, a := range args {
			key += "," + types.NameOf(a)
		}
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
	for _, f := range funcs.Families {
		for _, fn := range slices.Concat(f.Functions, f.Operators) {
			once("function or operator", fn.Name, fn.Args)
			if fn.Ret == 0 && fn.RetOf == nil {
				t.Errorf("%s has no result type", fn.Name)
			}
			if fn.Eval == nil || fn.Variadic && len(fn.Args) == 0 || len(fn.Defaults) > len(fn.Args) ||
				fn.Names != nil && len(fn.Names) != len(fn.Args) {
				t.Errorf("%s cannot be called: %+v", fn.Name, fn)
			}
		}
		for _, fn := range f.Tables {
			once("function of rows", fn.Name, fn.Args)
			ways := 0
			for _, has := range []bool{fn.Rows != nil, fn.Stream != nil, fn.StreamEnv != nil} {
				if has {
					ways++
				}
			}
			if strings.Contains(fn.Name, "_record") || strings.HasPrefix(fn.Name, "json") && strings.HasSuffix(fn.Name, "set") {
				continue // gets its columns, and with them its rows, from a column definition list
			}
			if ways != 1 || fn.Columns == nil {
				t.Errorf("%s has %d ways to return rows", fn.Name, ways)
			}
		}
		for _, fn := range f.Operators {
			if len(fn.Args) < 1 || len(fn.Args) > 2 {
				t.Errorf("operator %s has %d operands", fn.Name, len(fn.Args))
			}
		}
	}
}

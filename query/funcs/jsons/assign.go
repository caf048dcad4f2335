package jsons

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Assign and AssignElement are x[path] = value for a jsonb (jsonb_subscript_assign in jsonbsubs.c). The arguments are
// x, a text[] and the value. They differ in what a NULL for x becomes: an object, or a list. What is not assigned keeps
// its text.
var (
	Assign        = &exec.Func{Name: "jsonb_assign", NullArgs: true, Eval: assigning("{}")}
	AssignElement = &exec.Func{Name: "jsonb_assign_element", NullArgs: true, Eval: assigning("[]")}
)

func assigning(empty string) func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
	return func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		e := &pathEdit{path: a[1].Array().Items, value: "null", create: true, fill: true, env: env}
		for _, name := range e.path {
			if name.IsNull() {
				return types.Null, sqlstate.New(sqlstate.NullNotAllowed,
					"jsonb subscript in assignment must not be null")
			}
		}
		if !a[2].IsNull() {
			e.value = a[2].S
		}
		if a[0].IsNull() {
			return e.apply(empty)
		}
		return e.apply(a[0].S)
	}
}

// element returns the number that is an element of a path.
func element(s string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimLeft(s, " \t\n\v\f\r"), 10, 32)
	return int(n), err
}

// hidden returns how many members of an object have the name that is assigned to, besides the last one, which is the
// one that counts.
func (e *pathEdit) hidden(s, name string) int {
	if !e.fill {
		return 0
	}
	n := 0
	types.JSONMembers(s, func(k, _ string) bool {
		if types.JSONUnquote(k) == name {
			n++
		}
		return true
	})
	return max(n-1, 0)
}

// nulls appends n elements that are null.
func (e *pathEdit) nulls(n int) error {
	const one = len("null, ")
	if n <= 0 {
		return nil
	}
	if err := funcs.FitsText(e.env, len(e.w.buf)+len(e.value)+n*one); err != nil {
		return err
	}
	if err := e.env.Step(n); err != nil {
		return err
	}
	for range n {
		e.w.value("", "null")
	}
	return nil
}

// chain appends what the rest of the path leads through: a list for an integer, otherwise an object.
func (e *pathEdit) chain(level int) error {
	if level == len(e.path) {
		e.w.buf = append(e.w.buf, e.value...)
		return nil
	}
	end := byte('}')
	if at, err := element(e.path[level].S); err == nil {
		end = ']'
		e.w.open('[')
		if err := e.nulls(at); err != nil {
			return err
		}
		e.w.name("")
	} else {
		e.w.open('{')
		e.w.name(string(jsontext.AppendQuoted(nil, e.path[level].S)))
	}
	err := e.chain(level + 1)
	e.w.shut(end)
	return err
}

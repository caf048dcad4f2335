package jsons

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// ArrayLiteral returns the text of x, a jsonb, that can be cast to an array. That of a list is the literal of an array
// with its items, which are JSON or, as ->> has them, texts. Lists in a list make an array of several dimensions.
func ArrayLiteral(x exec.Expr, itemsAreJSON bool) exec.Expr {
	f := literal
	if itemsAreJSON {
		f = literalOfJSON
	}
	return &exec.Call{Func: f, Args: []exec.Expr{x}, Typ: types.Text}
}

var (
	literal       = &exec.Func{Name: "jsonb_array_literal", Eval: literalText(false)}
	literalOfJSON = &exec.Func{Name: "jsonb_array_literal", Eval: literalText(true)}
)

func literalText(itemsAreJSON bool) func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
	return func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if types.JSONKindOf(a[0].S) != types.JSONList {
			text, ok := types.JSONBText(a[0].S)
			if !ok {
				return types.Null, nil
			}
			if text == "{}" && types.JSONKindOf(a[0].S) == types.JSONObject {
				text += " (an object)" // which is no array, as its text is
			}
			return types.NewText(text), nil
		}
		if err := funcs.FitsText(env, 2*len(a[0].S)); err != nil {
			return types.Null, err
		}
		return types.NewText(string(appendLiteral(nil, a[0].S, itemsAreJSON))), nil
	}
}

var literalEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func appendLiteral(dst []byte, list string, itemsAreJSON bool) []byte {
	dst = append(dst, '{')
	first := true
	types.JSONElements(list, func(v string) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		kind := types.JSONKindOf(v)
		if kind == types.JSONList && !itemsAreJSON {
			dst = appendLiteral(dst, v, false)
			return true
		}
		text, ok := v, kind != types.JSONNull
		if ok && !itemsAreJSON {
			text, ok = types.JSONBText(v)
		}
		if !ok {
			dst = append(dst, "NULL"...)
			return true
		}
		dst = append(dst, '"')
		dst = append(dst, literalEscapes.Replace(text)...)
		dst = append(dst, '"')
		return true
	})
	return append(dst, '}')
}

// Package jsons implements the functions and operators of JSON (PostgreSQL 15, section 9.16). JSON values and their
// comparison are in package types, paths in package jsonpath.
package jsons

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The operators and functions of json and jsonb (PostgreSQL 15, section 9.16).
func init() {
	for _, t := range []types.OID{types.JSONB, types.JSON} {
		found := func(s string, ok bool) (types.Datum, error) {
			if !ok {
				return types.Null, nil
			}
			return types.NewJSONText(s), nil
		}
		asText := func(s string, ok bool) (types.Datum, error) {
			if ok {
				s, ok = jsonText(t)(s)
			}
			if !ok {
				return types.Null, nil
			}
			return types.NewText(s), nil
		}
		for op, give := range map[string]func(string, bool) (types.Datum, error){"->": found, "->>": asText} {
			ret := t
			if op == "->>" {
				ret = types.Text
			}
			funcs.JsonFamily.Operator(op, ret, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return give(env.JSON.Field(a[0].S, a[1].S))
			}, t, types.Text).Member = memberForm(op, t)
			funcs.JsonFamily.Operator(op, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				if kind := types.JSONKindOf(a[0].S); t == types.JSONB && kind != types.JSONList &&
					kind != types.JSONObject &&
					(a[1].I == 0 || a[1].I == -1) {
					return give(a[0].S, true) // in PostgreSQL a scalar is stored as an array of one element
				}
				return give(types.JSONIndex(a[0].S, a[1].I))
			}, t, types.Int4)
			path := strings.Replace(op, "-", "#", 1)
			funcs.JsonFamily.Operator(path, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				steps, ok := textItems(a[1])
				if !ok {
					return types.Null, nil
				}
				return give(types.JSONPath(a[0].S, steps))
			}, t, types.TextArray)
		}
	}
	funcs.JsonFamily.Operator("@>", types.Bool, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		ok, err := types.JSONContains(a[0].S, a[1].S, env.Bytes)
		return types.NewBool(ok), err
	}, types.JSONB, types.JSONB)
	funcs.JsonFamily.Operator("<@", types.Bool, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		ok, err := types.JSONContains(a[1].S, a[0].S, env.Bytes)
		return types.NewBool(ok), err
	}, types.JSONB, types.JSONB)
	funcs.JsonFamily.Operator("?", types.Bool, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewBool(types.JSONHasKey(a[0].S, a[1].S)), nil
	}, types.JSONB, types.Text)
	for op, all := range map[string]bool{"?|": false, "?&": true} {
		funcs.JsonFamily.Operator(op, types.Bool, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			for _, it := range a[1].Array().Items {
				if err := env.Bytes(len(a[0].S)); err != nil {
					return types.Null, err
				}
				if !it.IsNull() && types.JSONHasKey(a[0].S, it.S) != all {
					return types.NewBool(!all), nil
				}
			}
			return types.NewBool(all), nil
		}, types.JSONB, types.TextArray)
	}
	for _, prefix := range []string{"json_", "jsonb_"} {
		jsonFuncs(prefix, map[string]types.OID{"json_": types.JSON, "jsonb_": types.JSONB}[prefix])
	}
	for name, t := range map[string]types.OID{"to_json": types.JSON, "to_jsonb": types.JSONB} {
		funcs.JsonFamily.Function(name, t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return toJSON(env, a[0], env.ArgType(0))
		}, exec.AnyElement)
	}
	for name, t := range map[string]types.OID{"row_to_json": types.Record, "array_to_json": types.AnyArray} {
		funcs.JsonFamily.Function(name, types.JSON, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := toJSON(env, a[0], env.ArgType(0))
			if err != nil || !a[1].True() {
				return d, err
			}
			return types.NewJSON(linesOf(d.S)), nil
		}, t, types.Bool)
		funcs.JsonFamily.Function(name, types.JSON, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return toJSON(env, a[0], env.ArgType(0))
		}, t)
	}
}

// linesOf puts each member or element of a value on its own line.
func linesOf(s string) []byte {
	var out []byte
	open, shut := byte('['), byte(']')
	if types.JSONKindOf(s) == types.JSONObject {
		open, shut = '{', '}'
	}
	item := func(k, v string) bool {
		if out == nil {
			out = append(out, open)
		} else {
			out = append(out, ",\n "...)
		}
		if k != "" {
			out = append(append(out, k...), ':')
		}
		out = append(out, v...)
		return true
	}
	types.JSONMembers(s, item)
	types.JSONElements(s, func(v string) bool { return item("", v) })
	if out == nil {
		out = append(out, open)
	}
	return append(out, shut)
}

func toJSON(env *exec.CallEnv, d types.Datum, typ types.OID) (types.Datum, error) {
	raw, err := env.AppendJSON(nil, d, typ, env.Call.Typ)
	return types.NewJSON(raw), err
}

// jsonText returns ->> for a value itself, as json or as jsonb.
func jsonText(t types.OID) func(string) (string, bool) {
	if t == types.JSONB {
		return types.JSONBText
	}
	return types.JSONText
}

// memberForm is what the operator -> or ->> returns of a member.
func memberForm(op string, t types.OID) exec.MemberForm {
	switch {
	case op == "->":
		return exec.MemberValue
	case t == types.JSONB:
		return exec.MemberTextB
	}
	return exec.MemberText
}

func jsonFuncs(prefix string, t types.OID) {
	funcs.JsonFamily.Function(prefix+"typeof", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewText(types.JSONKindOf(a[0].S).String()), nil
	}, t)
	funcs.JsonFamily.Function(prefix+"array_length", types.Int4,
		func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if k := types.JSONKindOf(a[0].S); k != types.JSONList {
				return types.Null, wrongKind(prefix+"array_length", k)
			}
			return types.NewInt(int64(types.JSONLen(a[0].S))), nil
		}, t)
	for name, asText := range map[string]bool{prefix + "extract_path": false, prefix + "extract_path_text": true} {
		ret := t
		if asText {
			ret = types.Text
		}
		f := funcs.JsonFamily.Function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			steps := make([]string, len(a)-1)
			for i := range steps {
				steps[i] = a[i+1].S
			}
			s, ok := types.JSONPath(a[0].S, steps)
			if ok && asText {
				s, ok = jsonText(t)(s)
			}
			switch {
			case !ok:
				return types.Null, nil
			case asText:
				return types.NewText(s), nil
			}
			return types.NewJSONText(s), nil
		}, t, types.Text)
		f.Variadic = true
	}
	build := func(name string, f funcs.EvalFunc) {
		funcs.JsonFamily.Add(&exec.Func{Name: prefix + name, Args: []types.OID{exec.AnyValue}, Variadic: true,
			Ret: t, NullArgs: true, Eval: f})
		funcs.JsonFamily.Function(prefix+name, t, f)
	}
	build("build_array", func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		out := []byte{'['}
		for i, d := range a {
			if i > 0 {
				out = append(out, ", "...)
			}
			var err error
			if out, err = env.AppendJSON(out, d, env.ArgType(i), t); err != nil {
				return types.Null, err
			}
		}
		return types.NewJSON(append(out, ']')), nil
	})
	build("build_object", func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if len(a)%2 != 0 {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
				"argument list must have even number of elements").
				WithHint("The arguments of %sbuild_object() must consist of alternating keys and values.", prefix)
		}
		out := []byte{'{'}
		for i := 0; i < len(a); i += 2 {
			if i > 0 {
				out = append(out, ", "...)
			}
			if a[i].IsNull() {
				if t == types.JSONB {
					return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "argument %d: key must not be null",
						i+1)
				}
				return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "argument %d cannot be null", i+1).
					WithHint("Object keys should be text.")
			}
			name, err := funcs.JSONKey(env.Env, a[i], env.ArgType(i))
			if err != nil {
				return types.Null, err
			}
			if err := env.Room(int64(len(out) + 2*len(name))); err != nil {
				return types.Null, err
			}
			out = append(append(out, name...), funcs.Colon(t)...)
			if out, err = env.AppendJSON(out, a[i+1], env.ArgType(i+1), t); err != nil {
				return types.Null, err
			}
		}
		return types.NewJSON(append(out, '}')), nil
	})
	jsonTables(prefix, t)
}

// jsonTables adds the functions that expand a value into rows.
func jsonTables(prefix string, t types.OID) {
	table := func(name string, cols []exec.Column, kind types.JSONKind,
		next func(c *types.JSONCursor) []types.Datum) {
		funcs.JsonFamily.AddTable(&exec.TableFunc{Name: prefix + name, Args: []types.OID{t},
			Columns: func([]types.OID) []exec.Column {
				return cols
			},
			Stream: func(a []types.Datum) (func() []types.Datum, error) {
				if k := types.JSONKindOf(a[0].S); k != kind {
					return nil, wrongKind(prefix+name, k)
				}
				c := types.NewJSONCursor(a[0].S)
				if t == types.JSONB {
					c = types.NewJSONBCursor(a[0].S)
				}
				return func() []types.Datum { return next(&c) }, nil
			}})
	}
	value := func(v string, asText bool) types.Datum {
		if !asText {
			return types.NewJSONText(v)
		}
		if s, ok := jsonText(t)(v); ok {
			return types.NewText(s)
		}
		return types.Null
	}
	for suffix, asText := range map[string]bool{"": false, "_text": true} {
		typ := t
		if asText {
			typ = types.Text
		}
		one := []exec.Column{{Name: "value", Type: typ, Mod: -1}}
		table("array_elements"+suffix, one, types.JSONList,
			func(c *types.JSONCursor) []types.Datum {
				v, ok := c.Element()
				if !ok {
					return nil
				}
				return []types.Datum{value(v, asText)}
			})
		both := []exec.Column{{Name: "key", Type: types.Text, Mod: -1}, {Name: "value", Type: typ, Mod: -1}}
		table("each"+suffix, both, types.JSONObject, func(c *types.JSONCursor) []types.Datum {
			k, v, ok := c.Member()
			if !ok {
				return nil
			}
			return []types.Datum{types.NewText(types.JSONStringText(k)), value(v, asText)}
		})
	}
	keys := []exec.Column{{Name: prefix + "object_keys", Type: types.Text, Mod: -1}}
	table("object_keys", keys, types.JSONObject,
		func(c *types.JSONCursor) []types.Datum {
			k, _, ok := c.Member()
			if !ok {
				return nil
			}
			return []types.Datum{types.NewText(types.JSONStringText(k))}
		})
}

// wrongKind returns the error of a function that is called on a JSON value of another type, in PostgreSQL's words.
func wrongKind(name string, k types.JSONKind) error {
	which, scalar := 0, k != types.JSONList && k != types.JSONObject
	if scalar {
		which = 1
	}
	call := func(on string) string { return "cannot call " + name + " on " + on }
	var texts [2]string // for the other container, and for a scalar
	switch strings.TrimSuffix(name, "_text") {
	case "json_array_length", "jsonb_array_length":
		texts = [2]string{"cannot get array length of a non-array", "cannot get array length of a scalar"}
	case "jsonb_array_elements":
		texts = [2]string{"cannot extract elements from an object", "cannot extract elements from a scalar"}
	case "json_array_elements":
		texts = [2]string{call("a non-array"), call("a scalar")}
	case "json_each":
		texts = [2]string{"cannot deconstruct an array as an object", "cannot deconstruct a scalar"}
	case "jsonb_each":
		texts = [2]string{call("a non-object"), call("a non-object")}
	default:
		texts = [2]string{call("an array"), call("a scalar")}
	}
	return sqlstate.New(sqlstate.InvalidParameterValue, "%s", texts[which])
}

// textItems returns the items of a text array; false if one is NULL.
func textItems(d types.Datum) ([]string, bool) {
	items := d.Array().Items
	out := make([]string, len(items))
	for i, it := range items {
		if it.IsNull() {
			return nil, false
		}
		out[i] = it.S
	}
	return out, true
}

// LooseJSON converts a text for a comparison with jsonb: to the JSON that it is, or else to the JSON string of its
// characters.
var LooseJSON = &exec.Func{Name: "to_jsonb", Args: []types.OID{types.Text}, Ret: types.JSONB,
	Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.ParseText(a[0].S, types.JSONB, &types.Env{LooseJSON: true})
	}}

// JSONString converts a text to a JSON string. It is applied to a computed text that is compared with jsonb.
var JSONString = &exec.Func{Name: "to_jsonb", Args: []types.OID{types.Text}, Ret: types.JSONB,
	Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		raw, err := env.AppendJSONString(nil, a[0].S)
		return types.NewJSON(raw), err
	}}

// JSONScalar converts a number or boolean to JSON.
var JSONScalar = &exec.Func{Name: "to_jsonb", Args: []types.OID{exec.AnyValue}, Ret: types.JSONB,
	Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return toJSON(env, a[0], env.ArgType(0))
	}}

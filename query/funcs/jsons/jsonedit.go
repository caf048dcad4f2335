package jsons

import (
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions that change jsonb values (PostgreSQL 15, tables 9.46 and 9.47). Parts that are not changed keep their text.

// jsonWriter builds an object or array.
type jsonWriter struct {
	buf  []byte
	some bool
}

func (w *jsonWriter) open(c byte) { w.buf, w.some = append(w.buf, c), false }

func (w *jsonWriter) shut(c byte) { w.buf, w.some = append(w.buf, c), true }

// value appends an element, or a member with its raw name.
func (w *jsonWriter) value(name, v string) {
	w.name(name)
	w.buf = append(w.buf, v...)
}

func (w *jsonWriter) name(name string) {
	if w.some {
		w.buf = append(w.buf, ", "...)
	}
	w.some = true
	if name != "" {
		w.buf = append(append(w.buf, name...), ": "...)
	}
}

func notInScalar(what string) error {
	return sqlstate.New(sqlstate.InvalidParameterValue, "cannot %s scalar", what)
}

// without is jsonb - text and jsonb - text[]: it removes the members with these names, or the elements that are these
// strings.
func without(s string, drop func(name string) bool) (types.Datum, error) {
	w := &jsonWriter{buf: make([]byte, 0, len(s)+16)}
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		w.open('{')
		types.JSONMembers(s, func(k, v string) bool {
			if !drop(types.JSONUnquote(k)) {
				w.value(k, v)
			}
			return true
		})
		w.shut('}')
	case types.JSONList:
		w.open('[')
		types.JSONElements(s, func(v string) bool {
			if types.JSONKindOf(v) != types.JSONString || !drop(types.JSONUnquote(v)) {
				w.value("", v)
			}
			return true
		})
		w.shut(']')
	default:
		return types.Null, notInScalar("delete from")
	}
	return types.NewJSON(w.buf), nil
}

func withoutIndex(s string, n int64) (types.Datum, error) {
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "cannot delete from object using integer index")
	case types.JSONList:
	default:
		return types.Null, notInScalar("delete from")
	}
	if n < 0 {
		n += int64(types.JSONLen(s))
	}
	w := &jsonWriter{buf: make([]byte, 0, len(s)+16)}
	w.open('[')
	at := int64(-1)
	types.JSONElements(s, func(v string) bool {
		if at++; at != n {
			w.value("", v)
		}
		return true
	})
	w.shut(']')
	return types.NewJSON(w.buf), nil
}

// pathEdit is a change of the value at a path (setPath in jsonfuncs.c).
type pathEdit struct {
	path  []types.Datum
	value string
	// create adds a missing value, remove deletes the value, before and after insert instead of replacing.
	create, remove, before, after bool
	// fill creates what the path leads through, with nulls before an element of a list, and reports what it cannot
	// lead through.
	fill bool
	env  *exec.CallEnv // of fill
	w    jsonWriter
}

func (e *pathEdit) apply(s string) (types.Datum, error) {
	if len(e.path) == 0 {
		return types.NewJSONText(s), nil
	}
	if all := strings.TrimSpace(s); !e.adds() && len(all) > 1 && strings.TrimSpace(all[1:len(all)-1]) == "" {
		return types.NewJSONText(s), nil // nothing is in it, and the path is not read
	}
	e.w.buf = make([]byte, 0, len(s)+len(e.value)+32)
	if err := e.set("", s, 0); err != nil {
		return types.Null, err
	}
	return types.NewJSON(e.w.buf), nil
}

func (e *pathEdit) adds() bool { return e.create || e.before || e.after }

func (e *pathEdit) set(name, s string, level int) error {
	if e.path[level].IsNull() {
		return sqlstate.New(sqlstate.NullNotAllowed, "path element at position %d is null", level+1)
	}
	e.w.name(name)
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		return e.setMember(s, level)
	case types.JSONList:
		return e.setElement(s, level)
	}
	if e.fill {
		return sqlstate.New(sqlstate.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	e.w.buf = append(e.w.buf, strings.TrimSpace(s)...)
	return nil
}

func (e *pathEdit) setMember(s string, level int) error {
	key, last := e.path[level].S, level == len(e.path)-1
	done := false
	var err error
	left := e.hidden(s, key)
	e.w.open('{')
	types.JSONMembers(s, func(k, v string) bool {
		switch {
		case types.JSONUnquote(k) != key:
			e.w.value(k, v)
		case left > 0:
			left--
		case !last:
			done = true
			err = e.set(k, v, level+1)
		case e.before || e.after:
			err = sqlstate.New(sqlstate.InvalidParameterValue, "cannot replace existing key").
				WithHint("Try using the function jsonb_set to replace key value.")
		default:
			if done = true; !e.remove {
				e.w.value(k, e.value)
			}
		}
		return err == nil
	})
	if err == nil && last && !done && e.adds() {
		e.w.value(string(jsontext.AppendQuoted(nil, key)), e.value)
	}
	if err == nil && !last && !done && e.fill {
		e.w.name(string(jsontext.AppendQuoted(nil, key)))
		err = e.chain(level + 1)
	}
	e.w.shut('}')
	return err
}

func (e *pathEdit) setElement(s string, level int) error {
	last := level == len(e.path)-1
	n := types.JSONLen(s)
	at, err := element(e.path[level].S)
	if err != nil {
		return sqlstate.New(
			sqlstate.InvalidTextRepresentation,
			`path element at position %d is not an integer: "%s"`,
			level+1,
			e.path[level].S,
		)
	}
	first := false
	if at < 0 {
		if first = -at > n; first && e.fill {
			return sqlstate.New(sqlstate.InvalidParameterValue, "path element at position %d is out of range: %d",
				level+1, at)
		}
		at += n
	}
	e.w.open('[')
	done := false
	if (first || n == 0 && !e.fill) && last && e.adds() {
		e.w.value("", e.value)
		done = true
	}
	i := -1
	types.JSONElements(s, func(v string) bool {
		i++
		switch {
		case i != at:
			e.w.value("", v)
			return true
		case !last:
			done = true
			err = e.set("", v, level+1)
			return err == nil
		}
		done = true
		if e.before {
			e.w.value("", e.value)
		}
		if e.before || e.after {
			e.w.value("", v)
		}
		if !e.before && !e.remove {
			e.w.value("", e.value)
		}
		return true
	})
	if err == nil && !done && e.fill {
		err = e.nulls(at - n)
	}
	switch {
	case err != nil || done:
	case last && e.adds():
		e.w.value("", e.value)
	case e.fill:
		e.w.name("")
		err = e.chain(level + 1)
	}
	e.w.shut(']')
	return err
}

// normal writes a value with PostgreSQL's spacing. If strip is set it omits members that are null.
func (w *jsonWriter) normal(s string, strip bool, step types.Step) error {
	var err error
	if err = step(len(s)); err != nil {
		return err
	}
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		w.open('{')
		types.JSONMembers(s, func(k, v string) bool {
			if strip && types.JSONKindOf(v) == types.JSONNull {
				return true
			}
			w.name(k)
			err = w.normal(v, strip, step)
			return err == nil
		})
		w.shut('}')
	case types.JSONList:
		w.open('[')
		types.JSONElements(s, func(v string) bool {
			w.name("")
			err = w.normal(v, strip, step)
			return err == nil
		})
		w.shut(']')
	default:
		w.buf = append(w.buf, strings.TrimSpace(s)...)
	}
	return err
}

func init() {
	edits()
	funcs.JsonFamily.Function("jsonb_pretty", types.Text,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := funcs.PrintJSONB(env, a[0])
			if err != nil {
				return types.Null, err
			}
			return prettyJSON(env, d.S)
		}, types.JSONB)
	funcs.JsonFamily.Function(
		"jsonb_strip_nulls",
		types.JSONB,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			w := &jsonWriter{}
			if err := funcs.FitsText(env, 2*len(a[0].S)); err != nil {
				return types.Null, err
			}
			err := w.normal(a[0].S, true, env.Bytes)
			return types.NewJSON(w.buf), err
		},
		types.JSONB,
	)
	funcs.JsonFamily.Function("json_strip_nulls", types.JSON,
		func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			out, err := compact(nil, a[0].S, env.Bytes)
			return types.NewJSON(out), err
		}, types.JSON)
	for prefix, t := range map[string]types.OID{"json": types.JSON, "jsonb": types.JSONB} {
		funcs.JsonFamily.Function(prefix+"_object", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			items := a[0].Array().Items
			if len(items)%2 != 0 {
				return types.Null, sqlstate.New(sqlstate.ArraySubscriptError, "array must have even number of elements")
			}
			var keys, values []types.Datum
			for i := 0; i < len(items); i += 2 {
				keys, values = append(keys, items[i]), append(values, items[i+1])
			}
			return objectOf(env, keys, values, t)
		}, types.TextArray)
		funcs.JsonFamily.Function(prefix+"_object", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			keys, values := a[0].Array().Items, a[1].Array().Items
			if len(keys) != len(values) {
				if len(keys) == 0 || len(values) == 0 { // an empty array has no dimension
					return types.Null, sqlstate.New(sqlstate.ArraySubscriptError, "wrong number of array subscripts")
				}
				return types.Null, sqlstate.New(sqlstate.ArraySubscriptError, "mismatched array dimensions")
			}
			return objectOf(env, keys, values, t)
		}, types.TextArray, types.TextArray)
	}
}

// objectOf returns an object whose values are texts.
func objectOf(env *exec.CallEnv, keys, values []types.Datum, t types.OID) (types.Datum, error) {
	out := []byte{'{'}
	for i, k := range keys {
		if k.IsNull() {
			return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "null value not allowed for object key")
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		var err error
		if out, err = env.AppendJSONString(out, k.S); err != nil {
			return types.Null, err
		}
		out = append(out, funcs.Colon(t)...)
		if out, err = env.AppendJSON(out, values[i], types.Text, t); err != nil {
			return types.Null, err
		}
	}
	return types.NewJSON(append(out, '}')), nil
}

// compact is json_strip_nulls: it removes white space and members that are null.
func compact(dst []byte, s string, step types.Step) ([]byte, error) {
	if err := step(len(s)); err != nil {
		return dst, err
	}
	some := false
	var err error
	item := func(k, v string) bool {
		if k != "" && types.JSONKindOf(v) == types.JSONNull {
			return true
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		if k != "" {
			dst = append(append(dst, k...), ':')
		}
		dst, err = compact(dst, v, step)
		return err == nil
	}
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		dst = append(dst, '{')
		types.JSONMembers(s, item)
		return append(dst, '}'), err
	case types.JSONList:
		dst = append(dst, '[')
		types.JSONElements(s, func(v string) bool { return item("", v) })
		return append(dst, ']'), err
	}
	return append(dst, strings.TrimSpace(s)...), nil
}

// edits adds the operators and functions that change a value.
func edits() {
	funcs.JsonFamily.Operator("-", types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return without(a[0].S, func(name string) bool { return name == a[1].S })
	}, types.JSONB, types.Text)
	funcs.JsonFamily.Operator("-", types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return withoutIndex(a[0].S, a[1].I)
	}, types.JSONB, types.Int4)
	funcs.JsonFamily.Operator("-", types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		drop := map[string]bool{}
		for _, it := range a[1].Array().Items {
			if !it.IsNull() {
				drop[it.S] = true
			}
		}
		return without(a[0].S, func(name string) bool { return drop[name] })
	}, types.JSONB, types.TextArray)
	funcs.JsonFamily.Operator("#-", types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if scalar(a[0].S) {
			return types.Null, notInScalar("delete path in")
		}
		e := &pathEdit{path: a[1].Array().Items, remove: true}
		return e.apply(a[0].S)
	}, types.JSONB, types.TextArray)
	set := func(a []types.Datum, create bool) (types.Datum, error) {
		if scalar(a[0].S) {
			return types.Null, notInScalar("set path in")
		}
		e := &pathEdit{path: a[1].Array().Items, value: a[2].S, create: create}
		return e.apply(a[0].S)
	}
	insert := func(a []types.Datum, after bool) (types.Datum, error) {
		if scalar(a[0].S) {
			return types.Null, notInScalar("set path in")
		}
		e := &pathEdit{path: a[1].Array().Items, value: a[2].S, before: !after, after: after}
		return e.apply(a[0].S)
	}
	three := []types.OID{types.JSONB, types.TextArray, types.JSONB}
	four := append(three[:3:3], types.Bool)
	for name, f := range map[string]func([]types.Datum, bool) (types.Datum, error){"jsonb_set": set,
		"jsonb_insert": insert} {
		byDefault := name == "jsonb_set"
		funcs.JsonFamily.Function(name, types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return f(a, byDefault)
		}, three...)
		funcs.JsonFamily.Function(name, types.JSONB, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return f(a, a[3].True())
		}, four...)
		last := funcs.JsonFamily.Functions[len(funcs.JsonFamily.Functions)-1]
		last.Names, last.Defaults = []string{"jsonb_in", "path", "replacement", "create_if_missing"},
			[]types.Datum{types.NewBool(true)}
		if !byDefault {
			last.Names[3], last.Defaults[0] = "insert_after", types.NewBool(false)
		}
	}
	for _, args := range [][]types.OID{three, four, append(four[:4:4], types.Text)} {
		f := funcs.JsonFamily.Function("jsonb_set_lax", types.JSONB, setLax(set), args...)
		f.NullArgs = true
		if len(args) == 5 {
			f.Names = []string{"jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"}
			f.Defaults = []types.Datum{types.NewBool(true), types.NewText("use_json_null")}
		}
	}
}

// scalar reports whether a jsonb is neither an object nor an array.
func scalar(s string) bool {
	k := types.JSONKindOf(s)
	return k != types.JSONObject && k != types.JSONList
}

// setLax is jsonb_set_lax, a jsonb_set whose new value may be NULL.
func setLax(set func([]types.Datum, bool) (types.Datum, error)) funcs.EvalFunc {
	return func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		create, how := true, types.NewText("use_json_null")
		if len(a) > 3 {
			if a[3].IsNull() {
				return types.Null, nil
			}
			create = a[3].True()
		}
		if len(a) > 4 {
			how = a[4]
		}
		if a[0].IsNull() || a[1].IsNull() {
			return types.Null, nil
		}
		if how.IsNull() {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
				`null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"`)
		}
		if !a[2].IsNull() {
			return set(a, create)
		}
		switch how.S {
		case "raise_exception":
			return types.Null, sqlstate.New(sqlstate.NullNotAllowed, "JSON value must not be null").
				WithDetail(`Exception was raised because null_value_treatment is "raise_exception".`).
				WithHint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL " +
					"is not passed.")
		case "use_json_null":
			return set([]types.Datum{a[0], a[1], types.NewJSONText("null")}, create)
		case "delete_key":
			if scalar(a[0].S) {
				return types.Null, notInScalar("delete path in")
			}
			e := &pathEdit{path: a[1].Array().Items, remove: true}
			return e.apply(a[0].S)
		case "return_target":
			return a[0], nil
		}
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
			`null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"`)
	}
}

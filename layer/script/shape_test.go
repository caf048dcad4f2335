package script_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/layer/script"
)

// undefined is JavaScript's undefined in the model below; composite is an array or object made by a function.
type (
	undefined struct{}
	composite struct{}
)

// member follows a path through decoded JSON; the other values are not an object's.
func member(doc any, path []string) any {
	for _, name := range path {
		object, ok := doc.(map[string]any)
		if !ok {
			return undefined{}
		}
		if doc, ok = object[name]; !ok {
			return undefined{}
		}
	}
	return doc
}

// decoded reads JSON as JavaScript does.
func decoded(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return inDoubles(v)
}

func inDoubles(v any) any {
	switch x := v.(type) {
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			f = math.Inf(map[bool]int{true: -1, false: 1}[strings.HasPrefix(x.String(), "-")])
		}
		return f
	case []any:
		for i := range x {
			x[i] = inDoubles(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = inDoubles(x[k])
		}
	}
	return v
}

func truthy(v any) bool {
	switch x := v.(type) {
	case undefined, nil:
		return false
	case bool:
		return x
	case float64:
		return x != 0
	case string:
		return x != ""
	}
	return true
}

func typeOf(v any) string {
	switch v.(type) {
	case undefined:
		return "undefined"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	}
	return "object"
}

// model evaluates an expression of a shape. ok is false for what the model does not know.
func model(e *rowshape.Expr, doc any) (v any, ok bool) {
	arg := func(i int) (any, bool) { return model(&e.Args[i], doc) }
	switch e.Op {
	case rowshape.Constant:
		return decoded(e.JSON), true
	case rowshape.Undefined:
		return undefined{}, true
	case rowshape.Member:
		return member(doc, e.Path), true
	case rowshape.Has:
		_, missing := member(doc, e.Path).(undefined)
		return !missing, true
	case rowshape.Composite:
		return composite{}, true
	case rowshape.Not:
		v, ok := arg(0)
		return !truthy(v), ok
	case rowshape.And, rowshape.Or:
		for i := range e.Args {
			if v, ok = arg(i); !ok || truthy(v) == (e.Op == rowshape.Or) {
				break
			}
		}
		return v, ok
	case rowshape.Same, rowshape.Equal:
		a, ok := arg(0)
		b, ok2 := arg(1)
		if !ok || !ok2 {
			return nil, false
		}
		none := func(v any) bool { return v == nil || v == any(undefined{}) }
		if e.Op == rowshape.Equal && (none(a) || none(b)) {
			return none(a) && none(b), true
		}
		if typeOf(a) == "object" && typeOf(b) == "object" && a != nil && b != nil ||
			e.Op == rowshape.Equal && typeOf(a) != typeOf(b) {
			return nil, false
		}
		if typeOf(a) != typeOf(b) {
			return false, true
		}
		if typeOf(a) == "object" {
			return a == nil && b == nil, true
		}
		return a == b, true
	case rowshape.TypeOf:
		v, ok := arg(0)
		return typeOf(v), ok
	case rowshape.IsArray:
		v, ok := arg(0)
		if v == any(composite{}) {
			return nil, false
		}
		_, is := v.([]any)
		return is, ok
	}
	return nil, false
}

// stringified is the JSON.stringify of a part of a row, decoded.
func stringified(v any) any {
	switch x := v.(type) {
	case undefined:
		return nil
	case float64:
		if math.IsInf(x, 0) {
			return nil
		}
		return x + 0 // not -0
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = stringified(x[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range x {
			out[k] = stringified(x[k])
		}
		return out
	}
	return v
}

// TestShape checks that the shape of a function describes the rows that the engine makes, for any document that the
// function does not fail for.
func TestShape(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	shapes, compared := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		expr := func() string { return drawDirectExpression(rt, 2) }
		key := rapid.SampledFrom([]string{"doc.a", "[doc.a, doc.b]", "[doc.type, 1, doc.a.b]", "doc.a.link", "doc.a.b", "1",
			"[]", "[doc.a, [doc.b]]", "doc._id", "undefined", "doc"}).Draw(rt, "key")
		call := "emit(" + key + ", " + rapid.SampledFrom([]string{"null", "doc.b", "doc", "1"}).Draw(rt, "value") + ")"
		body := ""
		for range rapid.IntRange(0, 2).Draw(rt, "before") {
			body += rapid.SampledFrom([]string{"if (" + expr() + ") return;", "if (" + expr() + ") { return } else {}",
				"if (" + expr() + ") { if (" + expr() + ") return }", "if (" + expr() + ") {} else return;"}).Draw(rt, "guard")
		}
		body += rapid.SampledFrom([]string{call, "if (" + expr() + ") " + call, "if (" + expr() + ") {} else " + call,
			"if (" + expr() + ") { if (" + expr() + ") " + call + "; return } ", "return " + call, "if (" + expr() + ") { " + call +
				" } else { " + call + "}"}).Draw(rt, "emit")
		if rapid.Bool().Draw(rt, "after") {
			body += "\nif (" + expr() + ") return;"
		}
		source := "function(doc) { " + body + " }"
		shape := script.Shape(source)
		if shape == nil {
			return
		}
		shapes++
		m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "f", Source: source}})
		if err != nil {
			rt.Fatalf("%s: %v", source, err)
		}
		docs := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string { return drawDirectObject(rt, 3) }), 1, 6).Draw(rt,
			"documents")
		err = m.Indirect().Map(t.Context(), texts(docs...), func(i int, r *script.Mapped) error {
			if r.Errs[0] != nil {
				return nil //nolint:nilerr // a shape says nothing about documents that the function fails for
			}
			doc, want := decoded(docs[i]), []string{}
			emits := true
			if shape.Cond != nil {
				v, ok := model(shape.Cond, doc)
				if !ok {
					return nil
				}
				emits = truthy(v)
			}
			if emits {
				parts := []any{}
				for _, v := range shape.Key {
					if v.Path != nil {
						parts = append(parts, stringified(member(doc, v.Path)))
					} else {
						parts = append(parts, decoded(v.JSON))
					}
				}
				var key any = parts
				if !shape.Array {
					key = parts[0]
				}
				want = append(want, fmt.Sprintf("%#v", key))
				if v := shape.Value; v.Path != nil {
					want[0] += fmt.Sprintf("=%#v", stringified(member(doc, v.Path)))
				} else if v.JSON != "" {
					want[0] += fmt.Sprintf("=%#v", decoded(v.JSON))
				}
			}
			got := []string{}
			for _, row := range r.Rows[0] {
				got = append(got, fmt.Sprintf("%#v", decoded(string(row.Key))))
				if shape.Value.Path != nil || shape.Value.JSON != "" {
					got[0] += fmt.Sprintf("=%#v", decoded(string(row.Value)))
				}
			}
			compared++
			if fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Errorf("%s\nof %s\ngives %s,\nthe shape %s", source, docs[i], got, want)
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
	if shapes == 0 || compared == 0 {
		t.Errorf("%d shapes, %d documents compared", shapes, compared)
	}
	t.Log(shapes, "shapes,", compared, "documents")
}

// TestShape_which checks which functions have a shape.
func TestShape_which(t *testing.T) {
	for source, want := range map[string]bool{
		`function (doc) { if (doc.type === 'city' && doc.country) emit(doc.country, doc.population) }`: true,
		`function (doc) { emit([doc.a, doc.b.c], null) }`:                                              true,
		`doc => emit(doc.x)`: true,
		`function (doc) { if (!doc.x) return; emit(doc.x) }`:                       true,
		`function (doc) { if (Array.isArray(doc.a) || 'x' in doc) emit(doc.x, 1)}`: true,
		`function (doc) { if (typeof doc.x == 'string') { emit(doc.x) } }`:         true,
		`function (doc) { emit(doc.a); emit(doc.b) }`:                              false,
		`function (doc) { if (doc.a) emit(doc.a); else emit(doc.b) }`:              false,
		`function (doc) { emit() }`:                                                false,
		`function (doc) { emit({a: doc.a}) }`:                                      false,
		`function (doc) { emit([[doc.a]]) }`:                                       false,
		`function (doc) { emit(doc._conflicts) }`:                                  false,
		`function (doc) { emit(doc.a.link) }`:                                      false,
		`function (doc) { if (doc.a) { if (doc.b) return } emit(doc.c) }`:          false,
		`function (doc) { for (var x in doc) emit(x) }`:                            false,
		`not JavaScript`: false,
		``:               false,
	} {
		if got := script.Shape(source) != nil; got != want {
			t.Errorf("%s: has a shape is %v, want %v", source, got, want)
		}
	}
}

// TestShape_prototypes checks that the shape of a function never reads a member that JavaScript's own values have.
func TestShape_prototypes(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "f", Source: `function (doc) {
		["", 1, true, []].forEach(function (v) {
			for (var p = Object.getPrototypeOf(v); p; p = Object.getPrototypeOf(p))
				Object.getOwnPropertyNames(p).forEach(function (name) { emit(name) })
		})
	}`}})
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	err = m.Map(t.Context(), texts(`{}`), func(_ int, r *script.Mapped) error {
		for _, row := range r.Rows[0] {
			names++
			if source := fmt.Sprintf("function (doc) { emit(doc.a[%s]) }", row.Key); script.Shape(source) != nil {
				t.Errorf("%s has a shape", source)
			}
		}
		return r.Errs[0]
	})
	if err != nil || names < 50 {
		t.Fatal(names, err)
	}
}

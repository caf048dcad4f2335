package script_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/script"
)

// mapBoth maps documents with direct evaluation where possible, and with the engine alone.
func mapBoth(tb testing.TB, m *script.Maps, docs ...string) (as, engine []string) {
	tb.Helper()
	run := func(m *script.Maps) (all []string) {
		err := m.Map(tb.Context(), texts(docs...), func(_ int, r *script.Mapped) error {
			for i, rows := range r.Rows {
				line := fmt.Sprint(i, ":")
				for _, row := range rows {
					line += fmt.Sprintf(" %s=%s", row.Key, row.Value)
				}
				if r.Errs[i] != nil {
					line += " error: " + r.Errs[i].Error()
				}
				all = append(all, line)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		return all
	}
	return run(m), run(m.Indirect())
}

// TestDirect_which checks which functions are direct, and that others are not.
func TestDirect_which(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	for source, want := range map[string]bool{
		`function (doc) { if (doc.name) emit(doc.name, null) }`:             true,
		`function (doc) { if (doc.name) emit(doc.name, doc.country) }`:      true,
		`function (doc) { emit([doc.country, doc.admin1, doc.admin2], 1) }`: true,
		"function(doc) {\n  // a comment\n  if (doc.type === 'post') {\n    emit(doc._id)\n    emit([doc.a.b, " +
			"\"x\"], {n: doc.n});\n  }\n}": true,
		`(doc) => { emit(doc._id, doc) };`: true,
		`doc => { if (!doc.a && typeof doc.b == "string" || doc["c"] != null) return emit(doc); else { emit(1, true) } }`: true,
		"function(doc) { if (doc.a) emit(1)\n else emit(2)\n emit(3) }":                                                   true,
		`function(doc) { if (!doc.a) return; emit(doc.a) }`:                                                               true,
		`function(doc) { return }`: true,
		`function named(doc) {}`:   true,
		`function(doc) { emit(null, [undefined, [], {}, (doc.a || 0)]) }`: true,

		`function(doc) { if ("a" in doc && !('b' in doc.a) && Array.isArray(doc.a)) emit(1) }`: true,

		`function(doc) { if ("toString" in doc) emit(1) }`:        false,
		`function(doc) { if (1 in doc) emit(1) }`:                 false,
		`function(doc) { if (!"a" in doc) emit(1) }`:              false,
		`function(doc) { if ("a" in doc == true) emit(1) }`:       false,
		`function(doc) { if ("a" in {a: 1}) emit(1) }`:            false,
		`function(doc) { emit(Array) }`:                           false,
		`function(Array) { emit(Array.isArray([])) }`:             false,
		`function Array(doc) { emit(Array.isArray([])) }`:         false,
		`function(doc) { emit(Array.isArray(doc.a, 1)) }`:         false,
		`function(doc) { emit(Array.isArray(doc.a).b) }`:          false,
		`function emit(doc) { if (doc.a) emit(doc.a) }`:           false,
		`function(emit) { emit.a }`:                               false,
		`function(undefined) { emit(undefined) }`:                 false,
		`function(doc) { emit(doc.constructor) }`:                 false,
		`function(doc) { emit(doc.a.toString) }`:                  false,
		`function(doc) { emit(doc.__proto__) }`:                   false,
		`function(doc) { emit(doc.a.length, 1.5) }`:               false,
		`function(doc) { emit(doc.a + 1) }`:                       false,
		`function(doc) { emit(doc.a < 1) }`:                       false,
		`function(doc) { emit(doc.a ? 1 : 2) }`:                   false,
		`function(doc) { emit(doc.a ?? 2) }`:                      false,
		`function(doc) { emit(doc.a?.b) }`:                        false,
		`function(doc) { emit(doc.a | 1) }`:                       false,
		`function(doc) { emit(doc.a == 1 == true) }`:              false,
		`function(doc) { if (doc.a = 1) emit(1) }`:                false,
		`function(doc) { emit({toJSON: 1}) }`:                     false,
		`function(doc) { emit({1: 1}) }`:                          false,
		`function(doc) { emit({__proto__: doc}) }`:                false,
		`function(doc) { emit({a: 1, a: 2}) }`:                    false,
		`function(doc) { emit("\x41") }`:                          false,
		`function(doc) { emit(010) }`:                             false,
		`function(doc) { emit(-1) }`:                              false,
		`function(doc) { emit(1n) }`:                              false,
		"function(doc) { emit(`a`) }":                             false,
		`function(doc) { emit(/a/) }`:                             false,
		`function(doc) { emit([1,,2]) }`:                          false,
		`function(doc) { emit(...doc.a) }`:                        false,
		`function(doc) { emit(doc.a)(1) }`:                        false,
		"function(doc) { emit(doc.a)\n(1) }":                      false,
		"function(doc) { emit(1)\n[2] }":                          false,
		"function(doc) { return\n emit(1) }":                      false,
		"function(doc) { return 1, emit(1) }":                     false,
		"function(doc) { emit(1) /* \u2028 */ }":                  false,
		`function(doc) { emit(1), emit(2) }`:                      false,
		`function(doc) { var a = 1; emit(a) }`:                    false,
		`function(doc) { "use strict"; emit(1) }`:                 false,
		`function(doc) { this.emit(1) }`:                          false,
		`function(doc, other) { emit(other) }`:                    false,
		`function(doc = {a: 1}) { emit(doc.a) }`:                  false,
		`function({a}) { emit(a) }`:                               false,
		`function*(doc) { emit(1) }`:                              false,
		`async (doc) => { emit(1) }`:                              false,
		`async doc => { emit(1) }`:                                false,
		`(doc) => emit(doc.a, 1);`:                                true,
		`doc => emit(doc.a)`:                                      true,
		`doc => emit(doc.a) || 1`:                                 false,
		`doc => [emit(doc.a)]`:                                    false,
		`function(doc) { emit(d\u006fc.a) }`:                      false,
		`function(doc) { emit(1) } function two(doc) { emit(2) }`: false,
	} {
		m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "f", Source: source}})
		if err != nil {
			if want {
				t.Errorf("%s: %v", source, err)
			}
			continue
		}
		if got := m.Direct(0); got != want {
			t.Errorf("%s: without the engine is %v, want %v", source, got, want)
		}
		as, engine := mapBoth(t, m, `{"_id":"x","a":"1","b":"s","name":"n","type":"post"}`,
			`{"_id":"y","a":{"b":1},"c":null,"n":1}`, `{"_id":"z"}`)
		if fmt.Sprint(as) != fmt.Sprint(engine) {
			t.Errorf("%s gives\n%q, the engine\n%q", source, as, engine)
		}
	}
}

// drawDirectValue draws a JSON value in some notation.
func drawDirectValue(t *rapid.T, depth int) string {
	most := 9
	if depth == 0 {
		most = 7
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return "null"
	case 1:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
	case 2, 3:
		return rapid.SampledFrom([]string{"0", "-0", "1", "-1", "1.0", "1e2", "0.1", "1E-7", "123456789",
			"1234567890123456789", "1e21", "1e300", "1e999", "5e-324", "-0.0"}).Draw(t, "number")
	case 4, 5:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"1"`, `"\u0061"`, `"é"`, `"\u00e9"`, `"\ud83d\ude00"`,
			`"\ud800"`, `"x\ud800y"`, `"\/"`, `"\"\\"`, `"\n\u0001"`, `"😀"`, `"\u2028"`, `"\u007f"`, `"post"`}).Draw(t,
			"string")
	case 6:
		return "[]"
	case 7:
		return "{}"
	case 8:
		n := rapid.IntRange(1, 3).Draw(t, "elements")
		var items []string
		for range n {
			items = append(items, drawDirectValue(t, depth-1))
		}
		return "[" + strings.Join(items, ", ") + " ]"
	}
	return drawDirectObject(t, depth-1)
}

func drawDirectObject(t *rapid.T, depth int) string {
	var members []string
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		name := rapid.SampledFrom([]string{"a", "b", "c", "a b", "1", "10", "é", `\u0061`, "__proto__", "toJSON",
			"length", "type", ""}).Draw(t, "member")
		members = append(members, `"`+name+`" : `+drawDirectValue(t, depth))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// drawDirectExpression draws an expression that direct functions mostly support.
func drawDirectExpression(t *rapid.T, depth int) string {
	most := 11
	if depth == 0 {
		most = 3
	}
	sub := func() string { return drawDirectExpression(t, depth-1) }
	switch rapid.IntRange(0, most).Draw(t, "expression") {
	case 0:
		return rapid.SampledFrom([]string{"null", "undefined", "true", "false", "0", "1", "12", `"a"`, `'1'`, `""`,
			`"post"`, `'é'`}).Draw(t, "literal")
	case 1, 2, 3:
		return rapid.SampledFrom([]string{"doc", "doc.a", "doc.b", "doc.a.b", "doc.a.a.b", `doc["a b"]`, "doc.type",
			"doc.length", `doc["é"]`, `doc[""]`, `doc["1"]`}).Draw(t, "path")
	case 4:
		return "[" + sub() + ", " + sub() + "]"
	case 5:
		return "({a: " + sub() + `, "b c": ` + sub() + "})"
	case 6:
		return "!" + rapid.SampledFrom([]string{"", "!"}).Draw(t, "twice") + "(" + sub() + ")"
	case 7:
		return "typeof (" + sub() + ")"
	case 8:
		return "(" + sub() + rapid.SampledFrom([]string{" && ", "||"}).Draw(t, "logical") + sub() + ")"
	}
	switch rapid.IntRange(0, 5).Draw(t, "operator") {
	case 0:
		return "Array.isArray(" + sub() + ")"
	case 1:
		return "(" + rapid.SampledFrom([]string{`"a"`, `'b'`, `"é"`, `""`, `"1"`}).Draw(t, "name") + " in " +
			rapid.SampledFrom([]string{"doc", "doc.a", "doc.a.b"}).Draw(t, "object") + ")"
	}
	return "((" + sub() + ")" + rapid.SampledFrom([]string{"===", "!==", "==", "!="}).Draw(t, "comparison") + "(" +
		sub() + "))"
}

// TestDirect checks that functions give the same rows and errors with and without the engine, for any document.
func TestDirect(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	direct := 0
	rapid.Check(t, func(rt *rapid.T) {
		body := ""
		for range rapid.IntRange(1, 3).Draw(rt, "statements") {
			call := "emit(" + drawDirectExpression(rt, 2) + ", " + drawDirectExpression(rt, 2) + ")"
			switch rapid.IntRange(0, 3).Draw(rt, "statement") {
			case 0:
				body += call + ";\n"
			case 1:
				body += "if (" + drawDirectExpression(rt, 2) + ") " + call + "\nelse { " + call + " }"
			case 2:
				body += "if (" + drawDirectExpression(rt, 2) + ") return " + call + ";"
			default:
				body += call + "\n"
			}
		}
		functions := []script.Function{{Name: "f", Source: "function(doc) { " + body + " }"},
			{Name: "g", Source: "function(doc) { emit([doc.a].length, doc.a) }"}}
		if rapid.Bool().Draw(rt, "alone") {
			functions = functions[:1]
		}
		m, err := s.Maps(t.Context(), nil, functions)
		if err != nil {
			rt.Fatalf("%s: %v", body, err)
		}
		if m.Direct(0) {
			direct++
		}
		docs := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			return drawDirectObject(rt, 3)
		}), 1, 4).Draw(rt, "documents")
		as, engine := mapBoth(t, m, docs...)
		if fmt.Sprintf("%q", as) != fmt.Sprintf("%q", engine) {
			rt.Errorf("%s\nof %s\ngives\n%q, the engine\n%q", body, docs, as, engine)
		}
	})
	if direct == 0 {
		t.Error("no function was direct")
	}
}

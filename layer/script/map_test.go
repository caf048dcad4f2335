package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/layer/script"
)

func open(t testing.TB, limits script.Limits) *script.Sandbox {
	t.Helper()
	s := script.New(script.Options{Limits: limits})
	t.Cleanup(func() { s.Close() })
	return s
}

// mapOne returns the rows of one function over one document, "key=value" each.
func mapOne(t testing.TB, s *script.Sandbox, lib, source, doc string) (string, error) {
	t.Helper()
	var l []byte
	if lib != "" {
		l = []byte(lib)
	}
	m, err := s.Maps(context.Background(), l, []script.Function{{Name: "views.v.map", Source: source}})
	if err != nil {
		return "", err
	}
	var out []string
	var failed error
	err = m.Map(context.Background(), [][]byte{[]byte(doc)}, func(_ int, r *script.Mapped) error {
		for _, row := range r.Rows[0] {
			out = append(out, fmt.Sprintf("%s=%s", row.Key, row.Value))
		}
		failed = r.Errs[0]
		return nil
	})
	if err != nil {
		t.Fatalf("Map: %v", err)
	}
	return strings.Join(out, " "), failed
}

// rowCases are functions, a document, and the rows, which are those of CouchDB 3.5.
var rowCases = []struct{ name, source, doc, want string }{
	{"simple", `function(doc){ emit(doc._id, doc.n) }`, `{"_id":"a","n":1.50}`, `"a"=1.5`},
	{"arrow", `(doc) => emit(doc._id)`, `{"_id":"a"}`, `"a"=null`},
	{"named", `function map(doc){ emit(doc._id, 1) }`, `{"_id":"a"}`, `"a"=1`},
	{"semicolon behind", "function(doc){ emit(1, 1) };\n", `{}`, `1=1`},
	{"comments around", "// before\nfunction(doc){ emit(1, 1) } // behind", `{}`, `1=1`},
	{"functions before and behind", "function one(){ return 1 } var two = 2\nfunction (doc){ emit(one(), two); " +
		"emit(three()) }\nfunction three(){ return 3 }", `{}`, `1=2 3=null`},
	{"a script", "'use strict'; var f = /[/}\"]/; let g = `a${ {b: `}`}.b }c`; /* function() */ class A {}; f = " +
		"function(doc){ emit(g, typeof this) }; f;", `{}`, `"a}c"="object"`},
	{"the last function",
		`(function(doc){ emit(1) }); function(doc){ var s = "}", t = '{', u = 4 / 2 / 1; emit([s, t, u, /}\/[/]/.test("}/")]) };;`, `{}`, `["}","{",2,false]=null`},
	{"no rows", `function(doc){}`, `{}`, ``},
	{"order and repeats", `function(doc){ emit(2,1); emit(1,2); emit(2,3) }`, `{}`, `2=1 1=2 2=3`},
	{"undefined", `function(doc){ emit(); emit(undefined, undefined); emit([undefined], {a: undefined}) }`, `{}`,
		`null=null null=null [null]={}`},
	{"numbers that are none", `function(doc){ emit(NaN, Infinity); emit(-Infinity, [NaN]) }`, `{}`,
		`null=null null=[null]`},
	{"functions", `function(doc){ emit(doc._id, function(){}); emit([function(){}], {a: function(){}}) }`,
		`{"_id":"a"}`, `"a"=null [null]={}`},
	{"numbers", `function(doc){ doc.n.forEach(function(n){ emit(n) }) }`,
		`{"n":[0,-0,1.0,-1,1e3,1E21,1e-7,0.000001,123456789,1234567890,2147483647,-2147483648,4294967296,9007199254740993,1e400,1.7976931348623157e308,5e-324,0.1]}`,
		`0=null 0=null 1=null -1=null 1000=null 1e+21=null 1e-7=null 0.000001=null 123456789=null 1234567890=null 2147483647=null -2147483648=null 4294967296=null 9007199254740992=null null=null 1.7976931348623157e+308=null 5e-324=null 0.1=null`},
	{"strings", `function(doc){ doc.s.forEach(function(s){ emit(s, s.length) }) }`,
		`{"s":["","é","\u00e9","\ud83d\ude00","😀","a\"b\\c\/d","\b\f\n\r\t\u0000\u001f","\u2028"]}`,
		`""=0 "é"=1 "é"=1 "😀"=2 "😀"=2 "a\"b\\c/d"=7 "\b\f\n\r\t\u0000\u001f"=7 "` + "\u2028" + `"=1`},
	{"lone surrogates",
		`function(doc){ emit(doc.s, [doc.s]); emit({a: "\udc00x"}, "\\ud800"); emit(["\\\ud800"], "😀".charAt(0)) }`,
		`{"s":"a\ud800"}`,
		`"a` + "\uFFFD" + `"=["a` + "\uFFFD" + `"] {"a":"\ufffdx"}="\\ud800" ["\\` + "\uFFFD" + `"]="` + "\uFFFD" +
			`"`},
	{"arrays",
		`function(doc){ emit([], [[], [[]], [[[[[1]]]]]]); var a = [1,,3]; a.x = 1; emit(a, [new Date(0), {a: [1]}, null, true, "x", 1.5]); a = [1]; a.toJSON = function(){ return "own" }; emit(a, [a, [a]]) }`, `{}`,
		`[]=[[],[[]],[[[[[1]]]]]] [1,null,3]=["1970-01-01T00:00:00.000Z",{"a":[1]},null,true,"x",1.5] "own"=["own",["own"]]`},
	{"nested", `function(doc){ emit([doc.a.b[1].c, null], doc.a) }`, `{"a":{"b":[0,{"c":[]}]}}`,
		`[[],null]={"b":[0,{"c":[]}]}`},
	{"member order", `function(doc){ emit(1, doc) }`, `{"b":1,"a":2,"10":3,"9":4}`, `1={"9":4,"10":3,"b":1,"a":2}`},
	{"member twice", `function(doc){ emit(doc.a, doc); doc.a = 3; emit(doc.a) }`, `{"a":1,"b":0,"a":2}`,
		`2={"a":2,"b":0} 2=null`},
	{"__proto__ as a member", `function(doc){ emit(doc.toString === undefined, doc) }`,
		`{"__proto__":{"x":1},"constructor":2}`, `false={"__proto__":{"x":1},"constructor":2}`},
	{"boxed and dates", `function(doc){ emit(new Date(0), new String("x")); emit(Object(1), new Date(NaN)) }`, `{}`,
		`"1970-01-01T00:00:00.000Z"="x" 1=null`},
	{"an error as value", `function(doc){ emit(new Error("k"), new TypeError("v")) }`, `{}`,
		`{}={"error":"TypeError","message":"v"}`},
	{"toJSON", `function(doc){ emit({toJSON: function(){ return [1] }}, toJSON({a: [doc]})) }`, `{"x":1}`,
		`[1]="{\"a\":[{\"x\":1}]}"`},
	{"value changed after emit", `function(doc){ var o = {n: 1}; emit(1, o); o.n = 2 }`, `{}`, `1={"n":2}`},
	{"document is frozen",
		`function(doc){ doc.a = 5; doc.b = 6; delete doc.a; doc.list[0] = 9; doc.list.length = 0; emit(doc.a, [doc.b, doc.list]); emit(Object.isFrozen(doc), Object.isFrozen(doc.list)) }`,
		`{"a":1,"list":[1]}`, `1=[null,[1]] true=true`},
	{"sum", `function(doc){ emit(sum([1,2,3]), sum(["a","b"])) }`, `{}`, `6="0ab"`},
	{"isArray", `function(doc){ emit(isArray([]), [isArray({}), isArray(doc.l), Array.isArray(doc.l)]) }`, `{"l":[]}`,
		`true=[false,true,true]`},
	{"log", `function(doc){ log("x"); log({a: 1}); log(new Error("x")); log(); emit(1) }`, `{}`, `1=null`},
	{"implicit globals", `function(doc){ for (i = 0; i < 2; i++) emit(i) }`, `{}`, `0=null 1=null`},
	{"date from parts",
		`function(doc){ emit(new Date("2024-02-29T12:00:00").getTime(), new Date(2024, 1, 29, 12).getHours()); emit(Date.UTC(2024,0), new Date(doc.t).getTimezoneOffset()); emit(new Date(0) instanceof Date, Date.name) }`, `{"t":1e12}`,
		`1709208000000=12 1704067200000=0 true="Date"`},
	{"newer language",
		`doc => { const {a, ...rest} = doc; for (const [k, v] of Object.entries(rest)) emit(k, v ?? a?.b); emit([..."ab"].at(-1), new Map([[1, 2]]).size) }`, `{"a":{"b":1},"c":null,"d":2}`, `"c"=1 "d"=2 "b"=1`},
	{"regular expressions",
		`function(doc){ doc.s.replace(/[^\s,]+/g, function(w){ emit(w.toLowerCase()) }); emit(/(?<y>\d{4})/u.exec("in 2024").groups.y, "Éa".normalize("NFD").length) }`, `{"s":"To be, OR"}`, `"to"=null "be"=null "or"=null "2024"=3`},
	{"an emit of one's own", `function(doc){ var e = emit; emit = function(k){ e(k, "mine") }; emit(1) }`, `{}`,
		`1="mine"`},
	{"eval", `function(doc){ emit(eval("1+1"), new Function("a", "return a * 2")(4)) }`, `{}`, `2=8`},
}

func TestMaps_Rows(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	for _, tc := range rowCases {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mapOne(t, s, "", tc.source, tc.doc)
			if err != nil || got != tc.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tc.want)
			}
			for _, row := range strings.Fields(got) {
				if !utf8.ValidString(row) {
					t.Errorf("%q is not UTF-8", row)
				}
			}
		})
	}
}

// TestMaps_unrepeatable checks that a function that reads the clock or draws random numbers fails for its document,
// with an error that says why and that the function cannot catch, and for no other document.
func TestMaps_unrepeatable(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	for _, tc := range []struct{ source, what string }{
		{`emit(new Date().getFullYear(), 1)`, "the clock"},
		{`emit(Date())`, "the clock"},
		{`emit(Date(0))`, "the clock"},
		{`emit(Date.now())`, "the clock"},
		{`emit(doc.constructor.constructor("return new Date()")())`, "the clock"},
		{`emit(new (new Date(0).constructor)())`, "the clock"},
		{`class D extends Date {}; emit(new D())`, "the clock"},
		{`emit(Reflect.construct(Date, []))`, "the clock"},
		{`emit(Math.random())`, "random numbers"},
		{`try { emit(Date.now()) } catch (e) { emit(0) }`, "the clock"},
		{`var now = 0; try { now = Math.random() } catch (e) { } finally { emit(now) }`, "random numbers"},
		{`require("views/lib/late"); emit(1)`, "the clock"},
		{`try { require("views/lib/late") } catch (e) { } emit(1)`, "the clock"},
	} {
		m, err := s.Maps(t.Context(),
			[]byte(`{"late":"try { exports.now = Date.now() } catch (e) { exports.now = 0 }"}`),
			[]script.Function{{Name: "m", Source: `function(doc){ if (doc.plain) return emit(2); ` + tc.source + `}`}})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Map(t.Context(), texts(`{"plain":true}`, `{}`, `{"plain":true}`, `{}`),
			func(i int, r *script.Mapped) error {
				if i%2 == 0 {
					if r.Errs[0] != nil || len(r.Rows[0]) != 1 {
						t.Errorf("%s: %v, %v for another document", tc.source, r.Rows, r.Errs)
					}
					return nil
				}
				var thrown *script.RuntimeError
				if !errors.As(r.Errs[0], &thrown) || thrown.Name != script.Unrepeatable ||
					!strings.Contains(thrown.Message, "depends on "+tc.what) || len(r.Rows[0]) > 0 {
					t.Errorf("%s: %v, %v", tc.source, r.Rows, r.Errs)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMaps_unrepeatable_compile checks that a function that would keep the time of its compilation is refused,
// whether or not it catches the error.
func TestMaps_unrepeatable_compile(t *testing.T) {
	s := open(t, script.Limits{})
	for _, first := range []string{`var at = Date.now()`, `var at = 0; try { at = Math.random() } catch (e) { }`} {
		f := script.Function{Name: "f", Source: `(function(){ ` + first + `; return function(doc){ emit(at) } })()`}
		var wrong *script.CompileError
		if _, err := s.Maps(t.Context(), nil, []script.Function{f}); !errors.As(err, &wrong) ||
			!strings.Contains(wrong.Message, "depends on") {
			t.Errorf("%s: %v", first, err)
		}
		if _, err := s.Reduce(t.Context(), f); !errors.As(err, &wrong) {
			t.Errorf("%s in a reduction: %v", first, err)
		}
		if _, err := s.Filter(t.Context(), []byte("{}"), f); err != nil {
			t.Errorf("%s in a filter: %v", first, err)
		}
	}
}

// TestClock checks that functions whose results are not stored have the clock and random numbers.
func TestClock(t *testing.T) {
	s := open(t, script.Limits{})
	ddoc := []byte(`{"_id":"_design/d","lib":{"now":"exports.at = Date.now()"}}`)
	before := time.Now().UnixMilli()
	source := fmt.Sprintf(`function(doc){
		var times = [Date.now(), new Date().getTime(), +new (new Date(0).constructor)(), doc.constructor.constructor("return Date.now()")(), Date.parse(Date()) + 999];
		try { times.push(require("lib/now").at) } catch (e) { }
		if (!times.every(function(at){ return at >= %d && at < %d })) throw new Error(JSON.stringify(times));
		if (!(new Date() instanceof Date) || Math.random() === Math.random()) throw new Error("random");
		emit(1);
		return true }`, before, before+3_600_000)
	for name, compile := range map[string]func(context.Context, []byte, script.Function) (*script.Filter,
		error){"filter": s.Filter, "view": s.FilterByView} {
		f, err := compile(t.Context(), ddoc, script.Function{Name: "f", Source: source})
		if err != nil {
			t.Fatal(err)
		}
		if shown, err := f.Filter(t.Context(), texts(`{}`), []byte("{}")); err != nil || !shown[0] {
			t.Errorf("%s: %v, %v", name, shown, err)
		}
	}
	v, err := s.Validate(t.Context(), ddoc, script.Function{Name: "v", Source: source})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(t.Context(), []byte("{}"), []byte("null"), []byte("{}"), []byte("{}")); err != nil {
		t.Error(err)
	}
	r, err := s.Reduce(t.Context(),
		script.Function{Name: "r", Source: `function(k, v){ try { return Date.now() } catch (e) { return 1 } }`})
	if err != nil {
		t.Fatal(err)
	}
	var thrown *script.RuntimeError
	if out, err := r.Reduce(t.Context(), texts(`["k","id"]`), texts("1")); !errors.As(err, &thrown) ||
		thrown.Name != script.Unrepeatable {
		t.Errorf("a reduction: %s, %v", out, err)
	}
}

// TestMaps_Throws checks which errors skip a document, with the line.
func TestMaps_Throws(t *testing.T) {
	s := open(t, script.Limits{})
	for _, tc := range []struct {
		name, source, doc string
		want              script.RuntimeError
	}{
		{"throws", "function(doc){\n emit(1);\n throw new Error('no');\n}", `{}`,
			script.RuntimeError{Name: "Error", Message: "no", Line: 3}},
		{"a member of undefined", "function(doc){\n\n emit(doc.a.b) }", `{}`,
			script.RuntimeError{Name: "TypeError", Message: "cannot read property 'b' of undefined", Line: 3}},
		{"an unknown name", `function(doc){ nothing() }`, `{}`,
			script.RuntimeError{Name: "ReferenceError", Message: "'nothing' is not defined", Line: 1}},
		{"a text", `function(doc){ throw "skip" }`, `{}`, script.RuntimeError{Message: "skip"}},
		{"an object", `function(doc){ throw {skip: [1]} }`, `{}`, script.RuntimeError{Message: `{"skip":[1]}`}},
		{"strict code and a frozen document", `function(doc){ "use strict"; doc.a = 1 }`, `{"a":0}`,
			script.RuntimeError{Name: "TypeError", Message: "'a' is read-only", Line: 1}},
		{"a cycle", `function(doc){ var a = []; a[0] = a; emit(1); emit(a) }`, `{}`,
			script.RuntimeError{Name: "TypeError", Message: "circular reference"}},
		{"a big integer", `function(doc){ emit(10n) }`, `{}`,
			script.RuntimeError{Name: "TypeError", Message: "Do not know how to serialize a BigInt"}},
		{"no module", `function(doc){ require("views/lib/none") }`, `{}`,
			script.RuntimeError{Name: "invalid_require_path", Message: `there is no "views/lib/none"`}},
		{"no JSON", `function(doc){ emit(1) }`, `{"a":}`,
			script.RuntimeError{Message: "script: the document is not JSON"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, err := mapOne(t, s, "", tc.source, tc.doc)
			var got *script.RuntimeError
			if !errors.As(err, &got) || rows != "" {
				t.Fatalf("rows %q, error %v; want none and a RuntimeError", rows, err)
			}
			if got.Name != tc.want.Name || got.Message != tc.want.Message || got.Function != "views.v.map" ||
				tc.want.Line != 0 && got.Line != tc.want.Line {
				t.Errorf("got  %+v\nwant %+v", *got, tc.want)
			}
		})
	}
}

// TestMaps_Realms checks that functions share neither globals nor changes to the document or its prototypes.
func TestMaps_Realms(t *testing.T) {
	s := open(t, script.Limits{})
	m, err := s.Maps(t.Context(), nil, []script.Function{
		{Name: "a",
			Source: `function(doc){ x = 1; emit = null; JSON = 1; Array.prototype.map = 2; doc.n = 5; doc.__proto__.y = 6; doc.list.push = 7 }`},
		{Name: "b",
			Source: `function(doc){ emit([typeof x, typeof JSON, typeof [].map, doc.n, typeof doc.y, typeof doc.list.push]) }`},
		{Name: "c", Source: `function(doc){ throw 1 }`},
		{Name: "d", Source: `function(doc){ emit([doc.n]) }`},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Map(t.Context(), [][]byte{[]byte(`{"n":1,"list":[]}`), []byte(`{"n":2,"list":[]}`)},
		func(i int, r *script.Mapped) error {
			want := fmt.Sprintf(`["undefined","object","function",%d,"undefined","function"]`, i+1)
			if r.Errs[0] != nil || len(r.Rows[1]) != 1 || string(r.Rows[1][0].Key) != want {
				t.Errorf("document %d: %s, %v; want %s", i, r.Rows[1], r.Errs, want)
			}
			if r.Errs[2] == nil || r.Errs[3] != nil || string(r.Rows[3][0].Key) != fmt.Sprintf("[%d]", i+1) {
				t.Errorf("document %d: an error affects another function: %s, %v", i, r.Rows, r.Errs)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

func TestMaps_Require(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	lib := `{
		"plus": "exports.plus = function(a, b) { return a + b }",
		"deep": {"er": "var up = require('../plus'), by = require('./side'); exports.f = function(n) { return up.plus(n, by.one) }", "side": "exports.one = 1"},
		"whole": "module.exports = function() { return [module.id, typeof exports, this === globalThis] }",
		"count": "exports.n = 0",
		"a": "exports.early = 1; exports.b = require('./b').got; ", "b": "exports.got = require('./a').early",
		"throws": "throw new Error('at load')",
		"syntax": "var = 1",
		"number": 5,
		"long": "` + strings.Repeat(`// a long module\n`, 5000) + `exports.ok = true // not swallowed"
	}`
	for _, tc := range []struct{ name, source, want, fail string }{
		{"plain", `function(doc){ emit(require("views/lib/plus").plus(1, 2)) }`, `3=null`, ""},
		{"relative", `function(doc){ emit(require("views/lib/deep/er").f(1)) }`, `2=null`, ""},
		{"exports replaced", `function(doc){ emit(require("views/lib/whole")()) }`,
			`["views/lib/whole","object",true]=null`, ""},
		{"loaded once", `function(doc){ require("views/lib/count").n++; emit(require("views/lib/count").n) }`, `1=null`,
			""},
		{"circular", `function(doc){ emit(require("views/lib/a").b) }`, `1=null`, ""},
		{"long", `function(doc){ emit(require("views/lib/long").ok) }`, `true=null`, ""},
		{"throws", `function(doc){ require("views/lib/throws") }`, ``, "Error: at load"},
		{"syntax", `function(doc){ require("views/lib/syntax") }`, ``, "SyntaxError"},
		{"no text", `function(doc){ require("views/lib/number") }`, ``, "not the text of a module"},
		{"above the root", `function(doc){ require("views/../../x") }`, ``, "leaves the design document"},
		{"relative without a module", `function(doc){ require("./x") }`, ``, "is no module"},
		{"a built-in of objects", `function(doc){ require("views/constructor") }`, ``, "there is no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := mapOne(t, s, lib, tc.source, `{}`)
			if tc.fail != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fail) {
					t.Errorf("error %v, want %s", err, tc.fail)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

func TestMaps_CompileError(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	for _, tc := range []struct {
		name, source, message string
		line                  int
	}{
		{"brace", "function(doc) {\n  emit(doc._id, 1;\n}", "SyntaxError: ", 2},
		{"unclosed", "function(doc) {\n  emit(1)\n", "SyntaxError: unexpected end of the source", 2},
		{"ends in a call", "function(doc) {\n  emit(1,", "SyntaxError: ", 2},
		{"ends in a string", "function(doc) {\n\n  emit('a", "SyntaxError: ", 3},
		{"ends in a comment", "function(doc) {\n\n}/*", "SyntaxError: ", 3},
		{"nothing but a bracket", "(", "SyntaxError: ", 1},
		{"no function", `1 + 1`, "not a function", 0},
		{"a later line of a script", "var a = 1;\nfunction(doc){\n emit(a b) }", "SyntaxError: ", 3},
		{"no function at the end", "function(doc){}; 5", "not a function", 0},
		{"no source", ``, "not a function", 0},
		{"blank", " ;\n", "not a function", 0},
		{"throws", `(function(){ throw new TypeError("early") })()`, "TypeError: early", 0},
		{"loops", `(function(){ for(;;); })()`, "time limit", 0},
		{"too long", `function(doc){ /* ` + strings.Repeat("x", 1<<20) + ` */ }`, "longer than", 0},
		{"too many variables", manyVariables(), "too many variables", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := s
			switch tc.name {
			case "loops":
				s = open(t, script.Limits{Time: 50 * time.Millisecond})
			case "too many variables": // this takes seconds under the race detector
				s = open(t, script.Limits{Time: time.Minute})
			}
			_, err := s.Maps(t.Context(), nil, []script.Function{
				{Name: "views.good.map", Source: `function(doc){}`}, {Name: "views.bad.map", Source: tc.source},
			})
			var got *script.CompileError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a CompileError", err)
			}
			if lines := strings.Count(tc.source, "\n") + 1; got.Line > lines {
				t.Errorf("line %d of %d", got.Line, lines)
			}
			if got.Function != "views.bad.map" || !strings.Contains(got.Message, tc.message) ||
				tc.line != 0 && got.Line != tc.line {
				t.Errorf("got %+v, want %q in line %d", *got, tc.message, tc.line)
			}
		})
	}
}

// TestMaps_Each checks that the caller's error and the end of the context end a batch.
func TestMaps_Each(t *testing.T) {
	s := open(t, script.Limits{})
	m, err := s.Maps(t.Context(), nil,
		[]script.Function{{Name: "a", Source: `function(doc){ if (doc.loop) for(;;); emit(1) }`}})
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	seen := 0
	err = m.Map(t.Context(), [][]byte{[]byte(`{}`), []byte(`{}`), []byte(`{}`)}, func(int, *script.Mapped) error {
		if seen++; seen == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 2 {
		t.Errorf("after %d documents: %v, want the caller's error after 2", seen, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = m.Map(ctx, [][]byte{[]byte(`{"loop":true}`)}, func(int, *script.Mapped) error {
		t.Error("a cancelled document has a result")
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if err := m.Map(t.Context(), nil, nil); err != nil {
		t.Errorf("no documents: %v", err)
	}
}

// checkRoundTrip compares what emit(doc, JSON.stringify(doc)) gave with encoding/json's reading of the same text. A
// text that is not UTF-8, which the store does not keep, may be refused.
func checkRoundTrip(t *testing.T, doc string, r *script.Mapped) {
	var want any
	valid := json.Unmarshal([]byte(doc), &want) == nil && utf8.ValidString(doc)
	if r.Errs[0] != nil {
		var limit *script.LimitError
		if valid && !errors.As(r.Errs[0], &limit) && !strings.Contains(doc, "[[[[[[[[") {
			t.Errorf("%q is JSON, but: %v", doc, r.Errs[0])
		}
		return
	}
	var key any
	var text string
	if err := json.Unmarshal(r.Rows[0][0].Key, &key); err != nil {
		t.Errorf("%q came out as %s: %v", doc, r.Rows[0][0].Key, err)
	}
	if err := json.Unmarshal(r.Rows[0][0].Value, &text); err != nil {
		t.Errorf("%q stringified as %s: %v", doc, r.Rows[0][0].Value, err)
	}
	if valid && utf8.ValidString(doc) && !reflect.DeepEqual(key, want) {
		t.Errorf("%q came out as %s", doc, r.Rows[0][0].Key)
	}
}

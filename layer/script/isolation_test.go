package script_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/script"
)

// leaving are functions that leave state behind, each in another place, and emit what they find there.
var leaving = []struct{ name, source string }{
	{"a global", `function(doc){ count = typeof count === "undefined" ? 1 : count + 1; emit(count) }`},
	{"a global object's member", `function(doc){ this.n = (this.n || 0) + 1; emit(this.n) }`},
	{"globalThis", `function(doc){ globalThis["n" + doc.n % 2] = 1; emit(Object.keys(globalThis).length) }`},
	{"an implicit loop variable", `function(doc){ emit(typeof i); for (i = 0; i < 3; i++); }`},
	{"a closure", `(function(){ var n = 0; return function(doc){ emit(++n) } })()`},
	{"a memo table",
		`(function(){ var memo = {}; return function(doc){ memo[doc.n % 3] = 1; emit(Object.keys(memo)) } })()`},
	{"a constant array", `(function(){ var list = [1, 2]; return function(doc){ list[0]++; emit(list) } })()`},
	{"a growing array", `(function(){ var list = []; return function(doc){ list.push(doc.n); emit(list.length) } })()`},
	{"a nested object", `(function(){ var o = {a: {b: [{c: 0}]}}; return function(doc){ emit(++o.a.b[0].c) } })()`},
	{"a Map",
		`(function(){ var m = new Map([["a", 0]]);
			return function(doc){ m.set("a", m.get("a") + 1); m.set(doc.n, 1); emit([m.get("a"), m.size]) } })()`},
	{"a Set", `(function(){ var s = new Set(); return function(doc){ s.add(doc.n); emit(s.size) } })()`},
	{"a WeakMap",
		`(function(){ var w = new WeakMap(), k = {};
			return function(doc){ w.set(k, (w.get(k) || 0) + 1); emit(w.get(k)) } })()`},
	{"a Date", `(function(){ var d = new Date(0); return function(doc){ d.setDate(d.getDate() + 1); emit(d) } })()`},
	{"lastIndex", `(function(){ var r = /a/g; return function(doc){ emit(r.test("aa")) } })()`},
	{"a generator",
		`(function(){ var g = (function*(){ for (var i = 0;; i++) yield i })();
			return function(doc){ emit(g.next().value) } })()`},
	{"an iterator",
		`(function(){ var it = [1, 2, 3, 4][Symbol.iterator](); return function(doc){ emit(it.next().value) } })()`},
	{"a bound function's target",
		`(function(){ var o = {n: 0}; var f = (function(){ return ++this.n }).bind(o);
			return function(doc){ emit(f()) } })()`},
	{"a class's static",
		`(function(){ class C { static n = 0; static #p = 0; static up(){ return [++this.n, ++C.#p] } }
			return function(doc){ emit(C.up()) } })()`},
	{"a getter's state", `(function(){ var n = 0, o = {get n(){ return ++n }}; return function(doc){ emit(o.n) } })()`},
	{"a member of the function", `function f(doc){ f.n = (f.n || 0) + 1; emit(f.n) }`},
	{"the function's prototype", `function f(doc){ f.prototype.n = (f.prototype.n || 0) + 1; emit(f.prototype.n) }`},
	{"Array.prototype", `function(doc){ Array.prototype.n = (Array.prototype.n || 0) + 1; emit([].n) }`},
	{"Object.prototype", `function(doc){ emit("n" in {}); Object.prototype.n = 1 }`},
	{"Object.prototype by __proto__", `function(doc){ var t = {}; emit(t.x); t["__proto__"]["x"] = doc.n }`},
	{"String.prototype",
		`function(doc){ String.prototype.shout = function(){ return this + "!" }; emit("a".shout());
			String.prototype.n = ("".n || 0) + 1; emit("".n) }`},
	{"a built-in that is replaced", `function(doc){ emit(Math.max(1, 2)); Math.max = function(){ return "mine" } }`},
	{"a built-in that is deleted", `function(doc){ emit(typeof Math.cos); delete Math.cos }`},
	{"a built-in's member", `function(doc){ emit(typeof Array.isArray.mine); Array.isArray.mine = 1 }`},
	{"a built-in's name",
		`function(doc){ emit(Math.abs.name); Object.defineProperty(Math.abs, "name", {value: "other"}) }`},
	{"an accessor",
		`function(doc){ emit(typeof Object.getOwnPropertyDescriptor(Math, "mine"));
			Object.defineProperty(Math, "mine", {get: function(){ return 1 }}) }`},
	{"a frozen built-in", `function(doc){ emit(Object.isFrozen(Array.prototype)); Object.freeze(Array.prototype) }`},
	{"another prototype",
		`function(doc){ emit(Object.getPrototypeOf(Math) === Object.prototype); Object.setPrototypeOf(Math, null) }`},
	{"emit", `function(doc){ var e = emit; emit = function(k){ e("mine") }; e(typeof sum); sum = 1 }`},
	{"JSON and toJSON",
		`function(doc){ emit([typeof JSON, typeof Date.prototype.toJSON]); JSON = null;
			Date.prototype.toJSON = null }`},
	{"a symbol", `function(doc){ emit(Symbol.for("x") in Array); Array[Symbol.for("x")] = 1 }`},
	{"eval", `function(doc){ emit(typeof mine); (0, eval)("var mine = 1; let other = 2") }`},
	{"a module's member", `function(doc){ var m = require("views/lib/state"); emit(m.n); m.n++ }`},
	{"a module's closure", `function(doc){ emit(require("views/lib/state").up()) }`},
	{"a module's list", `function(doc){ var l = require("views/lib/state").list; l.push(1); l.sort(); emit(l) }`},
	{"a module by a made-up name", `function(doc){ emit(require("views/lib/" + "state").up()) }`},
	{"a module that a module names late", `function(doc){ emit(require("views/lib/late").up()) }`},
	{"a module that is replaced", `function(doc){ var m = require("views/lib/state"); emit(typeof m.up); m.up = 1 }`},
	{"a built-in that a module changes",
		`function(doc){ emit(typeof Array.prototype.last); require("views/lib/patch"); emit(typeof [].last) }`},
	{"an error thrown",
		`(function(){ var n = 0; return function(doc){ if (doc.n % 2) { n++; throw new Error("odd") } emit(n) } })()`},
	{"a caught error",
		`(function(){ var n = 0; return function(doc){ try { n++; null.x } catch (e) { emit([n, e.name]) } } })()`},
	{"a string in pieces", `(function(){ var s = ""; return function(doc){ s += "x"; emit(s) } })()`},
	{"a string where one was freed",
		`(function(){ var s = "s" + Math.abs(-1);
			return function(doc){ emit(s); s = "t" + doc.n; s = "u" + doc.n; s = "v" + doc.n } })()`},
	{"a registered symbol",
		`function(doc){ var s = Symbol.for("s" + doc.n % 2); emit(this[s] === undefined); this[s] = s }`},
	{"a regular expression's last match",
		`function(doc){ emit([typeof RegExp.$1, RegExp.lastMatch]); /(.)/.exec("x" + doc.n) }`},
	{"rows that were never returned", `function(doc){ if (doc.n % 2) { emit("lost"); throw 1 } emit(doc.n) }`},
	{"a module that emits", `function(doc){ require("views/lib/emits"); emit(1) }`},
	{"a module that fails",
		`function(doc){ emit(typeof patched); try { require("views/lib/broken") } catch (e) { emit(e.message) } }`},
	{"a module that reads the clock", `function(doc){ emit(doc.n); if (doc.n % 2) require("views/lib/clock") }`},
	{"the limit of backtraces",
		`function(doc){ emit(Error.stackTraceLimit); Error.stackTraceLimit = 3;
			Error.prepareStackTrace = function(){ return doc.n } }`},
	{"arguments",
		`(function(){ var a; (function(){ a = arguments })(1, 2); return function(doc){ a[0]++; emit(a[0]) } })()`},
	{"sloppy arguments",
		`(function(){ var a; (function(x){ a = arguments; a.up = function(){ return ++x } })(1);
			return function(doc){ a.up(); emit(a[0]) } })()`},
	{"the document's prototypes",
		`function(doc){ emit(typeof doc.__proto__.mine);
			try { doc.__proto__.mine = 1; doc.list.__proto__.mine = 1 } catch (e) { } }`},
}

const stateLib = `{
	"state": "var n = 0; exports.n = 0; exports.list = [3]; exports.up = function(){ return ++n }",
	"late": "exports.up = function(){ return require('./state').up() }",
	"patch": "Array.prototype.last = function(){ return this[this.length - 1] }",
	"emits": "emit('at load')",
	"clock": "exports.now = Date.now()",
	"broken": "patched = 1; throw new Error('no')"
}`

// isolated returns the rows of each function over each document, each in a separate call and runtime.
func isolated(tb testing.TB, sources []script.Function, docs []string) []string {
	tb.Helper()
	var out []string
	for _, doc := range docs {
		s := script.New(script.Options{})
		m, err := s.Maps(tb.Context(), []byte(stateLib), sources)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, mapTexts(tb, m, doc)...)
		s.Close()
	}
	return out
}

func mapTexts(tb testing.TB, m *script.Maps, docs ...string) (out []string) {
	tb.Helper()
	next := 0
	err := m.Map(tb.Context(), texts(docs...), func(i int, r *script.Mapped) error {
		if i != next {
			tb.Errorf("document %d comes after %d", i, next-1)
		}
		next++
		line := ""
		for f := range r.Rows {
			for _, row := range r.Rows[f] {
				line += fmt.Sprintf(" %s=%s", row.Key, row.Value)
			}
			line += fmt.Sprint(" ", r.Errs[f], ";")
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestMaps_isolated checks that no document sees state left behind by another's call, in one call of Map, in several,
// and with any other functions.
func TestMaps_isolated(t *testing.T) {
	oneGoroutine(t)
	var docs []string
	for n := range 9 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%d","n":%d,"list":[1]}`, n, n))
	}
	s := open(t, script.Limits{})
	for _, tc := range leaving {
		t.Run(tc.name, func(t *testing.T) {
			sources := []script.Function{
				{Name: "beside", Source: `function(doc){ emit(doc._id, 1) }`},
				{Name: "leaves", Source: tc.source},
				{Name: "engine", Source: `function(doc){ emit([doc.n + 1, typeof mine, typeof [].mine,
					typeof count]) }`},
			}
			want := isolated(t, sources, docs)
			m, err := s.Maps(t.Context(), []byte(stateLib), sources)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				if got := mapTexts(t, m, docs...); !slices.Equal(got, want) {
					t.Fatalf("round %d\n got %s\nwant %s", round, strings.Join(got, "\n     "),
						strings.Join(want, "\n     "))
				}
			}
			reversed, backwards := slices.Clone(docs), slices.Clone(want)
			slices.Reverse(reversed)
			slices.Reverse(backwards)
			if got := mapTexts(t, m, reversed...); !slices.Equal(got, backwards) {
				t.Errorf("backwards\n got %s\nwant %s", strings.Join(got, "\n     "),
					strings.Join(backwards, "\n     "))
			}
		})
	}
}

// TestMaps_isolated_model maps random documents in random batches by functions that leave state behind for some of
// them, fail for some, and kill their runtime for some: the rows are always those of the document alone.
func TestMaps_isolated_model(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	sources := []script.Function{
		{Name: "direct", Source: `function(doc){ if (doc.a) emit(doc.n, doc.a) }`},
		{Name: "leaves", Source: `(function(){ var n = 0; return function(doc){
			if (doc.keep) { n++; seen = (typeof seen === "undefined" ? 0 : seen) + 1; Array.prototype.kept = doc.n }
			if (doc.fail) throw new Error("n is " + n);
			if (doc.die) { (function f(){ f() })() }
			emit([n, typeof seen, typeof [].kept, doc.n + 0], doc.a) } })()`},
		{Name: "engine",
			Source: `function(doc){ if (doc.many) for (var i = 0; i < 3000; i++) emit("row" + i, doc.n);
				emit([typeof seen, doc.n + 1]) }`},
	}
	m, err := s.Maps(t.Context(), nil, sources)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	rapid.Check(t, func(r *rapid.T) {
		var docs []string
		for range rapid.IntRange(1, 40).Draw(r, "documents") {
			doc := fmt.Sprintf(`{"n":%d`, rapid.IntRange(0, 3).Draw(r, "n"))
			for _, member := range []string{"a", "keep", "fail", "die", "many"} {
				if rapid.IntRange(0, 14).Draw(r, member) == 0 {
					doc += fmt.Sprintf(`,%q:true`, member)
				}
			}
			docs = append(docs, doc+"}")
		}
		got := mapTexts(t, m, docs...)
		for i, doc := range docs {
			if _, ok := known[doc]; !ok {
				known[doc] = isolated(t, sources, docs[i:i+1])[0]
			}
			if got[i] != known[doc] {
				r.Fatalf("document %d, %s: %.300s, want %.300s", i, doc, got[i], known[doc])
			}
		}
	})
}

// TestMaps_compiledLate checks that functions that are compiled only when a document needs them give the same rows as
// precompiled ones, and see the document.
func TestMaps_compiledLate(t *testing.T) {
	oneGoroutine(t)
	s := open(t, script.Limits{})
	sources := []script.Function{
		{Name: "first", Source: `function(doc){ if (doc.n) emit(doc.n, doc.list) }`},
		{Name: "engine",
			Source: `function(doc){ left = typeof left === "undefined" ? 1 : left + 1; emit(doc.n + 0, left) }`},
		{Name: "second", Source: `function(doc){ emit(doc.list, doc.n) }`},
		{Name: "last", Source: `function(doc){ emit([doc.n, doc.list]) }`},
	}
	docs := []string{`{"n":1,"list":[1]}`, `{"n":2,"list":{"b":1e2,"b":3}}`, `{"n":3,"n":4}`, `{"n":1.50}`,
		`{"n":5,"list":"plain"}`}
	want := isolated(t, sources, docs)
	m, err := s.Maps(t.Context(), nil, sources)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := mapTexts(t, m, docs...); !slices.Equal(got, want) {
			t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if !strings.Contains(want[1], `2=1`) || !strings.Contains(want[2], `4=1`) {
		t.Errorf("%s", want)
	}
	for _, broken := range []string{`function(doc){ if (doc.n) emit(doc.n, doc.list) } }`,
		`function(doc){ emit(doc.n, `} {
		var wrong *script.CompileError
		for range 3 {
			if _, err := s.Maps(t.Context(), nil,
				append(sources[:3:3], script.Function{Name: "broken", Source: broken})); !errors.As(err, &wrong) ||
				wrong.Function != "broken" {
				t.Errorf("%s: %v", broken, err)
			}
		}
	}
}

// TestMaps_names checks that documents with ever new member names, more than a runtime keeps, are read correctly,
// beside a function that leaves other names behind.
func TestMaps_names(t *testing.T) {
	s := open(t, script.Limits{})
	m, err := s.Maps(t.Context(), nil,
		[]script.Function{
			{Name: "f", Source: `function(doc){ this["left" + doc._id] = 1; emit(doc, Object.keys(doc)) }`}})
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	for n := range 1500 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%d","first%d":1,"both":2,"second%d":{"deep%d":3}}`, n, n, n/2, n%9))
	}
	for range 2 {
		for i, got := range mapTexts(t, m, docs...) {
			if want := fmt.Sprintf(` %s=["_id","first%d","both","second%d"] <nil>;`, docs[i], i, i/2); got != want {
				t.Fatalf("document %d: %s, want %s", i, got, want)
			}
		}
	}
}

// TestIsolated checks the same for functions that are called for one document, reduction or validation.
func TestIsolated(t *testing.T) {
	s := open(t, script.Limits{})
	ddoc := []byte(`{"_id":"_design/d","lib":{"state":"var n = 0; exports.up = function(){ return ++n }"}}`)
	source := `function(a, b){ seen = typeof seen === "undefined" ? 1 : seen + 1;
		[].__proto__.n = ([].n || 0) + 1; var all = seen + [].n;
		try { all += require("lib/state").up() } catch (e) { all++ } return RESULT }`
	filter, err := s.Filter(t.Context(), ddoc,
		script.Function{Name: "f", Source: strings.Replace(source, "RESULT", "all === 3", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := filter.Filter(t.Context(), texts(`{}`, `{}`, `{}`), []byte("{}")); err != nil ||
		!slices.Equal(shown, []bool{true, true, true}) {
		t.Errorf("filter: %v, %v", shown, err)
	}
	validate, err := s.Validate(t.Context(), ddoc,
		script.Function{Name: "v", Source: strings.Replace(source, "return RESULT", `throw {forbidden: "" + all}`, 1)})
	if err != nil {
		t.Fatal(err)
	}
	reduce, err := s.Reduce(t.Context(),
		script.Function{Name: "r", Source: strings.Replace(source, "RESULT", "all", 1)})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := validate.Validate(t.Context(), []byte("{}"), []byte("null"), []byte("{}"),
			[]byte("{}")); err == nil || err.Error() != "forbidden: 3" {
			t.Errorf("validation: %v", err)
		}
		if out, err := reduce.Reduce(t.Context(), texts(`["k","i"]`), texts("1")); err != nil || string(out) != "3" {
			t.Errorf("reduction: %s, %v", out, err)
		}
	}
}

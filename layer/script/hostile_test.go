package script_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

// hostile are functions that try to exceed their limits. limit is the limit that must stop them; "" if an ordinary
// error is also right.
var hostile = []struct{ name, limit, source string }{
	{"endless loop", "time", `function(doc){ for(;;){} }`},
	{"endless loop in catch", "time", `function(doc){ for(;;){ try { for(;;){} } catch(e){} finally { for(;;){} } } }`},
	{"endless recursion", "stack", `function f(doc){ f(doc) }`},
	{"recursion in catch", "time", `function(doc){ function f(){ try { f() } catch(e) { f() } } f() }`},
	{"recursion through replace", "stack", `function f(doc){ "a".replace(/a/, function(){ f(doc) }) }`},
	{"recursion through toString", "stack", `function(doc){ var o = {toString: function(){ return "" + o }}; "" + o }`},
	{"string doubling", "memory", `function(doc){ var s = "x"; for(;;) s += s }`},
	{"string doubling kept", "memory",
		`function(doc){ var a = [], s = "xxxxxxxxxxxxxxxx"; for(;;) { s = s + s; a.push(s.slice(1)) } }`},
	{"array growth", "memory", `function(doc){ var a = []; for(;;) a.push([1,2,3]) }`},
	{"object growth", "memory", `function(doc){ var o = {}; for(var i=0;;i++) o["k"+i] = i }`},
	{"memory in catch", "memory",
		`function(doc){ var a = []; for(;;) { try { for(;;) a.push("x".repeat(1000)) } catch(e) { } } }`},
	{"huge array fill", "", `function(doc){ emit(new Array(4294967295).fill(0), 1) }`},
	{"huge array join", "", `function(doc){ emit(new Array(4294967295).join("xxxxxxxxxxxxxxxx"), 1) }`},
	{"search in 2^53 elements", "time", `function(doc){ Array.prototype.indexOf.call({length: 9007199254740991}, 1) }`},
	{"forEach over 2^53 elements", "time",
		`function(doc){ [].forEach.call({length: 9007199254740991}, function(){}) }`},
	{"reverse of 2^53 elements", "time", `function(doc){ [].reverse.call({length: 9007199254740991}) }`},
	{"slow string search", "time",
		`function(doc){ var a = "a".repeat(1<<12), b = "a".repeat(1<<11) + "b"; for(;;) a.indexOf(b) }`},
	{"one slow string search", "time",
		`function(doc){ var a = "a".repeat(1<<22), b = "a".repeat(1<<21) + "b"; a.indexOf(b) }`},
	{"backtracking expression", "time",
		`function(doc){ /^(a+)+$/.test("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") }`},
	{"backtracking groups", "time", `function(doc){ /(x+x+)+y/.exec("x".repeat(5000)) }`},
	{"huge expression", "", `function(doc){ new RegExp("(".repeat(100000) + ")".repeat(100000)) }`},
	{"huge repeat expression", "",
		`function(doc){ new RegExp("(?:a{0,65535}){0,65535}".repeat(100)).exec("a".repeat(100000)) }`},
	{"big integers", "", `function(doc){ var n = 3n; for(;;) n = n * n }`},
	{"repeat", "", `function(doc){ "abc".repeat(1<<28) }`},
	{"padStart", "", `function(doc){ "abc".padStart(1<<30) }`},
	{"sort of equal long strings", "time",
		`function(doc){ var s = "x".repeat(1<<20), t = s.slice(1) + "x", a = []; for (var i = 0; i < 50000; i++) a.push(i % 2 ? s : t); a.sort() }`},
	{"nested JSON out", "", `function(doc){ var a = []; for (var i = 0; i < 1e6; i++) a = [a]; emit(a, 1) }`},
	{"shared JSON out", "", `function(doc){ var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; emit(a, 1) }`},
	{"long empty array out", "rows", `function(doc){ emit(new Array(2000000000), 1) }`},
	{"array with an endless member", "time", `function(doc){ emit([{get a(){ for(;;){} }}], 1) }`},
	{"array with a throwing member", "",
		`function(doc){ var a = [1]; Object.defineProperty(a, 0, {get: function(){ throw new Error("x") }}); emit(a, 1) }`},
	{"JSON of itself", "", `function(doc){ var a = {}; a.a = a; emit(a, 1) }`},
	{"endless toJSON", "time", `function(doc){ emit({toJSON: function(){ for(;;){} }}, 1) }`},
	{"throwing toJSON", "", `function(doc){ emit({toJSON: function(){ throw new Error("no") }}, 1) }`},
	{"toJSON that emits", "", `function(doc){ emit({toJSON: function(){ for(;;) emit(1, 1) }}, 1) }`},
	{"rows without end", "rows", `function(doc){ for(;;) emit(1, 1) }`},
	{"rows in catch", "rows", `function(doc){ for(;;) { try { emit(1, 1) } catch(e) {} } }`},
	{"one large row again and again", "rows",
		`function(doc){ var s = "x".repeat(1 << 20); for(var i = 0; i < 90000; i++) emit(s, s) }`},
	{"rows of size", "", `function(doc){ for(var i = 0;; i++) emit("x".repeat(10000) + i, 1) }`},
	{"endless getter", "time", `function(doc){ emit({get a(){ for(;;){} }}, 1) }`},
	{"generator without end", "time", `function(doc){ function* g(){ for(;;) yield 1 } for (var x of g()) {} }`},
	{"spread without end", "", `function(doc){ function* g(){ for(;;) yield 1 } emit([...g()], 1) }`},
	{"redefined JSON", "",
		`function(doc){ JSON = null; Array.prototype.toJSON = function(){ throw 1 }; Object.prototype.toJSON = function(){ for(;;){} }; emit({}, 1) }`},
	{"redefined prototypes", "",
		`function(doc){ Array.prototype.push = Array.prototype.concat = null; Object.defineProperty(Object.prototype, "0", {set: function(){ throw 1 }}); emit([1], {a: [1]}); }`},
	{"redefined document prototypes", "",
		`function(doc){ doc.list.__proto__.map = null; doc.__proto__.toJSON = function(){ throw 1 }; emit(doc, 1) }`},
	{"eval of much", "", `function(doc){ eval("var x = 1;".repeat(100000)) }`},
	{"function of much", "", `function(doc){ (function(){}).constructor("a".repeat(1 << 20)) }`},
	{"deep eval", "", `function(doc){ eval("(".repeat(60000)) }`},
	{"apply with much", "",
		`function(doc){ var a = new Array(60000).fill(1); function f(){ return f.apply(null, a) } f() }`},
	{"async", "", `async function(doc){ for(;;) await 1 }`},
	{"many variables", "", manyVariables()},
	{"uncatchable in finally", "time", `function(doc){ function f(){ try { for(;;){} } finally { f() } } f() }`},
	{"symbol key", "", `function(doc){ emit(Symbol("x"), 1) }`},
	{"big integer key", "", `function(doc){ emit(10n, 1) }`},
	{"throws null", "", `function(doc){ throw null }`},
	{"throws undefined", "", `function(doc){ throw undefined }`},
	{"throws a getter", "",
		`function(doc){ throw {get name(){ for(;;){} }, get message(){ throw 1 }, toString: function(){ for(;;){} }} }`},
	{"error with bad members", "",
		`function(doc){ var e = new Error("x"); Object.defineProperty(e, "message", {get: function(){ throw e }}); Object.defineProperty(e, "stack", {get: function(){ for(;;){} }}); throw e }`},
	{"emits a bad error", "",
		`function(doc){ var e = new Error("x"); Object.defineProperty(e, "message", {get: function(){ throw e }}); emit(1, e) }`},
	{"locale strings", "", `function(doc){ for(var i = 0; i < 1e5; i++) new Date(i).toLocaleString() }`},
	{"normalize", "", `function(doc){ var s = "\ufdfa".repeat(1 << 20); for(;;) s = s.normalize("NFKD") + s }`},
}

func manyVariables() string {
	var b strings.Builder
	b.WriteString("function(doc){ function f(){ var a0")
	for i := 1; i < 5000; i++ {
		b.WriteString(",a" + strconv.Itoa(i))
	}
	b.WriteString("; f() } f() }")
	return b.String()
}

// TestHostile checks that a hostile function is stopped in time, stays within its memory, fails only for its
// document, and leaves the sandbox working.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory and time limits, which are meaningless under the race detector")
	}
	limits := script.Limits{Time: 250 * time.Millisecond, Memory: 32 << 20, Runtimes: 2}
	short := open(t, limits)
	limits.Time = time.Minute
	long := open(t, limits) // for functions that must meet another limit, on however slow a machine
	before := resident(t)
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			sources := []script.Function{
				{Name: "good", Source: `function(doc){ emit(doc._id, doc.list) }`},
				{Name: "bad", Source: tc.source},
				{Name: "last", Source: `function(doc){ emit(doc._id, doc.list) }`},
			}
			s := short
			if tc.limit != "time" && tc.limit != "" {
				s = long
			}
			m, err := s.Maps(t.Context(), nil, sources)
			if err != nil {
				var compile *script.CompileError
				if !errors.As(err, &compile) {
					t.Fatalf("unexpected compile error: %v", err)
				}
				return
			}
			docs := [][]byte{[]byte(`{"_id":"a","list":[1,2]}`), []byte(`{"_id":"b","list":[3]}`)}
			if tc.limit == "time" {
				docs = docs[:1]
			}
			began := time.Now()
			want := []string{`"a"=[1,2]`, `"b"=[3]`}
			err = m.Map(t.Context(), docs, func(i int, r *script.Mapped) error {
				for _, f := range []int{0, 2} {
					if r.Errs[f] != nil || len(r.Rows[f]) != 1 ||
						string(r.Rows[f][0].Key)+"="+string(r.Rows[f][0].Value) != want[i] {
						t.Errorf("the other function %d: %s, %v", f, r.Rows[f], r.Errs[f])
					}
				}
				var limit *script.LimitError
				if tc.limit != "" &&
					(!errors.As(r.Errs[1], &limit) || limit.Limit != tc.limit || limit.Function != "bad") {
					t.Errorf("error %v, want the %s limit", r.Errs[1], tc.limit)
				}
				if r.Errs[1] != nil && len(r.Rows[1]) > 0 {
					t.Errorf("rows in spite of the error %v", r.Errs[1])
				}
				t.Logf("%v: %.200v", time.Since(began).Round(time.Millisecond), r.Errs[1])
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); s == short && took > 4*time.Second {
				t.Errorf("took %v", took)
			}
			if more := resident(t) - before; more > 250<<20 {
				t.Errorf("the process grew by %d MB", more>>20)
			}
		})
	}
	if _, err := mapOne(t, short, "", `function(doc){ emit(1) }`, `{}`); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// resident returns the process's resident memory.
func resident(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * int64(os.Getpagesize())
}

package script_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

func texts(s ...string) [][]byte {
	var out [][]byte
	for _, t := range s {
		out = append(out, []byte(t))
	}
	return out
}

func TestReduce(t *testing.T) {
	s := open(t, script.Limits{})
	f, err := s.Reduce(t.Context(), script.Function{Name: "views.v.reduce", Source: `function(keys, values, rereduce) {
		if (rereduce) return [keys, sum(values.map(function(v){ return v[1] }))];
		values.push(10); // arguments are the function's own
		return [keys, sum(values)];
	}`})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		out, err := f.Reduce(t.Context(), texts(`["k","id1"]`, `[[1,2],"id2"]`), texts(`1`, `2.5`))
		if want := `[[["k","id1"],[[1,2],"id2"]],13.5]`; err != nil || string(out) != want {
			t.Errorf("Reduce: %s, %v; want %s", out, err, want)
		}
		out, err = f.Rereduce(t.Context(), texts(`[null,1]`, `[null,2]`))
		if want := `[null,3]`; err != nil || string(out) != want {
			t.Errorf("Rereduce: %s, %v; want %s", out, err, want)
		}
		out, err = f.Reduce(t.Context(), nil, nil)
		if want := `[[],10]`; err != nil || string(out) != want {
			t.Errorf("Reduce of nothing: %s, %v; want %s", out, err, want)
		}
	}
	for source, want := range map[string]string{
		`function(k, v){ throw new Error("no") }`:           "Error: no",
		`function(k, v){ for(;;); }`:                        "time limit",
		`function(k, v){ var a = []; a[0] = a; return a }`:  "circular",
		`function(k, v){ require("views/lib/a") }`:          "require",
		`function(k, v){ emit(1, 2); return undefined.x }`:  "undefined",
		`function(k, v){ var s = "x"; for(;;) s += s + 1 }`: "memory limit",
	} {
		f, err := open(t, script.Limits{Time: 200 * time.Millisecond}).Reduce(t.Context(),
			script.Function{Name: "r", Source: source})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := f.Reduce(t.Context(), texts(`["k","id"]`), texts(`1`)); err == nil ||
			!strings.Contains(err.Error(), want) || out != nil {
			t.Errorf("%s: %s, %v; want %q", source, out, err, want)
		}
	}
	f, err = s.Reduce(t.Context(), script.Function{Name: "r", Source: `function(k, v){ }`})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := f.Reduce(t.Context(), nil, nil); err != nil || string(out) != "null" {
		t.Errorf("a reduce that returns nothing: %s, %v; want null", out, err)
	}
}

func TestFilter(t *testing.T) {
	s := open(t, script.Limits{})
	ddoc := []byte(`{"_id":"_design/d","lib":{"kind":"exports.kind = 'x'"},"views":{"v":{"map":""}},"wanted":"y"}`)
	docs := texts(`{"type":"x"}`, `{"type":"y"}`, `{"_id":"z","_deleted":true}`)
	for _, tc := range []struct {
		source, want string
		byView       bool
	}{
		{source: `function(doc, req){ return doc.type == req.query.type }`, want: "[true false false]"},
		{source: `function(doc, req){ return doc.type == require("lib/kind").kind }`, want: "[true false false]"},
		{source: `function(doc, req){ return doc.type == this.wanted }`, want: "[false true false]"},
		{source: `function(doc, req){ doc.type = "changed"; return doc.type == "changed" && "yes" }`,
			want: "[true true true]"},
		{source: `function(doc, req){ emit(doc._id) }`, want: "[false false false]"},
		{source: `function(doc){ if (doc.type) emit(doc.type) }`, want: "[true true false]", byView: true},
		{source: `function(doc){ return true }`, want: "[false false false]", byView: true},
	} {
		compile := s.Filter
		if tc.byView {
			compile = s.FilterByView
		}
		f, err := compile(t.Context(), ddoc, script.Function{Name: "filters.f", Source: tc.source})
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Filter(t.Context(), docs, []byte(`{"query":{"type":"x"},"userCtx":{"name":null}}`))
		if err != nil || fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %v, %v; want %s", tc.source, got, err, tc.want)
		}
	}
	f, err := s.Filter(t.Context(), ddoc,
		script.Function{Name: "filters.f", Source: `function(doc, req){ return doc.a.b }`})
	if err != nil {
		t.Fatal(err)
	}
	var thrown *script.RuntimeError
	if _, err := f.Filter(t.Context(), docs, []byte(`{}`)); !errors.As(err, &thrown) || thrown.Function != "filters.f" {
		t.Errorf("a filter that throws: %v, want a RuntimeError", err)
	}
}

func TestValidate(t *testing.T) {
	s := open(t, script.Limits{Time: 200 * time.Millisecond})
	for _, tc := range []struct{ source, want string }{
		{`function(newDoc, oldDoc, userCtx, secObj){ if (!newDoc.type) throw({forbidden: "no type"}) }`, "ok"},
		{`function(newDoc, oldDoc, userCtx, secObj){ throw({forbidden: newDoc.type + oldDoc.type + userCtx.name + secObj.admins.roles[0]}) }`, "forbidden: xybob_admin"},
		{`function(newDoc, oldDoc, userCtx, secObj){ throw({unauthorized: "who?"}) }`, "unauthorized: who?"},
		{`function(newDoc){ throw({forbidden: {why: [1]}}) }`, `forbidden: {"why":[1]}`},
		{`function(newDoc){ if (require("lib/check")(newDoc)) throw({forbidden: this._id}) }`, "forbidden: _design/d"},
		{`function(newDoc){ newDoc.type = "z"; return false }`, "ok"},
		{`function(newDoc){ throw "text" }`, "text (v)"},
		{`function(newDoc){ throw {other: 1} }`, `1 (v)`},
		{`function(newDoc){ throw {other: "x"} }`, `x (v)`},
		{`function(newDoc){ throw {a: 1, b: 2} }`, `{"a":1,"b":2} (v)`},
		{`function(newDoc){ throw new Date(0) }`, `1970-01-01T00:00:00.000Z (v)`},
		{`function(newDoc){ throw {forbidden: ""} }`, "forbidden: "},
		{`function(newDoc){ throw ["error", "n", "r"] }`, "n: r"},
		{`function(newDoc){ throw ["fatal", "forbidden", "r"] }`, "forbidden: r"},
		{`function(newDoc){ throw ["error", "n", {a: 1}] }`, `n: {"a":1}`},
		{`function(newDoc){ throw ["error", 5, 6] }`, `["error",5,6] (v)`},
		{`function(newDoc){ throw ["x", "n", "r"] }`, `["x","n","r"] (v)`},
		{`function(newDoc){ throw '["error","n","r"]' }`, `["error","n","r"] (v)`},
		{`function(newDoc){ throw {toJSON: function () { for(;;); }} }`, "v: stopped at the time limit"},
		{`function(newDoc){ nothing.at.all }`, "ReferenceError: 'nothing' is not defined (v line 1)"},
		{`function(newDoc){ throw null }`, "null (v)"},
		{`function(newDoc){ for(;;); }`, "v: stopped at the time limit"},
		{`function(newDoc){ throw {get forbidden(){ for(;;); }} }`, "v: stopped at the time limit"},
		{`function(newDoc){ var e = new Error("x"); e.forbidden = "a"; throw e }`, "Error: x (v line 1)"},
	} {
		f, err := s.Validate(t.Context(),
			[]byte(`{"_id":"_design/d","lib":{"check":"module.exports = function(d){ return d.type }"}}`),
			script.Function{Name: "v", Source: tc.source})
		if err != nil {
			t.Fatal(err)
		}
		err = f.Validate(t.Context(), []byte(`{"type":"x"}`), []byte(`{"type":"y"}`), []byte(`{"name":"bob"}`),
			[]byte(`{"admins":{"roles":["_admin"]}}`))
		got := "ok"
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.source, got, tc.want)
		}
		var no *script.Rejection
		if named := regexp.MustCompile("^(forbidden|unauthorized|n):"); errors.As(err, &no) != named.MatchString(tc.want) {
			t.Errorf("%s: %T", tc.source, err)
		}
	}
}

// The watchdog, which looks seldom while there are no runtimes, looks often once there is one.
func TestSandbox_Rested(t *testing.T) {
	s := open(t, script.Limits{Time: 50 * time.Millisecond, Idle: 50 * time.Millisecond})
	for range 2 {
		time.Sleep(400 * time.Millisecond) // until it rests, since the start or since the last runtime was closed
		began := time.Now()
		m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "endless",
			Source: `function (doc) { [].indexOf.call({length: 9007199254740991}, 1) }`}})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Map(t.Context(), [][]byte{[]byte(`{"_id":"a"}`)}, func(_ int, r *script.Mapped) error {
			var limit *script.LimitError
			if !errors.As(r.Errs[0], &limit) || limit.Limit != "time" {
				t.Errorf("error %v, want the time limit", r.Errs[0])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it was stopped after %v", took)
		}
	}
}

// TestSandbox_Concurrent runs more callers than there may be runtimes, with several programs, some of them hostile.
func TestSandbox_Concurrent(t *testing.T) {
	s := open(t, script.Limits{Runtimes: 3, Time: 300 * time.Millisecond, Memory: 8 << 20})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			source := fmt.Sprintf(`function(doc){ if (doc.n %% 50 == 0 && %d == 3) for(;;); emit(doc.n * %d) }`, i, i)
			m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "a", Source: source}})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 100 {
				err := m.Map(t.Context(), texts(fmt.Sprintf(`{"n":%d}`, n+1)), func(_ int, r *script.Mapped) error {
					stopped := i == 3 && (n+1)%50 == 0
					if stopped != (r.Errs[0] != nil) || !stopped && string(r.Rows[0][0].Key) != fmt.Sprint((n+1)*i) {
						t.Errorf("caller %d document %d: %s, %v", i, n, r.Rows, r.Errs)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestSandbox_Close checks that Close ends running calls and that nothing runs afterwards.
func TestSandbox_Close(t *testing.T) {
	s := script.New(script.Options{})
	m, err := s.Maps(t.Context(), nil,
		[]script.Function{{Name: "a",
			Source: `function(doc){ if (doc.loop) for(;;) emit; Array.prototype.indexOf.call({length: 9007199254740991}, 1) }`}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for _, doc := range []string{`{"loop":true}`, `{}`} {
		go func() {
			done <- m.Map(context.Background(), texts(doc, doc), func(int, *script.Mapped) error { return nil })
		}()
	}
	// let them enter their loops; otherwise Close only has less to do
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	s.Close()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
	for range 2 {
		if err := <-done; !errors.Is(err, script.ErrClosed) {
			t.Errorf("a call during Close: %v, want ErrClosed", err)
		}
	}
	if _, err := s.Reduce(t.Context(), script.Function{Source: `function(){}`}); !errors.Is(err, script.ErrClosed) {
		t.Errorf("afterwards: %v, want ErrClosed", err)
	}
	s.Close()
}

// TestSandbox_Waits checks that a call stops waiting for a runtime when its context ends.
func TestSandbox_Waits(t *testing.T) {
	s := open(t, script.Limits{Runtimes: 1})
	m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "a", Source: `function(doc){ emit(Math.abs(1)) }`}})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Map(t.Context(), texts(`{}`), func(int, *script.Mapped) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := m.Map(ctx, texts(`{}`), func(int, *script.Mapped) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the only runtime is busy: %v, want the context's error", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSandbox_Log(t *testing.T) {
	var got []string
	s := script.New(script.Options{Log: func(m string) { got = append(got, m) }})
	defer s.Close()
	if _, err := mapOne(t, s, "",
		`function(doc){ log("text"); log({a: [1]}); log(new TypeError("x")); log(undefined) }`, `{}`); err != nil {
		t.Fatal(err)
	}
	if want := `[text {"a":[1]} {"error":"TypeError","message":"x"} undefined]`; fmt.Sprint(got) != want {
		t.Errorf("log was given %s, want %s", got, want)
	}
}

package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

// responder compiles a function of a design document with a module.
func responder(t *testing.T, s *script.Sandbox, source string) *script.Responder {
	t.Helper()
	f, err := s.Responder(t.Context(), []byte(`{"_id":"_design/d","lib":{"m":"exports.x = 42"}}`),
		script.Function{Name: "f", Source: source})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return f
}

const (
	showPath = `"path":["db","_design","d","_show","f","a"]`
	plainReq = `{"query":{},"headers":{},` + showPath + `}`
)

// TestResponder_Show has what CouchDB 3.5 answers to the same functions.
func TestResponder_Show(t *testing.T) {
	s := open(t, script.Limits{})
	for _, tc := range []struct{ source, doc, req, want string }{
		{`function(doc, req) { return 'hello ' + doc._id }`, `{"_id":"a"}`, plainReq, `["resp",{"body":"hello a"}]`},
		{`function() {}`, `null`, plainReq, `["resp",{}]`},
		{`function(doc) { return {json: doc, code: 201} }`, `{"n":1}`, plainReq, `["resp",{"json":{"n":1},"code":201}]`},
		{`function(doc) { doc.n = 7; return String(doc.n) }`, `{"n":1}`, plainReq, `["resp",{"body":"7"}]`},
		{`function() { return this._id + require('lib/m').x }`, `null`, plainReq, `["resp",{"body":"_design/d42"}]`},
		{`function() { return 3 }`, `{}`, plainReq,
			`["error","render_error","undefined response from show function"]`},
		{`function() { return [1] }`, `{}`, plainReq,
			`["error","render_error","undefined response from show function"]`},
		{`function() { throw ['error', 'not_found', 'nope'] }`, `{}`, plainReq, `["error","not_found","nope"]`},
		{`function() { throw {error: 'foo', reason: 'bar'} }`, `{}`, plainReq, `["error","foo","bar"]`},
		{`function(doc) { return doc.n }`, `null`, plainReq, `["error","not_found","document not found"]`},
		{`function() { start({headers: {'X-C': '1'}}); send('a'); send(5); return 'z' }`, `{}`, plainReq,
			`["resp",{"body":"a5z","headers":{"X-C":"1"}}]`},
		{`function() { start({'X-C': '1'}); send('a') }`, `{}`, plainReq,
			`["resp",{"headers":{"X-C":"1"},"body":"a"}]`},
		{`function() { registerType('foo', 'application/foo'); provides('foo', function() { return 'F' }) }`, `{}`,
			plainReq, `["resp",{"body":"F","headers":{"Content-Type":"application/foo"}}]`},
	} {
		f := responder(t, s, tc.source)
		for range 2 { // the second call starts from the same state
			out, err := f.Show(t.Context(), []byte(tc.doc), []byte(tc.req))
			if err != nil || string(out) != tc.want {
				t.Errorf("%s of %s: %s, %v; want %s", tc.source, tc.doc, out, err, tc.want)
			}
		}
	}
	var thrown *script.RuntimeError
	for _, source := range []string{`function(doc) { throw new Error('boo') }`, `function(doc) { throw 'boo' }`,
		`function(doc) { throw {forbidden: 'boo'} }`} {
		if out, err := responder(t, s, source).Show(t.Context(), []byte(`{}`), []byte(plainReq)); !errors.As(err,
			&thrown) || !strings.Contains(err.Error(), "boo") {
			t.Errorf("%s: %s, %v; want a RuntimeError", source, out, err)
		}
	}
}

// TestResponder_Provides checks the choice among types by the Accept header.
func TestResponder_Provides(t *testing.T) {
	f := responder(t, open(t, script.Limits{}), `function(doc, req) {
		provides('json', function() { return 'J' });
		provides('html', function() { return 'H' });
		provides('xml', function() { return 'X' });
	}`)
	for accept, want := range map[string]string{
		"text/html":                             `H text/html; charset=utf-8`,
		"text/xml":                              `X text/xml`,
		"*/*":                                   `J text/x-json`,
		"application/json":                      `J application/json`,
		"text/html, application/json;q=1":       `J application/json`,
		"text/html,application/json;q=.9":       `H text/html; charset=utf-8`,
		"application/xml;q=0.5,text/html;q=0.4": `X application/xml`,
		"image/*, text/*;q=0.1":                 `J text/x-json`,
		"image/png": `["error","not_acceptable","Content-Type image/png not supported, try one of: ` +
			`application/xml, text/xml, application/x-xml, text/html; charset=utf-8, application/json, text/x-json"]`,
	} {
		out, err := f.Show(t.Context(), []byte(`{}`), fmt.Appendf(nil, `{"query":{},"headers":{"Accept":%q},%s}`, accept,
			showPath))
		if !strings.HasPrefix(want, "[") {
			body, kind, _ := strings.Cut(want, " ")
			want = fmt.Sprintf(`["resp",{"body":%q,"headers":{"Content-Type":%q}}]`, body, kind)
		}
		if err != nil || string(out) != want {
			t.Errorf("%s: %s, %v; want %s", accept, out, err, want)
		}
	}
}

func TestResponder_Update(t *testing.T) {
	s := open(t, script.Limits{})
	for _, tc := range []struct{ source, want string }{
		{`function(doc, req) { doc.n++; return [doc, 'up'] }`, `["up",{"_id":"a","n":2},{"body":"up"}]`},
		{`function(doc, req) { return [null, {json: 1}] }`, `["up",null,{"json":1}]`},
		{`function(doc, req) { return [[1], 'x'] }`, `["up",null,{"body":"x"}]`},
		{`function(doc, req) { return [null] }`,
			`["error","render_error","undefined response from update function"]`},
		{`function(doc, req) { return 'x' }`, `["error","render_error","undefined response from update function"]`},
		{`function(doc, req) { var s = 'x'; for (;;) s += s + 1 }`, `memory limit`},
		{`function(doc, req) { for (;;); }`, `time limit`},
		{`function(doc, req) { return 1 + (function f() { return f() })() }`, `stack limit`},
		{`function(doc, req) { return undefined.x }`, `undefined`},
	} {
		out, err := responder(t, open(t, script.Limits{Time: 300 * time.Millisecond}), tc.source).Update(t.Context(),
			[]byte(`{"_id":"a","n":1}`), []byte(plainReq))
		if err != nil {
			out = []byte(err.Error())
		}
		if !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %s; want %s", tc.source, out, tc.want)
		}
	}
	if _, err := s.Responder(t.Context(), []byte(`{}`), script.Function{Name: "f", Source: `function(`}); err == nil {
		t.Error("a function that is not valid was compiled")
	}
}

// listing is a Listing over rows that are numbers, which notes what it gets.
type listing struct {
	rows    int
	wait    func(row int) error // before each row; nil means that all rows are ready
	heads   []string
	written strings.Builder
	flushed int
	next    int
}

func (l *listing) Begin(head []byte) { l.heads = append(l.heads, string(head)) }

func (l *listing) Write(text []byte) { l.written.Write(text) }

func (l *listing) Flush() error { l.flushed++; return nil }

func (l *listing) Ready() bool { return l.wait == nil }

func (l *listing) Row() ([]byte, error) {
	if l.wait != nil {
		if err := l.wait(l.next); err != nil {
			return nil, err
		}
	}
	if l.next == l.rows {
		return nil, nil
	}
	l.next++
	return fmt.Appendf(nil, `{"key":%d}`, l.next), nil
}

func TestResponder_List(t *testing.T) {
	s := open(t, script.Limits{})
	for _, tc := range []struct {
		source      string
		out, text   string
		heads, rows string
	}{
		{`function(head, req) { start({code: 202}); send(head.total_rows); var r; while (r = getRow()) send('.' + r.key);
			return 'end' }`, `["end"]`, `3.1.2.3end`, `{"code":202,"headers":{}}`, `3`},
		{`function(head, req) { send('x') }`, `["end"]`, `x`, `{"headers":{}}`, `0`},
		{`function(head, req) { getRow(); start({headers: {'A': 'b'}}); getRow(); return 5 }`, `["end"]`, `5`,
			`{"headers":{}} {"headers":{"A":"b"}}`, `2`},
		{`function(head, req) { while (getRow()); send(getRow() === null); }`, `["end"]`, `true`, `{"headers":{}}`, `3`},
		{`function(head, req) { provides('html', function() { var r = getRow(); send(r.key); return '</ul>' }) }`,
			`["end"]`, `1</ul>`, `{"headers":{"Content-Type":"text/html; charset=utf-8"}}`, `1`},
		{`function(head, req) { throw ['error', 'gone', 'x'] }`, `["error","gone","x"]`, ``, ``, `0`},
	} {
		l := &listing{rows: 3}
		out, err := responder(t, s, tc.source).List(t.Context(), []byte(`{"total_rows":3}`), []byte(plainReq), l)
		if err != nil || string(out) != tc.out || l.written.String() != tc.text ||
			strings.Join(l.heads, " ") != tc.heads || fmt.Sprint(l.next) != tc.rows {
			t.Errorf("%s: %s, %v; wrote %q, heads %q, read %d rows; want %+v", tc.source, out, err, l.written.String(),
				l.heads, l.next, tc)
		}
	}
}

// TestResponder_ListMemory: neither the rows nor the output of a long list stay in memory.
func TestResponder_ListMemory(t *testing.T) {
	s := open(t, script.Limits{Memory: 8 << 20})
	f := responder(t, s, `function(head, req) {
		var line = new Array(1000).join('x'), r, n = 0;
		while (r = getRow()) { send(line + r.key); n++ }
		return String(n);
	}`)
	l := &listing{rows: 30_000}
	out, err := f.List(t.Context(), []byte(`{}`), []byte(plainReq), l)
	if err != nil || string(out) != `["end"]` || !strings.HasSuffix(l.written.String(), "30000") {
		t.Fatalf("%s, %v, %d rows", out, err, l.next)
	}
	endless := &listing{rows: 1}
	f = responder(t, open(t, script.Limits{Time: time.Second}),
		`function(head, req) { var s = new Array(100000).join('x'); for (;;) send(s) }`)
	var over *script.LimitError
	if out, err = f.List(t.Context(), []byte(`{}`), []byte(plainReq), endless); !errors.As(err, &over) {
		t.Errorf("a list that sends without end: %s, %v; want a LimitError", out, err)
	}
	if sent := endless.written.Len(); endless.flushed < sent/100_000 {
		t.Errorf("%d bytes were flushed %d times", sent, endless.flushed)
	}
}

// TestResponder_ListTime: each row has the time of a call, without the time for which the list waits for it.
func TestResponder_ListTime(t *testing.T) {
	s := open(t, script.Limits{Time: 300 * time.Millisecond})
	slow := &listing{rows: 4, wait: func(int) error { time.Sleep(200 * time.Millisecond); return nil }}
	f := responder(t, s, `function(head, req) { var r, n = 0; while (r = getRow()) n++; return String(n) }`)
	if out, err := f.List(t.Context(), []byte(`{}`), []byte(plainReq), slow); err != nil || slow.written.String() != "4" {
		t.Errorf("a list of slow rows: %s, %v", out, err)
	}
	loops := &listing{rows: 4}
	f = responder(t, s, `function(head, req) { getRow(); try { for (;;); } catch (e) {} }`)
	var over *script.LimitError
	if _, err := f.List(t.Context(), []byte(`{}`), []byte(plainReq), loops); !errors.As(err, &over) || over.Limit != "time" {
		t.Errorf("a list that loops: %v", err)
	}
	broken := &listing{rows: 4, wait: func(row int) error {
		if row == 2 {
			return errors.New("the view failed")
		}
		return nil
	}}
	f = responder(t, s, `function(head, req) { try { while (getRow()); } catch (e) { send('caught') } }`)
	if _, err := f.List(t.Context(), []byte(`{}`), []byte(plainReq), broken); err == nil ||
		err.Error() != "the view failed" || broken.written.Len() > 0 {
		t.Errorf("a list whose rows fail: %v, wrote %q", err, broken.written.String())
	}
}

// forgetful is a listing whose client takes pieces slowly and keeps none.
type forgetful struct{ listing }

func (*forgetful) Write([]byte) {}
func (*forgetful) Flush() error { time.Sleep(time.Millisecond); return nil }

// TestResponder_ListEndless: a list that sends without end, and without reading rows, has the time of one call, without
// that for which it waits for its client.
func TestResponder_ListEndless(t *testing.T) {
	f := responder(t, open(t, script.Limits{Time: 200 * time.Millisecond}),
		`function(head, req) { var s = new Array(20000).join('x'); for (;;) send(s) }`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var over *script.LimitError
	_, err := f.List(ctx, []byte(`{}`), []byte(plainReq), &forgetful{})
	if !errors.As(err, &over) || over.Limit != "time" {
		t.Errorf("it ended with %v", err)
	}
}

// TestResponder_ListsWait: lists that wait for their clients, more than may run at once, keep no other function from
// running, and those beyond the number are refused.
func TestResponder_ListsWait(t *testing.T) {
	s := open(t, script.Limits{Runtimes: 4, Wait: time.Second})
	list := responder(t, s, `function(head, req) { getRow() }`)
	show := responder(t, s, `function(doc, req) { return 'x' }`)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := errors.New("the client is gone")
	waiting := make(chan struct{}, 4)
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			l := &listing{rows: 1, wait: func(int) error {
				waiting <- struct{}{}
				<-ctx.Done()
				return stopped
			}}
			_, err := list.List(t.Context(), []byte(`{}`), []byte(plainReq), l)
			ended <- err
		}()
	}
	<-waiting
	for i := range 20 {
		if out, err := show.Show(t.Context(), []byte(`{}`), []byte(plainReq)); err != nil {
			t.Fatalf("show %d beside waiting lists: %s, %v", i, out, err)
		}
	}
	for range 3 {
		var late *script.BusyError
		if err := <-ended; !errors.As(err, &late) {
			t.Errorf("a list beyond the number ended with %v", err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("the list that ran ended with %v", err)
	}
}

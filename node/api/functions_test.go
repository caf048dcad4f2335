package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/api"
)

// TestFunctions_Access: functions of design documents are for members, and do nothing that their user may not do.
func TestFunctions_Access(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	const design = `{"shows":{"s":"function (doc) { return doc._id }"},
		"updates":{"design":"function (doc, req) { return [{_id: '_design/x', made: 1}, 'x'] }",
			"plain":"function (doc, req) { return [{_id: 'x', bad: req.query.bad}, 'x'] }"},
		"lists":{"l":"function (head, req) { return 'x' }"},"views":{"v":{"map":"function (doc) {}"}},
		"rewrites":"function (req) { return '../../../' + req.query.to }",
		"validate_doc_update":"function (doc) { if (doc.bad) throw {forbidden: 'bad'} }"}`
	for _, request := range [][3]string{{"PUT", "/db", ""}, {"PUT", "/other", ""}, {"PUT", "/other/secret", "{}"},
		{"PUT", "/other/_security", `{"members":{"names":["somebody"]}}`},
		{"PUT", "/db/_security", `{"members":{"names":["member"]}}`}, {"PUT", "/db/_design/d", design},
		{"PUT", "/db/a", "{}"}} {
		if status, text := s.as(t, "root", request[0], request[1], request[2]); status >= 300 {
			t.Fatal(request, status, text)
		}
	}
	for _, tc := range []struct {
		user, method, path string
		want               int
	}{
		{"", "GET", "_show/s/a", 401}, {"other", "GET", "_show/s/a", 403}, {"member", "GET", "_show/s/a", 200},
		{"", "GET", "_list/l/v", 401}, {"member", "GET", "_list/l/v", 200},
		{"", "POST", "_update/plain", 401}, {"other", "POST", "_update/plain", 403},
		{"member", "POST", "_update/design", 403}, {"root", "POST", "_update/design", 201},
		{"member", "POST", "_update/plain?bad=1", 403}, {"member", "POST", "_update/plain", 201},
		{"", "GET", "_rewrite/?to=db/a", 401}, {"member", "GET", "_rewrite/?to=db/a", 200},
		{"member", "GET", "_rewrite/?to=other/secret", 403}, {"root", "GET", "_rewrite/?to=other/secret", 200},
		{"member", "GET", "_rewrite/?to=_node/_local/_config", 401}, {"member", "PUT", "_rewrite/?to=new", 401},
	} {
		if status, text := s.as(t, tc.user, tc.method, "/db/_design/d/"+tc.path, ""); status != tc.want {
			t.Errorf("%s as %q: %d %s; want %d", tc.path, tc.user, status, text, tc.want)
		}
	}
}

// get requests a path. The body is closed at the end of the test.
func (s *server) get(t *testing.T, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(path, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// busy reports whether a function runs.
func busy(s *server) bool {
	stats := s.sandbox.Stats()
	return stats.Runtimes > stats.Idle
}

// TestFunctions_Hostile: functions that do not end, or that throw after they have sent something, end with an error or
// a connection that is cut, so that no client takes the beginning for the whole.
func TestFunctions_Hostile(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/a", `{"n":1}`)
	design, err := json.Marshal(map[string]any{
		"views": map[string]any{"v": map[string]string{"map": "function (doc) { if (doc.n) emit(doc.n) }"}},
		"shows": map[string]string{
			"headers": `function () { return {body: 'x', headers: {'Content-Length': '9999', 'Transfer-Encoding': 'x',
				'X-A': 'a\r\nX-B: b', '': 'c', 'X C': 'd'}} }`,
			"memory": `function () { var s = 'x'; for (;;) s += s }`,
			"deep":   `function () { var a = []; for (var i = 0; i < 100000; i++) a = [a]; return {json: a} }`,
		},
		"lists": map[string]string{
			"late":   `function () { send(new Array(100000).join('x')); getRow(); throw new Error('boo') }`,
			"code":   `function () { start({code: 1e9}); getRow(); return 'x' }`,
			"none":   `function () { start({code: 204}); return 'x' }`,
			"getRow": `function () { getRow(); getRow(); getRow(); return String(getRow()) }`,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.must(t, "PUT", "/db/_design/d", string(design))
	res := s.get(t, "/db/_design/d/_show/headers")
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "x" || res.Header.Get("X-B") != "" ||
		res.Header.Get("X-A") != "a  X-B: b" {
		t.Errorf("a function that sets the framing: %q, %v, %v", text, err, res.Header)
	}
	for _, name := range []string{"memory", "deep"} {
		if res := s.get(t, "/db/_design/d/_show/"+name); res.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	res = s.get(t, "/db/_design/d/_list/late/v")
	if text, err := io.ReadAll(res.Body); err == nil || res.StatusCode != http.StatusOK {
		t.Errorf("a list that fails after its beginning was sent: %s, %d bytes, no error", res.Status, len(text))
	}
	for name, want := range map[string]string{"code": "500", "none": "204", "getRow": "200 null"} {
		res := s.get(t, "/db/_design/d/_list/"+name+"/v")
		text, err := io.ReadAll(res.Body)
		got := fmt.Sprint(res.StatusCode)
		if res.StatusCode == http.StatusOK {
			got += " " + string(text)
		}
		if err != nil || got != want {
			t.Errorf("%s: %s %s, %v; want %s", name, res.Status, text, err, want)
		}
	}
}

// TestFunctions_LongList: a list of many rows is streamed, and ends when its client goes.
func TestFunctions_LongList(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	var docs bytes.Buffer
	docs.WriteString(`{"docs":[`)
	for i := range 3000 {
		if i > 0 {
			docs.WriteByte(',')
		}
		fmt.Fprintf(&docs, `{"_id":"%04d","text":%q}`, i, strings.Repeat("x", 500))
	}
	docs.WriteString("]}")
	s.must(t, "POST", "/db/_bulk_docs", docs.String())
	s.must(t, "PUT", "/db/_design/d", `{"lists":{
		"ids":"function () { var r; while (r = getRow()) send(r.id + ' ' + r.doc.text + '\\n'); return 'end' }",
		"two":"function () { getRow(); return getRow().id }"}}`)
	res := s.get(t, "/db/_design/d/_list/ids/_all_docs?include_docs=true&endkey=%224%22")
	lines := bufio.NewScanner(res.Body)
	for i := range 3000 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), fmt.Sprintf("%04d x", i)) {
			t.Fatalf("line %d: %q, %v", i, lines.Text(), lines.Err())
		}
	}
	if !lines.Scan() || lines.Text() != "end" || lines.Scan() || lines.Err() != nil {
		t.Errorf("the end is %q, %v", lines.Text(), lines.Err())
	}
	res = s.get(t, "/db/_design/d/_list/two/_all_docs?include_docs=true")
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "0001" {
		t.Errorf("a list that ends early: %q, %v", text, err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /db/_design/d/_list/ids/_all_docs?include_docs=true HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := conn.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for began := time.Now(); busy(s); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the list of a client that is gone still runs")
		}
	}
}

// TestJSONP: answers become calls of a function if the setting allows it, and only then.
func TestJSONP(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/a", `{"n":1}`)
	get := func(path string) (int, string, string) {
		res := s.get(t, path)
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Content-Type"), string(text)
	}
	if status, kind, text := get("/db/_all_dbs?callback=f"); kind != "application/json" || status != 404 {
		t.Errorf("without the setting: %d %s %s", status, kind, text)
	}
	s = serve(t, func(o *api.Options) {
		o.Settings = api.NewSettings(map[string]map[string]string{"chttpd": {"allow_jsonp": "true"}})
	})
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/d", `{"views": {"v": {"map": "function (d) {}"}},
		"lists": {"text": "function () { send('x'); return 'y' }", "fails": "function () { send('x'); throw 1 }",
			"json": "function () { start({json: {}}); return '1' }"},
		"shows": {"text": "function () { return {body: 'x', headers: {'Content-Type': 'application/json'}} }",
			"json": "function () { return {json: 1} }", "nothing": "function () {}"}}`)
	for path, want := range map[string]string{
		"/db/_design/d/_list/text/v?callback=f":  `200 xy`,
		"/db/_design/d/_list/json/v?callback=f":  `200 1`,
		"/db/_design/d/_list/fails/v?callback=f": `500 /* CouchDB */f({"error":"render_error",`,
		"/db/_design/d/_show/text?callback=f":    `200 x`,
		"/db/_design/d/_show/json?callback=f":    `200 /* CouchDB */f(1);`,
		"/db/_design/d/_show/nothing?callback=f": `200 `,
		"/db/a?callback=f":                       `404 /* CouchDB */f({"error":"not_found","reason":"missing"});`,
		"/_all_dbs?callback=a.b[0]":              `200 /* CouchDB */a.b[0](["db"]);`,
		"/db/_changes?callback=f":                `200 /* CouchDB */f({"results":[`,
		"/db?callback=f(1)":                      `400 {"error":"bad_request","reason":"invalid_callback"}`,
		"/db?callback=%3Cscript%3E":              `400 {"error":"bad_request","reason":"invalid_callback"}`,
		"/db/_all_docs?callback=f&x=1":           "200 /* CouchDB */f({\"total_rows\":1,\"offset\":0,\"rows\":[\r\n{",
		"/db/_all_docs?callback=":                "200 {\"total_rows\":1,",
	} {
		status, kind, text := get(path)
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q; want %q", path, got, want)
		}
		if wrapped := strings.HasPrefix(text, "/*"); wrapped != (kind == "application/javascript") ||
			wrapped && !strings.HasSuffix(text, ");\n") {
			t.Errorf("%s: %s %q", path, kind, text)
		}
	}
}

// TestFunctions_Responses: what functions return is taken and refused as CouchDB 3.5 does.
func TestFunctions_Responses(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/a", `{"n":1}`)
	const invalid, missing = "500 external_response_error", "404 not_found"
	shows, updates := map[string]string{}, map[string]string{}
	cases := []struct{ returns, some, none string }{ // with a document that is there, and one that is not
		{`return {code: '201', body: 'x'}`, "201 x", "201 x"},
		{`return {code: '2x', body: 'x'}`, invalid, invalid},
		{`return {code: 201.5, body: 'x'}`, invalid, invalid},
		{`return {body: ['a', ['b', 67], []]}`, "200 abC", "200 abC"},
		{`return {body: ['a', 256]}`, invalid, invalid},
		{`return {body: {}}`, invalid, invalid},
		{`var l = ['a']; for (var i = 0; i < 100; i++) l = [l]; return {body: l}`, invalid, invalid},
		{`return new Date(0)`, invalid, invalid},
		{`return new String('x')`, invalid, invalid},
		{`return {toJSON: function () { return 5 }}`, invalid, invalid},
		{`return {stop: false, body: 'x'}`, invalid, invalid},
		{`return {stop: true, body: 'x'}`, "200 x", "200 x"},
		{`return {'': 1, body: 'x'}`, invalid, invalid},
		{`return 5`, "500 render_error", missing},
		{`return function () {}`, "500 render_error", missing},
		{`throw 'x'`, "500 render_error", missing},
		{`return {body: String(d.n)}`, "200 1", missing},
		{`send(null)`, "500 render_error", missing},
		{`provides('html', function () { return 'x' }); return {}`, "406 not_acceptable", missing},
	}
	for i, c := range cases {
		shows[fmt.Sprint(i)] = `function (d, r) { ` + c.returns + ` }`
		updates[fmt.Sprint(i)] = `function (d, r) { return [null, (function () { ` + c.returns + ` })()] }`
	}
	design, err := json.Marshal(map[string]any{"shows": shows, "updates": updates})
	if err != nil {
		t.Fatal(err)
	}
	s.must(t, "PUT", "/db/_design/d", string(design))
	check := func(method, path, want string) {
		a := s.ask(t, method, path, "", "Accept", "image/png")
		got := fmt.Sprint(a.status, " ", a.body)
		if a.status >= 400 {
			got = fmt.Sprint(a.status, " ", a.error)
		}
		if got != want {
			t.Errorf("%s %s: %s, not %s", method, path, got, want)
		}
	}
	for i, c := range cases {
		path := fmt.Sprintf("/db/_design/d/_show/%d/", i)
		check("GET", path+"a", c.some)
		check("GET", path+"other", c.none)
		if c.some == invalid { // and of update functions too, but these write what they return
			check("PUT", fmt.Sprintf("/db/_design/d/_update/%d/a", i), invalid)
		}
	}
}

// TestFunctions_Revisions: validation functions and filters see _revisions as in CouchDB 3.5: the revision that an edit
// names, at most 20 of the old one's history, and only the revision itself in filters.
func TestFunctions_Revisions(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	edit, rev := `{}`, ""
	for range 25 {
		var written struct{ Rev string }
		if err := json.Unmarshal([]byte(s.must(t, "PUT", "/db/long", edit)), &written); err != nil {
			t.Fatal(err)
		}
		rev = written.Rev
		edit = `{"_rev":"` + rev + `"}`
	}
	s.must(t, "POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[
		{"_id":"c","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]}},
		{"_id":"c","_rev":"2-z","_revisions":{"start":2,"ids":["z","a"]}}]}`)
	s.must(t, "PUT", "/db/_design/f", `{"filters":{"f":"function (d) { return d._revisions.start == parseInt(d._rev) `+
		`&& d._revisions.ids.join() == d._rev.split('-')[1] && !d._conflicts }"},
		"views":{"v":{"map":"function (d) { if (d._revisions.ids.length == 1) emit(1) }"}},
		"shows":{"s":"function (d) { return String(d._revisions.ids.length) }"}}`)
	for _, query := range []string{"filter=f/f", "filter=_view&view=f/v"} {
		all := s.must(t, "GET", "/db/_changes?style=all_docs&"+query, "")
		if strings.Count(all, `"id":`) != 3 || !strings.Contains(all, `"changes":[{"rev":"3-c"},{"rev":"2-z"}]`) {
			t.Errorf("%s: %s", query, all)
		}
	}
	if all := s.must(t, "GET", "/db/_changes?filter=f/f&include_docs=true", ""); strings.Contains(all, `"_revisions"`) {
		t.Error("what the filter sees is shown:", all)
	}
	if n := s.must(t, "GET", "/db/_design/f/_show/s/long", ""); n != "20" {
		t.Error("a show function sees revisions:", n)
	}
	s.must(t, "PUT", "/db/_design/v", `{"validate_doc_update":"function (n, o) { throw {forbidden: `+
		`JSON.stringify([n._revisions, o && o._revisions])} }"}`)
	refused := func(method, path, body, want string) {
		t.Helper()
		a := s.ask(t, method, path, body)
		if reason := fmt.Sprintf(`"reason":%q`, want); !strings.Contains(a.body, reason) {
			t.Errorf("%s %s %s: %s, not %s", method, path, body, a.body, want)
		}
	}
	refused("PUT", "/db/new", `{}`, `[null,null]`)
	const stored = `{"start":3,"ids":["c","b","a"]}`
	refused("PUT", "/db/c", `{"_rev":"3-c"}`, `[{"start":3,"ids":["c"]},`+stored+`]`)
	refused("DELETE", "/db/c?rev=3-c", ``, `[{"start":3,"ids":["c"]},`+stored+`]`)
	refused("PUT", "/db/c", `{"_rev":"2-z"}`, `[{"start":2,"ids":["z"]},{"start":2,"ids":["z","a"]}]`)
	for edit, want := range map[string]string{
		`{"_rev":"4-d","_revisions":{"start":4,"ids":["d","c"]}}`:         stored,
		`{"_rev":"3-x","_revisions":{"start":3,"ids":["x","b","a"]}}`:     "null", // 2-b was never here
		`{"_rev":"4-y","_revisions":{"start":4,"ids":["y","x","w","v"]}}`: "null",
	} {
		edit = `{"_id":"c",` + edit[1:]
		refused("POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[`+edit+`]}`,
			`[`+edit[strings.Index(edit, `{"start"`):len(edit)-1]+`,`+want+`]`)
	}
	a := s.ask(t, "PUT", "/db/long?rev="+rev, `{}`)
	var seen []struct {
		Start int
		IDs   []string
	}
	if err := json.Unmarshal([]byte(a.reason), &seen); err != nil || len(seen) != 2 || seen[1].Start != 25 ||
		len(seen[1].IDs) != 20 {
		t.Error("the old revision of 25:", a.reason, err)
	}
}

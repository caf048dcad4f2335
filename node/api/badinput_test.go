package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// asked is a response.
type asked struct {
	status        int
	error, reason string
	body          string
}

func (s *server) ask(t *testing.T, method, path, body string, header ...string) asked {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var fault struct{ Error, Reason string }
	_ = json.Unmarshal(text, &fault) // the body may be a list, or no error
	return asked{res.StatusCode, fault.Error, fault.Reason, string(text)}
}

// member returns the value of a member of a response, which must be a success.
func (s *server) member(t *testing.T, member, method, path, body string) string {
	t.Helper()
	a := s.ask(t, method, path, body)
	if a.status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	var m map[string]any
	_ = json.Unmarshal([]byte(a.body), &m) // no member is wanted of a body that is not an object
	text, _ := m[member].(string)
	return text
}

// state is everything that HTTP shows of a database.
func (s *server) state(t *testing.T, db string) string {
	t.Helper()
	var b strings.Builder
	for _, part := range []string{
		"", "/_changes?style=all_docs&include_docs=true&conflicts=true", "/_all_docs", "/_local_docs?include_docs=true",
		"/_security", "/_revs_limit",
		"/_purged_infos", "/_purged_infos_limit", "/_changes/_meta", "/doc?open_revs=all&revs=true&attachments=true",
		"/stemmed?open_revs=all&revs=true",
	} {
		fmt.Fprintln(&b, part, s.ask(t, "GET", "/"+db+part, "").body)
	}
	b.WriteString(s.ask(t, "GET", "/_all_dbs", "").body)
	return b.String()
}

// Every wrong input gets a 4xx response in CouchDB's form, and changes nothing, not even the sequence.
func TestBadInput(t *testing.T) {
	s := serve(t, nil)
	s.member(t, "", "PUT", "/db?changes_shards=2", "")
	s.member(t, "", "PUT", "/other", "")
	first := s.member(t, "rev", "PUT", "/db/doc", `{"v":1}`)
	gone := s.member(t, "rev", "PUT", "/db/gone", `{}`)
	s.member(t, "", "POST", "/db/_purge", `{"gone":["`+gone+`"]}`)
	s.member(t, "", "PUT", "/db/_revs_limit", "2")
	stemmed := s.member(t, "rev", "PUT", "/db/stemmed", `{}`)
	for rev := stemmed; ; {
		if rev = s.member(t, "rev", "PUT", "/db/stemmed", `{"_rev":"`+rev+`"}`); rev[0] == '4' {
			break
		}
	}
	last := s.member(t, "update_seq", "GET", "/db", "")
	s.member(t, "", "PUT", "/other/x", `{}`)
	foreign := s.member(t, "update_seq", "GET", "/other", "") // a later sequence of the same store
	incarnation := "1501" + last[2:]
	before := s.state(t, "db")
	long := strings.Repeat("x", 513)

	type input struct {
		name, method, path, body string
		status                   int
		error, reason            string
		header                   []string
	}
	var inputs []input
	add := func(name, method, path, body string, status int, err, reason string, header ...string) {
		inputs = append(inputs, input{name, method, path, body, status, err, reason, header})
	}
	for name, since := range map[string]string{
		"words": "abc", "CouchDB's": "12-g1AAAACbeJzLYWBgYMpgTmHgzcvPy09JdcjLz8gvLskBCScyJNX___8_K4M5MRcowG5kYpFqYGSKTQNOI", "a number": "5", "minus": "-1",
		"empty": "", "capitals": strings.ToUpper(last[:len(last)-2]) + "AA", "too short": last[:24], "too long": last +
			"00", "odd": last + "0", "null": "null",
		"of another database": foreign, "of the future": "14ffffffffffffffff00000000",
		"of a future incarnation": incarnation, "of a far incarnation": "16ffff" + last[2:],
	} {
		reason := "since"
		for _, feed := range []string{"normal", "longpoll", "continuous", "eventsource"} {
			add("since: "+name+", "+feed, "GET", "/db/_changes?feed="+feed+"&timeout=1&since="+since, "", 400,
				"bad_request", reason)
		}
		add("since: "+name+", of a shard", "GET", "/db/_changes/1?since="+since, "", 400, "bad_request", reason)
		add("since: "+name+", posted", "POST", "/db/_changes?since="+since, `{}`, 400, "bad_request", reason)
		if since != "" {
			add("Last-Event-ID: "+name, "GET", "/db/_changes?feed=eventsource&timeout=1", "", 400, "bad_request",
				reason, "Last-Event-ID", since)
		}
		add("since: "+name+", of the topology", "GET", "/db/_changes/_meta?since="+since, "", 400, "bad_request",
			reason)
	}
	for _, shard := range []string{"3", "0", "-1", "01", "x", "%00", strings.Repeat("9", 300)} {
		add("the shard "+shard, "GET", "/db/_changes/"+shard, "", 404, "not_found", "")
		add("the shard "+shard+", continuous", "GET", "/db/_changes/"+shard+"?feed=continuous&timeout=1", "", 404,
			"not_found", "")
	}
	for _, count := range []string{"0", "-1", "65", "1e9", "99999999999999999999", `"2"`, "1.5", "null", "true", "[]"} {
		add("reshard to "+count, "POST", "/db/_changes/_reshard", `{"shard_count":`+count+`}`, 400, "bad_request", "")
		add("create with "+count, "PUT", "/new?changes_shards="+strings.Trim(count, `"`)+"x", "", 400, "bad_request",
			"")
	}
	for _, count := range []string{"0", "-1", "65", "1.5", "", "x"} {
		add("create with "+count, "PUT", "/new?changes_shards="+count, "", 400, "bad_request", "")
	}
	add("reshard to nothing", "POST", "/db/_changes/_reshard", `{}`, 400, "bad_request", "")
	add("reshard by a list", "POST", "/db/_changes/_reshard", `[3]`, 400, "bad_request", "")
	add("reshard by no JSON", "POST", "/db/_changes/_reshard", `{`, 400, "bad_request", "")
	add("reshard as text", "POST", "/db/_changes/_reshard", `{"shard_count":3}`, 415, "bad_content_type", "",
		"Content-Type", "text/plain")
	add("reshard nothing", "POST", "/none/_changes/_reshard", `{"shard_count":3}`, 404, "not_found",
		"Database does not exist.")

	for name, rev := range map[string]string{"purged": gone, "stemmed": stemmed,
		"replaced": "1-" + strings.Repeat("0", 32)} {
		id := map[string]string{"purged": "gone", "stemmed": "stemmed", "replaced": "doc"}[name]
		add("a "+name+" parent", "PUT", "/db/"+id, `{"_rev":"`+rev+`"}`, 409, "conflict", "Document update conflict.")
		add("a "+name+" parent, by If-Match", "PUT", "/db/"+id, `{}`, 409, "conflict", "Document update conflict.",
			"If-Match", `"`+rev+`"`)
		if name != "stemmed" { // the body exists until compaction
			add("a "+name+" parent of an attachment", "PUT", "/db/"+id+"/a?rev="+rev, `x`, 409, "not_found",
				"missing_rev")
			add("read a "+name+" revision", "GET", "/db/"+id+"?rev="+rev, "", 404, "not_found", "missing")
		}
	}
	add("delete a purged revision", "DELETE", "/db/gone?rev="+gone, "", 404, "not_found", "missing")
	add("a stemmed parent of an attachment", "PUT", "/db/stemmed/a?rev="+stemmed, `x`, 409, "conflict",
		"Document update conflict.")
	add("delete a stemmed revision", "DELETE", "/db/stemmed?rev="+stemmed, "", 409, "conflict",
		"Document update conflict.")

	for _, n := range []string{"4001", "0", "-1", "1.5", `"7"`, "null", "[]", "99999999999999999999", ""} {
		add("_revs_limit of "+n, "PUT", "/db/_revs_limit", n, 400, "bad_request", "")
		add("_purged_infos_limit of "+n, "PUT", "/db/_purged_infos_limit", strings.Replace(n, "4001", "x", 1), 400,
			"bad_request", "")
	}

	for _, rev := range []string{"x", "1", "-abc", "-1-abc", "x-1", "1.5-abc", "99999999999999999999-abc", " 1-abc",
		"٣-abc"} {
		quoted := strings.ReplaceAll(rev, " ", "%20")
		add("the revision "+rev, "GET", "/db/doc?rev="+quoted, "", 400, "bad_request", "Invalid rev format")
		add("the parent "+rev, "PUT", "/db/doc", `{"_rev":"`+rev+`"}`, 400, "bad_request", "Invalid rev format")
		add("the parent "+rev+" in the query", "PUT", "/db/doc?rev="+quoted, `{}`, 400, "bad_request",
			"Invalid rev format")
		add("the deleted "+rev, "DELETE", "/db/doc?rev="+quoted, "", 400, "bad_request", "Invalid rev format")
		add("open_revs "+rev, "GET", `/db/doc?open_revs=["`+quoted+`"]`, "", 400, "bad_request", "Invalid rev format")
		add("_revs_diff "+rev, "POST", "/db/_revs_diff", `{"doc":["`+rev+`"]}`, 400, "bad_request",
			"Invalid rev format")
		add("_missing_revs "+rev, "POST", "/db/_missing_revs", `{"doc":["`+rev+`"]}`, 400, "bad_request",
			"Invalid rev format")
		add("_purge "+rev, "POST", "/db/_purge", `{"doc":["`+rev+`"]}`, 400, "bad_request", "Invalid rev format")
		add("an attachment of "+rev, "PUT", "/db/doc/a?rev="+quoted, `x`, 400, "bad_request", "Invalid rev format")
		add("a copy over "+rev, "COPY", "/db/doc", "", 400, "bad_request", "Invalid rev format", "Destination",
			"copy?rev="+quoted)
		add("replicated "+rev, "PUT", "/db/doc?new_edits=false", `{"_rev":"`+rev+`"}`, 400, "bad_request",
			"Invalid rev format")
	}

	for name, body := range map[string]string{
		"no start": `{"ids":["a"]}`, "start below the ids": `{"start":1,"ids":["b","a"]}`,
		"no ids": `{"start":1,"ids":[]}`, "ids of numbers": `{"start":1,"ids":[1]}`,
		"a list": `[]`, "start zero": `{"start":0,"ids":["a"]}`,
	} {
		a := s.ask(t, "PUT", "/db/doc?new_edits=false", `{"_revisions":`+body+`}`)
		if a.status/100 != 4 || a.error == "" {
			t.Errorf("_revisions with %s: %d %s", name, a.status, a.body)
		}
	}

	add("an id of 513 bytes", "PUT", "/db/"+long, `{}`, 400, "illegal_docid", "Document id is too long")
	add("an id of 513 bytes, posted", "POST", "/db", `{"_id":"`+long+`"}`, 400, "illegal_docid",
		"Document id is too long")
	add("an id of 513 bytes among others", "POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"`+long+`"}]}`, 400,
		"illegal_docid", "Document id is too long")
	add("an id of 513 bytes, replicated", "PUT", "/db/"+long+"?new_edits=false", `{"_rev":"1-a"}`, 400, "illegal_docid",
		"Document id is too long")
	add("an id of 513 bytes with an attachment", "PUT", "/db/"+long+"/a", `x`, 400, "illegal_docid",
		"Document id is too long")
	add("an id of 513 bytes as the destination", "COPY", "/db/doc?rev="+first, "", 400, "illegal_docid",
		"Document id is too long", "Destination", long)
	add("a _local id of 513 bytes", "PUT", "/db/_local/"+long, `{}`, 400, "illegal_docid", "Document id is too long")
	add("a _design id of 513 bytes", "PUT", "/db/_design/"+long, `{}`, 400, "illegal_docid", "Document id is too long")

	add("an attachment with a wrong Content-MD5", "PUT", "/db/new/a", `hello`, 400, "content_md5_mismatch",
		"Possible message corruption.", "Content-MD5", "N7Wa/VknJfkwXkhKXX9RaA==")
	add("an attachment with an invalid Content-MD5", "PUT", "/db/new/a", `hello`, 400, "content_md5_mismatch", "",
		"Content-MD5", "?")
	related := []string{"Content-Type", "multipart/related; boundary=b"}
	parts := func(announced, data string) string {
		return "--b\r\nContent-Type: application/json\r\n\r\n" +
			`{"_attachments":{"a":{"follows":true,"content_type":"text/plain",` + announced + "}}}\r\n--b\r\n\r\n" +
			data + "\r\n--b--"
	}
	add("a part shorter than announced", "PUT", "/db/new", parts(`"length":9`, "hello"), 400, "bad_request",
		"attachment shorter than expected", related...)
	add("a part longer than announced", "PUT", "/db/new", parts(`"length":2`, "hello"), 400, "bad_request",
		"attachment longer than expected", related...)
	add("a part with a wrong digest", "PUT", "/db/new",
		parts(`"length":5,"digest":"md5-N7Wa/VknJfkwXkhKXX9RaA=="`,
			"hello"), 400, "content_md5_mismatch", "Possible message corruption.", related...)
	add("a missing part", "PUT", "/db/new",
		"--b\r\nContent-Type: application/json\r\n\r\n"+`{"_attachments":{"a":{"follows":true,"length":5}}}`+
			"\r\n--b--", 400, "bad_request", "", related...)
	add("an interrupted part", "PUT", "/db/new", strings.TrimSuffix(parts(`"length":5`, "hello"), "\r\n--b--"), 400,
		"bad_request", "", related...)
	add("a stub without an attachment", "PUT", "/db/new", `{"_attachments":{"a":{"stub":true}}}`, 412, "missing_stub",
		"Invalid attachment stub in new for a")
	add("a stub with another digest", "PUT", "/db/doc?rev="+first,
		`{"_attachments":{"a":{"stub":true,"digest":"md5-N7Wa/VknJfkwXkhKXX9RaA=="}}}`, 412, "missing_stub", "")
	add("too many documents to purge", "POST", "/db/_purge", purgeOf(101, 1), 400, "bad_request",
		"Exceeded maximum number of documents.")
	add("too many revisions to purge", "POST", "/db/_purge", purgeOf(2, 501), 400, "bad_request",
		"Exceeded maximum number of revisions.")

	for _, in := range inputs {
		a := s.ask(t, in.method, in.path, in.body, in.header...)
		if a.status != in.status || a.error != in.error || !strings.Contains(a.reason, in.reason) {
			t.Errorf("%s: got %d %.200s, want %d %s %q", in.name, a.status, a.body, in.status, in.error, in.reason)
		}
	}
	if after := s.state(t, "db"); after != before {
		t.Errorf("the database was\n%s\nand is now\n%s", before, after)
	}
}

// purgeOf returns a body with this many documents, and revisions of each.
func purgeOf(docs, revs int) string {
	list := strings.TrimSuffix(strings.Repeat(`"1-a",`, revs), ",")
	members := make([]string, docs)
	for i := range members {
		members[i] = fmt.Sprintf(`"%d":[%s]`, i, list)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// An attachment that ends before its declared length is not written, and a client that still listens gets an error.
func TestBadInput_brokenOff(t *testing.T) {
	s := serve(t, nil)
	s.member(t, "", "PUT", "/db", "")
	before := s.state(t, "db")
	for name, request := range map[string]string{
		"with a length": "PUT /db/new/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello",
		"in chunks":     "PUT /db/new/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhello",
		"a document":    "PUT /db/new HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}",
		"a bulk": "POST /db/_bulk_docs HTTP/1.1\r\nHost: x\r\nContent-Type: " +
			"application/json\r\nContent-Length: 100\r\n\r\n{\"docs\":[{\"_id\":\"a\"}]}",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != 400 {
				t.Errorf("%s: %d %s", name, res.StatusCode, text)
			}
		}
		conn.Close()
	}
	if after := s.state(t, "db"); after != before {
		t.Errorf("the database was\n%s\nand is now\n%s", before, after)
	}
}

// Each reshard of a database that is deleted and created again at the same time succeeds or finds no database.
func TestBadInput_reshardDeleted(t *testing.T) {
	s := serve(t, nil)
	for range 5 {
		s.member(t, "", "PUT", "/db", "")
		var reshards sync.WaitGroup
		for i := range 8 {
			reshards.Go(func() {
				for range 5 {
					a := s.ask(t, "POST", "/db/_changes/_reshard", fmt.Sprintf(`{"shard_count":%d}`, i+1))
					if a.status != 200 && (a.status != 404 || a.error != "not_found") {
						t.Errorf("%d %s", a.status, a.body)
					}
				}
			})
		}
		s.member(t, "", "DELETE", "/db", "")
		reshards.Wait()
		if a := s.ask(t, "GET", "/db", ""); a.status != 404 {
			t.Errorf("the database exists again: %d %s", a.status, a.body)
		}
	}
}

// Invalid chunks are the client's fault.
func TestBadInput_chunks(t *testing.T) {
	s := serve(t, nil)
	s.member(t, "", "PUT", "/db", "")
	before := s.state(t, "db")
	for _, path := range []string{"PUT /db/new/a", "PUT /db/new", "POST /db/_bulk_docs", "POST /new/_import",
		"PUT /db/_revs_limit"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, path+" HTTP/1.1\r\nHost: x\r\nContent-Type: "+
			"application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(path, err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		conn.Close()
		if res.StatusCode != 400 {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
	if after := s.state(t, "db"); after != before {
		t.Errorf("the database was\n%s\nand is now\n%s", before, after)
	}
}

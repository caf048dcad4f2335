package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScripts runs the conversations in testdata. If DIVAN_TEST_COUCHDB is the address of a CouchDB 3.5, with an
// admin's name and password in it, the same scripts also run against that server, since they expect what CouchDB
// answers.
//
// A script is lines:
//
//	# why this is worth a test
//	PUT /{db}/a            a request; {db} is a database of the script's own, {host} the host and port
//	Name: value            its headers
//	| {"x":1}              its body, line by line (joined by line breaks; "|gzip " compresses, "|crlf " joins by CRLF)
//	< 201                  the status expected
//	< Etag: "<r1>"         a header expected (absent: "< Etag: -")
//	< {"rev":"<r1>"}       the body expected; no such line: any body
//	! couchdb              the step is for Divan alone
//
// <name> in an expectation matches anything up to a quote and remembers it. Later, also in requests, it stands for that
// text. <...> matches anything.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	couch := os.Getenv("DIVAN_TEST_COUCHDB")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			if raceDetector && name == "bad_views" {
				t.Skip("functions reach their time limits")
			}
			runScript(t, file, serve(t, nil).URL, "scripted", false)
		})
		if couch != "" {
			t.Run(name+"/couchdb", func(t *testing.T) {
				runScript(t, file, couch, fmt.Sprintf("divan-test-%s-%d", name, os.Getpid()), true)
			})
		}
	}
}

// step is one request of a script and the expected response.
type step struct {
	line         int
	method, path string
	header       http.Header
	body         [][]byte
	sep          string
	gzip         bool
	status       string
	wantHeader   [][2]string
	wantBody     []string
	divanOnly    bool
}

func parseScript(t *testing.T, file string) (steps []step) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s *step
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '|':
			for {
				word, rest, _ := strings.Cut(line[1:], " ")
				if word == "" {
					s.body = append(s.body, []byte(rest))
					break
				}
				if word == "crlf" {
					s.sep = "\r\n"
				}
				s.gzip = s.gzip || word == "gzip"
				line = "| " + rest
			}
		case line[0] == '!':
			s.divanOnly = true
		case strings.HasPrefix(line, "< "):
			want := line[2:]
			if s.status == "" {
				s.status = want
			} else if name, value, ok := strings.Cut(want,
				": "); ok && len(s.wantBody) == 0 && headerName.MatchString(name) {
				s.wantHeader = append(s.wantHeader, [2]string{name, value})
			} else {
				s.wantBody = append(s.wantBody, want)
			}
		default:
			if method, path, ok := strings.Cut(line, " "); ok && strings.ToUpper(method) == method &&
				!strings.HasSuffix(method, ":") {
				steps = append(steps, step{line: n, method: method, path: path, header: http.Header{}, sep: "\n"})
				s = &steps[len(steps)-1]
				continue
			}
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				t.Fatalf("%s:%d: cannot parse %q", file, n, line)
			}
			s.header.Add(name, strings.TrimSpace(value))
		}
	}
	return steps
}

var headerName = regexp.MustCompile(`^[A-Z][A-Za-z0-9-]*$`)

func runScript(t *testing.T, file, base, db string, couch bool) {
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"{db}": db, "{host}": target.Host}
	send := func(method, path string, header http.Header, body []byte) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, target.Scheme+"://"+target.Host+"/",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body == nil {
			req.Body, req.ContentLength = nil, 0
		}
		req.URL.Opaque = "//" + target.Host + path
		req.Header = header
		if user := target.User; user != nil && header.Get("Authorization") == "" {
			password, _ := user.Password()
			req.SetBasicAuth(user.Username(), password)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatalf("%s %s: reading the body: %v", method, path, err)
		}
		return res, text
	}
	send("PUT", "/"+db, http.Header{}, nil)
	t.Cleanup(func() { // the test's own context has ended
		if couch {
			req, _ := http.NewRequest(http.MethodDelete, base+"/"+db, nil) //nolint:noctx // as above
			if res, err := client.Do(req); err == nil {
				res.Body.Close()
			}
		}
	})
	for _, s := range parseScript(t, file) {
		if s.divanOnly && couch {
			continue
		}
		for name := range s.header {
			for i := range s.header[name] {
				s.header[name][i] = replaceVars(s.header[name][i], vars)
			}
		}
		var body []byte
		if s.body != nil {
			body = []byte(replaceVars(string(bytes.Join(s.body, []byte(s.sep))), vars))
		}
		if s.gzip {
			body = gzipped(body)
		}
		res, got := send(s.method, replaceVars(s.path, vars), s.header, body)
		where := fmt.Sprintf("%s:%d: %s %s", file, s.line, s.method, s.path)
		if status := fmt.Sprint(res.StatusCode); status != s.status {
			t.Fatalf("%s: status %s, want %s\n%s", where, status, s.status, got)
		}
		for _, h := range s.wantHeader {
			have := res.Header.Get(h[0])
			if h[1] == "-" {
				if have != "" {
					t.Errorf("%s: header %s is %q", where, h[0], have)
				}
			} else if !matchText(have, h[1], vars) {
				t.Errorf("%s: header %s\n got %q\nwant %q", where, h[0], have, h[1])
			}
		}
		if s.wantBody == nil {
			continue
		}
		have := strings.TrimRight(strings.ReplaceAll(string(got), "\r\n", "\n"), "\n")
		want := strings.TrimRight(strings.Join(s.wantBody, "\n"), "\n")
		if !matchText(have, want, vars) {
			t.Errorf("%s\n got %s\nwant %s", where, have, replaceVars(want, vars))
		}
	}
}

// client follows no redirects and does not request compression.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true},
}

var placeholder = regexp.MustCompile(`<[a-zA-Z0-9.]+>`)

func replaceVars(s string, vars map[string]string) string {
	s = strings.NewReplacer("{db}", vars["{db}"], "{host}", vars["{host}"]).Replace(s)
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		if v, ok := vars[p]; ok {
			return v
		}
		return p
	})
}

// matchText compares with placeholders and remembers what they match.
func matchText(have, want string, vars map[string]string) bool {
	want = replaceVars(want, vars)
	pattern := "(?s)^"
	var names []string
	for {
		at := placeholder.FindStringIndex(want)
		if at == nil {
			break
		}
		pattern += regexp.QuoteMeta(want[:at[0]])
		if name := want[at[0]:at[1]]; name == "<...>" {
			pattern += "(.*?)"
			names = append(names, "")
		} else {
			pattern += `([^"]+)`
			names = append(names, name)
		}
		want = want[at[1]:]
	}
	pattern += regexp.QuoteMeta(want) + "$"
	found := regexp.MustCompile(pattern).FindStringSubmatch(have)
	if found == nil {
		return false
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		if v, ok := vars[name]; ok && v != found[i+1] {
			return false
		}
		vars[name] = found[i+1]
	}
	return true
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}

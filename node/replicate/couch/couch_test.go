package couch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
	"github.com/divandb/divan/node/replicate/spec"
)

const password = "ge%2Fheim"

// open returns the database db of a server, for the user anna.
func open(t *testing.T, s *httptest.Server, change func(*couch.Options)) *couch.Database {
	t.Helper()
	d := spec.Standard()
	url := strings.Replace(s.URL, "://", "://anna:"+password+"@", 1) + "/db"
	parsed, err := d.Parse([]byte(`{"source":"` + url + `","target":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o := couch.Options{Transport: transport, Timeout: 200 * time.Millisecond, Retries: 2}
	if change != nil {
		change(&o)
	}
	db, err := couch.Open(&parsed.Source, o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// checkSecret fails if a text has the password.
func checkSecret(t *testing.T, err error) {
	t.Helper()
	if err != nil && (strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "ge/heim")) {
		t.Errorf("the error has the password: %v", err)
	}
}

// A request keeps the endpoint's own query, and an error shows where it went without the values of that.
func TestDatabase_query(t *testing.T) {
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		w.WriteHeader(http.StatusTeapot)
	}))
	defer s.Close()
	d := spec.Standard()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, path := range []string{"/db/", "/db"} {
		parsed, err := d.Parse([]byte(`{"source":"` + s.URL + path + `?token=SECRET","target":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		db, err := couch.Open(&parsed.Source, couch.Options{Transport: transport, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Document(t.Context(), "a")
		want := "GET " + s.URL + "/db/a?token=*****: status 418"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if got := <-asked; !strings.HasPrefix(got, "/db/a?token=SECRET") {
			t.Errorf("asked for %q", got)
		}
	}
}

// Every way in which a server can misbehave ends a request in time, with an error that says so, or is got over.
func TestDatabase_badServers(t *testing.T) {
	cases := []struct {
		name   string
		serve  func(n int64, w http.ResponseWriter, r *http.Request)
		works  bool
		reason string
	}{
		{"500 at first", func(n int64, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				w.WriteHeader(500)
				return
			}
			fmt.Fprint(w, `{"update_seq":1,"instance_start_time":"0"}`)
		}, true, ""},
		{"always 503", func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprint(w, `{"error":"busy","reason":"later"}`)
		}, false, "status 503, busy: later"},
		{"silent", func(_ int64, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, "silent"},
		{"silent within the answer", func(_ int64, w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"update_seq":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, false, "silent"},
		{"half a body", func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"update_seq":1,`)
			panic(http.ErrAbortHandler)
		}, false, "closed before"},
		{"half a body at first", func(n int64, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				fmt.Fprint(w, `{"update_seq":1,`)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			fmt.Fprint(w, `{"update_seq":1,"instance_start_time":"0"}`)
		}, true, ""},
		{"not there", func(_ int64, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, false,
			"db_not_found: could not open http"},
		{"another kind of server", func(_ int64, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"hello":"world"}`)
		}, false, "db_not_found"},
		{"wrong password", func(_ int64, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, false,
			"unauthorized to access"},
		{"redirected for ever", func(_ int64, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusFound)
		}, false, "10 redirects"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, pass, _ := r.BasicAuth(); user != "anna" || pass != "ge/heim" {
					t.Errorf("credentials %q %q", user, pass)
				}
				c.serve(n.Add(1), w, r)
			}))
			defer s.Close()
			_, err := open(t, s, nil).Info(t.Context())
			checkSecret(t, err)
			switch {
			case c.works && err != nil:
				t.Error(err)
			case !c.works && (err == nil || !strings.Contains(err.Error(), c.reason)):
				t.Errorf("%v, want %q", err, c.reason)
			}
		})
	}
}

func TestDatabase_refusedConnection(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	db := open(t, s, nil)
	s.Close()
	_, err := db.Info(t.Context())
	checkSecret(t, err)
	var e *couch.Error
	if !errors.As(err, &e) || !e.Transient() || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestDatabase_wrongCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = nil
	_, err := open(t, s, func(o *couch.Options) { o.Retries, o.Timeout = 0, time.Minute }).Info(t.Context())
	checkSecret(t, err)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}

// The password is sent once; a cookie that expires is renewed.
func TestDatabase_session(t *testing.T) {
	var logins atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_session" {
			var sent struct{ Name, Password string }
			_ = json.NewDecoder(r.Body).Decode(&sent)
			if sent.Name != "anna" || sent.Password != "ge/heim" {
				t.Errorf("logged in with %+v", sent)
			}
			http.SetCookie(w, &http.Cookie{Name: "AuthSession", Value: fmt.Sprint("c", logins.Add(1))})
			return
		}
		c, err := r.Cookie("AuthSession")
		if err != nil || r.Header.Get("Authorization") != "" {
			t.Errorf("cookie %v, Authorization %q", err, r.Header.Get("Authorization"))
		}
		if c.Value != fmt.Sprint("c", logins.Load()) {
			t.Errorf("cookie %s after %d logins", c.Value, logins.Load())
		}
		fmt.Fprint(w, `{"update_seq":1,"instance_start_time":"0"}`)
	}))
	defer s.Close()
	db := open(t, s, func(o *couch.Options) { o.Sessions, o.SessionRefresh = true, time.Hour })
	for range 3 {
		if _, err := db.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if logins.Load() != 1 {
		t.Errorf("%d logins", logins.Load())
	}
}

// A feed whose server stops in the middle of a row is an error after the rows before it; nothing is made up.
func TestDatabase_Changes(t *testing.T) {
	cases := []struct {
		name, body string
		continuous bool
		ids, last  string
		fails      bool
	}{
		{"normal", `{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-x"},{"rev":"1-y"}]},
			{"seq":"2-b","id":"b","changes":[{"rev":"1-x"}],"deleted":true}],"last_seq":"9-z","pending":0}`, false,
			"a[1-x 1-y] b[1-x]deleted ", `"9-z"`, false},
		{"on one line", `{"last_seq":3,"results":[]}`, false, "", `3`, false},
		{"cut in a row", `{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-x"}]},{"seq":2,"id":"b","chan`, false,
			"a[1-x] ", "", true},
		{"no feed", `{"error":"x"}`, false, "", "", true},
		{"continuous", "{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-x\"}]}\n\n\n{\"last_seq\":7}\n", true,
			"a[1-x] ", "7", false},
		{"continuous, cut", "{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-x\"}]}\n{\"seq\":2,\"id\":", true,
			"a[1-x] ", "", true},
		{"continuous, ended", "{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-x\"}]}\n", true, "a[1-x] ", "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, c.body)
			}))
			defer s.Close()
			got := ""
			last, err := open(t, s, nil).Changes(t.Context(), couch.Feed{Continuous: c.continuous,
				Filter: &spec.Filter{}}, func(row *couch.Change) error {
				got += fmt.Sprint(row.ID, row.Revs)
				if row.Deleted {
					got += "deleted"
				}
				got += " "
				return nil
			})
			if got != c.ids || string(last) != c.last || (err != nil) != c.fails {
				t.Errorf("%q, last %s, %v", got, last, err)
			}
		})
	}
}

// An answer of _bulk_get that breaks off is continued with what is still missing.
func TestDatabase_BulkGet(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Docs []struct{ ID string } }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		fmt.Fprint(w, `{"results":[`)
		for i, doc := range asked.Docs {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			if i == 2 && n.Add(1) < 3 {
				fmt.Fprint(w, `{"id":"`)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, `{"id":%q,"docs":[{"ok":{"_id":%q}}]}`, doc.ID, doc.ID)
		}
		fmt.Fprint(w, "]}")
	}))
	defer s.Close()
	var wanted []couch.Missing
	want := ""
	for i := range 7 {
		wanted = append(wanted, couch.Missing{ID: fmt.Sprint("d", i), Rev: "1-x"})
		want += fmt.Sprintf(`%d{"_id":"d%d"} `, i, i)
	}
	got := ""
	err := open(t, s, nil).BulkGet(t.Context(), wanted, func(i int, doc []byte) error {
		got += fmt.Sprint(i, string(doc), " ")
		return nil
	})
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// An error of who consumes the answer of _bulk_get, such as of a target that cannot be written now, ends it: asking
// again would go on after the document that was not consumed.
func TestDatabase_bulkGetConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		db := openFunc(t, func(w http.ResponseWriter) {
			asked++
			fmt.Fprint(w, `{"results":[{"id":"a","docs":[{"ok":{"_id":"a"}}]},{"id":"b","docs":[{"ok":{"_id":"b"}}]}]}`)
		})
		target := &couch.Error{Method: "POST", URL: "target", Status: 503}
		err := db.BulkGet(t.Context(), []couch.Missing{{ID: "a", Rev: "1-x"}, {ID: "b", Rev: "1-x"}},
			func(i int, _ []byte) error {
				if i == 0 {
					return target
				}
				t.Errorf("document %d follows one that was not consumed", i)
				return nil
			})
		if !errors.Is(err, target) || asked != 1 {
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
}

// BulkGet tells servers that do not answer it from those that may answer later. Only what may pass is repeated.
func TestDatabase_noBulkGet(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		header string // Retry-After
		none   bool
		asked  int64
	}{
		{status: 401, none: true, asked: 1}, {status: 404, none: true, asked: 1}, {status: 500, none: true, asked: 3},
		{status: 502, none: true, asked: 3}, {status: 503, none: true, asked: 3},
		{body: `{}`, none: true, asked: 1}, {body: ``, none: true, asked: 1}, {body: `[]`, none: true, asked: 1},
		{body: `<html>`, none: true, asked: 1}, {body: `{"results":{}}`, none: true, asked: 1},
		{body: `{"results":[]}`, none: true, asked: 1}, {body: `{"results":[`, asked: 3},
		{status: 503, header: "20", asked: 5},
	} {
		t.Run(fmt.Sprint(c.status, c.body, c.header), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n int64
				db := openFunc(t, func(w http.ResponseWriter) {
					n++
					w.Header().Set("Retry-After", c.header)
					w.WriteHeader(max(c.status, 200))
					fmt.Fprint(w, c.body)
				})
				err := db.BulkGet(t.Context(), []couch.Missing{{ID: "a", Rev: "1-x"}}, func(int, []byte) error { return nil })
				if err == nil || couch.NoBulkGet(err) != c.none || n != c.asked {
					t.Errorf("asked %d times, %v", n, err)
				}
			})
		})
	}
}

// openFunc returns a database whose answers a function writes, without a network.
func openFunc(t *testing.T, answer func(w http.ResponseWriter)) *couch.Database {
	t.Helper()
	db, err := couch.Open(&spec.Endpoint{URL: "http://host/db/"}, couch.Options{Retries: 2, Timeout: time.Minute,
		Transport: answering(answer)})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

type answering func(w http.ResponseWriter)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f(w)
	return w.Result(), r.Body.Close()
}

// PouchDB's servers answer open_revs with JSON. Attachments are then read with it.
func TestDatabase_OpenRevs_inline(t *testing.T) {
	const data = `{"_id":"d","_rev":"1-a","_attachments":{"f":{"data":"aGVsbG8=","content_type":"text/plain"}}}`
	for _, c := range []struct{ name, media, answer, want, reason string }{
		{"JSON", "application/json", `[{"ok":` + data + `}]`, data, ""},
		{"text", "text/plain; charset=utf-8", `[{"ok":` + data + `},{"ok":{"_id":"d"}}]`, data + `{"_id":"d"}`, ""},
		{"missing", "application/json", `[{"missing":"1-a"}]`, "", "does not have the revision"},
		{"another server", "text/html", `<html>`, "", `"text/html", not multipart/mixed`},
		{"an object", "application/json", `{"_id":"d"}`, "", "not multipart/mixed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.media)
				answer := c.answer
				if r.Header.Get("Accept") == "multipart/mixed" || r.FormValue("attachments") != "true" {
					answer = strings.Replace(answer, `"data":"aGVsbG8="`, `"stub":true`, 1)
				}
				fmt.Fprint(w, answer)
			}))
			defer s.Close()
			got := ""
			err := open(t, s, nil).OpenRevs(t.Context(), "d", []string{"1-a"}, nil, func(doc *couch.Related) error {
				got += string(doc.JSON)
				return nil
			})
			if got != c.want || (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s, %v", got, err)
			}
			checkSecret(t, err)
		})
	}
}

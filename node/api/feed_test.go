package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/node/api"
)

// call sends a request with a JSON body and returns the status and the body.
func (s *server) call(t testing.TB, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// must is call for requests that must succeed.
func (s *server) must(t testing.TB, method, path, body string) string {
	t.Helper()
	status, text := s.call(t, method, path, body)
	if status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

// liveFeed is a feed that is read line by line.
type liveFeed struct {
	t     *testing.T
	lines chan string // closed at the end of the response
	end   func()
}

func (s *server) follow(t *testing.T, path string) *liveFeed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", path, res.StatusCode)
	}
	f := &liveFeed{t: t, lines: make(chan string, 1000), end: cancel}
	go func() {
		defer close(f.lines)
		defer res.Body.Close()
		for scanner := bufio.NewScanner(res.Body); scanner.Scan(); {
			f.lines <- scanner.Text()
		}
	}()
	return f
}

// next returns the next line; ok is false at the end of the feed.
func (f *liveFeed) next() (line string, ok bool) {
	f.t.Helper()
	select {
	case line, ok = <-f.lines:
		return line, ok
	case <-time.After(10 * time.Second):
		f.t.Fatal("no line came")
		return "", false
	}
}

// row returns the next line that is not a heartbeat.
func (f *liveFeed) row() (line string) {
	f.t.Helper()
	for ok := true; ok; {
		if line, ok = f.next(); line != "" {
			return line
		}
	}
	f.t.Fatal("the feed ended")
	return ""
}

func TestFeed_ContinuousShowsWritesAsTheyCome(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	f := s.follow(t, "/db/_changes?feed=continuous&since=now&heartbeat=30000")
	for i := range 20 {
		id := fmt.Sprintf("doc%02d", i)
		s.must(t, "PUT", "/db/"+id, "{}")
		if line := f.row(); !strings.Contains(line, `"id":"`+id+`"`) {
			t.Fatalf("after %s came %s", id, line)
		}
	}
}

func TestFeed_HeartbeatsKeepAWaitingFeedAlive(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	for feed, beat := range map[string]string{"continuous": "", "eventsource": "event: heartbeat"} {
		t.Run(feed, func(t *testing.T) {
			f := s.follow(t, "/db/_changes?since=now&heartbeat=20&timeout=1&feed="+feed)
			beats := 0
			for beats < 3 {
				line, ok := f.next()
				if !ok {
					t.Fatal("the feed ended although it has heartbeats")
				}
				if line == beat {
					beats++
				}
			}
		})
	}
}

func TestFeed_LongpollAnswersAtTheFirstWrite(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/before", "{}")
	f := s.follow(t, "/db/_changes?feed=longpoll&since=now")
	f.next() // the header and a line break show that the feed waits
	s.must(t, "PUT", "/db/after", "{}")
	var text strings.Builder
	for line, ok := f.next(); ok; line, ok = f.next() {
		text.WriteString(line)
	}
	if !strings.Contains(text.String(), `"id":"after"`) || strings.Contains(text.String(), "before") ||
		!strings.Contains(text.String(), `"pending":0`) {
		t.Fatal(text.String())
	}
}

func TestFeed_EndsWithLastSeqWhenTheServerCloses(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/a", "{}")
	f := s.follow(t, "/db/_changes?feed=continuous&heartbeat=30000")
	var row struct{ Seq, ID string }
	if err := json.Unmarshal([]byte(f.row()), &row); err != nil || row.ID != "a" {
		t.Fatal(row, err)
	}
	s.api.Close()
	if line := f.row(); line != `{"last_seq":"`+row.Seq+`","pending":0}` {
		t.Fatal(line)
	}
	if _, ok := f.next(); ok {
		t.Fatal("the feed did not end")
	}
}

func TestFeed_EndsWhenItsDatabaseIsDeleted(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	f := s.follow(t, "/db/_changes?feed=continuous&since=now&heartbeat=30000")
	s.must(t, "DELETE", "/db", "")
	s.must(t, "PUT", "/db", "") // a new database of the same name must not matter
	s.must(t, "PUT", "/db/new", "{}")
	if line := f.row(); !strings.HasPrefix(line, `{"last_seq":`) {
		t.Fatal(line)
	}
	if _, ok := f.next(); ok {
		t.Fatal("the feed did not end")
	}
}

// A merged feed continues across a reshard. A shard's feed says where to continue.
func TestFeed_Reshard(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	var meta struct{ Maps []struct{ Shards []string } }
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/_changes/_meta", "")), &meta); err != nil {
		t.Fatal(err)
	}
	all := s.follow(t, "/db/_changes?feed=continuous&heartbeat=30000")
	shard := s.follow(t, "/db/_changes/"+meta.Maps[0].Shards[0]+"?feed=continuous&heartbeat=30000")
	s.must(t, "PUT", "/db/a", "{}")
	for _, f := range []*liveFeed{all, shard} {
		if line := f.row(); !strings.Contains(line, `"id":"a"`) {
			t.Fatal(line)
		}
	}
	s.must(t, "POST", "/db/_changes/_reshard", `{"shard_count":3}`)
	if line := shard.row(); !strings.Contains(line, `"resharded":{"since":"`) {
		t.Fatal(line)
	}
	if _, ok := shard.next(); ok {
		t.Fatal("the replaced shard's feed did not end")
	}
	for i := range 10 {
		id := fmt.Sprintf("after%d", i)
		s.must(t, "PUT", "/db/"+id, "{}")
		if line := all.row(); !strings.Contains(line, `"id":"`+id+`"`) {
			t.Fatalf("after %s came %s", id, line)
		}
	}
}

func TestFeed_LimitEndsAContinuousFeed(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	f := s.follow(t, "/db/_changes?feed=continuous&limit=2&heartbeat=30000")
	for _, id := range []string{"a", "b", "c"} {
		s.must(t, "PUT", "/db/"+id, "{}")
	}
	if a, b := f.row(), f.row(); !strings.Contains(a, `"id":"a"`) || !strings.Contains(b, `"id":"b"`) {
		t.Fatal(a, b)
	}
	if line := f.row(); !strings.HasPrefix(line, `{"last_seq":`) {
		t.Fatal(line)
	}
}

// With a filter function, only rows that pass count towards the limit.
func TestFeed_LimitCountsWhatAFilterShows(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/d", `{"filters":{"odd":"function (doc) { return doc.n % 2 == 1 }"}}`)
	for i := range 10 {
		s.must(t, "PUT", fmt.Sprintf("/db/%d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	var first struct {
		Results []struct{ ID string }
		LastSeq string `json:"last_seq"`
	}
	read := func(query string) string {
		first.Results = nil
		text := s.must(t, "GET", "/db/_changes?filter=d/odd&limit=2"+query, "")
		if err := json.Unmarshal([]byte(text), &first); err != nil {
			t.Fatal(err)
		}
		ids := ""
		for _, r := range first.Results {
			ids += r.ID + " "
		}
		return ids
	}
	if ids := read(""); ids != "1 3 " {
		t.Fatal(ids)
	}
	if ids := read("&since=" + first.LastSeq); ids != "5 7 " {
		t.Fatal(ids)
	}
	if ids := read("&since=" + first.LastSeq); ids != "9 " {
		t.Fatal(ids)
	}
}

// A client that does not read is cut off. The handler does not wait for it forever.
func TestFeed_SlowClientIsCutOff(t *testing.T) {
	done := make(chan struct{}, 100)
	s := serveConns(t, api.ConnLimits{Write: 200 * time.Millisecond}, func(e *embedded.Engine) kv.Engine { return e },
		func(o *api.Options) {
			o.Observe = func(_ context.Context, r api.Observed) {
				if r.Method == http.MethodGet {
					done <- struct{}{}
				}
			}
		})
	s.must(t, "PUT", "/db", "")
	for i := range 40 { // more than the sockets' buffers
		s.must(t, "PUT", fmt.Sprintf("/db/%d", i), `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/db/_changes?include_docs=true", nil)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the handler still waits for its client")
	}
}

// A reshard of a database that is being deleted either succeeds before the deletion or finds no database. It does not
// bring the database back.
func TestReshard_OfADatabaseThatIsBeingDeleted(t *testing.T) {
	s := serve(t, nil)
	seen := map[int]int{}
	for range 30 {
		s.must(t, "PUT", "/db", "")
		s.must(t, "PUT", "/db/a", "{}")
		status := make(chan int)
		for range 3 {
			go func() {
				code, _ := s.call(t, "POST", "/db/_changes/_reshard", `{"shard_count":4}`)
				status <- code
			}()
		}
		s.must(t, "DELETE", "/db", "")
		for range 3 {
			code := <-status
			if seen[code]++; code != http.StatusOK && code != http.StatusNotFound {
				t.Fatalf("a reshard answers %d", code)
			}
		}
		if code, text := s.call(t, "GET", "/db", ""); code != http.StatusNotFound {
			t.Fatalf("the deleted database answers %d %s", code, text)
		}
		s.must(t, "PUT", "/db", "")
		if text := s.must(t, "GET", "/db/_changes/_meta", ""); strings.Count(text, "since") != 1 {
			t.Fatalf("a new database begins with %s", text)
		}
		s.must(t, "DELETE", "/db", "")
	}
	t.Log(seen)
}

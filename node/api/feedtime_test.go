package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/node/api"
)

// handWoken are feeds that the test wakes itself.
type handWoken struct {
	mu    sync.Mutex
	woken []chan struct{}
}

func (h *handWoken) Listen(*layer.Database, ...layer.ShardID) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := make(chan struct{}, 1)
	h.woken = append(h.woken, ch)
	return ch, func() {}
}

func (h *handWoken) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.woken {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// sent records what a handler has written so far.
type sent struct {
	header http.Header
	mu     sync.Mutex
	text   strings.Builder
}

func (s *sent) Header() http.Header { return s.header }
func (s *sent) WriteHeader(int)     {}
func (s *sent) Flush()              {}

func (s *sent) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// take returns what was written since the last call of take.
func (s *sent) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

// timedFeed is a feed in a synctest bubble. The store is outside of it, because it has goroutines of its own.
type timedFeed struct {
	*sent
	handWoken
	write func(id string)
	ended chan struct{} // closed when the handler returns
	stop  context.CancelFunc
}

// Writes come from a goroutine outside of the bubble, so that the store never sees one of its channels.
func inBubble(t *testing.T, path string, run func(f *timedFeed)) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/d", `{"filters":{"none":"function (doc) { return false }"}}`)
	ids, written := make(chan string), make(chan struct{})
	t.Cleanup(func() { close(ids) })
	go func() {
		for id := range ids {
			s.must(t, "PUT", "/db/"+id, "{}")
			written <- struct{}{}
		}
	}()
	sandbox := s.sandbox
	synctest.Test(t, func(t *testing.T) {
		f := &timedFeed{sent: &sent{header: http.Header{}}, ended: make(chan struct{})}
		f.write = func(id string) {
			ids <- id
			<-written
			f.wake()
			synctest.Wait()
		}
		handler := api.New(api.Options{Store: s.store, Auth: testAuth{}, Feeds: f, Indexer: directIndexer{},
			Scripts: sandbox})
		var ctx context.Context
		ctx, f.stop = context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Host = "localhost"
		go func() {
			defer close(f.ended)
			handler.ServeHTTP(f, r)
		}()
		synctest.Wait()
		run(f)
		f.stop()
		<-f.ended
		if err := handler.Close(); err != nil {
			t.Error(err)
		}
	})
}

// settle lets a feed read on if the store fails as a cluster does, since its delays are in the bubble's time.
func settle() {
	if faultkv.Enabled() {
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// Half a day of a continuous feed: a heartbeat in each minute without writes, a row for each write, and no end.
func TestFeed_LivesForHours(t *testing.T) {
	inBubble(t, "/db/_changes?feed=continuous&since=now&heartbeat=60000&timeout=1000", func(f *timedFeed) {
		settle()
		if text := f.take(); text != "\n" {
			t.Fatalf("a feed that waits begins with %q", text)
		}
		for hour := range 12 {
			time.Sleep(time.Hour)
			synctest.Wait()
			if beats := f.take(); beats != strings.Repeat("\n", 60) {
				t.Fatalf("hour %d: %q", hour, beats)
			}
			id := fmt.Sprintf("hour%d", hour)
			f.write(id)
			settle()
			if text := f.take(); !strings.Contains(text, `"id":"`+id+`"`) {
				t.Fatalf("hour %d: the write is not shown, but %q", hour, text)
			}
		}
		select {
		case <-f.ended:
			t.Error("the feed has ended")
		default:
		}
	})
}

// Without heartbeats a feed ends when it has shown no row for its timeout, counted from the last row.
func TestFeed_Timeout(t *testing.T) {
	for _, c := range []struct {
		query string
		rows  bool // writes are shown
		after time.Duration
	}{
		{"feed=continuous&timeout=30000", true, 50 * time.Second},
		{"feed=continuous&timeout=30000&filter=d/none", false, 30 * time.Second},
		{"feed=longpoll&timeout=30000&filter=_doc_ids&doc_ids=[]", false, 30 * time.Second},
		{"feed=longpoll", true, 20 * time.Second},
		{"feed=longpoll&filter=d/none", false, time.Minute},
		{"feed=eventsource&timeout=90000&filter=_design", false, time.Minute}, // at most chttpd/changes_timeout
	} {
		t.Run(c.query, func(t *testing.T) {
			inBubble(t, "/db/_changes?since=now&"+c.query, func(f *timedFeed) {
				began := time.Now()
				time.Sleep(20 * time.Second)
				f.write("a")
				<-f.ended
				late := time.Duration(0)
				if faultkv.Enabled() { // delays and pauses before retries are in the bubble's time
					late = time.Second
				}
				if took := time.Since(began); took < c.after || took > c.after+late {
					t.Errorf("ended after %v, not %v", took, c.after)
				}
				text := f.take()
				if strings.Contains(text, `"id":"a"`) != c.rows {
					t.Errorf("it said %q", text)
				}
				if !strings.Contains(text, `"last_seq":"`) && !strings.HasPrefix(c.query, "feed=eventsource") {
					t.Errorf("without a last line: %q", text)
				}
			})
		})
	}
}

// Writes that the filter does not show never delay a heartbeat, however frequent they are.
func TestFeed_HeartbeatsBesideWritesThatAreNotShown(t *testing.T) {
	for _, filter := range []string{"d/none", "_design", "_doc_ids&doc_ids=[]"} {
		t.Run(filter, func(t *testing.T) {
			inBubble(t, "/db/_changes?feed=continuous&since=now&heartbeat=10000&filter="+filter, func(f *timedFeed) {
				f.take()
				for i := range 60 {
					time.Sleep(2 * time.Second)
					f.write(fmt.Sprint(i))
				}
				if beats := f.take(); strings.Trim(beats, "\n") != "" || len(beats) < 11 || len(beats) > 13 {
					t.Errorf("in two minutes: %q", beats)
				}
			})
		})
	}
}

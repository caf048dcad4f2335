package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// metric returns the value of a metric in /metrics.
func (c *client) metric(name string) float64 {
	c.t.Helper()
	for line := range strings.Lines(string(c.do("GET", "/metrics", "").body)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return v
		}
	}
	c.t.Fatalf("no metric %s", name)
	return 0
}

// Readers that stop reading cost bounded memory each, however much they requested and however much is written
// meanwhile, and do not delay others.
func TestFeed_ReadersThatStopReading(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/db?changes_shards=2", "")
	body := fmt.Sprintf(`{"x":"%s"}`, strings.Repeat("x", 100_000))
	const docs, readers = 400, 40 // 40 MB for each of them, far more than socket buffers
	for i := range docs {
		c.ok("PUT", fmt.Sprintf("/db/%06d", i), body)
	}
	read := func() float64 { return c.metric("process_resident_memory_bytes") / 1e6 }
	before := read()
	for i := range readers {
		conn, err := net.Dial("tcp", p.ready["http"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		feed := []string{"continuous", "normal", "eventsource", "longpoll"}[i%4]
		fmt.Fprintf(conn, "GET /db/_changes?feed=%s&include_docs=true&heartbeat=1000 HTTP/1.1\r\nHost: x\r\n\r\n", feed)
		if _, err := conn.Read(make([]byte, 100)); err != nil { // the response has begun, and no more of it is read
			t.Fatal(err)
		}
	}

	// Others continue: each write is seen by an active reader before the next one is made.
	live := c.stream("/db/_changes?feed=continuous&since=now&heartbeat=1000")
	defer live.Close()
	lines := bufio.NewScanner(live)
	var slowest time.Duration
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for i := range 100 {
				if r, err := c.try("PUT", fmt.Sprintf("/db/w%d-%d", w, i), body); err != nil || r.status != 201 {
					t.Errorf("a writer gets %d, %v", r.status, err)
				}
			}
		})
	}
	for i := range 100 {
		id, began := fmt.Sprintf("probe%d", i), time.Now()
		c.ok("PUT", "/db/"+id, "{}")
		for seen := ""; seen != id; {
			if !lines.Scan() {
				t.Fatal("the feed ended early")
			}
			var row struct{ ID string }
			if lines.Text() != "" {
				if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
					t.Fatal(err)
				}
			}
			seen = row.ID
		}
		slowest = max(slowest, time.Since(began))
	}
	load.Wait()
	after := read()
	t.Logf("%.0f MB before, %.0f MB with %d readers of 40 MB each; the slowest write was seen in %v", before, after,
		readers, slowest)
	// 2 on the embedded engine, 6 on FoundationDB, whose client keeps what a transaction has read
	if perReader := (after - before) / readers; perReader > 10 {
		t.Errorf("a reader that does not read costs %.1f MB", perReader)
	}
	if slowest > 15*time.Second { // of a machine that is also busy otherwise
		t.Errorf("a write was seen only after %v", slowest)
	}
}

package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// cities returns bodies for _bulk_docs, with documents of some 300 bytes.
func cities(batch, n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"docs":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"_id":"city-%07d","name":"City %d","country":"C%d","lat":%d.123456,"lng":%d.654321,"text":"%s"}`,
			batch*n+i, i, i%200, i%90, i%180, strings.Repeat("lorem ipsum ", 15))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// load writes batches of 1,000 documents over several connections.
func load(b *testing.B, s *server, batches, connections int) time.Duration {
	b.Helper()
	bodies := make([][]byte, batches)
	for i := range bodies {
		bodies[i] = cities(i, 1000)
	}
	began := time.Now()
	var writers sync.WaitGroup
	next := make(chan []byte)
	for range connections {
		writers.Go(func() {
			for body := range next {
				res, err := client.Post(s.URL+"/db/_bulk_docs", "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					continue
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusCreated {
					b.Error(res.StatusCode, err)
				}
				res.Body.Close()
			}
		})
	}
	for _, body := range bodies {
		next <- body
	}
	close(next)
	writers.Wait()
	return time.Since(began)
}

// BenchmarkBulkDocs measures documents per second through _bulk_docs, with client and server in one process.
func BenchmarkBulkDocs(b *testing.B) {
	for _, connections := range []int{1, 4} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			const batches = 30
			var took time.Duration
			for range b.N {
				s := serve(b, nil)
				s.must(b, "PUT", "/db", "")
				took += load(b, s, batches, connections)
			}
			b.ReportMetric(float64(b.N*batches*1000)/took.Seconds(), "docs/s")
		})
	}
}

// BenchmarkRows measures rows per second of long responses.
func BenchmarkRows(b *testing.B) {
	s := serve(b, nil)
	s.must(b, "PUT", "/db", "")
	const batches = 50
	load(b, s, batches, 4)
	s.must(b, "PUT", "/db/_design/d", `{"filters":{"f":"function (doc, req) { return doc.country == req.query.c }"}}`)
	for name, path := range map[string]string{
		"changes":           "/db/_changes",
		"changes-filtered":  "/db/_changes?filter=d/f&c=C7",
		"changes-with-docs": "/db/_changes?include_docs=true",
		"all_docs":          "/db/_all_docs",
		"all_docs-docs":     "/db/_all_docs?include_docs=true",
	} {
		b.Run(name, func(b *testing.B) {
			var n int64
			for b.Loop() {
				res, err := client.Get(s.URL + path)
				if err != nil {
					b.Fatal(err)
				}
				if n, err = io.Copy(io.Discard, res.Body); err != nil {
					b.Fatal(err)
				}
				res.Body.Close()
			}
			b.ReportMetric(float64(b.N*batches*1000)/b.Elapsed().Seconds(), "rows/s")
			b.SetBytes(n)
		})
	}
}

// BenchmarkPut measures single writes by 64 clients.
func BenchmarkPut(b *testing.B) {
	s := serve(b, nil)
	s.must(b, "PUT", "/db", "")
	many := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(64 / 2)
	var ids sync.Mutex
	id := 0
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ids.Lock()
			id++
			path := fmt.Sprintf("%s/db/%d", s.URL, id)
			ids.Unlock()
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodPut, path,
				strings.NewReader(`{"a":1,"b":"some text"}`))
			res, err := many.Do(req)
			if err != nil {
				b.Error(err)
				continue
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

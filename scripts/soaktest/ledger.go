package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

const database = "ledger"

// requestTimeout bounds a request.
const requestTimeout = 20 * time.Second

// ledger records what was acknowledged. Each document belongs to one writer, which increments its member n.
type ledger struct {
	mu   sync.Mutex
	docs map[string]*entry

	writes, unknown int
}

// entry is one document. Its state is the acknowledged one, or one of those tried after it.
type entry struct {
	rev   string
	acked state
	tried []state
}

// state is a version of a document; n = 0 means that it does not exist.
type state struct {
	n       int
	deleted bool
	digest  string // of the attachment, "" for none
}

func newLedger() *ledger { return &ledger{docs: map[string]*entry{}} }

// design has an index with one row for every document.
const design = `{"views":{"n":{"map":"function (doc) { if (doc.n) emit(doc.n, doc.n) }","reduce":"_sum"}}}`

// prepare creates the database.
func (l *ledger) prepare(ctx context.Context, n *node, query string) error {
	if _, _, err := n.do(ctx, http.MethodPut, "/"+database+query, nil); err != nil {
		return err
	}
	_, _, err := n.do(ctx, http.MethodPut, "/"+database+"/_design/check", []byte(design))
	return err
}

// status is a response other than a success.
type status struct {
	code int
	body string
}

func (s *status) Error() string { return fmt.Sprintf("HTTP %d %s", s.code, strings.TrimSpace(s.body)) }

// do sends a request and reads the whole response.
func (n *node) do(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, n.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := n.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, err
	}
	if res.StatusCode/100 != 2 {
		return res.StatusCode, b, &status{res.StatusCode, string(b)}
	}
	return res.StatusCode, b, nil
}

// write runs writers until ctx ends. Each calls node() before every write, which may return nil for a while.
func (l *ledger) write(ctx context.Context, writers int, seed uint64, node func(writer int) *node) {
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			own := l.owned(w)
			for ctx.Err() == nil {
				n := node(w)
				if n == nil {
					if !wait(ctx, 10*time.Millisecond) {
						return
					}
					continue
				}
				var id string
				if len(own) == 0 || rng.IntN(3) == 0 {
					id = fmt.Sprintf("w%d-%d", w, len(own))
					own = append(own, id)
				} else {
					id = own[rng.IntN(len(own))]
				}
				if !l.put(ctx, n, id, rng) {
					// The node is in trouble. Avoid a busy loop.
					wait(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	all.Wait()
}

// owned returns the documents of a writer.
func (l *ledger) owned(w int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var own []string
	for i := 0; ; i++ {
		id := fmt.Sprintf("w%d-%d", w, i)
		if l.docs[id] == nil {
			return own
		}
		own = append(own, id)
	}
}

// put writes the next state of a document and records the response. It returns false if there was none, or an error.
func (l *ledger) put(ctx context.Context, n *node, id string, rng *rand.Rand) bool {
	l.mu.Lock()
	e := l.docs[id]
	if e == nil {
		e = &entry{}
		l.docs[id] = e
	}
	if len(e.tried) > 0 { // first find out what became of the last one
		l.mu.Unlock()
		return l.settle(ctx, n, id, e)
	}
	next := state{n: e.acked.n + 1}
	body := map[string]any{"n": next.n, "pad": strings.Repeat("x", rng.IntN(600))}
	if e.rev != "" && !e.acked.gone() {
		body["_rev"] = e.rev
	}
	switch rng.IntN(20) {
	case 0, 1, 2, 3:
		data := make([]byte, 40_000)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		sum := md5.Sum(data)
		next.digest = "md5-" + base64.StdEncoding.EncodeToString(sum[:])
		body["_attachments"] = map[string]any{"a": map[string]any{"content_type": "x/y", "data": data}}
	case 4:
		if e.acked.n > 0 && !e.acked.deleted {
			next.deleted = true
			body["_deleted"] = true
		}
	}
	e.tried = append(e.tried, next)
	l.mu.Unlock()

	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // encoding strings and numbers never fails
	}
	// Not ctx: cancelling the request here would put it in doubt without any trouble.
	code, answer, err := n.do(context.WithoutCancel(ctx), http.MethodPut, "/"+database+"/"+id, text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && (code == http.StatusCreated || code == http.StatusOK) {
		var ok struct {
			Rev string `json:"rev"`
		}
		if json.Unmarshal(answer, &ok) == nil && ok.Rev != "" {
			e.rev, e.acked, e.tried = ok.Rev, next, nil
			l.writes++
			return true
		}
	}
	l.unknown++
	return false
}

// settle finds out whether a write without a response succeeded.
func (l *ledger) settle(ctx context.Context, n *node, id string, e *entry) bool {
	now, rev, err := n.read(ctx, id)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range append([]state{e.acked}, e.tried...) {
		if s.same(now) {
			e.acked, e.rev, e.tried = s, rev, nil
			return true
		}
	}
	return true // verify reports it
}

// recovers waits until the node accepts a write.
func (l *ledger) recovers(ctx context.Context, n *node, id string) error {
	var err error
	for range 300 {
		if _, _, err = n.do(ctx, "PUT", "/"+database+"/"+id, []byte(`{"language":"none"}`)); err == nil {
			return nil
		}
		var s *status
		if errors.As(err, &s) && s.code == 409 {
			return nil
		}
		if !wait(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("no write succeeds: %w", err)
}

// same compares states. A document that no longer exists has no readable number.
func (s state) same(o state) bool {
	if s.gone() || o.gone() {
		return s.gone() == o.gone()
	}
	return s == o
}

func (s state) gone() bool { return s.deleted || s.n == 0 }

// read returns the state of a document according to the node.
func (n *node) read(ctx context.Context, id string) (state, string, error) {
	_, body, err := n.do(ctx, http.MethodGet, "/"+database+"/"+id, nil)
	var s *status
	if errors.As(err, &s) && s.code == http.StatusNotFound {
		if strings.Contains(s.body, "no_db_file") || strings.Contains(s.body, "Database does not exist") {
			return state{}, "", fmt.Errorf("the database is gone: %w", err)
		}
		return state{}, "", nil
	}
	if err != nil {
		return state{}, "", err
	}
	return decodeDoc(body)
}

func decodeDoc(body []byte) (state, string, error) {
	var doc struct {
		Rev         string                             `json:"_rev"`
		N           int                                `json:"n"`
		Attachments map[string]struct{ Digest string } `json:"_attachments"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return state{}, "", err
	}
	return state{n: doc.N, digest: doc.Attachments["a"].Digest}, doc.Rev, nil
}

// wait waits, and returns false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

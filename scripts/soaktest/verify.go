package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// verify compares all data of the node with the ledger, and adds what it finds to t. An error means that the data could
// not be read.
func (l *ledger) verify(ctx context.Context, n *node, t *tally) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.writes, t.unknown = t.writes+l.writes, t.unknown+l.unknown
	l.writes, l.unknown = 0, 0
	have := map[string]state{}
	revs := map[string]string{}
	err := n.rows(ctx, "/_all_docs?include_docs=true", func(row json.RawMessage) error {
		var r struct {
			ID  string          `json:"id"`
			Doc json.RawMessage `json:"doc"`
		}
		if err := json.Unmarshal(row, &r); err != nil {
			return err
		}
		if strings.HasPrefix(r.ID, "_design/") {
			return nil
		}
		s, rev, err := decodeDoc(r.Doc)
		have[r.ID], revs[r.ID] = s, rev
		return err
	})
	if err != nil {
		return err
	}
	sum := 0
	for id, e := range l.docs {
		now := have[id]
		sum += now.n
		l.compare(id, e, now, revs[id], t)
		delete(have, id)
	}
	for id := range have {
		t.wrong++
		t.remark("document %s exists, but was never written", id)
	}
	if err := l.verifyFeed(ctx, n, t); err != nil {
		return err
	}
	return verifyIndex(ctx, n, sum, t)
}

// compare compares one document with the ledger, and records the found state as the acknowledged one.
func (l *ledger) compare(id string, e *entry, now state, rev string, t *tally) {
	for _, s := range append([]state{e.acked}, e.tried...) {
		if s.same(now) {
			e.acked, e.rev, e.tried = s, rev, nil
			return
		}
	}
	switch {
	case now.n < e.acked.n:
		t.lost++
		t.remark("document %s: acknowledged %+v, found %+v", id, e.acked, now)
	default:
		t.wrong++
		t.remark("document %s: acknowledged %+v, tried %+v, found %+v", id, e.acked, e.tried, now)
	}
	e.acked, e.rev, e.tried = now, rev, nil
}

// verifyFeed reads the whole feed: each document must appear once, in order, with one leaf.
func (l *ledger) verifyFeed(ctx context.Context, n *node, t *tally) error {
	seen, last := map[string]bool{}, ""
	err := n.rows(ctx, "/_changes?style=all_docs", func(row json.RawMessage) error {
		var r struct {
			Seq     string           `json:"seq"`
			ID      string           `json:"id"`
			Changes []map[string]any `json:"changes"`
		}
		if err := json.Unmarshal(row, &r); err != nil {
			return err
		}
		if seen[r.ID] || len(r.Changes) != 1 {
			t.doubled++
			t.remark("document %s: %d leaves, in the feed before: %v", r.ID, len(r.Changes), seen[r.ID])
		}
		if r.Seq <= last {
			t.wrong++
			t.remark("the feed has %s after %s", r.Seq, last)
		}
		seen[r.ID], last = true, r.Seq
		return nil
	})
	if err != nil {
		return err
	}
	for id, e := range l.docs {
		if e.acked.n > 0 && !seen[id] {
			t.lost++
			t.remark("document %s is not in the feed", id)
		}
	}
	return nil
}

// verifyIndex queries the sum over all documents.
func verifyIndex(ctx context.Context, n *node, want int, t *tally) error {
	_, body, err := n.do(ctx, http.MethodGet, "/"+database+"/_design/check/_view/n", nil)
	if err != nil {
		return fmt.Errorf("the view: %w", err)
	}
	var answer struct{ Rows []struct{ Value int } }
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	got := 0
	if len(answer.Rows) > 0 {
		got = answer.Rows[0].Value
	}
	if got != want {
		t.wrong++
		t.remark("the view's sum is %d, that of the documents %d", got, want)
	}
	return nil
}

// rows calls f for each row of a list or feed whose last line is an object of its own. It returns an error if the
// response ends early.
func (n *node) rows(ctx context.Context, path string, f func(json.RawMessage) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+"/"+database+path, nil)
	if err != nil {
		return err
	}
	res, err := n.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 1000)) // for the message
		return &status{res.StatusCode, string(b)}
	}
	lines := bufio.NewReaderSize(res.Body, 1<<20)
	for first := true; ; first = false {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimRight(bytes.TrimSpace(line), ",")
		switch {
		case bytes.HasPrefix(line, []byte("]")):
			_, err := io.Copy(io.Discard, lines)
			return err
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s ends early: %w", path, io.ErrUnexpectedEOF)
		case err != nil:
			return err
		case first || len(line) == 0:
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s, row %.200s: %w", path, line, err)
		}
	}
}

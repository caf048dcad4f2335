package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runFeeds measures what consumers of changes see: whether one consumer per shard keeps up with the writers, and how
// soon a listener learns of a write.
func runFeeds(ctx context.Context, e *environment, t *table) (err error) {
	n, err := start(ctx, e.binary, e.newDir("feeds"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	for _, shards := range []int{1, 2, 4, 8} {
		if err := consumeShards(ctx, n, shards, t); err != nil {
			return err
		}
	}
	return hearAmongIdle(ctx, n, t)
}

// consumeShards writes as fast as it can while one consumer reads each shard.
func consumeShards(ctx context.Context, n *node, shards int, t *table) error {
	db := fmt.Sprintf("/shards-%d", shards)
	if err := n.call(ctx, "PUT", fmt.Sprintf("%s?changes_shards=%d", db, shards), nil, nil); err != nil {
		return err
	}
	ids, err := n.shards(ctx, db)
	if err != nil {
		return err
	}
	const batches, size, writers = 300, 200, 8
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var consumed atomic.Int64
	all := make(chan struct{}) // closed when everything has been consumed
	errs := make([]error, len(ids))
	var consumers sync.WaitGroup
	for i, id := range ids {
		consumers.Go(func() {
			errs[i] = n.follow(ctx, db+"/_changes/"+id+"?feed=continuous", func([]byte) {
				if consumed.Add(1) == batches*size {
					close(all)
				}
			})
		})
	}
	filler := strings.Repeat("x", 260)
	began := time.Now()
	err = each(writers, batches, func(b int) error {
		docs := make([]map[string]string, size)
		for i := range docs {
			docs[i] = map[string]string{"_id": fmt.Sprintf("%d-%d", b, i), "text": filler}
		}
		return n.call(ctx, "POST", db+"/_bulk_docs", map[string]any{"docs": docs}, nil)
	})
	written := time.Since(began)
	if err != nil {
		return err
	}
	select {
	case <-all:
	case <-time.After(time.Minute):
		return fmt.Errorf("%d of %d rows were consumed a minute after the last write; %w", consumed.Load(),
			batches*size, errors.Join(errs...))
	}
	through := time.Since(began)
	stop()
	consumers.Wait()
	t.row(fmt.Sprintf("%d shard(s), as many consumers, %d writers", shards, writers),
		"%.0f rows/s written, %.0f rows/s consumed; the last row %d ms after the last write",
		rate(batches*size, written), rate(batches*size, through), (through - written).Milliseconds())
	return errors.Join(errs...)
}

// shards lists the current changes shards of a database.
func (n *node) shards(ctx context.Context, db string) (ids []string, err error) {
	var meta struct {
		Maps []struct{ Shards []string }
	}
	err = n.call(ctx, "GET", db+"/_changes/_meta?since=now", nil, decode(&meta))
	if err == nil && len(meta.Maps) > 0 {
		ids = meta.Maps[len(meta.Maps)-1].Shards
	}
	return ids, err
}

// follow passes the lines of a feed, except heartbeats, to take until ctx ends. followTelling also calls connected once
// the response has begun.
func (n *node) follow(ctx context.Context, path string, take func(line []byte)) error {
	return n.followTelling(ctx, path, func() {}, take)
}

func (n *node) followTelling(ctx context.Context, path string, connected func(), take func(line []byte)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+path, nil)
	if err != nil {
		return err
	}
	res, err := n.http.Do(r)
	connected()
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			take(lines.Bytes())
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// hearAmongIdle measures the time from single writes until a listener has their line: alone, among many listeners of
// other databases, and among as many of its own database that filter everything out.
func hearAmongIdle(ctx context.Context, n *node, t *table) error {
	const idle, others = 1000, 10
	if err := n.call(ctx, "PUT", "/live", nil, nil); err != nil {
		return err
	}
	for i := range others {
		if err := n.call(ctx, "PUT", fmt.Sprintf("/other-%d", i), nil, nil); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		what string
		path func(i int) string // of an idle listener; nil: none
	}{
		{"a listener alone", nil},
		{fmt.Sprintf("beside %d idle listeners of %d other databases", idle, others), func(i int) string {
			return fmt.Sprintf("/other-%d/_changes?feed=continuous&since=now", i%others)
		}},
		{fmt.Sprintf("beside %d listeners of its database that filter everything out", idle), func(int) string {
			return "/live/_changes?feed=continuous&since=now&filter=_doc_ids&doc_ids=" + url.QueryEscape(`["nothing"]`)
		}},
	} {
		listeners := 0
		if c.path != nil {
			listeners = idle
		}
		if err := hear(ctx, n, c.what, listeners, c.path, t); err != nil {
			return err
		}
	}
	return nil
}

// hear measures the time from writes to the line of one listener.
func hear(ctx context.Context, n *node, what string, idle int, path func(i int) string, t *table) error {
	ctx, stop := context.WithCancel(ctx)
	var feeds, connected sync.WaitGroup
	errs := make([]error, idle+1)
	defer feeds.Wait()
	defer stop()
	connected.Add(idle + 1)
	for i := range idle {
		feeds.Go(func() { errs[i] = n.followTelling(ctx, path(i), connected.Done, func([]byte) {}) })
	}
	heard := make(chan time.Time, 1)
	wanted := atomic.Pointer[[]byte]{}
	wanted.Store(new([]byte("nothing")))
	feeds.Go(func() {
		errs[idle] = n.followTelling(ctx, "/live/_changes?feed=continuous&since=now", connected.Done,
			func(line []byte) {
				if bytes.Contains(line, *wanted.Load()) {
					heard <- time.Now()
				}
			})
	})
	connected.Wait()
	time.Sleep(time.Second) // there is no other way to know that the listeners' first read has ended
	const writes = 500
	sent, answered := make([]time.Duration, 0, writes), make([]time.Duration, 0, writes)
	cpu := n.cpu()
	for i := range writes {
		id := fmt.Sprintf("%d-%d", time.Now().UnixNano(), i)
		wanted.Store(new([]byte(`"` + id + `"`)))
		begin := time.Now()
		if err := n.call(ctx, "PUT", "/live/"+id, map[string]int{"n": i}, nil); err != nil {
			return err
		}
		done := time.Now()
		select {
		case at := <-heard:
			sent, answered = append(sent, at.Sub(begin)), append(answered, max(0, at.Sub(done)))
		case <-time.After(10 * time.Second):
			return fmt.Errorf("%s: no line of a write; %w", what, errors.Join(errs...))
		}
	}
	slices.Sort(sent)
	slices.Sort(answered)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	t.row("from a write to the line, "+what,
		"median %.1f ms, 99th %.1f ms; from its answer %.1f and %.1f ms; CPU %.1f ms a write",
		ms(sent[writes/2]), ms(sent[writes*99/100]), ms(answered[writes/2]), ms(answered[writes*99/100]),
		ms((n.cpu()-cpu)/writes))
	return nil
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// runPages measures pages of 100 changes from the middle of a feed of a million, during writes.
func runPages(ctx context.Context, e *environment, t *table) error {
	const docs, size, pages, rounds = 1_000_000, 1000, 400, 5
	return e.compare(ctx, "pages", t, func(c *compared) error {
		middles := make([]string, len(c.nodes))
		for i, n := range c.nodes {
			if err := n.call(ctx, "PUT", "/feed", nil, nil); err != nil {
				return err
			}
			err := n.lean(ctx, connections, docs/size, func(i int) []byte {
				batch := []byte(`{"docs":[`)
				for j := range size {
					if j > 0 {
						batch = append(batch, ',')
					}
					batch = fmt.Appendf(batch, `{"_id":"%08d","n":%d}`, i*size+j, j)
				}
				return post("/feed/_bulk_docs", append(batch, ']', '}'))
			})
			if err != nil {
				return err
			}
			var page struct {
				LastSeq string `json:"last_seq"`
			}
			if err := n.call(ctx, "GET", fmt.Sprintf("/feed/_changes?limit=%d", docs/2), nil,
				decode(&page)); err != nil {
				return err
			}
			middles[i] = page.LastSeq
		}
		took := make([][]time.Duration, len(c.nodes))
		for range rounds {
			for i, n := range c.nodes {
				more, err := n.pages(ctx, middles[i], pages)
				if err != nil {
					return err
				}
				took[i] = append(took[i], more...)
			}
		}
		for _, of := range []struct {
			what string
			part float64
		}{{"median", 0.5}, {"99th of a hundred", 0.99}, {"the longest", 1}} {
			values := make([]float64, len(took))
			for i := range took {
				slices.Sort(took[i])
				at := min(int(of.part*float64(len(took[i]))), len(took[i])-1)
				values[i] = float64(took[i][at].Microseconds()) / 1000
			}
			t.row(fmt.Sprintf("_changes?limit=100 from the middle of %d, with writes: %s", docs, of.what), "%s",
				told(values, "ms"))
		}
		return nil
	})
}

// pages times pages of the feed after a sequence, while four clients update documents.
func (n *node) pages(ctx context.Context, since string, pages int) (took []time.Duration, err error) {
	conns, closing, err := n.leanConns(ctx, 1)
	if err != nil {
		return nil, err
	}
	var ended atomic.Bool
	writing := make(chan error, 1)
	go func() { writing <- n.writeUntil(ctx, &ended) }()
	for range pages {
		began := time.Now()
		var page []byte
		if page, err = conns[0].ask(get("/feed/_changes?limit=100&since=" + since)); err != nil {
			break
		}
		took = append(took, time.Since(began))
		if rows := bytes.Count(page, []byte(`"changes":`)); rows != 100 {
			err = fmt.Errorf("%d rows on a page", rows)
			break
		}
	}
	ended.Store(true)
	if written := <-writing; err == nil {
		err = written
	}
	if closed := closing(); err == nil {
		err = closed
	}
	return took, err
}

// writeUntil runs four clients that write documents, one after the other, until ended is set.
func (n *node) writeUntil(ctx context.Context, ended *atomic.Bool) error {
	for !ended.Load() {
		from := time.Now().UnixNano()
		err := n.lean(ctx, 4, 40, func(i int) []byte {
			return put(fmt.Sprintf("/feed/new-%d-%d", from, i), []byte(`{"n":1}`))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

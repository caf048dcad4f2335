package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// runWrites measures durable writes: batches of documents of 500 bytes, and documents that are read and updated.
func runWrites(ctx context.Context, e *environment, t *table) error {
	return e.compare(ctx, "writes", t, func(c *compared) error {
		if err := c.bulk(ctx); err != nil {
			return err
		}
		return c.readAndUpdate(ctx)
	})
}

// bulk writes batches whose requests are prepared beforehand, so that the client takes little CPU from the node: with
// ascending ids, like those that the node generates, and with scattered ids.
func (c *compared) bulk(ctx context.Context) error {
	const batches, size, rounds = 60, 500, 5
	for _, ids := range []struct {
		what string
		of   func(i int) string
	}{
		{"ascending ids", func(i int) string { return fmt.Sprintf("%032x", i) }},
		{"scattered ids", func(i int) string { return fmt.Sprintf("%08x-%07d", uint32(i)*2654435761, i) }},
	} {
		db := "/bulk-" + strings.ReplaceAll(ids.what, " ", "-")
		requests := make([][]byte, rounds*batches)
		for i := range requests {
			docs := make([]any, size)
			for j := range docs {
				doc := syntheticDoc(i*size + j).(synthetic)
				doc.ID = ids.of(i*size + j)
				docs[j] = doc
			}
			requests[i] = post(db+"/_bulk_docs", mustJSON(map[string]any{"docs": docs}))
		}
		if err := c.all(func(n *node) error { return n.call(ctx, "PUT", db, nil, nil) }); err != nil {
			return err
		}
		what := fmt.Sprintf("_bulk_docs of %d documents of 500 bytes, %d clients, %s", size, connections, ids.what)
		err := c.rounds(what, "docs", rounds, func(n *node, round int) (int, error) {
			of := requests[round*batches:]
			return batches * size, n.lean(ctx, connections, batches, func(i int) []byte { return of[i] })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readAndUpdate has clients read each other's documents and write them with one more member.
func (c *compared) readAndUpdate(ctx context.Context) error {
	const clients, updates, rounds, docs = 64, 8000, 5, 150_000
	list, err := cities(docs)
	if err != nil {
		return err
	}
	if err := c.all(func(n *node) error { return loadCities(ctx, n, "/updates", list) }); err != nil {
		return err
	}
	return c.rounds(fmt.Sprintf("read and update, %d clients", clients), "updates", rounds,
		func(n *node, round int) (int, error) {
			conns, closing, err := n.leanConns(ctx, clients)
			if err != nil {
				return 0, err
			}
			err = each(clients, updates, func(i int) error {
				path := "/updates/" + url.PathEscape(list[(round*updates+i)*7919%docs].ID)
				c := conns[i%clients]
				doc, err := c.ask(get(path))
				if err != nil {
					return err
				}
				if !json.Valid(doc) {
					return errAnswer
				}
				doc = append(bytes.TrimSuffix(bytes.TrimSpace(doc), []byte("}")), fmt.Sprintf(`,"round":%d}`, round)...)
				return c.do(put(path, doc))
			})
			return updates, errors.Join(err, closing())
		})
}

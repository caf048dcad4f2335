package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/divandb/divan/scripts/fixtures"
)

// runLists measures long responses with and without bodies: of documents as they were written, and of documents of
// which half were updated since, in another order, so that old bodies are mixed with new ones.
func runLists(ctx context.Context, e *environment, t *table) error {
	docs, err := cities(e.documents)
	if err != nil {
		return err
	}
	return e.compare(ctx, "lists", t, func(c *compared) error {
		if err := c.all(func(n *node) error { return loadCities(ctx, n, "/cities", docs) }); err != nil {
			return err
		}
		if err := c.lists(ctx, "", len(docs)); err != nil {
			return err
		}
		if err := c.all(func(n *node) error { return updateHalf(ctx, n, "/cities", len(docs)) }); err != nil {
			return err
		}
		return c.lists(ctx, ", half of them updated", len(docs))
	})
}

func (c *compared) lists(ctx context.Context, state string, docs int) error {
	for _, path := range []string{
		"_all_docs", "_all_docs?include_docs=true", "_changes", "_changes?include_docs=true",
	} {
		err := c.rounds(path+state, "rows", 5, func(n *node, _ int) (int, error) {
			read, err := n.bytes(ctx, "/cities/"+path)
			if err == nil && read < int64(docs)*50 {
				err = fmt.Errorf("%s has %d bytes for %d documents", path, read, docs)
			}
			return docs, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loadCities writes cities in the order of the list, which is that of their ids within a country.
func loadCities(ctx context.Context, n *node, db string, docs []fixtures.City) error {
	if err := n.call(ctx, "PUT", db, nil, nil); err != nil {
		return err
	}
	batches := slices.Collect(slices.Chunk(docs, batch))
	return each(connections, len(batches), func(i int) error {
		return n.call(ctx, "POST", db+"/_bulk_docs", map[string]any{"docs": batches[i]}, nil)
	})
}

// updateHalf updates every second document, in scattered order.
func updateHalf(ctx context.Context, n *node, db string, docs int) error {
	var list struct {
		Rows []struct {
			Doc fixtures.City
		}
	}
	if err := n.call(ctx, "GET", db+"/_all_docs?include_docs=true", nil, decode(&list)); err != nil {
		return err
	}
	var edits []fixtures.City
	for i := range list.Rows {
		if doc := list.Rows[i*7919%len(list.Rows)].Doc; i%2 == 0 {
			doc.Name += " (updated)"
			edits = append(edits, doc)
		}
	}
	batches := slices.Collect(slices.Chunk(edits, batch))
	return each(connections, len(batches), func(i int) error {
		return n.call(ctx, "POST", db+"/_bulk_docs", map[string]any{"docs": batches[i]}, nil)
	})
}

package e2e_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// bulkRow is one row of a _bulk_docs response.
type bulkRow struct {
	ID, Rev, Error, Reason string
	OK                     bool
}

// load writes docs in batches of 1,000 from four connections and passes every acknowledged row to acked (from one
// goroutine at a time). It ends at the first connection error, which it returns.
func load[D any](t *testing.T, c *client, db string, docs []D, acked func(bulkRow)) error {
	t.Helper()
	const batch, connections = 1000, 4
	work := make(chan []D) // closed when all batches were handed out
	failed := make(chan struct{})
	var (
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
			close(failed)
		}
	}
	for range connections {
		wg.Go(func() {
			for docs := range work {
				rows, err := bulk(c, db, docs)
				if err != nil {
					fail(err)
					return
				}
				mu.Lock()
				for _, row := range rows {
					acked(row)
				}
				mu.Unlock()
			}
		})
	}
hand:
	for from := 0; from < len(docs); from += batch {
		select {
		case work <- docs[from:min(from+batch, len(docs))]:
		case <-failed:
			break hand
		}
	}
	close(work)
	wg.Wait()
	return first
}

func bulk[D any](c *client, db string, docs []D) ([]bulkRow, error) {
	body, err := json.Marshal(map[string]any{"docs": docs})
	if err != nil {
		return nil, err
	}
	r, err := c.try("POST", "/"+db+"/_bulk_docs", string(body))
	if err != nil {
		return nil, err
	}
	if r.status != 201 {
		return nil, fmt.Errorf("_bulk_docs answers %d %.200s", r.status, r.body)
	}
	var rows []bulkRow
	if err := json.Unmarshal(r.body, &rows); err != nil {
		return nil, fmt.Errorf("_bulk_docs answers %.200s: %w", r.body, err)
	}
	if len(rows) != len(docs) {
		return nil, fmt.Errorf("_bulk_docs answers %d rows for %d documents", len(rows), len(docs))
	}
	return rows, nil
}

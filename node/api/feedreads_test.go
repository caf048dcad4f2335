package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// readCounter counts what feeds read from snapshots: bodies, and rows of the feed.
type readCounter struct {
	*embedded.Engine
	bodies, entries atomic.Int64
}

func (c *readCounter) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, err := c.Engine.OpenSnapshot(ctx)
	return countedSnapshot{s, c}, err
}

type countedSnapshot struct {
	kv.Snapshot
	c *readCounter
}

// The subspaces of a database that this test counts (layer/keyspace).
const (
	entriesSubspace = 3
	bodiesSubspace  = 6
)

// subspace returns the third element of a key, a small integer in tuple encoding.
func subspace(key []byte) int {
	for i := range 3 {
		switch {
		case len(key) > 0 && key[0] == 0x14:
			key = key[1:]
			if i == 2 {
				return 0
			}
		case len(key) > 1 && key[0] == 0x15:
			if i == 2 {
				return int(key[1])
			}
			key = key[2:]
		}
	}
	return -1
}

func (s countedSnapshot) Get(key []byte) kv.Future[[]byte] {
	if subspace(key) == bodiesSubspace {
		s.c.bodies.Add(1)
	}
	return s.Snapshot.Get(key)
}

func (s countedSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	rows := s.Snapshot.GetRange(r, o)
	begin, _ := r.Selectors()
	switch subspace(begin.Key) {
	case entriesSubspace:
		return countedRows{rows, &s.c.entries}
	case bodiesSubspace: // adjacent documents, each with one row
		return countedRows{rows, &s.c.bodies}
	}
	return rows
}

type countedRows struct {
	kv.RangeIterator
	n *atomic.Int64
}

func (r countedRows) Next() bool {
	more := r.RangeIterator.Next()
	if more {
		r.n.Add(1)
	}
	return more
}

// C5: only bodies that are shown or filtered on are read, and a few documents are found without reading the whole feed.
func TestFeed_ReadsWhatItNeeds(t *testing.T) {
	c := &readCounter{}
	s := serveOn(t, func(e *embedded.Engine) kv.Engine {
		c.Engine = e
		return c
	}, nil)
	s.must(t, "PUT", "/db?changes_shards=3", "")
	var docs []string
	for i := range 300 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%03d","n":%d}`, i, i))
	}
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	s.must(t, "PUT", "/db/_design/a", `{"filters":{"even":"function (doc) { return doc.n % 2 == 0 }"}}`)
	s.must(t, "PUT", "/db/_design/b", `{"views":{"all":{"map":"function (doc) { emit(null) }"}}}`)
	s.must(t, "POST", "/db/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"000","_rev":"1-conflict"}]}`)
	s.must(t, "DELETE", "/db/_design/b?rev="+revOf(t, s, "/db/_design/b"), "")
	const all = 302
	for _, test := range []struct {
		query, body     string
		rows            int
		bodies, entries int64 // read
	}{
		{"", "", all, 0, all},
		{"style=all_docs", "", all, 0, all},
		{"limit=10", "", 10, 0, 13}, // and one more for each shard
		{"limit=10&include_docs=true", "", 10, 10, 13},
		{"include_docs=true", "", all, all, all},
		{"filter=_design", "", 2, 0, 0},
		{"filter=_design&include_docs=true", "", 2, 2, 0},
		{"filter=_doc_ids", `{"doc_ids":["007","123","never","123"]}`, 2, 0, 0},
		{"filter=_doc_ids&include_docs=true&descending=true", `{"doc_ids":["007","123"]}`, 2, 2, 0},
		{"filter=_doc_ids&include_docs=true&limit=1", `{"doc_ids":["007","123"]}`, 1, 1, 0},
		{"filter=_doc_ids&style=all_docs&include_docs=true&conflicts=true", `{"doc_ids":["000"]}`, 1, 1, 0},
		{"filter=a/even", "", 149, all, all}, // the other branch of 000 has won
		{"filter=_selector", `{"selector":{"n":{"$gte":100}}}`, 200, all, all},
		{"feed=longpoll&filter=_doc_ids", `{"doc_ids":["007"]}`, 1, 0, 0},
		{"feed=continuous&timeout=1&filter=_doc_ids&include_docs=true", `{"doc_ids":["007","008"]}`, 2, 2, 0},
	} {
		t.Run(test.query, func(t *testing.T) {
			c.bodies.Store(0)
			c.entries.Store(0)
			method := "GET"
			if test.body != "" {
				method = "POST"
			}
			text := s.must(t, method, "/db/_changes?"+test.query, test.body)
			if rows := strings.Count(text, `"changes":[`); rows != test.rows {
				t.Errorf("%d rows: %.300s", rows, text)
			}
			// A few bodies are read one by one, and no others. All bodies are read as ranges. The ranges pass over the
			// body of the losing branch of 000 and, since 000 has moved to the end of the feed, over up to eight bodies
			// that are not wanted before they continue with wanted ones (scanGap of the layer).
			passed := int64(0)
			if test.bodies == all {
				passed = 9
			}
			bodies, entries := c.bodies.Load(), c.entries.Load()
			if bodies < test.bodies || bodies > test.bodies+passed || entries > test.entries ||
				(entries == 0) != (test.entries == 0) {
				t.Errorf("%d bodies and %d entries were read, expected %d and %d", bodies, entries, test.bodies,
					test.entries)
			}
		})
	}
}

// revOf returns a document's revision.
func revOf(t *testing.T, s *server, path string) string {
	t.Helper()
	_, rest, _ := strings.Cut(s.must(t, "GET", path, ""), `"_rev":"`)
	rev, _, _ := strings.Cut(rest, `"`)
	return rev
}

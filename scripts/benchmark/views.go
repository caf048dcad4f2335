package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"
)

// viewed is a database whose views are measured.
type viewed struct {
	database string
	what     string // describes its documents
	docs     int
	views    map[string]any
	scan     string // the view that is read completely
	one      string // the view that is queried for one key
	key      func(i int) any
	grouped  string // the view that is counted by the first part of its keys
	doc      func(i int) any
}

// typical returns three typical map functions: a column, a column with a value, and a path of columns that is counted.
func typical(column, value, path string) map[string]any {
	return map[string]any{
		"column": map[string]string{"map": "function (doc) { if (doc." + column + ") emit(doc." + column + ", null) }"},
		"value": map[string]string{"map": "function (doc) { if (doc." + column + ") emit(doc." + column + ", doc." +
			value + ") }"},
		"path": map[string]string{"map": "function (doc) { emit(" + path + ", 1) }", "reduce": "_count"},
	}
}

// stretch is a measured section: its time, and the node's CPU time, which depends less on other work on the machine.
type stretch struct {
	n     *node
	began time.Time
	cpu   time.Duration
}

func (n *node) stretch() stretch { return stretch{n, time.Now(), n.cpu()} }

// rate prints the number per second, and per second of the node's CPU time.
func (s stretch) rate(t *table, what string, n int, unit string) {
	took, cpu := time.Since(s.began), s.n.cpu()-s.cpu
	t.row(what, "%.0f %s/s (%.0f per CPU second of the node)", rate(n, took), unit, rate(n, max(cpu, time.Millisecond)))
}

// measure builds an index of three views and reads it in several ways.
func (v *viewed) measure(ctx context.Context, n *node, t *table) error {
	design := "/" + v.database + "/_design/bench"
	if err := n.call(ctx, "PUT", design, map[string]any{"views": v.views}, nil); err != nil {
		return err
	}
	view := func(name string) string { return design + "/_view/" + name }
	n.forgetPeak()
	s := n.stretch()
	if err := n.call(ctx, "GET", view(v.scan)+"?reduce=false&limit=1", nil, nil); err != nil {
		return err
	}
	s.rate(t, fmt.Sprintf("build an index of 3 views over %d %s", v.docs, v.what), v.docs, "docs")
	t.row("resident memory meanwhile, at most", "%.0f MB", n.peakMB())

	s = n.stretch()
	rows, err := n.rows(ctx, view(v.scan)+"?reduce=false")
	if err != nil {
		return err
	}
	s.rate(t, fmt.Sprintf("a whole view of %d rows", rows), rows, "rows")
	const queries, clients = 40_000, 64
	s = n.stretch()
	if err := n.lean(ctx, clients, queries, func(i int) []byte {
		return get(view(v.one) + "?limit=10&key=" + jsonParam(v.key(i)))
	}); err != nil {
		return err
	}
	s.rate(t, fmt.Sprintf("one key of a view, %d clients", clients), queries, "queries")
	if err := v.groupedCount(ctx, n, view(v.grouped), t); err != nil {
		return err
	}
	return v.freshReads(ctx, n, view(v.one), t)
}

// groupedCount runs the query several times and prints the median.
func (v *viewed) groupedCount(ctx context.Context, n *node, path string, t *table) error {
	took := make([]time.Duration, 9)
	groups := 0
	for i := range took {
		began := time.Now()
		rows, err := n.rows(ctx, path+"?group_level=1")
		if err != nil {
			return err
		}
		took[i], groups = time.Since(began), rows
	}
	slices.Sort(took)
	t.row(fmt.Sprintf("_count of %d rows, group_level=1, %d groups", v.docs, groups), "%.1f ms, fastest %.1f ms",
		float64(took[len(took)/2].Microseconds())/1000, float64(took[0].Microseconds())/1000)
	return nil
}

// freshReads alternately writes a document and reads its key, on one connection.
func (v *viewed) freshReads(ctx context.Context, n *node, path string, t *table) error {
	const rounds = 1000
	s := n.stretch()
	err := n.lean(ctx, 1, 2*rounds, func(i int) []byte {
		if i%2 == 1 {
			return get(path + "?limit=1&key=" + jsonParam(v.key(i)))
		}
		return post("/"+v.database, mustJSON(v.doc(v.docs+i)))
	})
	s.rate(t, "a durable write, then a fresh read of one key, in a loop", rounds, "rounds")
	return err
}

// mustJSON encodes a value with only strings and numbers.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func jsonParam(v any) string { return url.QueryEscape(string(mustJSON(v))) }

// rows counts the rows of a response.
func (n *node) rows(ctx context.Context, path string) (rows int, err error) {
	err = n.call(ctx, "GET", path, nil, func(r io.Reader) error {
		lines := bufio.NewReaderSize(r, 1<<20)
		for {
			line, err := lines.ReadSlice('\n')
			if bytes.HasPrefix(line, []byte(`{"id`)) || bytes.HasPrefix(line, []byte(`{"key`)) {
				rows++
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	return rows, err
}

// runViews measures views over the cities.
func runViews(ctx context.Context, e *environment, t *table) error {
	docs, err := cities(e.documents)
	if err != nil {
		return err
	}
	v := &viewed{database: "cities", what: "cities", docs: len(docs),
		views: typical("name", "country", "[doc.country, doc.admin1, doc.admin2]"),
		scan:  "value", one: "value", grouped: "path", key: func(i int) any { return docs[i*7919%len(docs)].Name },
		doc: func(i int) any {
			doc := docs[i*7919%len(docs)]
			doc.ID = fmt.Sprintf("fresh-%d", i)
			return doc
		}}
	return e.onNode(ctx, "views", func(n *node) error {
		if err := load(ctx, n, docs, t); err != nil {
			return err
		}
		return v.measure(ctx, n, t)
	})
}

// onNode runs f with a new node.
func (e *environment) onNode(ctx context.Context, name string, f func(n *node) error) error {
	n, err := start(ctx, e.binary, e.newDir(name))
	if err != nil {
		return err
	}
	return errors.Join(f(n), n.stop())
}

// synthetic documents have 500 bytes and are spread over ten years and a thousand users.
type synthetic struct {
	ID      string `json:"_id"`
	User    string `json:"user"`
	Type    string `json:"type"`
	Year    int    `json:"year"`
	Month   int    `json:"month"`
	Day     int    `json:"day"`
	Amount  int    `json:"amount"`
	Comment string `json:"comment"`
}

func syntheticDoc(i int) any {
	d := synthetic{ID: fmt.Sprintf("%08x-%07d", uint32(i)*2654435761, i), User: syntheticUser(i), Type: "order",
		Year: 2015 + i%10, Month: 1 + i/10%12, Day: 1 + i/120%28, Amount: i % 1000}
	text := mustJSON(d)
	d.Comment = string(bytes.Repeat([]byte("lorem ipsum "), 50)[:500-len(text)])
	return d
}

func syntheticUser(i int) string { return fmt.Sprintf("user-%04d", i*7919%1000) }

// runMillion measures views over many documents.
func runMillion(ctx context.Context, e *environment, t *table) error {
	const docs = 1_000_000
	v := &viewed{database: "million", what: "documents of 500 bytes", docs: docs,
		views: typical("user", "amount", "[doc.year, doc.month, doc.day]"),
		scan:  "value", one: "value", grouped: "path", key: func(i int) any {
			return syntheticUser(i)
		}, doc: syntheticDoc}
	return e.onNode(ctx, "million", func(n *node) error {
		if err := n.call(ctx, "PUT", "/million", nil, nil); err != nil {
			return err
		}
		s := n.stretch()
		err := each(connections, docs/batch, func(b int) error {
			bulk := make([]any, batch)
			for i := range bulk {
				bulk[i] = syntheticDoc(b*batch + i)
			}
			return n.call(ctx, "POST", "/million/_bulk_docs", map[string]any{"docs": bulk}, nil)
		})
		if err != nil {
			return err
		}
		s.rate(t, fmt.Sprintf("load %d documents of 500 bytes", docs), docs, "docs")
		return v.measure(ctx, n, t)
	})
}

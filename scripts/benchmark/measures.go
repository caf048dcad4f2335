package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

// table collects what was measured.
type table struct{ rows [][2]string }

func (t *table) row(what, format string, args ...any) {
	t.rows = append(t.rows, [2]string{what, fmt.Sprintf(format, args...)})
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, r := range t.rows {
		fmt.Fprintf(out, "%s\t%s\t\n", r[0], r[1])
	}
	_ = out.Flush() // standard output
}

// each calls f for 0 to n-1 on several connections and returns all errors.
func each(connections, n int, f func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, connections)
	for c := range connections {
		wg.Go(func() {
			for i := c; i < n && errs[c] == nil; i += connections {
				errs[c] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

const (
	batch       = 1000
	connections = 4
)

// load writes the cities durably, as a user's first import does.
func load(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	if err := n.call(ctx, "PUT", "/cities", nil, nil); err != nil {
		return err
	}
	batches := slices.Collect(slices.Chunk(docs, batch))
	began := time.Now()
	err := each(connections, len(batches), func(i int) error {
		return n.call(ctx, "POST", "/cities/_bulk_docs", map[string]any{"docs": batches[i]}, nil)
	})
	took := time.Since(began)
	t.row(fmt.Sprintf("load %d cities, batches of %d, %d connections", len(docs), batch, connections), "%.0f docs/s", rate(len(docs), took))
	t.row("resident memory while loading, at most", "%.0f MB", n.peakMB())
	return err
}

// buildViews times a first query, which waits for the whole index.
func buildViews(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	const byCountry = "function (doc) { if (doc.country) emit(doc.country, doc.name) }"
	const byName = "function (doc) { if (doc.name) emit(doc.name, null) }"
	for _, d := range []struct {
		name  string
		views map[string]any
	}{
		{"one", map[string]any{"country": map[string]string{"map": byCountry}}},
		{"two", map[string]any{"country": map[string]string{"map": byCountry}, "name": map[string]string{"map": byName}}},
	} {
		if err := n.call(ctx, "PUT", "/cities/_design/"+d.name, map[string]any{"views": d.views}, nil); err != nil {
			return err
		}
		began := time.Now()
		if err := n.call(ctx, "GET", "/cities/_design/"+d.name+"/_view/country?limit=1", nil, nil); err != nil {
			return err
		}
		t.row("build an index of "+d.name+" view(s)", "%.0f docs/s", rate(len(docs), time.Since(began)))
	}
	return nil
}

// read times long answers and short ones.
func read(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	for _, scan := range []struct{ what, path string }{
		{"_all_docs", "/cities/_all_docs"},
		{"_all_docs with bodies", "/cities/_all_docs?include_docs=true"},
		{"_changes", "/cities/_changes"},
		{"_changes with bodies", "/cities/_changes?include_docs=true"},
		{"a whole view", "/cities/_design/two/_view/name"},
	} {
		rows := 0
		began := time.Now()
		err := n.call(ctx, "GET", scan.path, nil, func(r io.Reader) error {
			lines := bufio.NewScanner(r)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), `{"`) {
					rows++
				}
			}
			return lines.Err()
		})
		if err != nil {
			return err
		}
		t.row(scan.what, "%.0f rows/s", rate(rows, time.Since(began)))
	}
	const gets, clients = 20_000, 64
	began := time.Now()
	err := each(clients, gets, func(i int) error {
		return n.call(ctx, "GET", "/cities/"+url.PathEscape(docs[i*7919%len(docs)].ID), nil, nil)
	})
	t.row(fmt.Sprintf("documents one by one, %d clients", clients), "%.0f GETs/s", rate(gets, time.Since(began)))
	return err
}

// write times single durable writes.
func write(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	if err := n.call(ctx, "PUT", "/single", nil, nil); err != nil {
		return err
	}
	for _, c := range []struct{ clients, puts int }{{1, 500}, {64, 10_000}} {
		began := time.Now()
		err := each(c.clients, c.puts, func(i int) error {
			doc := docs[i%len(docs)]
			doc.ID = fmt.Sprintf("%d-%d", c.clients, i)
			return n.call(ctx, "PUT", "/single/"+doc.ID, doc, nil)
		})
		if err != nil {
			return err
		}
		t.row(fmt.Sprintf("durable writes one by one, %d client(s)", c.clients), "%.0f PUTs/s", rate(c.puts, time.Since(began)))
	}
	return nil
}

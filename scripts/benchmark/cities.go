package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

const (
	batch       = 1000
	connections = 4
)

// runCities does on one node what a new user does first.
func runCities(ctx context.Context, e *environment, t *table) (err error) {
	docs, err := cities(e.documents)
	if err != nil {
		return err
	}
	if info, err := os.Stat(e.binary); err == nil {
		t.row("binary", "%.1f MB", float64(info.Size())/1e6)
	}
	data := e.newDir("cities")
	n, err := start(ctx, e.binary, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	t.row("cold start, empty", "%d ms", n.took.Milliseconds())
	for _, measure := range []func(context.Context, *node, []fixtures.City, *table) error{load, buildViews, read,
		write} {
		if err := measure(ctx, n, docs, t); err != nil {
			return err
		}
	}
	t.row("resident memory, at most", "%.0f MB", n.peakMB())
	if err := n.stop(); err != nil {
		return err
	}
	again, err := start(ctx, e.binary, data)
	if err != nil {
		return err
	}
	n = again
	t.row("cold start, with the cities", "%d ms", n.took.Milliseconds())
	t.row("on disk", "%.1f MB", diskMB(data))
	return nil
}

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
	t.row(fmt.Sprintf("load %d cities, batches of %d, %d connections", len(docs), batch, connections), "%.0f docs/s",
		rate(len(docs), took))
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
		{"two",
			map[string]any{"country": map[string]string{"map": byCountry}, "name": map[string]string{"map": byName}}},
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

// read times long responses and short ones.
func read(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	for _, scan := range []struct{ what, path string }{
		{"_all_docs", "/cities/_all_docs"},
		{"_all_docs with bodies", "/cities/_all_docs?include_docs=true"},
		{"_changes", "/cities/_changes"},
		{"_changes with bodies", "/cities/_changes?include_docs=true"},
		{"a whole view", "/cities/_design/two/_view/name"},
	} {
		rows := 0
		n.forgetPeak()
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
		took := time.Since(began)
		t.row(scan.what, "%.0f rows/s, memory at most %.0f MB", rate(rows, took), n.peakMB())
	}
	const gets, clients = 20_000, 64
	began := time.Now()
	err := each(clients, gets, func(i int) error {
		return n.call(ctx, "GET", "/cities/"+url.PathEscape(docs[i*7919%len(docs)].ID), nil, nil)
	})
	t.row(fmt.Sprintf("documents one by one, %d clients", clients), "%.0f GETs/s", rate(gets, time.Since(began)))
	return err
}

// write times durable writes: those of one client compared with the disk, those of many clients, and batches of small
// documents.
func write(ctx context.Context, n *node, docs []fixtures.City, t *table) error {
	if err := n.call(ctx, "PUT", "/single", nil, nil); err != nil {
		return err
	}
	puts := 0
	write := func(clients, more int) (perSecond float64, err error) {
		began := time.Now()
		err = n.lean(ctx, clients, more, func(i int) []byte {
			doc := docs[(puts+i)%len(docs)]
			doc.ID = fmt.Sprintf("%07d", puts+i)
			return put("/single/"+doc.ID, mustJSON(doc))
		})
		puts += more
		return rate(more, time.Since(began)), err
	}
	if err := writeAlone(ctx, n.cmd.Dir, t, func() (float64, error) { return write(1, 500) }); err != nil {
		return err
	}
	const clients = 64
	perSecond, err := write(clients, 40_000)
	if err != nil {
		return err
	}
	t.row(fmt.Sprintf("durable writes one by one, %d clients", clients), "%.0f PUTs/s", perSecond)
	return writeSmall(ctx, n, t)
}

// writeAlone compares one client's writes with a program that only writes to the same disk, and with a server that only
// does that and HTTP. It alternates between them, because others may use the disk too.
func writeAlone(ctx context.Context, dir string, t *table, write func() (perSecond float64, err error)) (err error) {
	bare, stop, err := startBareHTTP(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	body := make([]byte, 200)
	writeBare := func() (float64, error) {
		const puts = 500
		began := time.Now()
		err := bare.lean(ctx, 1, puts, func(int) []byte { return put("/", body) })
		return rate(puts, time.Since(began)), err
	}
	const rounds = 7
	var appended, inPlace, bares, puts []float64
	for range rounds {
		for _, m := range []struct {
			to      *[]float64
			measure func() (float64, error)
		}{
			{&appended, func() (float64, error) { return syncRate(dir, 0, (*os.File).Sync) }},
			{&inPlace, func() (float64, error) { return syncRate(dir, 1<<20, datasync) }},
			{&bares, writeBare},
			{&puts, write},
		} {
			perSecond, err := m.measure()
			if err != nil {
				return err
			}
			*m.to = append(*m.to, perSecond)
		}
	}
	fsync, fdatasync, http, put := median(appended), median(inPlace), median(bares), median(puts)
	t.row("the disk: 1 KB appended to a file, each with fsync", "%.0f/s", fsync)
	t.row("the disk: 1 KB written to allocated space of a file, each with fdatasync", "%.0f/s", fdatasync)
	t.row("the disk behind HTTP: a bare server, 1 KB appended with fsync for each request",
		"%.0f/s, %.0f%% of the disk's fsync", http, 100*http/fsync)
	t.row("durable writes one by one, one client",
		"%.0f PUTs/s, %.0f%% of the disk's fsync, %.0f%% of its fdatasync, %.0f%% of the bare server", put,
		100*put/fsync,
		100*put/fdatasync, 100*put/http)
	return nil
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// writeSmall times batches of documents of 300 bytes.
func writeSmall(ctx context.Context, n *node, t *table) error {
	if err := n.call(ctx, "PUT", "/small", nil, nil); err != nil {
		return err
	}
	const batches = 100
	filler := strings.Repeat("x", 260)
	began := time.Now()
	err := each(connections, batches, func(b int) error {
		docs := make([]map[string]string, batch)
		for i := range docs {
			docs[i] = map[string]string{"_id": fmt.Sprintf("%010d", b*batch+i), "text": filler}
		}
		return n.call(ctx, "POST", "/small/_bulk_docs", map[string]any{"docs": docs}, nil)
	})
	t.row(fmt.Sprintf("documents of 300 bytes, batches of %d, %d connections", batch, connections), "%.0f docs/s",
		rate(batches*batch, time.Since(began)))
	return err
}

// syncRate returns how many times per second a single writer can write a little to a new file and sync it. If space is
// set, the file has that size from the beginning, like a reused log, and is overwritten from its start.
func syncRate(dir string, space int, sync func(*os.File) error) (perSecond float64, err error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	some := make([]byte, 1024)
	if _, err := f.Write(make([]byte, space)); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	n := 0
	began := time.Now()
	for ; time.Since(began) < 300*time.Millisecond; n++ {
		at := n * len(some)
		if space > 0 {
			at %= space
		}
		if _, err := f.WriteAt(some, int64(at)); err != nil {
			return 0, err
		}
		if err := sync(f); err != nil {
			return 0, err
		}
	}
	return rate(n, time.Since(began)), nil
}

// cities returns n cities, repeating the list if necessary. Without npm it invents cities of the same form.
func cities(n int) ([]fixtures.City, error) {
	list, err := fixtures.Cities()
	if err != nil {
		if !errors.Is(err, fixtures.ErrNoNPM) {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, "benchmark: npm is not installed, using invented cities")
		for i := range n {
			list = append(list, fixtures.City{
				Name: fmt.Sprintf("City %d of %d", i*7919%n, n), Lat: fmt.Sprintf("%.5f", float64(i%180)),
				Lng:     fmt.Sprintf("%.5f", float64(i%360)),
				Country: string([]byte{byte('A' + i%26), byte('A' + i/26%26)}), Admin1: fmt.Sprintf("%02d", i%50),
			})
		}
	}
	docs := make([]fixtures.City, n)
	for i := range docs {
		docs[i] = list[i%len(list)]
		docs[i].ID = fmt.Sprintf("%s-%07d", docs[i].Country, i)
	}
	return docs, nil
}

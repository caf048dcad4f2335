package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/tuple"
)

// runBytes measures the size of a document: in keys and values, which is what FoundationDB stores for each replica, and
// on the disk of the embedded engine, which compresses.
func runBytes(ctx context.Context, e *environment, t *table) error {
	docs, err := cities(e.documents)
	if err != nil {
		return err
	}
	// With few documents, most of the size would be recent tables that are not compacted yet.
	const databases = 4
	var dirs []string
	err = e.compare(ctx, "bytes", t, func(c *compared) error {
		dirs = c.dirs
		return c.all(func(n *node) error {
			for i := range databases {
				if err := loadCities(ctx, n, fmt.Sprintf("/cities-%d", i), docs); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	sums := make([]map[string]float64, len(dirs))
	disk, bodies := make([]float64, len(dirs)), 0.0
	for i, dir := range dirs {
		if sums[i], err = storedBytes(ctx, filepath.Join(dir, "store")); err != nil {
			return err
		}
		if disk[i], err = tableBytes(dir); err != nil {
			return err
		}
	}
	for i := range docs {
		doc := docs[i]
		doc.ID = ""
		bodies += float64(len(mustJSON(doc)) - len(`"_id":"",`))
	}
	per := func(what string) []float64 {
		values := make([]float64, len(sums))
		for i := range sums {
			values[i] = sums[i][what] / float64(databases*len(docs))
		}
		return values
	}
	t.row("a city as JSON, without its id", "%.1f bytes", bodies/float64(len(docs)))
	for _, what := range []string{"all", "Revisions", "Changes", "Documents", "AllDocs", "other"} {
		t.row("keys and values of a city: "+what, "%s", told(per(what), "bytes"))
	}
	for i := range disk {
		disk[i] /= float64(databases * len(docs))
	}
	t.row("tables on disk, of a city", "%s", told(disk, "bytes"))
	return nil
}

// storedBytes adds up the keys and values of databases by kind.
func storedBytes(ctx context.Context, dir string) (sums map[string]float64, err error) {
	e, err := embedded.Open(dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s, ok, err := kv.OpenSnapshot(ctx, e)
	if err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("no snapshot of %s", dir))
	}
	defer s.Close()
	data := tuple.AppendInt(nil, int64(keyspace.Data))
	begin, end := tuple.Range(data)
	names := map[int64]string{
		int64(keyspace.Revisions): "Revisions", int64(keyspace.Changes): "Changes",
		int64(keyspace.Documents): "Documents", int64(keyspace.AllDocs): "AllDocs",
	}
	sums = map[string]float64{}
	rows := s.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		_, rest, err := tuple.TakeInt(row.Key[len(data):])
		if err != nil {
			return nil, err
		}
		sub, _, err := tuple.TakeInt(rest)
		if err != nil {
			return nil, err
		}
		name, ok := names[sub]
		if !ok {
			name = "other"
		}
		sums[name] += float64(len(row.Key) + len(row.Value))
		sums["all"] += float64(len(row.Key) + len(row.Value))
	}
	return sums, rows.Err()
}

// tableBytes returns the size of the tables and of files kept with them, but not of logs, which are reused.
func tableBytes(dir string) (size float64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".sst", ".blob"}, filepath.Ext(path)) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += float64(info.Size())
		}
		return err
	})
	return size, err
}

// Command benchmark measures a built divan from outside, over HTTP, and prints a table. scripts/bench runs it. Figures depend on the machine
// and on what else runs there, so nothing is asserted: compare runs on the same machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

func main() {
	binary := flag.String("binary", "bin/divan", "the `FILE` to measure")
	documents := flag.Int("documents", 150_000, "how many cities to load")
	data := flag.String("data", "", "`DIR` for the data; empty: a temporary one, removed at the end")
	flag.Parse()
	if err := run(context.Background(), *binary, *documents, *data); err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, documents int, data string) (err error) {
	if data == "" {
		if data, err = os.MkdirTemp("", "divan-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	}
	docs, err := cities(documents)
	if err != nil {
		return err
	}
	t := &table{}
	if info, err := os.Stat(binary); err == nil {
		t.row("binary", "%.1f MB", float64(info.Size())/1e6)
	}
	n, err := start(ctx, binary, filepath.Join(data, "divan"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	t.row("cold start, empty", "%d ms", n.took.Milliseconds())
	for _, measure := range []func(context.Context, *node, []fixtures.City, *table) error{load, buildViews, read, write} {
		if err := measure(ctx, n, docs, t); err != nil {
			return err
		}
	}
	t.row("resident memory, at most", "%.0f MB", n.peakMB())
	if err := n.stop(); err != nil {
		return err
	}
	again, err := start(ctx, binary, filepath.Join(data, "divan"))
	if err != nil {
		return err
	}
	n = again
	t.row("cold start, with the cities", "%d ms", n.took.Milliseconds())
	t.row("on disk", "%.1f MB", diskMB(data))
	t.print(os.Stdout)
	return nil
}

// cities repeats the list where more are wanted than there are. Without npm they are made up, in the same shape.
func cities(n int) ([]fixtures.City, error) {
	list, err := fixtures.Cities()
	if err != nil {
		if !errors.Is(err, fixtures.ErrNoNPM) {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, "benchmark: without npm the cities are made up")
		for i := range n {
			list = append(list, fixtures.City{
				Name: fmt.Sprintf("City %d of %d", i*7919%n, n), Lat: fmt.Sprintf("%.5f", float64(i%180)), Lng: fmt.Sprintf("%.5f", float64(i%360)),
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

// rate is how many per second.
func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

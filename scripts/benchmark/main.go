// Command benchmark measures a divan binary from outside, over HTTP, and prints tables. scripts/bench runs it. Results
// depend on the machine and on what else runs there, so nothing is asserted: compare runs on the same machine. Go
// benchmarks of single packages are in those packages.
//
// docs/design/scale.md explains what some of the results mean for large databases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// benchmark prints one table, using a directory of its own.
type benchmark struct {
	name, about string
	run         func(ctx context.Context, e *environment, t *table) error
	pairs       bool // run alternates between this binary and that of -against
}

// benchmarks are all benchmarks. The first one runs if none is named. Each has a file of its own.
var benchmarks = []benchmark{
	{name: "cities", about: "a node with 150,000 cities: load, index, read, write; a few minutes", run: runCities},
	{name: "lists", about: "_all_docs and _changes of all cities, with and without bodies",
		run: runLists, pairs: true},
	{name: "writes",
		about: "durable writes: batches of documents of 500 bytes, and documents that are read and updated",
		run:   runWrites, pairs: true},
	{name: "pages",
		about: "_changes?limit=100 from the middle of a million changes, while documents are written; some minutes",
		run:   runPages, pairs: true},
	{name: "bytes", about: "the size of a document, in keys and values and on disk", run: runBytes, pairs: true},
	{name: "scale", about: "the cost of operations in keys and bytes, the keys of 10,000,000 documents, and a " +
		"simulation of hot ranges on FoundationDB", run: runScale},
	{name: "storage",
		about: "the embedded engine and the remote one against bare Pebble, as ratios, and their memory; two minutes",
		run:   runStorage},
	{name: "feeds",
		about: "change feeds: consumers of 1 to 8 shards, and the time from a write to a listener among " +
			"1,000 idle ones", run: runFeeds},
	{name: "fdb", about: "a node on FoundationDB against a bare program with the same transactions; needs " +
		"DIVAN_CLUSTER_FILE and the client library", run: runFDB},
	{name: "views",
		about: "views of the cities: build, scan, single keys, grouped counts, fresh reads, each with the node's CPU",
		run:   runViews},
	{name: "sql", about: "SQL over the cities beside PostgreSQL 15, as ratios of time and CPU", run: runSQL},
	{name: "million", about: "the same over 1,000,000 documents of 500 bytes; some ten minutes", run: runMillion},
	{name: "builds", about: "an index built with 1, 2 and 4 shards on one node and on two, with the CPU it takes",
		run: runBuilds},
	{name: "nodes", about: "the same work for one node and for three on this machine, as ratios; some minutes",
		run: runNodes},
}

// environment is what a benchmark works with.
type environment struct {
	binary    string
	against   string // an older binary to compare with; may be empty
	documents int    // number of cities
	dir       string // for data; removed at the end unless the user named it
	starts    int
}

func main() {
	binary := flag.String("binary", "bin/divan", "the binary `FILE` to measure")
	against := flag.String("against", "", "an older binary `FILE` to compare with, measured in turns in the same run")
	documents := flag.Int("documents", 150_000, "how many cities to load")
	data := flag.String("data", "", "`DIR` for the data; empty: a temporary one, removed at the end")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scripts/bench [flags] [table ...]")
		for i, b := range benchmarks {
			fmt.Fprintf(os.Stderr, "  %-8s %s%s\n", b.name, b.about, map[bool]string{true: " (default)"}[i == 0])
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 2 && flag.Arg(0) == bareHTTP {
		if err := serveBareHTTP(context.Background(), flag.Arg(1)); err != nil {
			fmt.Fprintln(os.Stderr, "benchmark:", err)
			os.Exit(1)
		}
		return
	}
	chosen, err := choose(flag.Args())
	if err == nil {
		err = run(context.Background(), chosen,
			environment{binary: *binary, against: *against, documents: *documents, dir: *data})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmark:", err)
		os.Exit(1)
	}
}

// choose returns benchmarks by name.
func choose(names []string) ([]benchmark, error) {
	if len(names) == 0 {
		return benchmarks[:1], nil
	}
	var chosen []benchmark
	for _, name := range names {
		i := slices.IndexFunc(benchmarks, func(b benchmark) bool { return b.name == name })
		if i < 0 {
			var known []string
			for _, b := range benchmarks {
				known = append(known, b.name)
			}
			return nil, fmt.Errorf("there is no table %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, benchmarks[i])
	}
	return chosen, nil
}

func run(ctx context.Context, chosen []benchmark, e environment) (err error) {
	if e.dir == "" {
		if e.dir, err = os.MkdirTemp("", "divan-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(e.dir)) }()
	}
	for _, b := range chosen {
		t := &table{}
		began := time.Now()
		measure := b.run
		if e.against != "" && !b.pairs {
			measure = func(ctx context.Context, e *environment, t *table) error { return e.runAgainst(ctx, b, t) }
		}
		if err := measure(ctx, &e, t); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Printf("%s (%.0f s)\n", b.name, time.Since(began).Seconds())
		t.print(os.Stdout)
	}
	return nil
}

// rate returns the number per second.
func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

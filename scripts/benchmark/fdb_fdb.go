//go:build fdb

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/directory"
)

const (
	fdbClients = 64
	fdbPuts    = 3_000  // per round
	fdbBulk    = 12_000 // documents per round
	fdbRounds  = 3
)

// runFDB compares a node on FoundationDB with a bare program that runs the same transactions through Apple's binding,
// in turns, so that other work on the machine affects both. The node does HTTP, JSON, its client and the clearing of
// transaction ids in addition.
func runFDB(ctx context.Context, e *environment, t *table) (err error) {
	file := os.Getenv("DIVAN_CLUSTER_FILE")
	if file == "" {
		return errors.New("set DIVAN_CLUSTER_FILE to the fdb.cluster of a FoundationDB that may be written to")
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	if err := fdb.APIVersion(730); err != nil {
		return err
	}
	db, err := fdb.OpenDatabase(file)
	if err != nil {
		return err
	}
	defer db.Close()
	place := fmt.Sprintf("divan-bench-%x", rand.Uint64())
	bareDirectory, err := directory.CreateOrOpen(db, []string{place, "bare"}, nil)
	if err != nil {
		return err
	}
	defer func() {
		_, removed := directory.Root().Remove(db, []string{place})
		err = errors.Join(err, removed)
	}()
	n, err := start(ctx, e.binary, e.newDir("fdb"), "storage:", "  engine: fdb", "  timeout: 1m",
		fmt.Sprintf("  cluster_file: %q", file), fmt.Sprintf("  directory: %q", place+"/node"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	b := newBare(db, bareDirectory.Bytes())
	for _, measure := range []func(context.Context, *node, *bare, *table) error{compareOne, comparePuts, compareBulk} {
		if err := measure(ctx, n, b, t); err != nil {
			return err
		}
	}
	return nil
}

// compareOne measures the latency for one client, which shows the round trips.
func compareOne(ctx context.Context, n *node, b *bare, t *table) error {
	if err := n.call(ctx, "PUT", "/one", nil, nil); err != nil {
		return err
	}
	const puts = 200
	return byTurns(t, "a durable write, one client", "writes/s", puts, 1,
		func(i int) error { return b.put(fmt.Sprintf("one%d", i), fdbBody) },
		func(i int) error {
			return n.call(ctx, "PUT", fmt.Sprintf("/one/%d", i), map[string]string{"text": fdbText}, nil)
		})
}

func comparePuts(ctx context.Context, n *node, b *bare, t *table) error {
	if err := n.call(ctx, "PUT", "/puts", nil, nil); err != nil {
		return err
	}
	return byTurns(t, fmt.Sprintf("single PUTs, %d clients", fdbClients), "writes/s", fdbPuts, fdbClients,
		func(i int) error { return b.put(fmt.Sprintf("put%d", i), fdbBody) },
		func(i int) error {
			return n.call(ctx, "PUT", fmt.Sprintf("/puts/%d", i), map[string]string{"text": fdbText}, nil)
		})
}

// compareBulk compares bulk writes. A request with 1,000 documents is two transactions of the layer.
func compareBulk(ctx context.Context, n *node, b *bare, t *table) error {
	if err := n.call(ctx, "PUT", "/bulk", nil, nil); err != nil {
		return err
	}
	ids := func(i, n int) []string {
		list := make([]string, n)
		for j := range list {
			list[j] = fmt.Sprintf("%08d", i*n+j)
		}
		return list
	}
	return byTurns(t, fmt.Sprintf("bulk load, batches of %d, %d connections", batch, connections), "docs/s",
		fdbBulk/batch, connections,
		func(i int) error {
			all := ids(i, batch)
			if err := b.bulk(all[:batch/2], fdbBody); err != nil {
				return err
			}
			return b.bulk(all[batch/2:], fdbBody)
		},
		func(i int) error {
			docs := make([]map[string]string, batch)
			for j, id := range ids(i, batch) {
				docs[j] = map[string]string{"_id": id, "text": fdbText}
			}
			return n.call(ctx, "POST", "/bulk/_bulk_docs", map[string]any{"docs": docs}, nil)
		})
}

// fdbBody is a document of about 300 bytes.
var (
	fdbText = strings.Repeat("x", 280)
	fdbBody = []byte(`{"text":"` + fdbText + `"}`)
)

// byTurns measures both sides in rounds of n calls each, and compares their total times.
func byTurns(t *table, what, unit string, n, connections int, bare, divan func(i int) error) error {
	var took [2]time.Duration
	calls := 0
	for round := range fdbRounds {
		for side, call := range []func(int) error{bare, divan} {
			began := time.Now()
			if err := each(connections, n, func(i int) error { return call(round*n + i) }); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			took[side] += time.Since(began)
		}
		calls += n
	}
	if unit == "docs/s" {
		calls *= batch
	}
	own, ours := rate(calls, took[0]), rate(calls, took[1])
	t.row(what, "bare %.0f, divan %.0f %s: %.0f%%", own, ours, unit, 100*ours/own)
	return nil
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/divandb/divan/scripts/fixtures"
)

// runBuilds builds the same index over the same documents with different numbers of shards, on one node and on two
// nodes over the store of the first. All share this machine's processors, so more tasks and nodes cannot make a build
// faster than its CPU time allows, which the last line shows. Even one task keeps two processors busy, because it maps
// documents while others are written.
func runBuilds(ctx context.Context, e *environment, t *table) error {
	docs, err := cities(min(e.documents, 60_000))
	if err != nil {
		return err
	}
	t.row("three views over", "%d cities", len(docs))
	least := time.Duration(math.MaxInt64)
	for _, nodes := range []int{1, 2} {
		used, err := buildOn(ctx, e, nodes, docs, t)
		if err != nil {
			return err
		}
		least = min(least, used)
	}
	processors := runtime.NumCPU()
	t.row("what the CPU allows", "%.0f docs/s: %d processors, %.0f us a document at best",
		float64(processors)*rate(len(docs), least), processors, perDoc(least, docs))
	return nil
}

// perDoc returns the time per document, in microseconds.
func perDoc(d time.Duration, docs []fixtures.City) float64 {
	return float64(d.Microseconds()) / float64(len(docs))
}

// buildOn starts nodes and builds on them. least is the CPU time of the cheapest build.
func buildOn(ctx context.Context, e *environment, count int, docs []fixtures.City, t *table) (least time.Duration,
	err error) {
	nodes, err := e.cluster(ctx, count)
	defer func() {
		for _, n := range slices.Backward(nodes) {
			err = errors.Join(err, n.stop())
		}
	}()
	if err != nil {
		return 0, err
	}
	design := map[string]any{"views": map[string]any{
		"country": map[string]string{"map": "function (doc) { if (doc.country) emit(doc.country, doc.name) }"},
		"name":    map[string]string{"map": "function (doc) { if (doc.name) emit(doc.name, null) }"},
		"place": map[string]string{"map": "function (doc) { emit([Math.floor(doc.lat), Math.floor(doc.lng)], " +
			"{name: doc.name, country: doc.country}) }"},
	}}
	for _, shards := range []int{1, 2, 4} {
		db := fmt.Sprintf("/build-%d", shards)
		if err := nodes[0].call(ctx, "PUT", fmt.Sprintf("%s?changes_shards=%d", db, shards), nil, nil); err != nil {
			return 0, err
		}
		batches := slices.Collect(slices.Chunk(docs, batch))
		err := each(connections, len(batches), func(i int) error {
			return nodes[0].call(ctx, "POST", db+"/_bulk_docs", map[string]any{"docs": batches[i]}, nil)
		})
		if err != nil {
			return 0, err
		}
		if err := nodes[0].call(ctx, "PUT", db+"/_design/by", design, nil); err != nil {
			return 0, err
		}
		before := make([]time.Duration, count)
		for i, n := range nodes {
			before[i] = n.cpu()
		}
		began := time.Now()
		if err := nodes[0].call(ctx, "GET", db+"/_design/by/_view/country?limit=1", nil, nil); err != nil {
			return 0, err
		}
		took := time.Since(began)
		used, all := "", time.Duration(0)
		for i, n := range nodes {
			cpu := n.cpu() - before[i]
			used += fmt.Sprintf("%s%.1f", map[bool]string{true: " + "}[i > 0], cpu.Seconds())
			all += cpu
		}
		if least == 0 || all < least {
			least = all
		}
		t.row(fmt.Sprintf("%d node(s), %d shard(s)", count, shards),
			"%.1f s, %.0f docs/s; CPU %s s, %.0f us a document, %.1f of %d processors",
			took.Seconds(), rate(len(docs), took), used, perDoc(all, docs), all.Seconds()/took.Seconds(),
			runtime.NumCPU())
	}
	return least, nil
}

// cluster starts nodes over the store of the first one, and waits until each sees all. It returns running nodes even
// with an error.
func (e *environment) cluster(ctx context.Context, count int) (nodes []*node, err error) {
	secret := "secret: " + rand.Text()
	store, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	for i := range count {
		settings := []string{fmt.Sprintf("name: node%d", i+1)}
		switch {
		case count == 1:
		case i == 0:
			settings = append(settings, fmt.Sprintf("storage: {engine: embedded, listen: '%s', %s}", store, secret),
				fmt.Sprintf("cluster: {%s}", secret))
		default:
			settings = append(settings, fmt.Sprintf("storage: {engine: remote, address: '%s', %s}", store, secret),
				fmt.Sprintf("cluster: {join: ['%s'], %s}", nodes[0].gossip, secret))
		}
		n, err := start(ctx, e.binary, e.newDir("node"), settings...)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		for alive := 0; alive < count; time.Sleep(20 * time.Millisecond) {
			var list struct {
				Members []struct{ Status string }
			}
			if err := n.call(ctx, "GET", "/_members", nil, decode(&list)); err != nil {
				return nodes, err
			}
			alive = 0
			for _, m := range list.Members {
				if m.Status == "alive" {
					alive++
				}
			}
		}
	}
	return nodes, nil
}

// freeAddr returns an address with a free port, for ports that must be known in advance.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

package metrics_test

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/metrics"
)

// kept reports whether a metric has the name that CouchDB or protoactor gave it.
func kept(name string) bool {
	return strings.HasPrefix(name, "couchdb_") || strings.HasPrefix(name, "protoactor_")
}

// everything returns metrics with all sources, after some requests and statements.
func everything() *metrics.Metrics {
	histogram := actors.Histogram{Bounds: []float64{.1, 1}, Counts: []int64{4, 2}, Count: 7, Sum: 9.5}
	m := metrics.New(metrics.Sources{
		Version: "1",
		Actors: func() actors.Metrics {
			return actors.Metrics{Kinds: []actors.KindMetrics{{Kind: "shard", Durations: histogram}},
				Steps: histogram, Indexed: 12, IndexRows: 13}
		},
		Transactions: func() metrics.Store { return metrics.Store{Conflicts: 3, Retries: 4, Latency: histogram} },
		Store:        func(context.Context) error { return nil },
		Upkeep: func() []layer.UpkeepMetrics {
			return []layer.UpkeepMetrics{{Kind: "finished_jobs", Done: true}}
		},
		Members:   func() map[string]int { return map[string]int{"alive": 1} },
		Degraded:  func() map[string]int { return map[string]int{"disk_full": 1} },
		FreeBytes: func() (int64, bool) { return 1, true },
		Indexes:   func() []metrics.Index { return []metrics.Index{{Database: "a", Design: "b"}} },
		Scripts: func() script.Stats {
			return script.Stats{CallStats: script.CallStats{Limits: map[string]int64{"time": 1},
				Databases: []script.DatabaseStats{{Database: "a"}}}}
		},
		Compaction:   func() metrics.Compaction { return metrics.Compaction{} },
		Sessions:     func() int { return 1 },
		SQLMemory:    func() (held, limit int64) { return 1, 2 },
		SQLBadValues: func() int64 { return 1 },
		Replications: func() metrics.Replications { return metrics.Replications{} },
		SQLTemp:      func() (now, limit, spilled int64) { return 1, 2, 3 },
		Bodies:       func() (held, refused int64) { return 1, 2 },
		Connections:  func() int { return 1 },
	})
	m.Observe(metrics.Request{Method: "GET", Route: "/{db}", Status: 200, Took: time.Millisecond})
	m.ObserveStatement("SELECT 1", time.Millisecond)
	return m
}

// Prometheus' linter accepts all names but those kept from CouchDB and protoactor. promtool check metrics has the same
// rules.
func TestMetrics_Lint(t *testing.T) {
	text := scrape(t, everything())
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range problems {
		if kept(p.Metric) {
			found++
			continue
		}
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if found == 0 {
		t.Error("the linter found nothing wrong with the kept names either: it does not work")
	}
}

// The same with the program, where it is installed.
func TestMetrics_Promtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool in the PATH")
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape(t, everything()))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // fails because of the kept names
	for line := range strings.Lines(out.String()) {
		if !kept(line) {
			t.Error(line)
		}
	}
	if out.Len() == 0 {
		t.Error("promtool found nothing wrong with the kept names either")
	}
}

// A client that sends requests with names of its own creates no series, and a feed that waited is in no histogram of
// routes.
func TestMetrics_Bounded(t *testing.T) {
	m := metrics.New(metrics.Sources{})
	count := func() int { return strings.Count(scrape(t, m), "\n") }
	observe := func(name string) {
		m.Observe(metrics.Request{Method: name, Route: "/{db}", Status: 200})
		m.ObserveStatement(name+" x", time.Second)
	}
	observe("FIRST")
	before := count()
	for _, name := range []string{"a", "b", "c", "/*", "--", "(((", ""} {
		observe(name)
	}
	if after := count(); after != before {
		t.Errorf("%d lines became %d", before, after)
	}
	m.Observe(metrics.Request{Method: "GET", Route: "/{db}/_changes", Status: 200, Took: time.Hour, Waited: true})
	if text := scrape(t, m); strings.Contains(text, "_changes") || !strings.Contains(text,
		`divan_http_responses_total{code="200",method="GET"} 1`) {
		t.Error(text)
	}
}

func TestStatementKind(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT 1": "select", " \n( select 1)": "select", "with a as (select 1) table a": "select",
		"-- why\n/* how */ Insert into a values (1)": "insert", "update": "update", "DELETE FROM a": "delete",
		"copy a to stdout": "copy", "BEGIN;": "transaction", "rollback to a": "transaction",
		"fetch 10 from c": "cursor", "listen a": "other", "ALTER USER ... PASSWORD": "other", "": "other",
		"/* never ends": "other", "-- never ends": "other", "selector": "other", "explain select 1": "explain",
	} {
		if got := metrics.StatementKind(statement); got != want {
			t.Errorf("%q is %q, want %q", statement, got, want)
		}
	}
}

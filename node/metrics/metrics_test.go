package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/metrics"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	m := metrics.New(metrics.Sources{
		Version: "1.2",
		Store:   func(context.Context) error { return errors.New("gone") },
		Actors: func() actors.Metrics {
			return actors.Metrics{
				Kinds: []actors.KindMetrics{{
					Kind: "shard", Running: 3, Mailbox: 2, Spawned: 5, Stopped: 2, Restarted: 1,
					Durations: actors.Histogram{Bounds: []float64{.1, 1}, Counts: []int64{4, 2}, Count: 7, Sum: 9.5},
				}},
				DeadLetters: 8, Listeners: 6, Wakes: 11, Indexed: 1000, IndexRows: 2000,
				Steps: actors.Histogram{Bounds: []float64{.1, 1}, Counts: []int64{3, 1}, Count: 5, Sum: 8},
			}
		},
		Transactions: func() metrics.Store {
			return metrics.Store{Conflicts: 21, Retries: 22,
				Latency: actors.Histogram{Bounds: []float64{.01, .1}, Counts: []int64{90, 9}, Count: 100, Sum: 2.5}}
		},
		Upkeep: func() []layer.UpkeepMetrics {
			return []layer.UpkeepMetrics{
				{
					Kind:     "finished_jobs",
					Every:    time.Minute,
					Runs:     5,
					Failures: 2,
					Took:     3 * time.Second,
					Since:    time.Hour,
					Done:     true,
				},
				{Kind: "left_uploads", Every: time.Hour, Running: 14 * time.Second},
			}
		},
		Members:      func() map[string]int { return map[string]int{"alive": 2, "left": 1} },
		Sessions:     func() int { return 4 },
		Degraded:     func() map[string]int { return map[string]int{"disk_full": 1} },
		Bodies:       func() (held, refused int64) { return 3 << 20, 12 },
		Connections:  func() int { return 13 },
		SQLMemory:    func() (held, limit int64) { return 1 << 20, 512 << 20 },
		SQLBadValues: func() int64 { return 11 },
		SQLTemp:      func() (now, limit, spilled int64) { return 1 << 10, 2 << 20, 7 },
		Scripts: func() script.Stats {
			return script.Stats{
				Runtimes: 5, Idle: 2, Most: 16,
				CallStats: script.CallStats{
					Running: 1, Paused: 6, Waiting: 7, Limits: map[string]int64{"time": 8},
					Stopped: 9, Refused: 10, Seconds: 1.5,
					Databases: []script.DatabaseStats{{Database: "cities", Seconds: .5, Waiting: 3}},
				},
			}
		},
		Indexes: func() []metrics.Index {
			return []metrics.Index{
				{Database: "cities", Design: "by", Lag: 17, Building: true, Errors: 2},
				{Database: "old", Design: "all"},
			}
		},
	})
	request := func(method string, status int, took time.Duration) {
		m.Observe(metrics.Request{Method: method, Route: "/{db}/{doc}", Status: status, Took: took})
	}
	request("GET", 200, 3*time.Millisecond)
	request("GET", 404, 3*time.Millisecond)
	request("FROB", 405, time.Millisecond)
	m.ObserveStatement("INSERT INTO cities VALUES (1)", 2*time.Second)
	text := scrape(t, m)
	for _, want := range []string{
		`couchdb_httpd_requests_total 3`,
		`divan_http_body_memory_bytes 3.145728e+06`, `divan_http_bodies_refused_total 12`, `divan_http_connections 13`,
		`couchdb_httpd_request_methods{method="GET"} 2`,
		`couchdb_httpd_request_methods{method="other"} 1`,
		`couchdb_httpd_status_codes{code="404"} 1`,
		`divan_http_request_duration_seconds_bucket{method="GET",le="0.0025"} 0`,
		`divan_http_request_duration_seconds_bucket{method="GET",le="0.005"} 2`,
		`divan_http_responses_total{code="404",method="GET"} 1`,
		`divan_http_route_duration_seconds_bucket{method="GET",route="/{db}/{doc}",le="0.0025"} 0`,
		`divan_http_route_duration_seconds_count{method="GET",route="/{db}/{doc}"} 2`,
		`divan_sql_statement_duration_seconds_bucket{kind="insert",le="1"} 0`,
		`divan_sql_statement_duration_seconds_sum{kind="insert"} 2`,
		`divan_store_commit_duration_seconds_bucket{le="0.1"} 99`,
		`divan_store_commit_duration_seconds_count 100`,
		`divan_store_conflicts_total 21`,
		`divan_store_retries_total 22`,
		`divan_index_step_duration_seconds_bucket{le="1"} 4`,
		`divan_index_step_duration_seconds_count 5`,
		`divan_index_documents_total 1000`,
		`divan_index_rows_total 2000`,
		`divan_actors_restarted_total{actortype="shard"} 1`,
		`divan_dead_letters_total 8`,
		`divan_build_info{version="1.2"} 1`,
		`divan_degraded{reason="disk_full"} 1`,
		`divan_script_runtimes{state="busy"} 3`,
		`divan_script_runtimes_limit 16`,
		`divan_script_calls{state="waiting"} 7`,
		`divan_script_limits_total{limit="time"} 8`,
		`divan_script_refused_total 10`,
		`divan_script_database_seconds{database="cities"} 0.5`,
		`divan_script_database_waiting{database="cities"} 3`,
		`divan_actors{actortype="shard"} 3`,
		`protoactor_actor_mailbox_length{actortype="shard"} 2`,
		`protoactor_actor_spawn_count{actortype="shard"} 5`,
		`protoactor_actor_restarted_count{actortype="shard"} 1`,
		`protoactor_actor_message_receive_duration_seconds_bucket{actortype="shard",le="0.1"} 4`,
		`protoactor_actor_message_receive_duration_seconds_bucket{actortype="shard",le="1"} 6`,
		`protoactor_actor_message_receive_duration_seconds_bucket{actortype="shard",le="+Inf"} 7`,
		`protoactor_actor_message_receive_duration_seconds_sum{actortype="shard"} 9.5`,
		`protoactor_deadletter_count 8`,
		`divan_feed_listeners 6`,
		`divan_feed_wakes_total 11`,
		`divan_upkeep_runs_total{kind="finished_jobs",result="done"} 3`,
		`divan_upkeep_runs_total{kind="finished_jobs",result="failed"} 2`,
		`divan_upkeep_seconds_total{kind="finished_jobs"} 3`,
		`divan_upkeep_period_seconds{kind="finished_jobs"} 60`,
		`divan_upkeep_since_done_seconds{kind="finished_jobs"} 3600`,
		`divan_upkeep_running_seconds{kind="finished_jobs"} 0`,
		`divan_upkeep_running_seconds{kind="left_uploads"} 14`,
		`divan_members{status="alive"} 2`,
		`divan_sql_sessions 4`,
		`divan_sql_memory_bytes 1.048576e+06`,
		`divan_sql_memory_limit_bytes 5.36870912e+08`,
		`divan_sql_temp_bytes 1024`,
		`divan_sql_temp_limit_bytes 2.097152e+06`,
		`divan_sql_spilled_statements_total 7`,
		`divan_sql_bad_values_total 11`,
		`divan_index_lag_changes{database="cities",design="by"} 17`,
		`divan_index_building{database="cities",design="by"} 1`,
		`divan_index_skipped_documents{database="cities",design="by"} 2`,
		`divan_index_lag_changes{database="old",design="all"} 0`,
		`divan_store_up 0`,
		`couchdb_uptime_seconds `,
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A node that lacks a part still has metrics.
func TestMetrics_NoSources(t *testing.T) {
	if text := scrape(t, metrics.New(metrics.Sources{})); strings.Contains(text, "protoactor") {
		t.Error("metrics of actors without actors")
	}
}

// The free space of a cluster that has not told it yet is published once it has.
func TestMetrics_freeLater(t *testing.T) {
	known := false
	m := metrics.New(metrics.Sources{FreeBytes: func() (int64, bool) { return 42, known }})
	if text := scrape(t, m); strings.Contains(text, "divan_store_disk_free_bytes") {
		t.Errorf("published although it is not known: %s", text)
	}
	known = true
	if text := scrape(t, m); !strings.Contains(text, "divan_store_disk_free_bytes 42\n") {
		t.Errorf("not published: %s", text)
	}
}

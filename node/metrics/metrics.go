// Package metrics publishes the node's metrics for Prometheus. Other packages count in plain Go, and only this one
// knows the format. Metrics that CouchDB or protoactor also have keep their names, so that existing dashboards work.
// All others begin with divan_ and follow Prometheus' rules for names, which a test checks; they include those that
// have a kept name too.
//
// The number of series does not grow with the number of databases, documents or users: labels are methods, routes,
// kinds and reasons, or names of at most 500 indexes and the databases that used most JavaScript. docs/metrics.md lists
// them all.
package metrics

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/script"
)

// Sources are read at every scrape. Any may be nil. They must not block for long.
type Sources struct {
	Version string
	Actors  func() actors.Metrics
	// Transactions returns what this node's transactions have done.
	Transactions func() Store
	// Members returns the number of cluster members by status: alive, suspect, left, dead.
	Members func() map[string]int
	// Store returns nil if the store answers.
	Store func(ctx context.Context) error
	// Degraded returns the number of reasons why this node needs an operator, by name.
	Degraded func() map[string]int
	// FreeBytes returns the free space on the disk of the node's own store or of FoundationDB's fullest server, if that
	// is known. It is nil if the store is on another node.
	FreeBytes func() (free int64, known bool)
	// Indexes returns the indexes that this node was asked for recently, without those that cannot be read in time.
	Indexes func() []Index
	// Scripts returns statistics on the JavaScript sandbox.
	Scripts func() script.Stats
	// Compaction returns what compactions of this node have done, and what they know remains to do.
	Compaction func() Compaction
	// Replications returns what this node has replicated.
	Replications func() Replications
	// Upkeep returns the metrics of the node's background upkeep, by kind.
	Upkeep func() []layer.UpkeepMetrics
	// Sessions returns the number of SQL sessions.
	Sessions func() int
	// SQLMemory returns the memory that SQL statements hold and its limit, in bytes.
	SQLMemory func() (held, limit int64)
	// SQLTemp returns the bytes in temporary files of SQL statements and their limit, and how many statements have
	// written such files.
	SQLTemp func() (now, limit, spilled int64)
	// SQLBadValues returns how many values typed columns of declared relations have shown as NULL.
	SQLBadValues func() int64
	// Bodies returns the memory that HTTP requests hold for their bodies, in bytes, and how many requests were refused
	// for lack of it. Connections returns the number of connections.
	Bodies      func() (held, refused int64)
	Connections func() int
}

// Index is the state of a design document's index.
type Index struct {
	Database, Design string // Design is without _design/
	Lag              int64  // changes not processed yet, up to a bound of the source's
	Building         bool   // by this node, perhaps with the help of others
	Errors           int64  // documents that were skipped
}

// Metrics is the registry of one node.
type Metrics struct {
	registry *prometheus.Registry
	requests prometheus.Counter
	methods  *prometheus.CounterVec
	statuses *prometheus.CounterVec
	duration *prometheus.HistogramVec

	responses  *prometheus.CounterVec
	routes     *prometheus.HistogramVec
	statements *prometheus.HistogramVec
}

// routeBounds and statementBounds are the upper bounds of durations in seconds. There are many routes, so that each has
// few.
var (
	routeBounds     = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30}
	statementBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}
)

// New registers all metrics.
func New(s Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "couchdb_httpd_requests_total", Help: "HTTP requests."}),
		methods: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couchdb_httpd_request_methods", Help: "HTTP requests by method.",
		}, []string{"method"}),
		statuses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couchdb_httpd_status_codes", Help: "HTTP responses by status.",
		}, []string{"code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "divan_http_request_duration_seconds", Help: "Time to the end of the answer, by method; feeds " +
				"that wait are in it.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"method"}),
		responses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "divan_http_responses_total", Help: "HTTP responses by method and status; 0 if the connection " +
				"ended without one.",
		}, []string{"method", "code"}),
		routes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "divan_http_route_duration_seconds", Help: "Time to the end of the answer, by endpoint and " +
				"method, without feeds that waited.",
			Buckets: routeBounds,
		}, []string{"route", "method"}),
		statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "divan_sql_statement_duration_seconds", Help: "Time of SQL statements by kind; each part of one " +
				"whose rows were fetched in parts counts.",
			Buckets: statementBounds,
		}, []string{"kind"}),
	}
	began := time.Now()
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.methods, m.statuses, m.duration, m.responses, m.routes, m.statements,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "couchdb_uptime_seconds", Help: "Seconds since the node started.",
		}, func() float64 { return time.Since(began).Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "divan_build_info", Help: "Always 1, with the version.",
			ConstLabels: prometheus.Labels{"version": s.Version},
		}, func() float64 { return 1 }),
	)
	if s.Actors != nil {
		m.registry.MustRegister(actorCollector{s.Actors})
	}
	if s.Transactions != nil {
		m.registry.MustRegister(storeCollector{s.Transactions})
	}
	if s.Members != nil {
		m.registry.MustRegister(memberCollector{s.Members})
	}
	if s.Indexes != nil {
		m.registry.MustRegister(indexCollector{s.Indexes})
	}
	if s.Scripts != nil {
		m.registry.MustRegister(scriptCollector{s.Scripts})
	}
	if s.Replications != nil {
		m.registry.MustRegister(replicationCollector{s.Replications})
	}
	if s.Compaction != nil {
		m.registry.MustRegister(compactionCollector{s.Compaction})
	}
	if s.Upkeep != nil {
		m.registry.MustRegister(upkeepCollector{s.Upkeep})
	}
	if s.Store != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_store_up", Help: "1 if the store answers."},
			func() float64 {
				if s.Store(context.Background()) != nil {
					return 0
				}
				return 1
			}))
	}
	if s.FreeBytes != nil {
		m.registry.MustRegister(freeCollector{s.FreeBytes})
	}
	if s.Degraded != nil {
		m.registry.MustRegister(degradedCollector{s.Degraded})
	}
	if s.Sessions != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_sql_sessions", Help: "Open SQL sessions."},
			func() float64 { return float64(s.Sessions()) }))
	}
	if s.SQLMemory != nil {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_memory_bytes", Help: "Memory held by SQL statements, cursors, prepared statements " +
					"and messages.",
			}, func() float64 { held, _ := s.SQLMemory(); return float64(held) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_memory_limit_bytes", Help: "Maximum memory that SQL may hold (sql.memory).",
			}, func() float64 { _, limit := s.SQLMemory(); return float64(limit) }))
	}
	if s.SQLTemp != nil {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_temp_bytes", Help: "Bytes in temporary files of SQL statements.",
			}, func() float64 { now, _, _ := s.SQLTemp(); return float64(now) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_temp_limit_bytes", Help: "Maximum of divan_sql_temp_bytes (sql.temp_files).",
			}, func() float64 { _, limit, _ := s.SQLTemp(); return float64(limit) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "divan_sql_spilled_statements_total", Help: "SQL statements that wrote temporary files.",
			}, func() float64 { _, _, spilled := s.SQLTemp(); return float64(spilled) }))
	}
	if s.SQLBadValues != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "divan_sql_bad_values_total",
				Help: "Values that typed columns of declared relations showed as NULL."},
			func() float64 { return float64(s.SQLBadValues()) }))
	}
	if s.Bodies != nil {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_http_body_memory_bytes", Help: "Memory held for the bodies of HTTP requests " +
					"(http.bodies).",
			}, func() float64 { held, _ := s.Bodies(); return float64(held) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "divan_http_bodies_refused_total", Help: "HTTP requests answered 503 for lack of " +
					"memory for their bodies.",
			}, func() float64 { _, refused := s.Bodies(); return float64(refused) }))
	}
	if s.Connections != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_http_connections", Help: "Open HTTP connections."},
			func() float64 { return float64(s.Connections()) }))
	}
	return m
}

// knownMethods keeps clients from creating labels.
var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "COPY": true, "OPTIONS": true,
}

// Request describes a finished HTTP request.
type Request struct {
	Method string
	Route  string // the endpoint; callers pass one of a fixed set
	Status int
	Took   time.Duration
	Waited bool // the answer was a feed that waited
}

// Observe counts a finished HTTP request. It does not block.
func (m *Metrics) Observe(r Request) {
	method, code, took := r.Method, strconv.Itoa(r.Status), r.Took.Seconds()
	if !knownMethods[method] {
		method = "other"
	}
	m.requests.Inc()
	m.methods.WithLabelValues(method).Inc()
	m.statuses.WithLabelValues(code).Inc()
	m.responses.WithLabelValues(method, code).Inc()
	m.duration.WithLabelValues(method).Observe(took)
	if !r.Waited {
		m.routes.WithLabelValues(r.Route, method).Observe(took)
	}
}

// Handler serves scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

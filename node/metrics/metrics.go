// Package metrics publishes the node's metrics for Prometheus. Other rooms count in plain Go; this one alone knows the
// format. Names that CouchDB or protoactor have for the same thing are theirs, so that dashboards made for them go on
// working; the rest begin with divan_.
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

// Sources are asked at every scrape; any may be nil. They must not block for long.
type Sources struct {
	Version string
	Actors  func() actors.Metrics
	// Members counts the cluster's members by status: alive, suspect, left.
	Members func() map[string]int
	// Store is nil where the store answers.
	Store func(ctx context.Context) error
	// Degraded counts the reasons why this node needs an operator, by name.
	Degraded func() map[string]int
	// FreeBytes is the room on the disk of the node's own store; nil where it has none or that is not known.
	FreeBytes func() float64
	// Indexes are those that this node was asked for lately; those that cannot be read in time are left out.
	Indexes func() []Index
	// Scripts counts the calls and runtimes of the JavaScript sandbox.
	Scripts func() script.Stats
	// Compaction is what this node's compactions have done, and what there is to do as it knows.
	Compaction func() Compaction
	// Upkeep is what the node looks after by itself, by kind.
	Upkeep func() []layer.UpkeepMetrics
	// Sessions is how many SQL sessions there are.
	Sessions func() int
	// SQLMemory is what SQL statements hold, in bytes, and the most that they may.
	SQLMemory func() (held, limit int64)
	// Bodies is the memory that HTTP requests hold for their bodies, in bytes, and how many were refused since there
	// was none; Connections how many there are.
	Bodies      func() (held, refused int64)
	Connections func() int
}

// Index is where one design document's index stands.
type Index struct {
	Database, Design string // the latter without _design/
	Lag              int64  // changes that are not in it yet, up to a bound of the source's
	Building         bool
	Errors           int64 // documents that were skipped
}

// Metrics is a registry of one node.
type Metrics struct {
	registry *prometheus.Registry
	requests prometheus.Counter
	methods  *prometheus.CounterVec
	statuses *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// New registers everything.
func New(s Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounter(
			prometheus.CounterOpts{Name: "couchdb_httpd_requests_total", Help: "HTTP requests."}),
		methods: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couchdb_httpd_request_methods", Help: "HTTP requests by method.",
		}, []string{"method"}),
		statuses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "couchdb_httpd_status_codes", Help: "HTTP answers by status.",
		}, []string{"code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "divan_http_request_duration_seconds", Help: "Time to the end of the answer, by method; feeds " +
				"that wait are in it.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
		}, []string{"method"}),
	}
	began := time.Now()
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.methods, m.statuses, m.duration,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "couchdb_uptime_seconds", Help: "Seconds since the start."},
			func() float64 { return time.Since(began).Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "divan_build_info", Help: "Always 1, with the version.",
			ConstLabels: prometheus.Labels{"version": s.Version},
		}, func() float64 { return 1 }),
	)
	if s.Actors != nil {
		m.registry.MustRegister(actorCollector{s.Actors})
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
	if s.Compaction != nil {
		m.registry.MustRegister(compactionCollector{s.Compaction})
	}
	if s.Upkeep != nil {
		m.registry.MustRegister(upkeepCollector{s.Upkeep})
	}
	if s.Store != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_store_up", Help: "1 while the store answers."},
			func() float64 {
				if s.Store(context.Background()) != nil {
					return 0
				}
				return 1
			}))
	}
	if s.FreeBytes != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_store_disk_free_bytes",
				Help: "Room on the disk of this node's store, beside the ballast."}, s.FreeBytes))
	}
	if s.Degraded != nil {
		m.registry.MustRegister(degradedCollector{s.Degraded})
	}
	if s.Sessions != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_sql_sessions", Help: "SQL sessions that are open."},
			func() float64 { return float64(s.Sessions()) }))
	}
	if s.SQLMemory != nil {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_memory_bytes", Help: "Memory held by SQL statements, cursors, prepared statements " +
					"and messages.",
			}, func() float64 { held, _ := s.SQLMemory(); return float64(held) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_sql_memory_limit_bytes", Help: "The most memory that SQL may hold (sql.memory).",
			}, func() float64 { _, limit := s.SQLMemory(); return float64(limit) }))
	}
	if s.Bodies != nil {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "divan_http_body_memory_bytes", Help: "Memory held for the bodies of HTTP requests " +
					"(http.bodies).",
			}, func() float64 { held, _ := s.Bodies(); return float64(held) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "divan_http_bodies_refused_total", Help: "HTTP requests answered 503 since there was no " +
					"memory for their bodies.",
			}, func() float64 { _, refused := s.Bodies(); return float64(refused) }))
	}
	if s.Connections != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "divan_http_connections", Help: "HTTP connections that are open."},
			func() float64 { return float64(s.Connections()) }))
	}
	return m
}

// knownMethods keeps a client from making up labels.
var knownMethods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "COPY": true, "OPTIONS": true,
}

// Observe counts a finished HTTP request. It does not block.
func (m *Metrics) Observe(method string, status int, took time.Duration) {
	if !knownMethods[method] {
		method = "other"
	}
	m.requests.Inc()
	m.methods.WithLabelValues(method).Inc()
	m.statuses.WithLabelValues(strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method).Observe(took.Seconds())
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

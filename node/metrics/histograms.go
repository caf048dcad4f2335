package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/actors"
)

// Store describes what this node's transactions have done since it started.
type Store struct {
	Conflicts, Retries int64
	// Latency has the times of the commits.
	Latency actors.Histogram
}

var (
	storeCommit = desc("divan_store_commit_duration_seconds",
		"Time of the commits of transactions that wrote, without what came before in the transaction.")
	storeConflicts = desc("divan_store_conflicts_total", "Attempts of transactions that met a conflict.")
	storeRetries   = desc("divan_store_retries_total", "Attempts of transactions after the first one, for any reason.")
	indexStep      = desc("divan_index_step_duration_seconds",
		"Time of the steps of index builds on this node: each reads, maps and writes a batch of documents.")
	indexedDocuments = desc("divan_index_documents_total", "Documents that index builds on this node have processed.")
	indexedRows      = desc("divan_index_rows_total", "Rows that index builds on this node have written.")
)

// publish returns the histogram as Prometheus reads it, whose counts are cumulative.
func publish(d *prometheus.Desc, h actors.Histogram, labels ...string) prometheus.Metric {
	below := uint64(0)
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		below += uint64(h.Counts[i])
		buckets[bound] = below
	}
	return prometheus.MustNewConstHistogram(d, uint64(h.Count), h.Sum, buckets, labels...)
}

// storeCollector publishes Store.
type storeCollector struct{ read func() Store }

// Describe implements prometheus.Collector.
func (c storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storeCommit, storeConflicts, storeRetries} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.read()
	ch <- publish(storeCommit, s.Latency)
	ch <- prometheus.MustNewConstMetric(storeConflicts, prometheus.CounterValue, float64(s.Conflicts))
	ch <- prometheus.MustNewConstMetric(storeRetries, prometheus.CounterValue, float64(s.Retries))
}

// statementKinds are the first words of statements that are counted by themselves. All others are "other": clients must
// not be able to create labels.
var statementKinds = map[string]string{
	"select": "select", "with": "select", "values": "select", "table": "select", "insert": "insert", "update": "update",
	"delete": "delete", "copy": "copy", "explain": "explain", "show": "show", "set": "set", "begin": "transaction",
	"start": "transaction", "commit": "transaction", "end": "transaction", "rollback": "transaction",
	"abort": "transaction", "savepoint": "transaction", "release": "transaction", "fetch": "cursor", "move": "cursor",
	"declare": "cursor", "close": "cursor",
}

// StatementKind returns the kind of an SQL statement, by its first word: one of a dozen.
func StatementKind(statement string) string {
	text := statement
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\v(;")
		var end int
		switch {
		case strings.HasPrefix(text, "--"):
			if end = strings.IndexByte(text, '\n'); end >= 0 {
				end++
			}
		case strings.HasPrefix(text, "/*"):
			if end = strings.Index(text, "*/"); end >= 0 {
				end += 2
			}
		default:
			word := text
			if i := strings.IndexFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }); i >= 0 {
				word = text[:i]
			}
			if kind, ok := statementKinds[strings.ToLower(word)]; ok {
				return kind
			}
			return "other"
		}
		if end < 0 {
			return "other"
		}
		text = text[end:]
	}
}

// ObserveStatement counts an SQL statement that has ended. It does not block.
func (m *Metrics) ObserveStatement(statement string, took time.Duration) {
	m.statements.WithLabelValues(StatementKind(statement)).Observe(took.Seconds())
}

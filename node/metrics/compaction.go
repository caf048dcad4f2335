package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/actors"
)

// Compaction describes what compactions of this node have done, and what remains to do.
type Compaction struct {
	actors.CompactionFacts
	// Queue is the number of superseded bodies, in Databases databases. Bytes estimates their size, and OldestSeconds
	// is the age of the oldest.
	Queue, Databases, Bytes int64
	OldestSeconds           float64
}

var (
	compactionRuns = desc("divan_compaction_runs_total",
		"Compactions on this node, each of one database.", "result")
	compactionRemovedBodies = desc("divan_compaction_removed_bodies_total",
		"Superseded revisions whose bodies were removed by compaction on this node.")
	compactionRemovedBytes = desc("divan_compaction_removed_bytes_total",
		"Bytes of bodies and attachments removed by compaction on this node.", "of")
	compactionSeconds = desc("divan_compaction_seconds_total",
		"Time spent in compaction on this node, without its pauses.")
	compactionQueue = desc("divan_compaction_queue_bodies",
		"Superseded bodies waiting for compaction, in the databases that this node has examined within "+
			"the last hour.")
	compactionQueueBytes = desc("divan_compaction_queue_bytes", "Estimated bytes of these bodies.")
	compactionDatabases  = desc("divan_compaction_queue_databases", "Databases with such bodies.")
	compactionOldest     = desc("divan_compaction_oldest_seconds",
		"Seconds since the oldest of these bodies was superseded.")
)

// compactionCollector publishes Compaction.
type compactionCollector struct{ read func() Compaction }

// Describe implements prometheus.Collector.
func (c compactionCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{compactionRuns, compactionRemovedBodies, compactionRemovedBytes,
		compactionSeconds,
		compactionQueue, compactionQueueBytes, compactionDatabases, compactionOldest} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c compactionCollector) Collect(ch chan<- prometheus.Metric) {
	f := c.read()
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	counter, gauge := prometheus.CounterValue, prometheus.GaugeValue
	put(compactionRuns, counter, float64(f.Runs-f.Failures), "done")
	put(compactionRuns, counter, float64(f.Failures), "failed")
	put(compactionRemovedBodies, counter, float64(f.Bodies))
	put(compactionRemovedBytes, counter, float64(f.BodyBytes), "bodies")
	put(compactionRemovedBytes, counter, float64(f.AttachmentBytes), "attachments")
	put(compactionSeconds, counter, f.Working)
	put(compactionQueue, gauge, float64(f.Queue))
	put(compactionQueueBytes, gauge, float64(f.Bytes))
	put(compactionDatabases, gauge, float64(f.Databases))
	put(compactionOldest, gauge, f.OldestSeconds)
}

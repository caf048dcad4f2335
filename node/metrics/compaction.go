package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/actors"
)

// Compaction counts what compactions of this node have done, and what waits for them.
type Compaction struct {
	actors.CompactionFacts
	// Queue is how many superseded bodies there are, in Databases databases; Bytes estimates their bytes, and
	// OldestSeconds is the age of the oldest.
	Queue, Databases, Bytes int64
	OldestSeconds           float64
}

var (
	compactionRuns = desc("divan_compaction_runs_total",
		"Runs of compaction on this node, each of one database.", "result")
	compactionRemovedBodies = desc("divan_compaction_removed_bodies_total",
		"Superseded revisions whose bodies compaction has removed on this node.")
	compactionRemovedBytes = desc("divan_compaction_removed_bytes_total",
		"Bytes that compaction has removed on this node: of bodies and of attachments.", "of")
	compactionSeconds = desc("divan_compaction_seconds_total",
		"Time that compaction was at work on this node, its pauses not counted.")
	compactionQueue = desc("divan_compaction_queue_bodies",
		"Superseded bodies that wait for compaction, in the databases that this node has looked at within "+
			"the last hour.")
	compactionQueueBytes = desc("divan_compaction_queue_bytes", "Their bytes, by an estimate.")
	compactionDatabases  = desc("divan_compaction_queue_databases", "How many databases have such bodies.")
	compactionOldest     = desc("divan_compaction_oldest_seconds",
		"How long ago the oldest of these bodies was superseded.")
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

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Replications count the replications that this node has run since it started.
type Replications struct {
	Running                                   int
	Starts, Completed, Crashes, Stops, Failed int64
	DocsRead, DocsWritten, WriteFailures      int64
}

var (
	replicationsRunning = desc("divan_replications_running", "Replications that this node runs now.")
	replicationRuns     = desc("divan_replication_runs_total",
		"Runs of replications on this node that have begun, and how they ended: completed, crashed (tried again), "+
			"stopped (for others, or because the node is drained) or failed (for good).", "event")
	replicationDocs = desc("divan_replication_documents_total",
		"Documents that replications on this node have read, written, and that targets have refused, when a run ends.",
		"result")
)

// replicationCollector publishes Replications.
type replicationCollector struct{ read func() Replications }

// Describe implements prometheus.Collector.
func (c replicationCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{replicationsRunning, replicationRuns, replicationDocs} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c replicationCollector) Collect(ch chan<- prometheus.Metric) {
	r := c.read()
	ch <- prometheus.MustNewConstMetric(replicationsRunning, prometheus.GaugeValue, float64(r.Running))
	for event, n := range map[string]int64{"started": r.Starts, "completed": r.Completed, "crashed": r.Crashes,
		"stopped": r.Stops, "failed": r.Failed} {
		ch <- prometheus.MustNewConstMetric(replicationRuns, prometheus.CounterValue, float64(n), event)
	}
	for result, n := range map[string]int64{"read": r.DocsRead, "written": r.DocsWritten, "refused": r.WriteFailures} {
		ch <- prometheus.MustNewConstMetric(replicationDocs, prometheus.CounterValue, float64(n), result)
	}
}

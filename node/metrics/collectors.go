package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/actors"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	actorRunning   = desc("divan_actors", "Running actors, by kind.", "actortype")
	actorMailbox   = desc("protoactor_actor_mailbox_length", "Waiting messages, by kind of actor.", "actortype")
	actorSpawned   = desc("protoactor_actor_spawn_count", "Actors started.", "actortype")
	actorStopped   = desc("protoactor_actor_stopped_count", "Actors stopped.", "actortype")
	actorRestarted = desc("protoactor_actor_restarted_count", "Restarts after a failure.", "actortype")
	actorFailures  = desc("protoactor_actor_failure_count", "Failures; each ends in a restart.", "actortype")
	actorDuration  = desc("protoactor_actor_message_receive_duration_seconds", "Time to handle a message.", "actortype")
	deadLetters    = desc("protoactor_deadletter_count", "Messages to stopped actors.")
	// The same under names that follow Prometheus' rules.
	spawnedTotal     = desc("divan_actors_started_total", "Actors started.", "actortype")
	stoppedTotal     = desc("divan_actors_stopped_total", "Actors stopped.", "actortype")
	restartedTotal   = desc("divan_actors_restarted_total", "Restarts after a failure.", "actortype")
	deadLettersTotal = desc("divan_dead_letters_total", "Messages to stopped actors.")

	feedListeners = desc("divan_feed_listeners", "Changes feeds of clients waiting on this node.")
	feedWakes     = desc("divan_feed_wakes_total", "Wake-ups of listeners by their shards.")
	indexLag      = desc("divan_index_lag_changes",
		"Changes that are not in the index yet; of the 500 indexes that are built here or were used last.",
		"database", "design")
	indexBuilding = desc("divan_index_building", "1 at the node that leads a build of the index, while it "+
		"does: others may build parts of it.", "database", "design")
	indexErrors = desc("divan_index_skipped_documents", "Documents whose map functions failed.", "database", "design")
	degraded    = desc("divan_degraded",
		"Reasons why this node needs an operator although it serves, by name; none when all is well.",
		"reason")
	members = desc("divan_members",
		"Members of the cluster as this node sees them: alive, suspect, left (as announced), dead.", "status")
	diskFree = desc("divan_store_disk_free_bytes", "Free space on the disk of this node's store, without the ballast; "+
		"with FoundationDB, on the cluster's fullest server.")
)

// actorCollector publishes actors.Metrics.
type actorCollector struct{ read func() actors.Metrics }

// Describe implements prometheus.Collector.
func (c actorCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		actorRunning, actorMailbox, actorSpawned, actorStopped, actorRestarted, actorFailures, actorDuration,
		deadLetters, feedListeners, feedWakes, spawnedTotal, stoppedTotal, restartedTotal, deadLettersTotal,
		indexStep, indexedDocuments, indexedRows,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c actorCollector) Collect(ch chan<- prometheus.Metric) {
	f := c.read()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, k := range f.Kinds {
		gauge(actorRunning, float64(k.Running), k.Kind)
		gauge(actorMailbox, float64(k.Mailbox), k.Kind)
		counter(actorSpawned, k.Spawned, k.Kind)
		counter(actorStopped, k.Stopped, k.Kind)
		counter(actorRestarted, k.Restarted, k.Kind)
		counter(actorFailures, k.Restarted, k.Kind)
		counter(spawnedTotal, k.Spawned, k.Kind)
		counter(stoppedTotal, k.Stopped, k.Kind)
		counter(restartedTotal, k.Restarted, k.Kind)
		ch <- publish(actorDuration, k.Durations, k.Kind)
	}
	counter(deadLetters, f.DeadLetters)
	counter(deadLettersTotal, f.DeadLetters)
	ch <- publish(indexStep, f.Steps)
	counter(indexedDocuments, f.Indexed)
	counter(indexedRows, f.IndexRows)
	gauge(feedListeners, float64(f.Listeners))
	counter(feedWakes, f.Wakes)
}

// indexCollector publishes how far indexes are.
type indexCollector struct{ indexes func() []Index }

// Describe implements prometheus.Collector.
func (c indexCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{indexLag, indexBuilding, indexErrors} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c indexCollector) Collect(ch chan<- prometheus.Metric) {
	for _, ix := range c.indexes() {
		building := 0.0
		if ix.Building {
			building = 1
		}
		for d, v := range map[*prometheus.Desc]float64{indexLag: float64(ix.Lag), indexBuilding: building,
			indexErrors: float64(ix.Errors)} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, ix.Database, ix.Design)
		}
	}
}

// memberCollector publishes the number of members by status.
type memberCollector struct{ count func() map[string]int }

// Describe implements prometheus.Collector.
func (c memberCollector) Describe(ch chan<- *prometheus.Desc) { ch <- members }

// Collect implements prometheus.Collector.
func (c memberCollector) Collect(ch chan<- prometheus.Metric) {
	for status, n := range c.count() {
		ch <- prometheus.MustNewConstMetric(members, prometheus.GaugeValue, float64(n), status)
	}
}

// freeCollector publishes the free space on the store's disk while it is known: a cluster tells it only when it is
// asked.
type freeCollector struct{ free func() (int64, bool) }

// Describe implements prometheus.Collector.
func (c freeCollector) Describe(ch chan<- *prometheus.Desc) { ch <- diskFree }

// Collect implements prometheus.Collector.
func (c freeCollector) Collect(ch chan<- prometheus.Metric) {
	if free, known := c.free(); known {
		ch <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(free))
	}
}

// degradedCollector publishes the reasons why the node needs an operator.
type degradedCollector struct{ count func() map[string]int }

// Describe implements prometheus.Collector.
func (c degradedCollector) Describe(ch chan<- *prometheus.Desc) { ch <- degraded }

// Collect implements prometheus.Collector.
func (c degradedCollector) Collect(ch chan<- prometheus.Metric) {
	for reason, n := range c.count() {
		ch <- prometheus.MustNewConstMetric(degraded, prometheus.GaugeValue, float64(n), reason)
	}
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/layer"
)

var (
	upkeepRuns = desc("divan_upkeep_runs_total",
		"Runs of background upkeep on this node, by kind and result (done, failed).", "kind", "result")
	upkeepSeconds = desc("divan_upkeep_seconds_total", "Time spent in finished runs of a kind of upkeep.", "kind")
	upkeepPeriod  = desc("divan_upkeep_period_seconds",
		"Time between two runs of a kind of upkeep; 0 where it runs once, or when there is something to do.", "kind")
	upkeepRunning = desc("divan_upkeep_running_seconds",
		"For how long the present run of a kind of upkeep has been at work; 0 while there is none.", "kind")
	upkeepSince = desc("divan_upkeep_since_done_seconds",
		"Seconds since the last successful run of a kind of upkeep ended.", "kind")
)

// upkeepCollector publishes metrics of background upkeep.
type upkeepCollector struct{ upkeep func() []layer.UpkeepMetrics }

// Describe implements prometheus.Collector.
func (c upkeepCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{upkeepRuns, upkeepSeconds, upkeepPeriod, upkeepRunning, upkeepSince} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c upkeepCollector) Collect(ch chan<- prometheus.Metric) {
	counter, gauge := prometheus.CounterValue, prometheus.GaugeValue
	for _, m := range c.upkeep() {
		put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, more ...string) {
			ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{m.Kind}, more...)...)
		}
		put(upkeepRuns, counter, float64(m.Runs-m.Failures), "done")
		put(upkeepRuns, counter, float64(m.Failures), "failed")
		put(upkeepSeconds, counter, m.Took.Seconds())
		put(upkeepPeriod, gauge, m.Every.Seconds())
		put(upkeepRunning, gauge, m.Running.Seconds())
		if m.Done {
			put(upkeepSince, gauge, m.Since.Seconds())
		}
	}
}

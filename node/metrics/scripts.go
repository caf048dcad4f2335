package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divandb/divan/layer/script"
)

var (
	scriptRuntimes = desc("divan_script_runtimes",
		"JavaScript runtimes of design documents' functions, by state: busy or idle.", "state")
	scriptMost = desc("divan_script_runtimes_limit",
		"JavaScript runtimes that there may be at once; further calls wait.")
	scriptCalls = desc("divan_script_calls",
		"Current calls of design documents' functions, by state: running, paused for others, or waiting to begin.",
		"state")
	scriptLimits  = desc("divan_script_limits_total", "Calls that were stopped at a limit.", "limit")
	scriptStopped = desc("divan_script_stopped_total",
		"Calls that were stopped and later started again, so that others could run.")
	scriptRefused = desc("divan_script_refused_total",
		"Calls that were refused because they waited too long for a processor.")
	scriptSeconds  = desc("divan_script_seconds_total", "Processor time of design documents' functions.")
	scriptDatabase = desc("divan_script_database_seconds",
		"Recent processor time of a database's functions: time used five seconds ago counts half. Only for the "+
			"databases that used most.", "database")
	scriptDatabaseWaiting = desc("divan_script_database_waiting",
		"Waiting calls of functions, for the databases that recently used most processor time.", "database")
)

// scriptCollector publishes script.Stats.
type scriptCollector struct{ stats func() script.Stats }

// Describe implements prometheus.Collector.
func (c scriptCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		scriptRuntimes, scriptMost, scriptCalls, scriptLimits, scriptStopped, scriptRefused, scriptSeconds,
		scriptDatabase, scriptDatabaseWaiting,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c scriptCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	send(scriptRuntimes, prometheus.GaugeValue, float64(s.Runtimes-s.Idle), "busy")
	send(scriptRuntimes, prometheus.GaugeValue, float64(s.Idle), "idle")
	send(scriptMost, prometheus.GaugeValue, float64(s.Most))
	send(scriptCalls, prometheus.GaugeValue, float64(s.Running), "running")
	send(scriptCalls, prometheus.GaugeValue, float64(s.Paused), "paused")
	send(scriptCalls, prometheus.GaugeValue, float64(s.Waiting), "waiting")
	for limit, n := range s.Limits {
		send(scriptLimits, prometheus.CounterValue, float64(n), limit)
	}
	send(scriptStopped, prometheus.CounterValue, float64(s.Stopped))
	send(scriptRefused, prometheus.CounterValue, float64(s.Refused))
	send(scriptSeconds, prometheus.CounterValue, s.Seconds)
	for _, d := range s.Databases {
		send(scriptDatabase, prometheus.GaugeValue, d.Seconds, d.Database)
		send(scriptDatabaseWaiting, prometheus.GaugeValue, float64(d.Waiting), d.Database)
	}
}

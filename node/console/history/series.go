package history

import (
	"github.com/divandb/divan/node/console/state"
)

// The series. A counter is read as it is, and kept as a rate per second.
const (
	DocsWritten = iota
	DocsRefused
	DocsRead
	FeedRows
	IndexedDocs
	IndexRows
	IndexLag
	Commits
	CommitP50
	CommitP99
	Conflicts
	Retries
	HTTPDone
	HTTPRefused
	HTTPFailed
	Connections
	Bodies
	Statements
	Sessions
	SQLMemory
	Listeners
	Wakes
	Actors
	Mailbox
	Restarts
	DeadLetters
	Tasks
	ScriptSeconds
	ScriptWaiting
	CPU
	Resident
	Heap
	Goroutines
	DiskFree
	seriesCount
)

type definition struct {
	state.Series
	counter bool
}

var series = [seriesCount]definition{
	DocsWritten:   rate("docs_written", "documents written"),
	DocsRefused:   rate("docs_refused", "edits refused"),
	DocsRead:      rate("docs_read", "documents read"),
	FeedRows:      rate("feed_rows", "feed rows"),
	IndexedDocs:   rate("indexed_docs", "documents indexed"),
	IndexRows:     rate("index_rows", "index rows written"),
	IndexLag:      gauge("index_lag", "lag of indexes", "s", state.Max),
	Commits:       rate("commits", "commits"),
	CommitP50:     gauge("commit_p50", "commit, median", "ms", state.Max),
	CommitP99:     gauge("commit_p99", "commit, 99 of 100", "ms", state.Max),
	Conflicts:     rate("conflicts", "conflicts of transactions"),
	Retries:       rate("retries", "transactions tried again"),
	HTTPDone:      rate("http_done", "HTTP requests answered"),
	HTTPRefused:   rate("http_refused", "HTTP requests refused"),
	HTTPFailed:    rate("http_failed", "HTTP errors of the server"),
	Connections:   gauge("connections", "HTTP connections", "", state.Sum),
	Bodies:        gauge("bodies", "memory of HTTP bodies", "B", state.Sum),
	Statements:    rate("statements", "SQL statements"),
	Sessions:      gauge("sessions", "SQL sessions", "", state.Sum),
	SQLMemory:     gauge("sql_memory", "memory of SQL", "B", state.Sum),
	Listeners:     gauge("listeners", "waiting feeds", "", state.Sum),
	Wakes:         rate("wakes", "wake-ups of feeds"),
	Actors:        gauge("actors", "actors", "", state.Sum),
	Mailbox:       gauge("mailbox", "waiting messages", "", state.Sum),
	Restarts:      rate("restarts", "restarts of actors"),
	DeadLetters:   rate("dead_letters", "dead letters"),
	Tasks:         gauge("tasks", "builds and compactions", "", state.Sum),
	ScriptSeconds: gaugeOfCounter("script_seconds", "processors in JavaScript"),
	ScriptWaiting: gauge("script_waiting", "calls waiting for JavaScript", "", state.Sum),
	CPU:           gaugeOfCounter("cpu", "processors in use"),
	Resident:      gauge("resident", "memory of the process", "B", state.Sum),
	Heap:          gauge("heap", "heap", "B", state.Sum),
	Goroutines:    gauge("goroutines", "goroutines", "", state.Sum),
	DiskFree:      gauge("disk_free", "disk left", "B", state.Min),
}

var index = func() map[string]int {
	m := map[string]int{}
	for i := range series {
		m[series[i].Name] = i
	}
	return m
}()

func rate(name, title string) definition {
	return definition{state.Series{Name: name, Title: title, Unit: "/s", How: state.Sum}, true}
}

func gauge(name, title, unit string, how state.How) definition {
	return definition{state.Series{Name: name, Title: title, Unit: unit, How: how}, false}
}

// gaugeOfCounter is a counter of seconds, whose rate is a number.
func gaugeOfCounter(name, title string) definition {
	return definition{state.Series{Name: name, Title: title, How: state.Sum}, true}
}

// NewReading returns a Reading without values.
func NewReading() Reading {
	r := make(Reading, len(series))
	for i := range r {
		r[i] = float64(nan)
	}
	return r
}

// All returns the series, in a fixed order.
func All() []state.Series {
	list := make([]state.Series, len(series))
	for i := range series {
		list[i] = series[i].Series
	}
	return list
}

// Find returns the series of a name.
func Find(name string) (state.Series, bool) {
	i, ok := index[name]
	if !ok {
		return state.Series{}, false
	}
	return series[i].Series, true
}

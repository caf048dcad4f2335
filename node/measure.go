package node

import (
	"context"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/machine"
	published "github.com/divandb/divan/node/metrics"
	"github.com/divandb/divan/query"
)

// measuring counts what no other part of the node counts.
type measuring struct {
	done, refused, failed atomic.Int64 // HTTP requests, by the class of their status
	statements            atomic.Int64
	indexLag              atomic.Int64 // in milliseconds; negative if unknown
	published             atomic.Pointer[published.Metrics]
	skips                 atomic.Pointer[skipping] // nil if unknown
}

// request counts an HTTP request.
func (m *measuring) request(status int) {
	switch {
	case status >= 500:
		m.failed.Add(1)
	case status >= 400:
		m.refused.Add(1)
	default:
		m.done.Add(1)
	}
}

// statement counts an SQL statement.
func (m *measuring) statement(s query.Ended) {
	m.statements.Add(1)
	if p := m.published.Load(); p != nil { // SQL is served before HTTP
		p.ObserveStatement(s.Statement, s.Took)
	}
}

// The times of commits are published by powers of two of a microsecond, from 128 µs to 17 s.
const leastPower, mostPower = 7, 24

// transactions returns what reads an engine's counts for metrics, or nil if it does not count.
func transactions(engine kv.Engine) func() published.Store {
	e, ok := engine.(interface{ Tally() *kv.Counts })
	if !ok {
		return nil
	}
	return func() published.Store {
		c := e.Tally().Counted()
		s := published.Store{Conflicts: c.Conflicts, Retries: c.Retries}
		s.Latency.Sum = c.Took.Seconds()
		below := int64(0)
		for power := leastPower; power <= mostPower; power++ {
			within := c.Within(power)
			s.Latency.Bounds = append(s.Latency.Bounds, float64(int64(1)<<power)/1e6)
			s.Latency.Counts = append(s.Latency.Counts, within-below)
			below = within
		}
		for _, n := range c.Latency { // not Commits, which may be ahead of the buckets
			s.Latency.Count += n
		}
		return s
	}
}

// meter reads a node's values for its history.
type meter struct {
	n       *Node
	http    func() (connections int, bodies int64)
	engine  *kv.Counts // nil if the engine does not count
	before  kv.Counted
	free    func() (free int64, known bool) // nil if the store is on another node
	runtime []metrics.Sample
}

// watchHistory starts keeping the node's history.
func (n *Node) watchHistory(context.Context) error {
	m := &meter{n: n, http: n.httpUse, free: freeBytes(n.engine), runtime: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}}
	if e, ok := n.engine.(interface{ Tally() *kv.Counts }); ok {
		m.engine = e.Tally()
		m.before = m.engine.Counted()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		n.history.Run(ctx, func() history.Reading {
			n.console.Sample(time.Now())
			n.memory.Look()
			return m.read()
		})
	})
	n.parts.add("history", func(context.Context) error {
		cancel()
		working.Wait()
		return nil
	})
	return nil
}

// read reads all values. It does no I/O.
func (m *meter) read() history.Reading {
	r := history.NewReading()
	set := func(series int, v float64) { r[series] = v }
	count := func(series int, v int64) { r[series] = float64(v) }

	docs := m.n.store.Counts.Counted()
	count(history.DocsWritten, docs.Written)
	count(history.DocsRefused, docs.Refused)
	count(history.DocsRead, docs.Read)
	count(history.FeedRows, docs.Changes)
	m.readEngine(count, set)
	m.readActors(count)

	c := &m.n.measuring
	count(history.HTTPDone, c.done.Load())
	count(history.HTTPRefused, c.refused.Load())
	count(history.HTTPFailed, c.failed.Load())
	connections, bodies := m.http()
	count(history.Connections, int64(connections))
	count(history.Bodies, bodies)
	count(history.Statements, c.statements.Load())
	count(history.Sessions, int64(len(m.n.sql.Sessions())))
	held, _, _ := m.n.sql.Memory()
	count(history.SQLMemory, held)
	if lag := c.indexLag.Load(); lag >= 0 {
		set(history.IndexLag, float64(lag)/1000)
	}
	scripts := m.n.scripts.Stats()
	set(history.ScriptSeconds, scripts.Seconds)
	count(history.ScriptWaiting, int64(scripts.Waiting))
	if m.free != nil {
		if free, known := m.free(); known {
			set(history.DiskFree, float64(free))
		}
	}
	metrics.Read(m.runtime)
	count(history.Heap, int64(m.runtime[0].Value.Uint64()))
	count(history.Goroutines, int64(m.runtime[1].Value.Uint64()))
	if used, resident, ok := machine.ProcessUse(); ok {
		set(history.CPU, used.Seconds())
		if resident > 0 {
			count(history.Resident, resident)
		}
	}
	return r
}

func (m *meter) readEngine(count func(int, int64), set func(int, float64)) {
	if m.engine == nil {
		return
	}
	now := m.engine.Counted()
	since := now.Since(m.before)
	m.before = now
	count(history.Commits, now.Commits)
	count(history.Conflicts, now.Conflicts)
	count(history.Retries, now.Retries)
	if since.Commits > 0 {
		milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		set(history.CommitP50, milliseconds(since.Quantile(0.5)))
		set(history.CommitP99, milliseconds(since.Quantile(0.99)))
	}
}

func (m *meter) readActors(count func(int, int64)) {
	a := m.n.actors.Metrics()
	running, mailbox, restarted := 0, 0, int64(0)
	for _, k := range a.Kinds {
		running += k.Running
		mailbox += k.Mailbox
		restarted += k.Restarted
	}
	count(history.Actors, int64(running))
	count(history.Mailbox, int64(mailbox))
	count(history.Restarts, restarted)
	count(history.DeadLetters, a.DeadLetters)
	count(history.Listeners, int64(a.Listeners))
	count(history.Wakes, a.Wakes)
	count(history.IndexedDocs, a.Indexed)
	count(history.IndexRows, a.IndexRows)
	count(history.Tasks, int64(len(m.n.actors.Tasks())))
}

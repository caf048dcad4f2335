package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/metrics"
)

// maxCompactable is how many databases the dashboard lists as waiting for compaction.
const maxCompactable = 20

// compaction reports on compaction for metrics and the dashboard.
type compaction struct {
	auto   bool // compaction runs without being asked for
	store  *layer.Store
	actors *actors.System
}

// metrics returns the compaction metrics. It does no I/O.
func (c compaction) metrics() metrics.Compaction {
	f := metrics.Compaction{CompactionFacts: c.actors.Compactions()}
	for _, x := range c.store.Compactable() {
		if x.Superseded == 0 {
			continue
		}
		f.Queue += x.Superseded
		f.Bytes += x.Bytes
		f.Databases++
		f.OldestSeconds = max(f.OldestSeconds, oldestOf(x).Seconds())
	}
	return f
}

// oldestOf returns the current age of the database's oldest superseded body.
func oldestOf(x layer.CompactionSeen) time.Duration {
	if x.Oldest == 0 {
		return 0
	}
	return x.Oldest + time.Since(x.At)
}

// shownCompaction is the dashboard's section on compaction.
type shownCompaction struct {
	Auto bool `json:"auto"`
	actors.CompactionFacts
	Queue     int64              `json:"queue"`
	Waiting   int                `json:"waiting"` // number of databases
	Databases []shownCompactable `json:"databases"`
}

// shownCompactable is a database with superseded bodies to remove.
type shownCompactable struct {
	Database string  `json:"database"`
	Bodies   int64   `json:"bodies"`
	Bytes    int64   `json:"bytes"`
	Oldest   float64 `json:"oldest_seconds"`
	Asked    bool    `json:"asked"`
}

func (c compaction) queue() shownCompaction {
	s := shownCompaction{Auto: c.auto, CompactionFacts: c.actors.Compactions(), Databases: []shownCompactable{}}
	for name, x := range c.store.Compactable() {
		s.Queue += x.Superseded
		s.Databases = append(s.Databases,
			shownCompactable{name, x.Superseded, x.Bytes, oldestOf(x).Seconds(), x.Requested > 0})
	}
	s.Waiting = len(s.Databases)
	slices.SortFunc(s.Databases, func(a, b shownCompactable) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Bodies, a.Bodies),
			cmp.Compare(a.Database, b.Database))
	})
	s.Databases = s.Databases[:min(len(s.Databases), maxCompactable)]
	return s
}

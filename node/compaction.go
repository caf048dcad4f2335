package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/metrics"
)

// maxCompactable bounds the databases that the dashboard lists with what they have to compact.
const maxCompactable = 20

// compaction shows what there is to compact and what is done about it.
type compaction struct {
	auto   bool // without being asked
	store  *layer.Store
	actors *actors.System
}

// metrics is what there is for metrics. It comes from memory.
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

// oldestOf is the age of the oldest entry by now.
func oldestOf(x layer.CompactionSeen) time.Duration {
	if x.Oldest == 0 {
		return 0
	}
	return x.Oldest + time.Since(x.At)
}

// shownCompaction is the dashboard's section.
type shownCompaction struct {
	Auto bool `json:"auto"`
	actors.CompactionFacts
	Queue     int64              `json:"queue"`
	Waiting   int                `json:"waiting"` // databases
	Databases []shownCompactable `json:"databases"`
}

// shownCompactable is what a database has to compact.
type shownCompactable struct {
	Database string  `json:"database"`
	Bodies   int64   `json:"bodies"`
	Bytes    int64   `json:"bytes"`
	Oldest   float64 `json:"oldest_seconds"`
	Asked    bool    `json:"asked"`
}

func (c compaction) shown(context.Context) (any, error) {
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
	return s, nil
}

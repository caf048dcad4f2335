package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
)

// Task is an index build or a compaction under way on this node, with the members of CouchDB's _active_tasks.
type Task struct {
	Type      string `json:"type"` // indexer, database_compaction
	Node      string `json:"node"`
	PID       string `json:"pid"` // the actor's id
	Database  string `json:"database"`
	Design    string `json:"design_document,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Shard is that of a shared build which this is about; empty where it is about the whole index.
	Shard    layer.ShardID `json:"shard,omitempty"`
	Phase    string        `json:"phase,omitempty"` // of a compaction
	Progress int           `json:"progress"`        // per cent
	IndexerFacts
	StartedOn int64 `json:"started_on"` // seconds since 1970
	UpdatedOn int64 `json:"updated_on"`
}

// Tasks lists the index builds and the compaction under way on this node, by database and design document.
func (s *System) Tasks() []Task {
	list := []Task{}
	for _, t := range s.builds.list() {
		facts, updated := t.progress()
		progress := 0
		if facts.Total > 0 {
			progress = int(100 * facts.Documents / facts.Total)
		}
		list = append(list, Task{Type: "indexer", Node: s.o.Node, PID: "indexer:" + strings.TrimSuffix(t.what.Database+"/"+t.what.Design+"/"+string(t.what.Shard), "/"),
			Database: t.what.Database, Design: t.what.Design, Signature: t.what.Signature, Shard: t.what.Shard, Progress: progress, IndexerFacts: facts,
			StartedOn: t.since.Unix(), UpdatedOn: updated.Unix()})
	}
	if c := s.compactions.task(s.o.Node); c != nil {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Task) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Design, b.Design), cmp.Compare(a.Shard, b.Shard))
	})
	return list
}

// ActiveTasks is Tasks as JSON objects (GET /_active_tasks).
func (s *System) ActiveTasks(context.Context) ([][]byte, error) {
	var list [][]byte
	for _, t := range s.Tasks() {
		b, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("actors: render a task: %w", err)
		}
		list = append(list, b)
	}
	return list, nil
}

package indexing

import (
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
)

// Task is a running index build or compaction on this node, with the members of CouchDB's _active_tasks.
type Task struct {
	Type      string `json:"type"` // indexer, database_compaction
	Node      string `json:"node"`
	PID       string `json:"pid"` // the actor's id
	Database  string `json:"database"`
	Design    string `json:"design_document,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Shard is the shard of a shared build that the task is about, or empty if it is about the whole index.
	Shard    layer.ShardID `json:"shard,omitempty"`
	Phase    string        `json:"phase,omitempty"` // of a compaction
	Progress int           `json:"progress"`        // percent; 100 only at the end; 0 if Total is not known
	Earlier  int64         `json:"-"`               // how many of Documents earlier runs have processed
	IndexerFacts
	StartedOn int64 `json:"started_on"` // seconds since 1970
	UpdatedOn int64 `json:"updated_on"`
}

// Tasks lists the running index builds on this node.
func (x *Indexing) Tasks() []Task {
	list := []Task{}
	for _, t := range x.builds.list() {
		facts, earlier, updated := t.progress()
		progress := 0
		if facts.Total > 0 {
			progress = int(100 * facts.Documents / facts.Total)
		}
		if slices.ContainsFunc(facts.Shards, func(s IndexShardFacts) bool { return !s.Done }) {
			progress = min(progress, 99) // the total is a guess
		}
		name := strings.TrimSuffix(t.what.Database+"/"+t.what.Design+"/"+string(t.what.Shard), "/")
		list = append(list, Task{
			Type: "indexer", Node: x.queue.Node, PID: "indexer:" + name,
			Database: t.what.Database, Design: t.what.Design, Signature: t.what.Signature, Shard: t.what.Shard,
			Progress: progress, Earlier: earlier, IndexerFacts: facts,
			StartedOn: t.since.Unix(), UpdatedOn: updated.Unix(),
		})
	}
	return list
}

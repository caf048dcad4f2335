package indexing

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// indexJob is the data of an index job or, with a shard, of a part of one.
type indexJob struct {
	layer.IndexJob
	Shard layer.ShardID `json:"shard,omitempty"`
	Build int64         `json:"build,omitempty"` // token of the build that the shard is part of
	// Changes is roughly how many changes of the shard there are to process.
	Changes int64 `json:"changes,omitempty"`
}

func (j indexJob) id() string {
	if j.Shard != "" {
		return j.Database + "/" + string(j.Shard) + "/" + j.Signature
	}
	return j.ID()
}

// databaseOf returns the name of the database that a job of a type is about, from the job's id.
func databaseOf(typ, id string) string {
	parts := 1 // after the name
	if typ == shardJobs {
		parts++
	}
	for range parts {
		id = id[:max(0, strings.LastIndexByte(id, '/'))]
	}
	return id
}

func (j indexJob) encode() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // encoding strings and a number never fails
	}
	return b
}

func decodeIndexJob(data []byte) (j indexJob, err error) {
	if err := json.Unmarshal(data, &j); err != nil {
		return j, fmt.Errorf("read an index job: %w", err)
	}
	return j, nil
}

// indexKey identifies an index on this node, or one shard's part of its build.
type indexKey struct {
	db        ports.Database
	signature string
	shard     layer.ShardID
}

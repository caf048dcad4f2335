package api

import (
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// The parallel changes feed's own endpoints (P5; docs/clauses.md, "HTTP").

func appendShardMap(dst []byte, m *layer.ShardMap) []byte {
	dst = append(m.Since.Append(append(dst, `{"since":"`...)), '"')
	dst = appendStringMember(dst, "scheme", m.Scheme)
	dst = appendShards(appendMember(dst, "shards"), m.Shards)
	dst = appendBoolMember(dst, "tombstone", m.Tombstone)
	return append(dst, '}')
}

// shardMaps answers GET /{db}/_changes/_meta?since=SEQ.
func (q *request) shardMaps() error {
	since, err := q.parseSince(q.params.get("since", "0"), &changesQuery{})
	if err != nil {
		return err
	}
	maps, err := q.db.ShardMaps(q.ctx(), since)
	if err != nil {
		return err
	}
	b := []byte(`{"maps":[`)
	for i := range maps {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendShardMap(b, &maps[i])
	}
	return q.sendJSON(http.StatusOK, append(b, "]}"...))
}

// reshard answers POST /{db}/_changes/_reshard {"shard_count": N}.
func (q *request) reshard() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	body, err := q.objectBody()
	if err != nil {
		return err
	}
	count := member(body, "shard_count")
	n, err := strconv.Atoi(count.Raw)
	if count.Type != gjson.Number || err != nil || n < 1 {
		return badRequest("`shard_count` must be a positive integer.")
	}
	m, err := q.db.Reshard(q.ctx(), n)
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, appendShardMap(nil, &m))
}

// shards answers GET /{db}/_shards, CouchDB's list of where a database's ranges are: here one range, on every node.
func (q *request) shards() error {
	var nodes []string
	for _, m := range q.memberList() {
		nodes = append(nodes, m.Name)
	}
	b := appendStrings([]byte(`{"shards":{"00000000-ffffffff":`), nodes)
	return q.sendJSON(http.StatusOK, append(b, "}}"...))
}

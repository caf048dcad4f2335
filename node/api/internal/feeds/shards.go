package feeds

import (
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// The endpoints of the parallel changes feed (P5; docs/clauses.md, "HTTP").

func appendShardMap(dst []byte, m *layer.ShardMap) []byte {
	dst = append(m.Since.Append(append(dst, `{"since":"`...)), '"')
	dst = encode.StringMember(dst, "scheme", m.Scheme)
	dst = appendShards(encode.Member(dst, "shards"), m.Shards)
	dst = encode.BoolMember(dst, "tombstone", m.Tombstone)
	return append(dst, '}')
}

// ShardMaps answers GET /{db}/_changes/_meta?since=SEQ.
func (h *Handlers) ShardMaps(q *call.Request) error {
	since, err := parseSince(q, q.Params.Get("since", "0"), &changesQuery{})
	if err != nil {
		return err
	}
	maps, err := q.DB.ShardMaps(q.Ctx(), since)
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
	return q.SendJSON(http.StatusOK, append(b, "]}"...))
}

// Reshard answers POST /{db}/_changes/_reshard {"shard_count": N}.
func (h *Handlers) Reshard(q *call.Request) error {
	body, err := q.PostedObject()
	if err != nil {
		return err
	}
	count := decode.Member(body, "shard_count")
	n, err := strconv.Atoi(count.Raw)
	if count.Type != gjson.Number || err != nil || n < 1 {
		return fault.BadRequest("`shard_count` must be a positive integer.")
	}
	m, err := q.DB.Reshard(q.Ctx(), n)
	if err != nil {
		return err
	}
	if h.Resharded != nil {
		h.Resharded(q.DB.Name(), len(m.Shards), q.User.Name)
	}
	return q.SendJSON(http.StatusOK, appendShardMap(nil, &m))
}

package databases

import (
	"net/http"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// PartitionInfo answers GET /{db}/_partition/{name}.
func (h *Handlers) PartitionInfo(q *call.Request) error {
	name := q.Path[2]
	switch {
	case q.Method == http.MethodPost && strings.HasPrefix(name, "_"):
		return layer.ValidatePartition(name)
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		return fault.MethodNotAllowed("GET")
	}
	info, err := q.DB.Partition(q.Ctx(), name)
	if err != nil {
		return err
	}
	b := encode.StringMember([]byte{'{'}, "db_name", q.Path[0])
	b = append(b, `,"sizes":{`...)
	b = encode.IntMember(b, "active", info.ActiveSize)
	b = encode.IntMember(b, "external", info.ExternalSize)
	b = append(b, '}')
	b = encode.StringMember(b, "partition", name)
	b = encode.IntMember(b, "doc_count", info.DocCount)
	b = encode.IntMember(b, "doc_del_count", info.DocDelCount)
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

package docs

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// NewUUIDs answers GET /_uuids?count=N.
func (h *Handlers) NewUUIDs(q *call.Request) error {
	limit := h.Settings.Int("uuids", "max_count", 1000)
	count, err := strconv.Atoi(q.Params.Get("count", "1"))
	switch {
	case err != nil || count < 0:
		return fault.BadRequest("count must be a positive integer")
	case count > limit:
		return fault.BadRequest("count parameter too large")
	}
	b := []byte(`{"uuids":[`)
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendQuoted(b, h.IDs.Next())
	}
	header := q.W.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	header.Set("Pragma", "no-cache")
	header.Set("Etag", fmt.Sprintf(`"%x"`, time.Now().UnixNano()))
	return q.SendJSON(http.StatusOK, append(b, "]}"...))
}

package docs

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// uuids generates ids for documents without one, like CouchDB's algorithm "sequential": 26 random hex digits that stay
// the same for a while, and 6 that grow by small random steps, so that consecutive ids are adjacent in the store. The
// zero value is ready to use.
type uuids struct {
	mu struct {
		sync.Mutex
		prefix [13]byte
		last   uint32
	}
}

const maxSuffix = 0xfff000

func (u *uuids) next() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	step := 1 + binary.BigEndian.Uint32(random[:])%0xffe
	if u.mu.last == 0 || u.mu.last+step > maxSuffix {
		_, _ = rand.Read(u.mu.prefix[:])
		u.mu.last = 0
	}
	u.mu.last += step
	return fmt.Sprintf("%s%06x", hex.EncodeToString(u.mu.prefix[:]), u.mu.last)
}

// randomHex returns 32 random hex digits, for multipart boundaries.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

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
		b = jsontext.AppendQuoted(b, h.ids.next())
	}
	header := q.W.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	header.Set("Pragma", "no-cache")
	header.Set("Etag", fmt.Sprintf(`"%x"`, time.Now().UnixNano()))
	return q.SendJSON(http.StatusOK, append(b, "]}"...))
}

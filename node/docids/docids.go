// Package docids chooses ids for documents that are written without one. The HTTP API and SQL use it.
package docids

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// IDs chooses ids by CouchDB's option uuids/algorithm: sequential, random, utc_random or utc_id. The zero value is
// ready to use, and sequential. It is safe for concurrent use.
type IDs struct {
	// Option, unless nil, returns the value of one of CouchDB's options.
	Option func(section, key string) (value string, ok bool)

	sequence Sequence
	clock    struct {
		sync.Mutex
		last int64 // µs since 1970
	}
}

// Next returns a new id.
func (x *IDs) Next() string {
	switch x.option("algorithm") {
	case "random":
		return randomHex(16)
	case "utc_random":
		return fmt.Sprintf("%014x%s", x.microseconds(), randomHex(9))
	case "utc_id":
		return fmt.Sprintf("%014x%s", x.microseconds(), x.option("utc_id_suffix"))
	}
	return x.sequence.Next()
}

func (x *IDs) option(key string) string {
	if x.Option == nil {
		return ""
	}
	value, _ := x.Option("uuids", key)
	return value
}

// microseconds returns the time, or a little more if it was returned already.
func (x *IDs) microseconds() int64 {
	x.clock.Lock()
	defer x.clock.Unlock()
	x.clock.last = max(time.Now().UnixMicro(), x.clock.last+1)
	return x.clock.last
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Sequence generates ids like CouchDB's algorithm "sequential": 26 random hex digits that stay the same for a while,
// and 6 that grow by small random steps, so that consecutive ids are adjacent in the store. The zero value is ready to
// use. It is safe for concurrent use.
type Sequence struct {
	mu struct {
		sync.Mutex
		prefix [13]byte
		last   uint32
	}
}

const maxSuffix = 0xfff000

// Next returns a new id.
func (s *Sequence) Next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	step := 1 + binary.BigEndian.Uint32(random[:])%0xffe
	if s.mu.last == 0 || s.mu.last+step > maxSuffix {
		_, _ = rand.Read(s.mu.prefix[:])
		s.mu.last = 0
	}
	s.mu.last += step
	return fmt.Sprintf("%s%06x", hex.EncodeToString(s.mu.prefix[:]), s.mu.last)
}

// Package docids chooses ids for documents that are written without one. The HTTP API and SQL use it.
package docids

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
)

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

package api

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
)

// uuids makes ids for documents that come without one, as CouchDB's algorithm "sequential": 26 random hex digits that stay for a while and 6 that grow
// by small random steps, so that ids made one after the other lie side by side in the store. The zero value is ready.
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
	_, _ = rand.Read(random[:]) // it cannot fail
	step := 1 + binary.BigEndian.Uint32(random[:])%0xffe
	if u.mu.last == 0 || u.mu.last+step > maxSuffix {
		_, _ = rand.Read(u.mu.prefix[:])
		u.mu.last = 0
	}
	u.mu.last += step
	return fmt.Sprintf("%s%06x", hex.EncodeToString(u.mu.prefix[:]), u.mu.last)
}

// randomHex is 32 random hex digits: multipart boundaries.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	return hex.EncodeToString(b[:])
}

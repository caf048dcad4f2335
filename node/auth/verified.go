package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
)

// verifiedSize bounds the cache: 32 bytes each, so its memory does not matter, only that it ends.
const verifiedSize = 4096

// verifiedCache remembers credentials that passed the slow hash, as keyed digests that are of no use outside this process.
// Failures are not remembered: each wrong password costs its slow hash.
type verifiedCache struct {
	secret [32]byte
	mu     struct {
		sync.Mutex
		known map[verifiedKey]struct{}
		order []verifiedKey // a ring of the keys in known, the oldest at next once it is full
		next  int
	}
}

type verifiedKey [sha256.Size]byte

func newVerifiedCache() *verifiedCache {
	c := &verifiedCache{}
	rand.Read(c.secret[:])
	c.mu.known = map[verifiedKey]struct{}{}
	return c
}

// key binds a password to the hash it was checked against.
func (c *verifiedCache) key(name, password string, h Hash) verifiedKey {
	m := hmac.New(sha256.New, c.secret[:])
	fmt.Fprintf(m, "%d %s %d %s %s", len(name), name, len(password), password, h)
	return verifiedKey(m.Sum(nil))
}

func (c *verifiedCache) has(k verifiedKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.mu.known[k]
	return ok
}

func (c *verifiedCache) add(k verifiedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.known[k]; ok {
		return
	}
	if len(c.mu.order) < verifiedSize {
		c.mu.order = append(c.mu.order, k)
	} else {
		delete(c.mu.known, c.mu.order[c.mu.next])
		c.mu.order[c.mu.next] = k
		c.mu.next = (c.mu.next + 1) % verifiedSize
	}
	c.mu.known[k] = struct{}{}
}

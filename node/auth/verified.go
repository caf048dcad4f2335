package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// rememberedSize bounds a set of digests: 32 bytes each, so its memory does not matter, only that it ends.
const rememberedSize = 4096

// remembered is a bounded set of texts, kept as digests that are of no use outside this process. What was used least
// recently goes first. It is safe for concurrent use.
type remembered struct {
	secret [32]byte
	mu     struct {
		sync.Mutex
		set *simplelru.LRU[[sha256.Size]byte, struct{}]
	}
}

func newRemembered() *remembered {
	r := &remembered{}
	rand.Read(r.secret[:])
	r.mu.set, _ = simplelru.NewLRU[[sha256.Size]byte, struct{}](rememberedSize, nil) // its only error is a size below 1
	return r
}

// has reports whether the texts were added together, and keeps them for longer if so.
func (r *remembered) has(texts ...string) bool {
	d := digest(r.secret[:], texts...)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.mu.set.Get(d)
	return ok
}

func (r *remembered) add(texts ...string) {
	d := digest(r.secret[:], texts...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.set.Add(d, struct{}{})
}

// digest is a keyed digest of several texts, in which each one's end can be told.
func digest(secret []byte, texts ...string) [sha256.Size]byte {
	m := hmac.New(sha256.New, secret)
	for _, text := range texts {
		m.Write(binary.AppendUvarint(nil, uint64(len(text))))
		m.Write([]byte(text))
	}
	return [sha256.Size]byte(m.Sum(nil))
}

package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// rememberedSize bounds a set of digests of 32 bytes each. It only has to be finite.
const rememberedSize = 4096

// remembered is a bounded set of texts, kept as digests that are useless outside this process. The least recently used
// is forgotten first. It is safe for concurrent use.
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
	// fails only for a size below 1
	r.mu.set, _ = simplelru.NewLRU[[sha256.Size]byte, struct{}](rememberedSize, nil)
	return r
}

// has reports whether the texts were added together. If so, they count as used.
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

// digest returns a keyed digest of several texts, which also depends on where each of them ends.
func digest(secret []byte, texts ...string) [sha256.Size]byte {
	m := hmac.New(sha256.New, secret)
	for _, text := range texts {
		m.Write(binary.AppendUvarint(nil, uint64(len(text))))
		m.Write([]byte(text))
	}
	return [sha256.Size]byte(m.Sum(nil))
}

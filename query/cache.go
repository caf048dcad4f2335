package query

import (
	"encoding/binary"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Parsed and bound queries are cached by their text, for clients that send them again: as simple queries, or as unnamed
// prepared statements. Like prepared statements, they are checked before each execution.

// Limits of a session's cache. Nothing is added while the node's sessions hold half of their memory, so that caches do
// not displace anything.
const (
	maxCached     = 128       // queries
	maxCachedSize = 512 << 10 // bytes in total
	largestCached = 64 << 10
)

// statementCache holds the queries of a session, most recently used first. Their memory is counted for the session.
type statementCache struct {
	lru  *simplelru.LRU[string, *prepared]
	size int64
}

// cacheKey returns the key of a query: its text and the types that the client gave its parameters.
func cacheKey(text string, given []types.OID) string {
	if len(given) == 0 {
		return text
	}
	key := append([]byte(text), 0) // no text contains a zero byte
	for _, t := range given {
		key = binary.AppendVarint(key, int64(t))
	}
	return string(key)
}

// cached finds a query and checks its names again. It returns nil if there is none, or if it must be bound again.
func (sts *statements) cached(w *work.Work, text string, given []types.OID) *prepared {
	if sts.cache.lru == nil {
		return nil
	}
	key := cacheKey(text, given)
	p, ok := sts.cache.lru.Get(key)
	if !ok {
		return nil
	}
	bound, err := p.bound.Refreshed(w, sts.names)
	if err != nil || bound == nil || w.Hold(p.size) != nil {
		// The caller binds it again, and so finds the error and its position.
		sts.cache.lru.Remove(key)
		return nil
	}
	again := *p
	again.bound, again.round = bound, sts.round
	return &again
}

// remember caches a bound query if there is room.
func (sts *statements) remember(p *prepared, given []types.OID) {
	if p.bound == nil || p.size > largestCached {
		return
	}
	if now, _ := sts.node.Used(); now > sts.node.Limit()/2 || sts.memory.Grow(p.size) != nil {
		return
	}
	c := &sts.cache
	if c.lru == nil {
		c.lru, _ = simplelru.NewLRU(maxCached, func(_ string, old *prepared) { // it fails only for a size below 1
			c.size -= old.size
			sts.memory.Shrink(old.size)
		})
	}
	own := *p
	own.held = 0
	key := cacheKey(p.text, given)
	c.lru.Remove(key)
	c.size += p.size
	c.lru.Add(key, &own)
	for c.size > maxCachedSize {
		c.lru.RemoveOldest()
	}
}

// forgetCached empties the cache.
func (sts *statements) forgetCached() {
	if sts.cache.lru != nil {
		sts.cache.lru.Purge()
	}
}

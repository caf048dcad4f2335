package query

import (
	"encoding/binary"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Queries are kept by their text once they have been parsed and bound, for clients that send them again: in simple
// queries, or without a name of their own for the prepared statement. As prepared statements, they are looked at again
// before each execution.

// Bounds of what a session keeps. Nothing is added while the node's sessions hold half of what they may, so that what
// is kept is in nobody's way.
const (
	maxCached     = 128       // queries
	maxCachedSize = 512 << 10 // bytes of all
	largestCached = 64 << 10
)

// statementCache has the queries of a session, the last one used first. Their memory is the session's.
type statementCache struct {
	lru  *simplelru.LRU[string, *prepared]
	size int64
}

// cacheKey is what a query is found by: its text and the types that the client gave its parameters.
func cacheKey(text string, given []types.OID) string {
	if len(given) == 0 {
		return text
	}
	key := append([]byte(text), 0) // no text has a zero byte
	for _, t := range given {
		key = binary.AppendVarint(key, int64(t))
	}
	return string(key)
}

// cached finds a query and looks at its names again. It answers nil where there is none, or where it has to be bound
// again.
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
		// Whoever binds it again finds what is wrong, and where.
		sts.cache.lru.Remove(key)
		return nil
	}
	again := *p
	again.bound, again.round = bound, sts.round
	return &again
}

// remember keeps a query that has been bound, where there is room.
func (sts *statements) remember(p *prepared, given []types.OID) {
	if p.bound == nil || p.size > largestCached {
		return
	}
	if now, _ := sts.node.Used(); now > sts.node.Limit()/2 || sts.memory.Grow(p.size) != nil {
		return
	}
	c := &sts.cache
	if c.lru == nil {
		c.lru, _ = simplelru.NewLRU(maxCached, func(_ string, old *prepared) { // its only error is a size below 1
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

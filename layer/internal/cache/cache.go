package cache

import (
	"context"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache caches values that can be loaded again, up to a limit in bytes. If it is full, it evicts the least recently
// used ones. Concurrent callers that need the same value load it once. A Cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	most    int // in bytes
	flights Flights[K, V]

	mu struct {
		sync.Mutex
		kept   *simplelru.LRU[K, weighed[V]]
		weight int
	}
}

type weighed[V any] struct {
	value  V
	weight int
}

// EntryWeight is the assumed size of an entry in addition to the text that it was made from.
const EntryWeight = 2 << 10

// New returns a cache with a limit in bytes.
func New[K comparable, V any](most int) *Cache[K, V] {
	c := &Cache[K, V]{most: most}
	kept, err := simplelru.NewLRU(math.MaxInt, func(_ K, e weighed[V]) { c.mu.weight -= e.weight })
	if err != nil {
		panic(err) // only if the size is less than 1
	}
	c.mu.kept = kept
	return c
}

// Get returns the cached value for the key, or calls load, which returns the value and the size of the text that it was
// made from.
func (c *Cache[K, V]) Get(ctx context.Context, key K, load func() (V, int, error)) (V, error) {
	if v, ok := c.find(key); ok {
		return v, nil
	}
	return c.flights.Do(ctx, key, func() (V, error) {
		if v, ok := c.find(key); ok { // another caller was faster
			return v, nil
		}
		v, size, err := load()
		if err == nil {
			c.put(key, v, size)
		}
		return v, err
	})
}

// Peek returns the cached value for the key, if there is one, and does not count as a use of it.
func (c *Cache[K, V]) Peek(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.kept.Peek(key)
	return e.value, ok
}

func (c *Cache[K, V]) find(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.kept.Get(key)
	return e.value, ok
}

func (c *Cache[K, V]) put(key K, v V, size int) {
	e := weighed[V]{v, size + EntryWeight}
	if e.weight > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.kept.Remove(key)
	c.mu.kept.Add(key, e)
	c.mu.weight += e.weight
	for c.mu.weight > c.most {
		c.mu.kept.RemoveOldest()
	}
}

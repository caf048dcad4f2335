package layer

import (
	"context"
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// cache keeps what can be loaded again, up to a weight in bytes. When it is full, what was used longest ago goes, and
// nothing else. Those who want the same thing at once load it once. Safe for concurrent use.
type cache[K comparable, V any] struct {
	most    int // bytes
	flights flights[K, V]

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

// entryWeight is what an entry is taken to weigh beside the text that it was made of.
const entryWeight = 2 << 10

func newCache[K comparable, V any](most int) *cache[K, V] {
	c := &cache[K, V]{most: most}
	kept, err := simplelru.NewLRU(math.MaxInt, func(_ K, e weighed[V]) { c.mu.weight -= e.weight })
	if err != nil {
		panic(err) // only of a size below one
	}
	c.mu.kept = kept
	return c
}

// get returns what is kept for the key, or what load makes: its value and the bytes of the text that it was made of.
func (c *cache[K, V]) get(ctx context.Context, key K, load func() (V, int, error)) (V, error) {
	if v, ok := c.find(key); ok {
		return v, nil
	}
	return c.flights.do(ctx, key, func() (V, error) {
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

func (c *cache[K, V]) find(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.kept.Get(key)
	return e.value, ok
}

func (c *cache[K, V]) put(key K, v V, size int) {
	e := weighed[V]{v, size + entryWeight}
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

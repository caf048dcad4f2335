package layer

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/jobs"
)

// Flights exports cache.Flights of numbers by name.
type Flights struct{ f cache.Flights[string, int] }

// Do is cache.Flights.Do.
func (f *Flights) Do(ctx context.Context, key string, load func() (int, error)) (int, error) {
	return f.f.Do(ctx, key, load)
}

// Cache exports cache.Cache of numbers by name.
type Cache struct{ c *cache.Cache[string, int] }

// NewCache returns a cache of up to most numbers.
func NewCache(most int) *Cache { return &Cache{cache.New[string, int](most * cache.EntryWeight)} }

// Get is cache.Cache.Get.
func (c *Cache) Get(ctx context.Context, key string, load func() (int, error)) (int, error) {
	return c.c.Get(ctx, key, func() (int, int, error) {
		n, err := load()
		return n, 0, err
	})
}

// KeepDatabases sets how many unused databases a store keeps in memory.
func KeepDatabases(s *Store, most int) { s.Known = db.NewCores(most) }

// KnownDatabases returns how many databases a store has in memory.
func KnownDatabases(s *Store) int {
	all, _ := s.Known.Count()
	return all
}

// SweepJobs removes the records of finished jobs as the store will do after a time.
func SweepJobs(ctx context.Context, s *Store, after time.Duration) error {
	return jobs.SweepJobs(ctx, s.Store, db.AfterVersion(s.Clock.Now(), after-jobs.FinishedFor))
}

package layer

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/cache"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/jobs"
)

// Flights is flights of numbers by name.
type Flights struct{ f cache.Flights[string, int] }

// Do is flights.do.
func (f *Flights) Do(ctx context.Context, key string, load func() (int, error)) (int, error) {
	return f.f.Do(ctx, key, load)
}

// Cache is a cache of numbers by name, for as many as are given.
type Cache struct{ c *cache.Cache[string, int] }

// NewCache makes one.
func NewCache(most int) *Cache { return &Cache{cache.New[string, int](most * cache.EntryWeight)} }

// Get is cache.get.
func (c *Cache) Get(ctx context.Context, key string, load func() (int, error)) (int, error) {
	return c.c.Get(ctx, key, func() (int, int, error) {
		n, err := load()
		return n, 0, err
	})
}

// KeepDatabases has a store keep so many databases in memory that nobody uses.
func KeepDatabases(s *Store, most int) { s.Known = db.NewCores(most) }

// KnownDatabases is how many databases a store has in memory.
func KnownDatabases(s *Store) int {
	all, _ := s.Known.Count()
	return all
}

// SweepJobs removes the records of finished jobs as the store will after a time.
func SweepJobs(ctx context.Context, s *Store, after time.Duration) error {
	return jobs.SweepJobs(ctx, s.Store, db.AfterVersion(s.Clock.Now(), after-jobs.FinishedFor))
}

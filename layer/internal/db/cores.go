package db

import (
	"bytes"
	"runtime"
	"sync"
	"weak"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// keptCores is how many databases a Store keeps in memory although nobody uses them: those that were used last. Each
// takes some KB.
const keptCores = 1 << 15

// cores are the databases that a Store knows, by name. Those that somebody has a handle of are always among them, so
// that there is never more than one core for a database that is in use; of the others the ones used longest ago go, one
// at a time. What is here may be out of date. Safe for concurrent use.
type cores struct {
	mu struct {
		sync.Mutex
		all    map[string]weak.Pointer[Core] // by name
		recent *simplelru.LRU[string, *Core]
	}
}

func NewCores(most int) *cores {
	s := &cores{}
	s.mu.all = map[string]weak.Pointer[Core]{}
	recent, err := simplelru.NewLRU[string, *Core](most, nil)
	if err != nil {
		panic(err) // only of a size below one
	}
	s.mu.recent = recent
	return s
}

// find returns the database of a name; nil where it is not known.
func (s *cores) find(name string) *Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.current(name)
	if c != nil {
		s.touch(c)
	}
	return c
}

// current is the core of a name. The caller holds mu.
func (s *cores) current(name string) *Core {
	if c, ok := s.mu.recent.Peek(name); ok {
		return c
	}
	return s.mu.all[name].Value()
}

// touch makes c the one that was used last. The caller holds mu.
func (s *cores) touch(c *Core) {
	if _, ok := s.mu.recent.Get(c.Name); !ok {
		s.mu.recent.Add(c.Name, c)
	}
}

// Remember takes a database just looked up and returns the one to use: there is one core for each database, so that
// caches are shared.
func (s *cores) Remember(c *Core) *Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.current(c.Name); old != nil {
		switch bytes.Compare(old.Created[:], c.Created[:]) {
		case 0:
			s.touch(old)
			return old
		case 1:
			return c // an old read version; the newer one stays
		}
	}
	s.mu.all[c.Name] = weak.Make(c)
	s.mu.recent.Add(c.Name, c)
	runtime.AddCleanup(c, s.collected, c.Name)
	return c
}

// collected drops the entry of a core that nobody has any more.
func (s *cores) collected(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.mu.all[name]; ok && p.Value() == nil {
		delete(s.mu.all, name)
	}
}

// forget drops a database that is gone.
func (s *cores) forget(c *Core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current(c.Name) == c {
		delete(s.mu.all, c.Name)
		s.mu.recent.Remove(c.Name)
	}
}

// Count is how many databases are in memory for now, and how many of them are kept.
func (s *cores) Count() (all, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.all), s.mu.recent.Len()
}

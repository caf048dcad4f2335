package db

import (
	"bytes"
	"runtime"
	"sync"
	"weak"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// keptCores is the number of recently used databases that a Store keeps in memory even without handles. Each takes
// a few KB.
const keptCores = 1 << 15

// cores are the databases that a Store has in memory, by name. A database with handles is always among them, so that
// there is never more than one core for a database in use. Of the others, the least recently used are evicted. Entries
// may be outdated. Safe for concurrent use.
type cores struct {
	mu struct {
		sync.Mutex
		all    map[string]weak.Pointer[Core] // by name
		recent *simplelru.LRU[string, *Core]
	}
}

// NewCores returns an empty set that keeps up to most databases without handles.
func NewCores(most int) *cores {
	s := &cores{}
	s.mu.all = map[string]weak.Pointer[Core]{}
	recent, err := simplelru.NewLRU[string, *Core](most, nil)
	if err != nil {
		panic(err) // only if most is less than 1
	}
	s.mu.recent = recent
	return s
}

// find returns the database with the name, or nil if it is not in memory.
func (s *cores) find(name string) *Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.current(name)
	if c != nil {
		s.touch(c)
	}
	return c
}

// current returns the core with the name, or nil. The caller holds mu.
func (s *cores) current(name string) *Core {
	if c, ok := s.mu.recent.Peek(name); ok {
		return c
	}
	return s.mu.all[name].Value()
}

// touch marks c as most recently used. The caller holds mu.
func (s *cores) touch(c *Core) {
	if _, ok := s.mu.recent.Get(c.Name); !ok {
		s.mu.recent.Add(c.Name, c)
	}
}

// Remember adds a database that has just been looked up, and returns the core to use. There is one core for each
// database, so that its caches are shared.
func (s *cores) Remember(c *Core) *Core {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.current(c.Name); old != nil {
		switch bytes.Compare(old.Created[:], c.Created[:]) {
		case 0:
			s.touch(old)
			return old
		case 1:
			return c // c comes from an old read version; the newer core stays
		}
	}
	s.mu.all[c.Name] = weak.Make(c)
	s.mu.recent.Add(c.Name, c)
	// The runtime keeps what a cleanup refers to until it runs. So it must not refer to the set, which keeps the core.
	runtime.AddCleanup(c, collected, collectedCore{weak.Make(s), c.Name})
	return c
}

// collectedCore is a core that has been garbage collected, and the set that it belonged to.
type collectedCore struct {
	of   weak.Pointer[cores]
	name string
}

// collected removes the entry of a core that has been garbage collected.
func collected(c collectedCore) {
	if s := c.of.Value(); s != nil {
		s.collected(c.name)
	}
}

func (s *cores) collected(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.mu.all[name]; ok && p.Value() == nil {
		delete(s.mu.all, name)
	}
}

// forget removes a deleted database.
func (s *cores) forget(c *Core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current(c.Name) == c {
		delete(s.mu.all, c.Name)
		s.mu.recent.Remove(c.Name)
	}
}

// Count returns how many databases are in memory, and how many of them would be kept without handles.
func (s *cores) Count() (all, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.all), s.mu.recent.Len()
}

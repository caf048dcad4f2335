package layer

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
		all    map[string]weak.Pointer[core] // by name
		recent *simplelru.LRU[string, *core]
	}
}

func newCores(most int) *cores {
	s := &cores{}
	s.mu.all = map[string]weak.Pointer[core]{}
	recent, err := simplelru.NewLRU[string, *core](most, nil)
	if err != nil {
		panic(err) // only of a size below one
	}
	s.mu.recent = recent
	return s
}

// find returns the database of a name; nil where it is not known.
func (s *cores) find(name string) *core {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.current(name)
	if c != nil {
		s.touch(c)
	}
	return c
}

// current is the core of a name. The caller holds mu.
func (s *cores) current(name string) *core {
	if c, ok := s.mu.recent.Peek(name); ok {
		return c
	}
	return s.mu.all[name].Value()
}

// touch makes c the one that was used last. The caller holds mu.
func (s *cores) touch(c *core) {
	if _, ok := s.mu.recent.Get(c.name); !ok {
		s.mu.recent.Add(c.name, c)
	}
}

// remember takes a database just looked up and returns the one to use: there is one core for each database, so that
// caches are shared.
func (s *cores) remember(c *core) *core {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.current(c.name); old != nil {
		switch bytes.Compare(old.created[:], c.created[:]) {
		case 0:
			s.touch(old)
			return old
		case 1:
			return c // an old read version; the newer one stays
		}
	}
	s.mu.all[c.name] = weak.Make(c)
	s.mu.recent.Add(c.name, c)
	runtime.AddCleanup(c, s.collected, c.name)
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
func (s *cores) forget(c *core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current(c.name) == c {
		delete(s.mu.all, c.name)
		s.mu.recent.Remove(c.name)
	}
}

// count is how many databases are in memory for now, and how many of them are kept.
func (s *cores) count() (all, kept int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.all), s.mu.recent.Len()
}

package write

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// State is what package write keeps with a Store.
type State struct {
	Indexes     indexes
	Validator   db.Validator // nil if design documents do not validate writes
	MaxDocument int          // maximum size of a body
	// PartitionLimit returns the maximum size of a partition, in bytes; 0 or less means none. nil means none.
	PartitionLimit atomic.Pointer[func() int64]
	// CleanupAfter is the delay between a change of a design document and the job that removes unused indexes; 0 means
	// never.
	CleanupAfter time.Duration
	trees        TreeCache
}

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// TreeCache keeps the trees of documents with many branches or long histories between batches of replicated edits. A
// tree is valid while the document's winner has the same sequence, since every change of a branch changes it. The zero
// value is empty. A TreeCache is safe for concurrent use.
type TreeCache struct {
	mu    sync.Mutex
	Trees map[string]CachedTree // by database prefix and id
	order []string              // oldest first
	size  int
}

// cachedFrom is the number of revisions from which on a tree with fewer than rev.CachedBranches branches is cached.
const cachedFrom = 10_000

// CachedTree is a tree, with the winner's sequence and the revision limit for which it is valid.
type CachedTree struct {
	Tree  *revtree.Tree
	seq   db.Seq
	limit int
}

func treeKey(keys db.Space, id string) string { return string(keys.Prefix) + "\x00" + id }

// Has reports whether a tree is cached.
func (c *TreeCache) Has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Trees[key].Tree != nil
}

// take removes a tree, so that only the caller uses it.
func (c *TreeCache) take(key string) (CachedTree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.Trees[key]
	if ok {
		c.drop(key)
	}
	return t, ok
}

// Put caches a tree.
func (c *TreeCache) Put(key string, t CachedTree) {
	if t.Tree.Size() > rev.CachedRevisions {
		t.Tree = t.Tree.Trimmed(rev.CachedRevisions)
	}
	size := t.Tree.Size()
	if t.Tree.Len() < rev.CachedBranches && size < cachedFrom || size > rev.CachedRevisions {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	if c.Trees == nil {
		c.Trees = map[string]CachedTree{}
	}
	c.Trees[key] = t
	c.order = append(c.order, key)
	c.size += size
	for c.size > rev.CachedRevisions {
		c.drop(c.order[0])
	}
}

func (c *TreeCache) drop(key string) {
	t, ok := c.Trees[key]
	if !ok {
		return
	}
	delete(c.Trees, key)
	c.size -= t.Tree.Size()
	for i, k := range c.order {
		if k == key {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
}

// written caches the tree of a family after its transaction has committed.
func (e *treeEdits) written(c kv.Committed) {
	if !e.tree.Whole() {
		return
	}
	seq := db.Seq{}
	if e.before != nil {
		seq = e.before.Seq
	}
	if e.moved {
		if c.Version < 0 || c.Versionstamp == (kv.Versionstamp{}) {
			return
		}
		seq.Incarnation = e.t.Cfg.Incarnation
		binary.BigEndian.PutUint16(seq.Stamp[copy(seq.Stamp[:], c.Versionstamp[:]):], e.last.entry)
	}
	StateOf(e.t.Db.Store).trees.Put(treeKey(e.t.Keys, e.id), CachedTree{e.tree.Tree, seq, e.t.Cfg.RevsLimit})
}

package write

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// State is what the writing of documents remembers of a Store.
type State struct {
	Indexes     indexes
	Validator   db.Validator // nil: design documents say nothing about writes
	MaxDocument int          // bytes of a body
	// CleanupAfter is how long after a design document has changed a job removes the indexes that none has any more; 0
	// is never.
	CleanupAfter time.Duration
	trees        TreeCache
}

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// TreeCache keeps the trees of documents with many branches, or long histories, between two batches of replicated
// edits. A tree is right for as long as the document's winner has the sequence that it had: every change of a branch
// moves the document. The zero value is empty. Safe for concurrent use.
type TreeCache struct {
	mu    sync.Mutex
	Trees map[string]CachedTree // by (prefix of the database, id)
	order []string              // oldest first
	size  int
}

// cachedFrom is from how many revisions on a tree is kept that has fewer than rev.CachedBranches branches.
const cachedFrom = 10_000

type CachedTree struct {
	Tree  *revtree.Tree
	seq   db.Seq
	limit int
}

func treeKey(keys db.Space, id string) string { return string(keys.Prefix) + "\x00" + id }

func (c *TreeCache) Has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Trees[key].Tree != nil
}

// take removes a tree, so that the caller alone has it.
func (c *TreeCache) take(key string) (CachedTree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.Trees[key]
	if ok {
		c.drop(key)
	}
	return t, ok
}

// Put keeps a tree that is as of seq.
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

// written is for a family whose transaction was committed: it keeps the tree for the next one.
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

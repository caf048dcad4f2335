package layer

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// writeState is what the writing of documents remembers of a Store.
type writeState struct {
	indexes     indexes
	validator   Validator // nil: design documents say nothing about writes
	maxDocument int       // bytes of a body
	// cleanupAfter is how long after a design document has changed a job removes the indexes that none has any more; 0
	// is never.
	cleanupAfter time.Duration
	trees        treeCache
}

var writeSlot = newSlot[writeState]()

func writeOf(s *dbStore) *writeState { return writeSlot.of(s) }

// treeCache keeps the trees of documents with many branches between two batches of replicated edits. A tree is right
// for as long as the document's winner has the sequence that it had: every change of a branch moves the document. The
// zero value is empty. Safe for concurrent use.
type treeCache struct {
	mu    sync.Mutex
	trees map[string]cachedTree // by (prefix of the database, id)
	order []string              // oldest first
	size  int
}

type cachedTree struct {
	tree  *revtree.Tree
	seq   Seq
	limit int
}

func treeKey(keys space, id string) string { return string(keys.prefix) + "\x00" + id }

func (c *treeCache) has(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trees[key].tree != nil
}

// take removes a tree, so that the caller alone has it.
func (c *treeCache) take(key string) (cachedTree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.trees[key]
	if ok {
		c.drop(key)
	}
	return t, ok
}

// put keeps a tree that is as of seq.
func (c *treeCache) put(key string, t cachedTree) {
	if t.tree.Len() < cachedBranches || t.tree.Size() > cachedRevisions {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
	if c.trees == nil {
		c.trees = map[string]cachedTree{}
	}
	c.trees[key] = t
	c.order = append(c.order, key)
	c.size += t.tree.Size()
	for c.size > cachedRevisions {
		c.drop(c.order[0])
	}
}

func (c *treeCache) drop(key string) {
	t, ok := c.trees[key]
	if !ok {
		return
	}
	delete(c.trees, key)
	c.size -= t.tree.Size()
	for i, k := range c.order {
		if k == key {
			c.order = append(c.order[:i], c.order[i+1:]...)
			break
		}
	}
}

// written is for a family whose transaction was committed: it keeps the tree for the next one.
func (e *treeEdits) written(c kv.Committed) {
	if !e.tree.whole() {
		return
	}
	seq := Seq{}
	if e.before != nil {
		seq = e.before.seq
	}
	if e.moved {
		if c.Version < 0 || c.Versionstamp == (kv.Versionstamp{}) {
			return
		}
		seq.Incarnation = e.t.cfg.incarnation
		binary.BigEndian.PutUint16(seq.Stamp[copy(seq.Stamp[:], c.Versionstamp[:]):], e.last.entry)
	}
	writeOf(e.t.db.store).trees.put(treeKey(e.t.keys, e.id), cachedTree{e.tree.Tree, seq, e.t.cfg.revsLimit})
}

package embedded

import (
	"bytes"
	"slices"

	"github.com/google/btree"
)

// writeTable holds writes in key order: in a slice while they are few, as nearly always, and then in a tree. The zero value is empty. It is a
// value that is shared by share alone.
type writeTable struct {
	few    []*write
	shared bool                  // few is also another table's
	tree   *btree.BTreeG[*write] // nil while there are few
}

// maxFew writes are kept in a slice, where a new one moves those behind it.
const maxFew = 32

func writeBefore(a, b *write) bool { return bytes.Compare(a.key, b.key) < 0 }

func (t *writeTable) len() int {
	if t.tree != nil {
		return t.tree.Len()
	}
	return len(t.few)
}

// search is the index of the first of few at key or after it.
func (t *writeTable) search(key []byte) (i int, found bool) {
	return slices.BinarySearchFunc(t.few, key, func(w *write, key []byte) int { return bytes.Compare(w.key, key) })
}

// get is the write to exactly key, or nil.
func (t *writeTable) get(key []byte) *write {
	if t.tree != nil {
		found, _ := t.tree.Get(&write{key: key})
		return found
	}
	if i, found := t.search(key); found {
		return t.few[i]
	}
	return nil
}

// put adds w, in place of the one with its key.
func (t *writeTable) put(w *write) {
	if t.tree != nil {
		t.tree.ReplaceOrInsert(w)
		return
	}
	i, found := t.search(w.key)
	if !found && len(t.few) == maxFew {
		t.tree = btree.NewG(32, writeBefore)
		for _, w := range t.few {
			t.tree.ReplaceOrInsert(w)
		}
		t.tree.ReplaceOrInsert(w)
		t.few = nil
		return
	}
	t.own()
	if found {
		t.few[i] = w
	} else {
		t.few = slices.Insert(t.few, i, w)
	}
}

// own makes few this table's alone.
func (t *writeTable) own() {
	if t.shared {
		t.few, t.shared = slices.Clone(t.few), false
	}
}

// deleteRange takes out all writes in r.
func (t *writeTable) deleteRange(r span) {
	if t.tree == nil {
		i, _ := t.search(r.begin)
		j := i
		for j < len(t.few) && r.endsAfter(t.few[j].key) {
			j++
		}
		if j > i {
			t.own()
			t.few = slices.Delete(t.few, i, j)
		}
		return
	}
	var in []*write
	t.tree.AscendGreaterOrEqual(&write{key: r.begin}, func(w *write) bool {
		if r.endsAfter(w.key) {
			in = append(in, w)
			return true
		}
		return false
	})
	for _, w := range in {
		t.tree.Delete(w)
	}
}

// ascend calls visit with all writes in key order.
func (t *writeTable) ascend(visit func(*write)) {
	for _, w := range t.few {
		visit(w)
	}
	if t.tree != nil {
		t.tree.Ascend(func(w *write) bool { visit(w); return true })
	}
}

// from is the first write at key or after it, only after it where past; nil for none.
func (t *writeTable) from(key []byte, past bool) (next *write) {
	if t.tree == nil {
		i, found := t.search(key)
		if found && past {
			i++
		}
		if i < len(t.few) {
			return t.few[i]
		}
		return nil
	}
	t.tree.AscendGreaterOrEqual(&write{key: key}, func(w *write) bool {
		if past && bytes.Equal(w.key, key) {
			return true
		}
		next = w
		return false
	})
	return next
}

// before is the last write before key, nil for none.
func (t *writeTable) before(key []byte) (last *write) {
	if t.tree == nil {
		if i, _ := t.search(key); i > 0 {
			return t.few[i-1]
		}
		return nil
	}
	t.tree.DescendLessOrEqual(&write{key: key}, func(w *write) bool {
		if bytes.Equal(w.key, key) {
			return true
		}
		last = w
		return false
	})
	return last
}

// share returns a copy that later changes leave alone.
func (t *writeTable) share() writeTable {
	if t.tree != nil {
		return writeTable{tree: t.tree.Clone()}
	}
	t.shared = true
	return *t
}

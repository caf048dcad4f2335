package writes

import (
	"bytes"
	"slices"

	"github.com/google/btree"

	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// Table holds writes in key order: in a slice while they are few, as nearly always, and then in a tree. The zero
// value is empty. Only share may copy a Table.
type Table struct {
	few    []*Write
	shared bool                  // another table shares few
	tree   *btree.BTreeG[*Write] // nil while there are few
}

// maxFew is the most writes kept in a slice, where an insertion moves the writes behind it.
const maxFew = 32

func writeBefore(a, b *Write) bool { return bytes.Compare(a.Key, b.Key) < 0 }

// Len returns the number of keys.
func (t *Table) Len() int {
	if t.tree != nil {
		return t.tree.Len()
	}
	return len(t.few)
}

// search returns the index in few of the first write at or after key.
func (t *Table) search(key []byte) (i int, found bool) {
	return slices.BinarySearchFunc(t.few, key, func(w *Write, key []byte) int { return bytes.Compare(w.Key, key) })
}

// get returns the write to exactly key, or nil.
func (t *Table) get(key []byte) *Write {
	if t.tree != nil {
		found, _ := t.tree.Get(&Write{Key: key})
		return found
	}
	if i, found := t.search(key); found {
		return t.few[i]
	}
	return nil
}

// put adds w, replacing a write to the same key.
func (t *Table) put(w *Write) {
	if t.tree != nil {
		t.tree.ReplaceOrInsert(w)
		return
	}
	i, found := t.search(w.Key)
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

// own gives this table its own copy of few.
func (t *Table) own() {
	if t.shared {
		t.few, t.shared = slices.Clone(t.few), false
	}
}

// deleteRange removes all writes in r.
func (t *Table) deleteRange(r keys.Span) {
	if t.tree == nil {
		i, _ := t.search(r.Begin)
		j := i
		for j < len(t.few) && r.EndsAfter(t.few[j].Key) {
			j++
		}
		if j > i {
			t.own()
			t.few = slices.Delete(t.few, i, j)
		}
		return
	}
	var in []*Write
	t.tree.AscendGreaterOrEqual(&Write{Key: r.Begin}, func(w *Write) bool {
		if r.EndsAfter(w.Key) {
			in = append(in, w)
			return true
		}
		return false
	})
	for _, w := range in {
		t.tree.Delete(w)
	}
}

// Ascend calls visit for all writes in key order.
func (t *Table) Ascend(visit func(*Write)) {
	for _, w := range t.few {
		visit(w)
	}
	if t.tree != nil {
		t.tree.Ascend(func(w *Write) bool { visit(w); return true })
	}
}

// From returns the first write at or after key, or after key if past is set; nil for none.
func (t *Table) From(key []byte, past bool) (next *Write) {
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
	t.tree.AscendGreaterOrEqual(&Write{Key: key}, func(w *Write) bool {
		if past && bytes.Equal(w.Key, key) {
			return true
		}
		next = w
		return false
	})
	return next
}

// Before returns the last write before key, nil for none.
func (t *Table) Before(key []byte) (last *Write) {
	if t.tree == nil {
		if i, _ := t.search(key); i > 0 {
			return t.few[i-1]
		}
		return nil
	}
	t.tree.DescendLessOrEqual(&Write{Key: key}, func(w *Write) bool {
		if bytes.Equal(w.Key, key) {
			return true
		}
		last = w
		return false
	})
	return last
}

// share returns a copy that later changes do not affect.
func (t *Table) share() Table {
	if t.tree != nil {
		return Table{tree: t.tree.Clone()}
	}
	t.shared = true
	return *t
}

package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// branches is what a transaction reads of a document's branches for one edit: what is under way, and what has come.
type branches struct {
	rows   kv.RangeIterator  // under way
	leaf   kv.Future[[]byte] // under way
	leaves []rev.LeafKV      // read so far
	few    [2]rev.LeafKV
}

// readAhead reads the branches of the edits' documents together, where that is worth it.
func readAhead(b *batch) error {
	if !rev.ScansLeaves(b.t, len(b.edits)) {
		return nil
	}
	prefixes := make([][]byte, 0, len(b.edits))
	for i := range b.edits {
		if p := &b.edits[i]; p.err == nil {
			prefixes = append(prefixes, leavesOf(b.t, p.e.ID))
		}
	}
	return rev.ScanLeaves(b.t, prefixes)
}

// leavesOf is what the keys of a document's branches begin with.
func leavesOf(t *db.Txn, id string) []byte {
	return t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, id))
}

// issueBranches starts the reads that the edit alone calls for.
func issueBranches(b *batch, p *pendingEdit) error {
	t, prefix := b.t, leavesOf(b.t, p.e.ID)
	switch {
	case b.o.Replicated:
		p.found.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	case p.e.Rev.IsZero():
		p.found.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	case p.e.Deleted:
		p.found.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Reverse: true, Limit: 2, Mode: kv.ModeExact})
	default:
		p.found.leaf = rev.ReadLeaf(t, p.e.ID, p.e.Rev)
	}
	if db.IsDesign(p.e.ID) {
		p.design = designEntryOf(t, p.e.ID)
	}
	return nil
}

// designEntryOf reads what is listed of a design document.
func designEntryOf(t *db.Txn, id string) kv.Future[[]byte] {
	return t.Get(t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, id)))
}

// takeRows collects the range read under way.
func (f *branches) takeRows(t *db.Txn, id string) error {
	prefixLen := len(t.Keys.Doc(t.Open(), keyspace.Revisions, id))
	if f.leaves == nil {
		f.leaves = f.few[:0]
	}
	var err error
	f.leaves, err = rev.ReadLeaves(f.rows, prefixLen, true, f.leaves)
	if _, ahead := f.rows.(*rev.ReadRows); !ahead { // those are counted
		t.Spent += rev.SizeOf(f.leaves)
	}
	f.rows = nil
	return err
}

// takeLeaf is the live branch whose read is under way. A conflict where there is none of that revision.
func (f *branches) takeLeaf(r db.Rev) (rev.LeafKV, error) {
	l := rev.LeafKV{Rev: r}
	value, err := f.leaf.Wait()
	if err != nil {
		return l, err
	}
	f.leaf = nil
	if value == nil {
		return l, errConflict()
	}
	return l, rev.ParseLeafValue(&l, value, true)
}

func (f *branches) close() {
	if f.rows != nil {
		f.rows.Close()
	}
}

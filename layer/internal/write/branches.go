package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// branches holds what a transaction reads of a document's branches for one edit.
type branches struct {
	prefix int               // length of the common prefix of their keys
	rows   kv.RangeIterator  // pending read
	leaf   kv.Future[[]byte] // pending read
	leaves []rev.LeafKV      // read so far
	few    [2]rev.LeafKV
}

// readAhead reads the branches of the edits' documents together, if that is worthwhile.
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

// leavesOf returns the common prefix of the keys of a document's branches.
func leavesOf(t *db.Txn, id string) []byte {
	return t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, id))
}

// issueBranches starts the reads that depend on the edit alone.
func issueBranches(b *batch, p *pendingEdit) error {
	t, prefix := b.t, leavesOf(b.t, p.e.ID)
	p.found.prefix = len(prefix)
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

// designEntryOf reads a design document's entry in Designs.
func designEntryOf(t *db.Txn, id string) kv.Future[[]byte] {
	return t.Get(t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, id)))
}

// takeRows waits for the pending range read.
func (f *branches) takeRows(t *db.Txn) error {
	if f.leaves == nil {
		f.leaves = f.few[:0]
	}
	var err error
	f.leaves, err = rev.ReadLeaves(f.rows, f.prefix, true, f.leaves)
	// ReadRows have been counted already.
	if _, ahead := f.rows.(*rev.ReadRows); !ahead {
		t.Spent += rev.SizeOf(f.leaves)
	}
	f.rows = nil
	return err
}

// takeLeaf waits for the pending read of a live branch. It returns a conflict if there is no such branch.
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

package write

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// An interactive edit may make a revision that has been there before: its parent was history once, was forgotten by
// stemming, and came again as a leaf. What came of it is another branch then, so documents with one branch are not
// looked at. A purge leaves no bodies of branches that are gone (forgotten.go). The name of the revision is known after
// compose, so the reads of all edits of a transaction are a round trip of their own there.

// made are the reads that tell whether the revision of an edit has been there before.
type made struct {
	body     kv.Future[[]byte] // its first chunk; nil where nothing has to be read
	branches kv.RangeIterator  // of the document, where it has a body
}

// issue asks for the body of the revision that an edit adds.
func (m *made) issue(t *db.Txn, id string, pl *plan) {
	if pl.before != nil && pl.before.Branches >= 2 {
		m.body = t.Get(t.Close(t.Keys.Body(t.Open(), id, pl.added.Rev, 0)))
	}
}

// findMade takes the body of a revision that has been there before, which the edit's replaces, and asks for the
// branches, which may have it.
func findMade(b *batch, p *pendingEdit) error {
	if p.made.body == nil {
		return nil
	}
	first, err := p.made.body.Wait()
	if err != nil || first == nil {
		return err
	}
	p.content.oldChunk = first
	p.made.branches = rev.ReadTree(b.t, b.t.Keys, p.e.ID)
	return nil
}

// refuseKnown is the conflict of an edit whose revision is another branch, or in the history of one.
func refuseKnown(b *batch, p *pendingEdit) error { return p.made.refuse(b.t, p, nil) }

// refuse is refuseKnown. after is what edits before this one have made of the stored branches; nil: nothing.
func (m *made) refuse(t *db.Txn, p *pendingEdit, after func([]rev.LeafKV) []rev.LeafKV) error {
	rows := m.branches
	if rows == nil {
		return nil
	}
	m.branches = nil
	leaves, err := rev.ReadLeaves(rows, len(t.Keys.Doc(t.Open(), keyspace.Revisions, p.e.ID)), true, nil)
	if err != nil {
		return err
	}
	t.Spent += rev.SizeOf(leaves)
	if after != nil {
		leaves = after(leaves)
	}
	branches, err := rev.BranchesOf(leaves)
	if err != nil {
		return err
	}
	if revtree.Find(branches, p.plan.added.Rev) >= 0 {
		return errConflict()
	}
	return nil
}

// errRemade ends the first pass over a family of which an edit makes a revision that has been there before: what it
// means to that edit matters to those after it. The second pass waits for each edit.
var errRemade = errors.New("layer: an edit of a family makes a revision again")

// noneRemade is errRemade where an edit's revision has been there before.
func noneRemade(_ *batch, p *pendingEdit) error {
	if p.made.body == nil {
		return nil
	}
	first, err := p.made.body.Wait()
	if err == nil && first != nil {
		err = errRemade
	}
	return err
}

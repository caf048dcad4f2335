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

// remade are the reads that tell whether the revision of an edit has been there before.
type remade struct {
	body     kv.Future[[]byte] // its first chunk; nil where nothing has to be read
	branches kv.RangeIterator  // of the document, where it has a body
}

// issueAdded asks for the body of the revision that the edit adds.
func (p *pendingEdit) issueAdded(t *db.Txn) {
	if pl := &p.plan; pl.before != nil && pl.before.Branches >= 2 {
		p.remade.body = t.Get(t.Close(t.Keys.Body(t.Open(), p.e.ID, pl.added.Rev, 0)))
	}
}

// lookForAdded looks whether the revisions that edits add have been there before.
func lookForAdded(t *db.Txn, ps []pendingEdit) error {
	err := eachEdit(ps, func(p *pendingEdit) error { return p.findAdded(t) })
	if err != nil {
		return err
	}
	return eachEdit(ps, func(p *pendingEdit) error { return p.refuseKnown(t, nil) })
}

// findAdded takes the body of a revision that has been there before, which the edit's replaces, and asks for the
// branches, which may have it.
func (p *pendingEdit) findAdded(t *db.Txn) error {
	if p.remade.body == nil {
		return nil
	}
	first, err := p.remade.body.Wait()
	if err != nil || first == nil {
		return err
	}
	p.oldChunk = first
	p.remade.branches = rev.ReadTree(t, t.Keys, p.e.ID)
	return nil
}

// refuseKnown is the conflict of an edit whose revision is another branch, or in the history of one. Those are the
// stored ones, or what edits of the family before have made of them.
func (p *pendingEdit) refuseKnown(t *db.Txn, of *family) error {
	rows := p.remade.branches
	if rows == nil {
		return nil
	}
	p.remade.branches = nil
	leaves, err := rev.ReadLeaves(rows, len(t.Keys.Doc(t.Open(), keyspace.Revisions, p.e.ID)), true, nil)
	if err != nil {
		return err
	}
	t.Spent += rev.SizeOf(leaves)
	if of != nil {
		leaves = of.leavesAfter(leaves)
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

// waitForAdded is lookForAdded for one edit of a family.
func (p *pendingEdit) waitForAdded(of *family) error {
	if err := p.findAdded(of.t); err != nil {
		return err
	}
	return p.refuseKnown(of.t, of)
}

// errRemade ends the first pass over a family of which an edit makes a revision that has been there before: what it
// means to that edit matters to those after it. The second pass waits for each edit.
var errRemade = errors.New("layer: an edit of a family makes a revision again")

// noneRemade is errRemade where one of the edits' revisions has been there before.
func noneRemade(ps []pendingEdit) error {
	return eachEdit(ps, func(p *pendingEdit) error {
		if p.remade.body == nil {
			return nil
		}
		first, err := p.remade.body.Wait()
		if err == nil && first != nil {
			err = errRemade
		}
		return err
	})
}

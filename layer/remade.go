package layer

import (
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// An interactive edit may make a revision that has been there before: its parent was history once, was forgotten by
// stemming, and came again as a leaf. What came of it is another branch then, so documents with one branch are not
// looked at. A purge leaves no bodies of branches that are gone (forgotten.go). The name of the revision is known after
// compose, so the reads of all edits of a transaction are a round trip of their own there.

// remade are the reads that tell whether the revision of an edit has been there before.
type remade struct {
	body   kv.Future[[]byte]    // its first chunk; nil where nothing has to be read
	leaves [2]kv.Future[[]byte] // it as a leaf, live or deleted, where it has a body
}

// issueAdded asks for the body of the revision that the edit adds.
func (p *pendingEdit) issueAdded(t *txn) {
	if pl := &p.plan; pl.before != nil && pl.before.branches >= 2 {
		p.remade.body = t.Get(t.close(t.keys.body(t.open(), p.e.ID, pl.added.rev, 0)))
	}
}

// lookForAdded looks whether the revisions that edits add have been there before.
func (t *txn) lookForAdded(ps []pendingEdit) error {
	err := eachEdit(ps, func(p *pendingEdit) error { return p.findAdded(t) })
	if err != nil {
		return err
	}
	return eachEdit(ps, (*pendingEdit).refuseLeaf)
}

// findAdded takes the body of a revision that has been there before, which the edit's replaces, and asks whether it is
// a leaf.
func (p *pendingEdit) findAdded(t *txn) error {
	if p.remade.body == nil {
		return nil
	}
	first, err := p.remade.body.Wait()
	if err != nil || first == nil {
		return err
	}
	p.oldChunk = first
	for i, deleted := range []bool{false, true} {
		p.remade.leaves[i] = t.Get(t.close(t.keys.revision(t.open(), p.e.ID, deleted, p.plan.added.rev)))
	}
	return nil
}

// refuseLeaf is the conflict of an edit whose revision is another branch.
func (p *pendingEdit) refuseLeaf() error {
	for _, read := range p.remade.leaves {
		if read == nil {
			continue
		}
		if leaf, err := read.Wait(); err != nil {
			return err
		} else if leaf != nil {
			return errConflict()
		}
	}
	return nil
}

// waitForAdded is lookForAdded for one edit.
func (p *pendingEdit) waitForAdded(t *txn) error {
	if err := p.findAdded(t); err != nil {
		return err
	}
	return p.refuseLeaf()
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

package write

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// An interactive edit may make a revision that existed before: its parent became history, was forgotten by stemming,
// and was added as a leaf again. The old children are then another branch, so documents with one branch need no check.
// A purge leaves no bodies of removed branches (forgotten.go). The id of the revision is known only after compose, so
// these reads take another round trip, shared by all edits of the transaction.

// existing holds the reads that tell whether an edit's revision existed before.
type existing struct {
	body     kv.Future[[]byte] // first chunk of the revision's body; nil if no check is needed
	branches kv.RangeIterator  // the document's branches, read if there is a body
}

// issue starts reading the body of the revision that an edit adds.
func (m *existing) issue(t *db.Txn, id string, pl *plan) {
	if pl.before != nil && pl.before.Branches >= 2 {
		m.body = t.Get(t.Close(t.Keys.Body(t.Open(), id, pl.added.Rev, 0)))
	}
}

// findExisting waits for that body. If there is one, the edit's body replaces it, and findExisting starts reading the
// branches, which may contain the revision.
func findExisting(b *batch, p *pendingEdit) error {
	if p.existing.body == nil {
		return nil
	}
	first, err := p.existing.body.Wait()
	if err != nil || first == nil {
		return err
	}
	p.content.oldChunk = first
	p.existing.branches = rev.ReadTree(b.t, b.t.Keys, p.e.ID)
	return nil
}

// refuseKnown returns a conflict if the edit's revision is another branch or in the history of one.
func refuseKnown(b *batch, p *pendingEdit) error { return p.existing.refuse(b.t, p, nil) }

// refuse is refuseKnown. after, unless nil, applies earlier edits to the stored branches.
func (m *existing) refuse(t *db.Txn, p *pendingEdit, after func([]rev.LeafKV) []rev.LeafKV) error {
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

// errExisting ends the first pass over a family if an edit makes a revision that existed before, because this affects
// the edits after it. The second pass waits for each edit's reads.
var errExisting = errors.New("layer: an edit of a family makes a revision that existed before")

// noneExisting returns errExisting if the edit's revision existed before.
func noneExisting(_ *batch, p *pendingEdit) error {
	if p.existing.body == nil {
		return nil
	}
	first, err := p.existing.body.Wait()
	if err == nil && first != nil {
		err = errExisting
	}
	return err
}

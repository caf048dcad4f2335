package write

import (
	"errors"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
)

// plan is what an edit does to the branches of its document.
type plan struct {
	// before is the old winner, or nil for a new document.
	before *rev.LeafKV
	// added is the new leaf. compose sets its id.
	added rev.LeafKV
	// hasAdded is false if the edit's revision is already known.
	hasAdded bool
	// ancestor reports that the edit's revision is in the history of a leaf. Its body may be missing.
	ancestor bool
	// leftover reports that the added revision may have existed before: a history was stemmed, and compaction may not
	// have removed the body yet.
	leftover bool
	// known and others are set if the edit makes every branch know its whole history, and one did not before. known
	// reports whether a branch knows a revision; others removes from a set the revisions known to branches that known
	// does not cover (dropForgotten).
	known  func(db.Rev) bool
	others func(map[db.Rev]bool) error
	// replaced are the leaves that become history.
	replaced []*rev.LeafKV
	// other is the best leaf besides added and replaced. It is set only if it may be the old or the new winner.
	other *rev.LeafKV
	// changed are other leaves whose values change.
	changed  []*rev.LeafKV
	branches int64

	// parent is the revision whose body the edit may refer to, or zero.
	parent db.Rev
	// old is the revision that the edit's author saw: parent, unless the document was deleted.
	old db.Rev
}

// extending returns the plan of an edit that replaces old by a child. other is the best branch besides old, if it may
// be the winner.
func extending(old, winner, other *rev.LeafKV, deleted bool, limit int) plan {
	return plan{
		before:   winner,
		hasAdded: true,
		added: rev.LeafKV{Rev: db.Rev{Pos: old.Rev.Pos + 1}, Deleted: deleted,
			Ancestors: rev.ExtendHistory(old, limit)},
		replaced: []*rev.LeafKV{old},
		other:    other,
		branches: winner.Branches,
		parent:   old.Rev,
		old:      old.Rev,
	}
}

// moves reports whether any branch changes.
func (pl *plan) moves() bool { return pl.hasAdded || len(pl.replaced) > 0 || len(pl.changed) > 0 }

// leavesAfter returns the document's leaves after the edit, winner last.
func (pl *plan) leavesAfter(leaves []rev.LeafKV) []rev.LeafKV {
	after := slices.DeleteFunc(leaves, func(l rev.LeafKV) bool {
		return slices.ContainsFunc(pl.replaced, func(r *rev.LeafKV) bool { return r.Rev == l.Rev })
	})
	if pl.hasAdded {
		after = append(after, pl.added)
	}
	slices.SortFunc(after, func(a, b rev.LeafKV) int { return a.Order(&b) })
	return after
}

var errNoWinner = errors.New("its last branch has no sequence")

// mustWin checks an invariant that all paths rely on: the branch that sorts last has the document's sequence.
func mustWin(l *rev.LeafKV) error {
	if !l.Winner {
		return db.Corrupt("document", errNoWinner)
	}
	return nil
}

package write

import (
	"errors"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
)

// plan is what an edit does to the branches of its document.
type plan struct {
	// before is the winner so far; nil for a new document.
	before *rev.LeafKV
	// added is the new leaf. Its id is known after compose.
	added rev.LeafKV
	// hasAdded is false where the edit's revision is known already.
	hasAdded bool
	// ancestor is set where the edit's revision is in the history of a leaf, and its body may be missing.
	ancestor bool
	// leftover is set where the added revision may have been there before: a history was stemmed, and compaction has
	// not yet removed the bodies.
	leftover bool
	// known is set where the edit has every branch know its whole history, and one did not: it tells which revisions
	// some branch knows, and others take out of a set those that it does not look at (dropForgotten).
	known  func(db.Rev) bool
	others func(map[db.Rev]bool) error
	// replaced are leaves that are history now.
	replaced []*rev.LeafKV
	// other is the best leaf besides added and replaced, where it matters: it may win, or have won until now.
	other *rev.LeafKV
	// changed are further leaves whose values change.
	changed  []*rev.LeafKV
	branches int64

	// parent is the revision whose body the edit may refer to; zero if none.
	parent db.Rev
	// old is what the edit's author saw before: parent, unless the document was deleted.
	old db.Rev
}

// extending is the plan of an edit that puts a child in the place of old. other is the best branch besides old, where
// it may matter.
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

// winner is the winner after the edit.
func (pl *plan) winner() *rev.LeafKV {
	if pl.hasAdded && (pl.other == nil || pl.added.Order(pl.other) > 0) {
		return &pl.added
	}
	return pl.other
}

// moves reports whether branches change.
func (pl *plan) moves() bool { return pl.hasAdded || len(pl.replaced) > 0 || len(pl.changed) > 0 }

// leavesAfter is what the edit makes of a document's leaves, winner last.
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

var errNoWinner = errors.New("the last of its branches has no sequence")

// mustWin checks what every path relies on: the branch that sorts last carries the document's sequence.
func mustWin(l *rev.LeafKV) error {
	if !l.Winner {
		return db.Corrupt("document", errNoWinner)
	}
	return nil
}

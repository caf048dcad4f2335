package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// RevsDiff tells which of the given revisions the database does not have, and which leaves are possible ancestors of them.
func (d *Database) RevsDiff(ctx context.Context, id string, revs []Rev) (missing, possibleAncestors []Rev, err error) {
	for row, err := range d.RevsDiffs(ctx, []RevsDiffAsk{{id, revs}}) {
		return row.Missing, row.PossibleAncestors, err
	}
	return nil, nil, nil
}

// RevsDiffAsk is one document of RevsDiffs.
type RevsDiffAsk struct {
	ID   string
	Revs []Rev
}

// RevsDiffRow answers one RevsDiffAsk. Missing is empty where the database has all of them.
type RevsDiffRow struct {
	ID                         string
	Missing, PossibleAncestors []Rev
}

// RevsDiffs is RevsDiff for many documents, reads overlapped, in the order asked (_revs_diff, _missing_revs).
func (d *Database) RevsDiffs(ctx context.Context, asks []RevsDiffAsk) iter.Seq2[RevsDiffRow, error] {
	return func(yield func(RevsDiffRow, error) bool) {
		const window = 128
		p := newPortions(window)
		for len(asks) > 0 {
			var answers []RevsDiffRow
			n, err := readPart(ctx, d, p, len(asks), func(t *txn, n int) (done int, err error) {
				answers, err = t.revsDiff(asks[:n])
				return len(answers), err
			})
			if err != nil {
				yield(RevsDiffRow{}, err)
				return
			}
			for _, a := range answers {
				if !yield(a, nil) {
					return
				}
			}
			asks = asks[n:]
		}
	}
}

// revsDiff answers as many as one transaction may read for, at least one; with an error, those that it has come to.
func (t *txn) revsDiff(asks []RevsDiffAsk) ([]RevsDiffRow, error) {
	for i := range asks {
		if err := t.cfg.checkID(asks[i].ID); err != nil {
			return nil, err
		}
	}
	rows := make([]kv.RangeIterator, len(asks))
	for i, ask := range asks {
		rows[i] = readTree(t.Snapshot(), t.keys, ask.ID)
		defer rows[i].Close()
	}
	answers := make([]RevsDiffRow, 0, len(asks))
	for i, ask := range asks {
		if t.spent > readBudget {
			break
		}
		answers = append(answers, RevsDiffRow{ID: ask.ID})
		tree, err := waitTree(rows[i], t.keys, ask.ID)
		if err != nil {
			return answers, err
		}
		t.spent += sizeOf(tree.leaves)
		a := &answers[i]
		var newest int64
		found := revtree.FindAll(tree.branches, ask.Revs)
		for _, rev := range ask.Revs {
			if _, ok := found[rev]; !ok {
				a.Missing = append(a.Missing, rev)
				newest = max(newest, rev.Pos)
			}
		}
		if len(a.Missing) > 0 {
			a.PossibleAncestors = revtree.PossibleAncestors(tree.branches, newest)
		}
	}
	return answers, nil
}

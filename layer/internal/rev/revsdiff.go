package rev

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// RevsDiff returns which of the given revisions the database does not have, and which leaves may be their ancestors.
func (d Database) RevsDiff(ctx context.Context, id string, revs []db.Rev) (missing, possibleAncestors []db.Rev,
	err error) {
	for row, err := range d.RevsDiffs(ctx, []DiffAsk{{id, revs}}) {
		return row.Missing, row.PossibleAncestors, err
	}
	return nil, nil, nil
}

// DiffAsk is one document of RevsDiffs.
type DiffAsk struct {
	ID   string
	Revs []db.Rev
}

// DiffRow answers one DiffAsk. Missing is empty if the database has all of its revisions.
type DiffRow struct {
	ID                         string
	Missing, PossibleAncestors []db.Rev
}

// RevsDiffs is RevsDiff for many documents with overlapping reads, in the requested order (_revs_diff, _missing_revs).
func (d Database) RevsDiffs(ctx context.Context, asks []DiffAsk) iter.Seq2[DiffRow, error] {
	return func(yield func(DiffRow, error) bool) {
		const window = 128
		p := db.NewPortions(window)
		for len(asks) > 0 {
			var answers []DiffRow
			n, err := db.ReadPart(ctx, d.Database, p, len(asks), func(t *db.Txn, n int) (done int, err error) {
				answers, err = revsDiff(t, asks[:n])
				return len(answers), err
			})
			if err != nil {
				yield(DiffRow{}, err)
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

// revsDiff answers as many asks as one transaction may read for, at least one. With an error, it returns those answered
// or tried so far.
func revsDiff(t *db.Txn, asks []DiffAsk) ([]DiffRow, error) {
	for i := range asks {
		if err := t.Cfg.CheckID(asks[i].ID); err != nil {
			return nil, err
		}
	}
	rows := make([]kv.RangeIterator, len(asks))
	for i, ask := range asks {
		rows[i] = ReadTree(t.Snapshot(), t.Keys, ask.ID)
		defer rows[i].Close()
	}
	answers := make([]DiffRow, 0, len(asks))
	for i, ask := range asks {
		if t.Spent > db.ReadBudget {
			break
		}
		answers = append(answers, DiffRow{ID: ask.ID})
		tree, err := WaitTree(rows[i], t.Keys, ask.ID)
		if err != nil {
			return answers, err
		}
		t.Spent += SizeOf(tree.Leaves)
		a := &answers[i]
		var newest int64
		found := revtree.FindAll(tree.Branches, ask.Revs)
		for _, rev := range ask.Revs {
			if _, ok := found[rev]; !ok {
				a.Missing = append(a.Missing, rev)
				newest = max(newest, rev.Pos)
			}
		}
		if len(a.Missing) > 0 {
			a.PossibleAncestors = revtree.PossibleAncestors(tree.Branches, newest)
		}
	}
	return answers, nil
}

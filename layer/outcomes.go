package layer

import (
	"slices"
)

// indexes is how the indexes that writes keep up to date (rfc-008) take part in a transaction that writes documents.
// What builds indexes implements it.
type indexes interface {
	// mapOutcomes maps documents as the transaction will leave them, for every such index. It reads; nothing has been
	// written yet.
	mapOutcomes(t *txn, outcomes []*outcome) (indexing, error)
	// write writes what was mapped, nil where nothing was. The documents have been written, and entry and refused of
	// the outcomes are known. It also takes note of design documents that the transaction has changed.
	write(t *txn, mapped indexing) error
}

// indexing is what the indexes get in a transaction.
type indexing interface {
	// size is how many bytes the rows of an outcome add to the transaction at most.
	size(i int) int
}

// indexMemo is what the indexes keep of an edit over the attempts of its transaction.
type indexMemo []any

// outcome is a document as a transaction leaves it.
type outcome struct {
	id  string
	rev Rev // the winner

	doc    *Document // the winner; nil where it is deleted, or body has to be read
	body   *bodyRead
	leaves func() ([]leafKV, error) // winner last; nil where it is the only one
	memo   *indexMemo               // nil: nothing is kept

	entry   uint16 // user bytes of its changes entry
	refused bool   // nothing is written of it
}

// render waits for the outcome's reads, and returns the document as functions see it, nil where it is deleted.
func (o *outcome) render() (json []byte, err error) {
	if o.body != nil {
		stored, found, err := o.body.wait()
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, corrupt("body of "+o.id, errNoBody)
		}
		o.doc = stored.document(o.id, o.rev)
	}
	if o.doc == nil {
		return nil, nil
	}
	if o.leaves != nil {
		leaves, err := o.leaves()
		if err != nil {
			return nil, err
		}
		tree := documentTree{leaves: leaves}
		o.doc.Conflicts, o.doc.DeletedConflicts = tree.conflicts(false), tree.conflicts(true)
	}
	return o.doc.AppendJSON(nil), nil
}

// maxIndexedBytes is what the rows of interactive indexes may add to a transaction of several edits before these are
// divided. maxIndexedEdit is what one document's may: a transaction ends at 10 MB.
const (
	maxIndexedBytes = 4_000_000
	maxIndexedEdit  = 8_500_000
)

func errEditTooLarge(id string) error {
	return errf(TooLarge, "transaction_too_large",
		"the edit of %s, with what the document has and had in interactive indexes and in branches that change with "+
			"it, is more than one transaction can hold", id)
}

// mapEdits maps the documents that the edits make. It runs before anything is written.
func (t *txn) mapEdits(ps []pendingEdit, o WriteOptions) (indexing, error) {
	var outcomes []*outcome
	var of []*pendingEdit
	for i := range ps {
		p := &ps[i]
		if p.err == nil && !p.settled && (p.plan.hasAdded || len(p.plan.replaced) > 0 || len(p.plan.changed) > 0) {
			p.outcome = p.result(t)
			outcomes, of = append(outcomes, p.outcome), append(of, p)
		}
	}
	mapped, err := writeOf(t.db.store).indexes.mapOutcomes(t, outcomes)
	if err != nil {
		return nil, err
	}
	sum := 0
	for i := range outcomes {
		sum += mapped.size(i)
	}
	if sum > maxIndexedBytes && len(outcomes) > 1 && !o.Atomic {
		return nil, errDivide
	}
	for i, p := range of {
		if mapped.size(i)+p.e.size() > maxIndexedEdit {
			p.err = errEditTooLarge(p.e.ID)
		}
	}
	return mapped, nil
}

// writeIndexes writes what was mapped of the edits.
func (t *txn) writeIndexes(ps []pendingEdit, mapped indexing) error {
	for i := range ps {
		if p := &ps[i]; p.outcome != nil {
			p.outcome.entry, p.outcome.refused = p.entry, p.err != nil
		}
	}
	return writeOf(t.db.store).indexes.write(t, mapped)
}

// result is the winner after the edit, with conflicts, where there are any. Its reads are issued, and not waited for.
func (p *pendingEdit) result(t *txn) *outcome {
	w := p.plan.winner()
	out := &outcome{id: p.e.ID, rev: w.rev, memo: &p.memo}
	if w.deleted {
		return out
	}
	if w == &p.plan.added {
		out.doc = &Document{ID: p.e.ID, Rev: w.rev, Body: p.body, Attachments: p.attachments}
	} else {
		body := readBody(t, t.keys, p.e.ID, w.rev)
		out.body = &body
	}
	if p.plan.branches > 1 {
		rows := readTree(t, t.keys, p.e.ID)
		out.leaves = func() ([]leafKV, error) {
			tree, err := waitTree(rows, t.keys, p.e.ID)
			if err != nil {
				return nil, err
			}
			return p.leavesAfter(tree.leaves), nil
		}
	}
	return out
}

// leavesAfter is what the edit makes of a document's leaves, winner last.
func (p *pendingEdit) leavesAfter(leaves []leafKV) []leafKV {
	after := slices.DeleteFunc(leaves, func(l leafKV) bool {
		return slices.ContainsFunc(p.plan.replaced, func(r *leafKV) bool { return r.rev == l.rev })
	})
	if p.plan.hasAdded {
		after = append(after, p.plan.added)
	}
	slices.SortFunc(after, func(a, b leafKV) int { return a.order(&b) })
	return after
}

// mapKept maps what a purge leaves of a document. kept are its leaves, winner last.
func (t *txn) mapKept(id string, kept []leafKV) (*outcome, indexing, error) {
	out := &outcome{id: id}
	if len(t.cfg.interactive) == 0 {
		return out, nil, nil
	}
	if n := len(kept); n > 0 && !kept[n-1].deleted {
		body := readBody(t, t.keys, id, kept[n-1].rev)
		out.rev, out.body = kept[n-1].rev, &body
		out.leaves = func() ([]leafKV, error) { return kept, nil }
	}
	mapped, err := writeOf(t.db.store).indexes.mapOutcomes(t, []*outcome{out})
	return out, mapped, err
}

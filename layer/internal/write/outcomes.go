package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
)

// indexes is how the indexes that writes keep up to date (rfc-008) take part in a transaction that writes documents.
// What builds indexes implements it.
type indexes interface {
	// MapOutcomes maps documents as the transaction will leave them, for every such index. It reads; nothing has been
	// written yet.
	MapOutcomes(t *db.Txn, outcomes []*Outcome) (Indexing, error)
	// Write writes what was mapped, nil where nothing was. The documents have been written, and entry and refused of
	// the outcomes are known. It also takes note of design documents that the transaction has changed.
	Write(t *db.Txn, mapped Indexing) error
}

// Indexing is what the indexes get in a transaction.
type Indexing interface {
	// Size is how many bytes the rows of an outcome add to the transaction at most.
	Size(i int) int
}

// IndexMemo is what the indexes keep of an edit over the attempts of its transaction.
type IndexMemo []any

// Outcome is a document as a transaction leaves it.
type Outcome struct {
	Id  string
	rev db.Rev // the winner

	doc    *rev.Document // the winner; nil where it is deleted, or body has to be read
	body   *rev.BodyRead
	leaves func() ([]rev.LeafKV, error) // winner last; nil where it is the only one
	Memo   *IndexMemo                   // nil: nothing is kept

	Entry   uint16 // user bytes of its changes entry
	Refused bool   // nothing is written of it
}

// Render waits for the outcome's reads, and returns the document as functions see it, nil where it is deleted.
func (o *Outcome) Render() (json []byte, err error) {
	if o.body != nil {
		stored, found, err := o.body.Wait()
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, db.Corrupt("body of "+o.Id, ErrNoBody)
		}
		o.doc = stored.Document(o.Id, o.rev)
	}
	if o.doc == nil {
		return nil, nil
	}
	if o.leaves != nil {
		leaves, err := o.leaves()
		if err != nil {
			return nil, err
		}
		tree := rev.DocumentTree{Leaves: leaves}
		o.doc.Conflicts, o.doc.DeletedConflicts = tree.Conflicts(false), tree.Conflicts(true)
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
	return fault.Errf(fault.TooLarge, "transaction_too_large",
		"the edit of %s, with what the document has and had in interactive indexes and in branches that change with "+
			"it, is more than one transaction can hold", id)
}

// keepsIndexes reports whether the transaction keeps indexes up to date.
func keepsIndexes(b *batch) bool { return len(b.t.Cfg.Interactive) > 0 }

// mapEdits maps the documents that the edits make. It runs before anything is written.
func mapEdits(b *batch) error {
	var outcomes []*Outcome
	var of []*pendingEdit
	for i := range b.edits {
		p := &b.edits[i]
		if p.err == nil && !p.settled && p.plan.moves() {
			p.outcome = outcomeOf(b.t, p)
			outcomes, of = append(outcomes, p.outcome), append(of, p)
		}
	}
	mapped, err := StateOf(b.t.Db.Store).Indexes.MapOutcomes(b.t, outcomes)
	if err != nil {
		return err
	}
	sum := 0
	for i := range outcomes {
		sum += mapped.Size(i)
	}
	if sum > maxIndexedBytes && len(outcomes) > 1 && !b.o.Atomic {
		return db.ErrDivide
	}
	for i, p := range of {
		if mapped.Size(i)+editSize(p.e) > maxIndexedEdit {
			p.err = errEditTooLarge(p.e.ID)
		}
	}
	b.mapped = mapped
	return nil
}

// writeIndexes writes what was mapped of the edits.
func writeIndexes(b *batch) error {
	for i := range b.edits {
		if p := &b.edits[i]; p.outcome != nil {
			p.outcome.Entry, p.outcome.Refused = p.entry, p.err != nil
		}
	}
	return StateOf(b.t.Db.Store).Indexes.Write(b.t, b.mapped)
}

// outcomeOf is the winner after the edit, with conflicts, where there are any. Its reads are issued, not waited for.
func outcomeOf(t *db.Txn, p *pendingEdit) *Outcome {
	w := p.plan.winner()
	out := &Outcome{Id: p.e.ID, rev: w.Rev, Memo: &p.memo}
	if w.Deleted {
		return out
	}
	if w == &p.plan.added {
		out.doc = &rev.Document{ID: p.e.ID, Rev: w.Rev, Body: p.content.body, Attachments: p.content.attachments}
	} else {
		body := rev.ReadBody(t, t.Keys, p.e.ID, w.Rev)
		out.body = &body
	}
	if p.plan.branches > 1 {
		rows := rev.ReadTree(t, t.Keys, p.e.ID)
		out.leaves = func() ([]rev.LeafKV, error) {
			tree, err := rev.WaitTree(rows, t.Keys, p.e.ID)
			if err != nil {
				return nil, err
			}
			return p.plan.leavesAfter(tree.Leaves), nil
		}
	}
	return out
}

// mapKept maps what a purge leaves of a document. kept are its leaves, winner last.
func mapKept(t *db.Txn, id string, kept []rev.LeafKV) (*Outcome, Indexing, error) {
	out := &Outcome{Id: id}
	if len(t.Cfg.Interactive) == 0 {
		return out, nil, nil
	}
	if n := len(kept); n > 0 && !kept[n-1].Deleted {
		body := rev.ReadBody(t, t.Keys, id, kept[n-1].Rev)
		out.rev, out.body = kept[n-1].Rev, &body
		out.leaves = func() ([]rev.LeafKV, error) { return kept, nil }
	}
	mapped, err := StateOf(t.Db.Store).Indexes.MapOutcomes(t, []*Outcome{out})
	return out, mapped, err
}

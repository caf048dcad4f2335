package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
)

// indexes is how indexes that are updated by writes (rfc-008) take part in a transaction that writes documents. Package
// build implements it.
type indexes interface {
	// MapOutcomes maps the documents, as the transaction will leave them, for every such index. It is called before
	// anything is written, and only reads.
	MapOutcomes(t *db.Txn, outcomes []*Outcome) (Indexing, error)
	// Write writes what was mapped; mapped may be nil. It is called after the documents have been written, when Entry
	// and Refused of the outcomes are set. It also handles design documents that the transaction has changed.
	Write(t *db.Txn, mapped Indexing) error
}

// Indexing is what the indexes have mapped in a transaction.
type Indexing interface {
	// Size returns the maximum number of bytes that the rows of an outcome add to the transaction.
	Size(i int) int
}

// IndexMemo is what the indexes keep for an edit between the attempts of its transaction.
type IndexMemo []any

// Outcome is a document as a transaction leaves it.
type Outcome struct {
	Id  string
	rev db.Rev // the winner

	doc    *rev.Document // the winner; nil if deleted or if body has to be read
	body   *rev.BodyRead
	leaves func() ([]rev.LeafKV, error) // winner last; nil if there is only one
	Memo   *IndexMemo                   // nil if nothing is kept

	Entry   uint16 // user version of its changes entry
	Refused bool   // nothing is written for it
}

// Render waits for the outcome's reads and returns the document as map functions see it, or nil if it is deleted.
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

// maxIndexedBytes is the size of the rows of interactive indexes from which on a transaction of several edits is
// divided. maxIndexedEdit is the limit for a single document; transactions are limited to 10 MB.
const (
	maxIndexedBytes = 4_000_000
	maxIndexedEdit  = 8_500_000
)

func errEditTooLarge(id string) error {
	return fault.Errf(fault.TooLarge, "transaction_too_large",
		"the edit of %s is too large for one transaction, together with the document's old and new rows in "+
			"interactive indexes and the branches that change", id)
}

// mapEdits maps the documents that the edits result in, before anything is written.
func mapEdits(b *batch) error {
	if len(b.t.Cfg.Interactive) == 0 {
		return nil
	}
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

// writeIndexes writes what was mapped for the edits, and has design documents that changed handled.
func writeIndexes(b *batch) error {
	if b.mapped == nil && !b.t.Redesigned {
		return nil
	}
	for i := range b.edits {
		if p := &b.edits[i]; p.outcome != nil {
			p.outcome.Entry, p.outcome.Refused = p.entry, p.err != nil
		}
	}
	return StateOf(b.t.Db.Store).Indexes.Write(b.t, b.mapped)
}

// outcomeOf returns the winner after the edit, with its conflicts. It starts the reads but does not wait for them.
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

// mapKept maps what a purge leaves of a document. kept are the remaining leaves, winner last.
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

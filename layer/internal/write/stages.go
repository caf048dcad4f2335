package write

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// stages is the way of an edit through a transaction, in order (rfc-001, Update Path). A stage is run for all edits of
// the transaction before the next one begins, so that the reads of all share its round trips. Each is one file, or the
// beginning of one.
var stages = [...]stage{
	{each: check},                // check.go: refuse what can be refused without reading
	{all: readAhead},             // branches.go: read branches of many documents together
	{each: issueBranches},        // branches.go: start the reads that the edit alone calls for
	{each: resolve, reads: true}, // resolve.go: which branch is extended, or a conflict
	// resolve.go: the same with one more read, where the first was not enough
	{each: resolveRest},
	{each: issueContent},                      // compose.go: start the reads of what the edit refers to
	{each: compose, reads: true, fresh: true}, // compose.go: attachments, body, revision id
	{each: findMade},                          // remade.go: has the revision been there before?
	{each: refuseKnown},                       // remade.go: a conflict, where a branch has it
	{each: validate, when: validates},         // validate.go: what design documents say
	{all: mapEdits, when: keepsIndexes},       // outcomes.go: what interactive indexes get
	{all: abortFailed, when: isAtomic},        // stages.go: nothing has been written so far
	{each: apply},                             // apply.go: the writes
	{all: writeIndexes},                       // outcomes.go: what was mapped
}

// stage is one stage of writing documents. It is run once for all edits, or for each that has something to write still.
type stage struct {
	all  func(*batch) error
	each func(*batch, *pendingEdit) error
	// reads is set where the stage counts what it reads (db.Txn.Spent): edits after db.ReadBudget are left for another
	// transaction. fresh is set where it counts from nothing.
	reads, fresh bool
	when         func(*batch) bool // nil: always
}

// batch is the edits of one transaction, of different documents.
type batch struct {
	t      *db.Txn
	o      rev.WriteOptions
	edits  []pendingEdit
	mapped Indexing // nil where nothing was mapped
}

// pendingEdit is an edit on its way through the stages of one transaction, and what the stages make of it.
type pendingEdit struct {
	e       *rev.Edit
	err     error // of this edit alone: a conflict and the like; nothing is written for it
	settled bool  // there is nothing to write: the revision is known already

	found   branches          // what was read of the document
	design  kv.Future[[]byte] // its entry, where it is a design document
	plan    plan              // what becomes of its branches
	content content           // what is stored of the edit
	made    made              // whether its revision has been there before
	said    judgements        // by design documents; kept over attempts
	outcome *Outcome          // for interactive indexes; nil where nothing is mapped
	memo    IndexMemo         // of interactive indexes; kept over attempts
	entry   uint16            // user bytes of the changes entry
}

// again resets an edit for another attempt. It keeps the results of functions, which take the most time of an attempt.
func (p *pendingEdit) again() { *p = pendingEdit{e: p.e, memo: p.memo, said: p.said} }

// leave gives up the reads of an edit that is left for another transaction.
func (p *pendingEdit) leave() {
	p.found.close()
	p.again()
}

// rev is the revision that the edit has, or is.
func (p *pendingEdit) rev() db.Rev {
	if p.plan.hasAdded {
		return p.plan.added.Rev
	}
	return p.e.Rev
}

// failed takes an error of a stage. An *Error belongs to the edit alone; any other ends the transaction.
func (p *pendingEdit) failed(err error) error {
	var own *fault.Error
	if !errors.As(err, &own) || own.Kind == fault.Internal {
		return err
	}
	p.err = err
	return nil
}

// writeEdits takes edits of different documents through all stages, and returns how many it took: where reading them
// takes more than ReadBudget, those after that are left for another transaction, unless all have to be in one. The
// edits' errors are in err of each; the error returned is the engine's.
func writeEdits(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (taken int, err error) {
	b := batch{t: t, o: o, edits: ps}
	if deletesOnly(ps) {
		t.MakesRoom()
	}
	for i := range ps {
		ps[i].again()
	}
	t.Spent = 0
	for i := range stages {
		if err := b.run(&stages[i]); err != nil {
			return len(b.edits), err
		}
	}
	return len(b.edits), nil
}

func (b *batch) run(s *stage) error {
	if s.when != nil && !s.when(b) {
		return nil
	}
	if s.all != nil {
		return s.all(b)
	}
	if s.fresh {
		b.t.Spent = 0
	}
	return b.each(s.each, s.reads && !b.o.Atomic)
}

// each runs a stage for every edit that still has something to write. within says that it ends with the edit after
// which it has read enough for one transaction: those behind it are left.
func (b *batch) each(stage func(*batch, *pendingEdit) error, within bool) error {
	for i := range b.edits {
		if within && b.t.Spent > db.ReadBudget {
			b.cut(i)
			return nil
		}
		p := &b.edits[i]
		if p.err != nil || p.settled {
			continue
		}
		if err := stage(b, p); err != nil {
			if err = p.failed(err); err != nil && within {
				b.edits = b.edits[:i+1] // who divides the work is told how many were tried
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cut leaves the edits from one on for another transaction.
func (b *batch) cut(from int) {
	for i := range b.edits[from:] {
		b.edits[from+i].leave()
	}
	b.edits = b.edits[:from]
}

// errAborted ends an atomic transaction of which an edit failed.
var errAborted = errors.New("layer: an edit of an atomic write failed")

func isAtomic(b *batch) bool { return b.o.Atomic }

// abortFailed ends an atomic transaction of which an edit has failed.
func abortFailed(b *batch) error {
	for i := range b.edits {
		if b.edits[i].err != nil {
			return errAborted
		}
	}
	return nil
}

// errConflict is the revision conflict (409).
func errConflict() error { return fault.Errf(fault.Conflict, "", "Document update conflict.") }

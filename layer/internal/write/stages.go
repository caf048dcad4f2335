package write

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// stages lists the stages of an edit in a transaction, in order (rfc-001, Update Path). Each stage runs for all edits
// of the transaction before the next one begins, so that their reads share round trips. Every stage is at the beginning
// of its file.
var stages = [...]stage{
	{each: check},                // check.go: find errors without reading
	{all: readPartitions},        // partitions.go: start reading how large the partitions are
	{all: readAhead},             // branches.go: read branches of many documents together
	{each: issueBranches},        // branches.go: start the reads that depend on the edit alone
	{each: resolve, reads: true}, // resolve.go: find the branch to extend, or a conflict
	// resolve.go: continue after one more read, if needed
	{each: resolveRest},
	{each: issueContent},                      // compose.go: start reading what the edit refers to
	{each: compose, reads: true, fresh: true}, // compose.go: attachments, body, revision id
	{each: refuseFull},                        // partitions.go: an edit that makes a full partition larger
	{each: findExisting},                      // existing.go: did the revision exist before?
	{each: refuseKnown},                       // existing.go: conflict if a branch has the revision
	{each: validate},                          // validate.go: functions of design documents
	{all: mapEdits, writes: true},             // outcomes.go: map for interactive indexes
	{all: abortFailed},                        // stages.go: nothing has been written so far
	{each: apply, writes: true},               // apply.go: write documents
	{all: writeIndexes, writes: true},         // outcomes.go: write index rows
}

// stage is one stage of writing documents. It runs once for all edits, or for each edit that still has something to
// write.
type stage struct {
	all  func(*batch) error
	each func(*batch, *pendingEdit) error
	// reads marks a stage that counts the bytes it reads (db.Txn.Spent): edits after db.ReadBudget are left for another
	// transaction. fresh resets the count first.
	reads, fresh bool
	// writes marks a stage that is left out if the edits are only checked.
	writes bool
}

// batch is the edits of one transaction, of different documents.
type batch struct {
	t      *db.Txn
	o      rev.WriteOptions
	edits  []pendingEdit
	mapped Indexing // nil if nothing was mapped

	partitions      map[string]partitionSize // nil if their size does not matter
	mostInPartition int64                    // bytes
}

// pendingEdit is an edit on its way through the stages of one transaction.
type pendingEdit struct {
	e       *rev.Edit
	err     error // of this edit alone, such as a conflict; nothing is written for it
	settled bool  // nothing to write, because the revision is known already

	found       branches          // what was read of the document
	design      kv.Future[[]byte] // the entry in Designs of a design document
	plan        plan              // changes to its branches
	content     content           // what the edit stores
	existing    existing          // whether its revision existed before
	outgoing    *outgoing         // the leaves that it replaces; nil if their rows say enough
	validations validations       // by design documents; kept between attempts
	outcome     *Outcome          // for interactive indexes; nil if not mapped
	memo        IndexMemo         // of interactive indexes; kept between attempts
	entry       uint16            // user version of the changes entry
}

// again resets an edit for another attempt. It keeps the results of functions, which take most of an attempt's time.
func (p *pendingEdit) again() { *p = pendingEdit{e: p.e, memo: p.memo, validations: p.validations} }

// leave abandons the reads of an edit that is left for another transaction.
func (p *pendingEdit) leave() {
	p.found.close()
	p.again()
}

// rev returns the revision that the edit adds or names.
func (p *pendingEdit) rev() db.Rev {
	if p.plan.hasAdded {
		return p.plan.added.Rev
	}
	return p.e.Rev
}

// failed handles an error of a stage. A *fault.Error belongs to the edit alone; other errors end the transaction.
func (p *pendingEdit) failed(err error) error {
	var own *fault.Error
	if !errors.As(err, &own) || own.Kind == fault.Internal {
		return err
	}
	p.err = err
	return nil
}

// writeEdits takes edits of different documents through all stages, and returns how many it took. If they read more
// than ReadBudget, the remaining edits are left for another transaction, unless the write is atomic. Each edit's own
// error is in its err; the returned error is the engine's.
func writeEdits(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (taken int, err error) {
	return runStages(t, ps, o, true)
}

// checkEdits is writeEdits without writing: it finds the errors of the edits, and what they would store.
func checkEdits(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) error {
	_, err := runStages(t, ps, o, false)
	return err
}

func runStages(t *db.Txn, ps []pendingEdit, o rev.WriteOptions, writes bool) (taken int, err error) {
	b := batch{t: t, o: o, edits: ps}
	if deletesOnly(ps) {
		t.MakesRoom()
	}
	for i := range ps {
		ps[i].again()
	}
	t.Spent = 0
	for i := range stages {
		switch all := stages[i].all; {
		case stages[i].writes && !writes:
		case all != nil:
			err = all(&b)
		default:
			err = b.each(&stages[i])
		}
		if err != nil {
			break
		}
	}
	return len(b.edits), err
}

// each runs a stage for every edit that still has something to write. It stops after the edit that exceeds the read
// budget, and leaves the remaining edits, unless the write is atomic.
func (b *batch) each(s *stage) error {
	within := s.reads && !b.o.Atomic
	if s.fresh {
		b.t.Spent = 0
	}
	for i := range b.edits {
		if within && b.t.Spent > db.ReadBudget {
			b.cut(i)
			return nil
		}
		p := &b.edits[i]
		if p.err != nil || p.settled {
			continue
		}
		if err := s.each(b, p); err != nil {
			if err = p.failed(err); err != nil && within {
				b.edits = b.edits[:i+1] // tells the caller, which divides the work, how many were tried
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// cut leaves the edits from index from on for another transaction.
func (b *batch) cut(from int) {
	for i := range b.edits[from:] {
		b.edits[from+i].leave()
	}
	b.edits = b.edits[:from]
}

// errAborted ends an atomic transaction in which an edit failed.
var errAborted = errors.New("layer: an edit of an atomic write failed")

// abortFailed ends an atomic transaction in which an edit has failed.
func abortFailed(b *batch) error {
	if !b.o.Atomic {
		return nil
	}
	for i := range b.edits {
		if b.edits[i].err != nil {
			return errAborted
		}
	}
	return nil
}

// errConflict returns the revision conflict (409).
func errConflict() error { return fault.Errf(fault.Conflict, "", "Document update conflict.") }

package write

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// This file and its neighbours (interactive.go, replicated.go, compose.go, apply.go) write documents. A transaction
// takes its edits through stages together, so that the reads of each stage share one round trip:
//
//	issue    the reads that the edit alone calls for (rfc-001, Update Path)
//	resolve  which branch is extended, or a conflict; perhaps one more read
//	compose  attachments, body, revision id; with the parent's body where the edit refers to it
//	validate what design documents say
//	map      what interactive indexes get
//	apply    the writes

// pendingEdit is an edit on its way through the stages of one transaction.
type pendingEdit struct {
	e   *rev.Edit
	err error // of this edit alone: a conflict and the like; nothing is written for it

	// reads under way
	rows   kv.RangeIterator
	leaf   kv.Future[[]byte]
	design kv.Future[[]byte]
	parent rev.BodyRead // of plan.parent
	own    rev.BodyRead // of the edit's revision, which may be stored already
	remade remade

	more   func() error // rest of resolve, after one more read
	leaves []rev.LeafKV // read so far
	few    [2]rev.LeafKV

	plan    plan
	settled bool // there is nothing to write: the revision is known already

	parentBody  rev.StoredBody
	hasParent   bool
	oldChunk    []byte // first chunk of a body that the edit's replaces
	attachments []rev.Attachment
	uploads     []kv.Future[[]byte] // the upload entries of e.Attachments that have one
	stored      []byte              // body as stored
	entry       uint16              // user bytes of the changes entry
	memo        IndexMemo           // of interactive indexes; kept over attempts
	outcome     *Outcome            // for interactive indexes; nil where nothing is mapped
	judged      []judgement         // by design documents; kept over attempts
	body        []byte
}

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

// winner is the winner after the edit.
func (p *plan) winner() *rev.LeafKV {
	if p.hasAdded && (p.other == nil || p.added.Order(p.other) > 0) {
		return &p.added
	}
	return p.other
}

// writeEdits takes edits of different documents through all stages, and returns how many it took: where reading them
// takes more than ReadBudget, those after that are left for another transaction, unless all have to be in one. The
// edits' errors are in err of each; the error returned is the engine's.
func writeEdits(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (taken int, err error) {
	if deletesOnly(ps) {
		t.MakesRoom()
	}
	for i := range ps {
		ps[i].again()
		ps[i].err = checkEdit(t, ps[i].e, o)
	}
	t.Spent = 0
	if err := readLeavesAhead(t, ps); err != nil {
		return len(ps), err
	}
	for i := range ps {
		if ps[i].err == nil {
			ps[i].issue(t, o)
		}
	}
	if ps, err = eachWithin(t, ps, o, func(p *pendingEdit) error { return p.resolve(t, o) }); err != nil {
		return len(ps), err
	}
	if err = eachEdit(ps, (*pendingEdit).resolveMore); err == nil {
		err = eachEdit(ps, func(p *pendingEdit) error { p.issueParent(t, o); return nil })
	}
	if err == nil {
		t.Spent = 0
		ps, err = eachWithin(t, ps, o, func(p *pendingEdit) error { return p.compose(t, o) })
	}
	if err == nil {
		err = lookForAdded(t, ps)
	}
	if err == nil && o.User != nil && StateOf(t.Db.Store).Validator != nil {
		err = eachEdit(ps, func(p *pendingEdit) error { return p.validate(t, o) })
	}
	var mapped Indexing
	if err == nil && len(t.Cfg.Interactive) > 0 {
		mapped, err = mapEdits(t, ps, o)
	}
	if err != nil {
		return len(ps), err
	}
	for i := range ps {
		if o.Atomic && ps[i].err != nil {
			return len(ps), errAborted
		}
	}
	if err := eachEdit(ps, func(p *pendingEdit) error { return p.apply(t) }); err != nil {
		return len(ps), err
	}
	return len(ps), writeIndexes(t, ps, mapped)
}

// readLeavesAhead reads the branches of the edits' documents together, where that is worth it.
func readLeavesAhead(t *db.Txn, ps []pendingEdit) error {
	if !rev.ScansLeaves(t, len(ps)) {
		return nil
	}
	prefixes := make([][]byte, 0, len(ps))
	for i := range ps {
		if ps[i].err == nil {
			prefixes = append(prefixes, t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, ps[i].e.ID)))
		}
	}
	return rev.ScanLeaves(t, prefixes)
}

// again resets an edit for another attempt. It keeps the results of functions, which take the most time of an attempt.
func (p *pendingEdit) again() { *p = pendingEdit{e: p.e, memo: p.memo, judged: p.judged} }

// eachWithin is eachEdit for a stage that reads, up to the edit after which it has read enough for one transaction, in
// t.spent, which the caller sets to what was read ahead. It returns the edits that it has come to.
func eachWithin(t *db.Txn, ps []pendingEdit, o rev.WriteOptions, stage func(p *pendingEdit) error) ([]pendingEdit, error) {
	if o.Atomic {
		return ps, eachEdit(ps, stage)
	}
	for i := range ps {
		if t.Spent > db.ReadBudget {
			for j := range ps[i:] {
				ps[i+j].leave()
			}
			return ps[:i], nil
		}
		if err := eachEdit(ps[i:i+1], stage); err != nil {
			return ps[:i+1], err
		}
	}
	return ps, nil
}

// leave gives up the reads of an edit that is left for another transaction.
func (p *pendingEdit) leave() {
	if p.rows != nil {
		p.rows.Close()
	}
	p.again()
}

// maxTombstone is up to how many bytes of members a deletion counts as one that makes room.
const maxTombstone = 1 << 10

// deletesOnly reports whether nothing but deletions is to be written.
func deletesOnly(ps []pendingEdit) bool {
	for i := range ps {
		if e := ps[i].e; !e.Deleted || len(e.Body) > maxTombstone || len(e.Attachments) > 0 {
			return false
		}
	}
	return true
}

// eachEdit runs a stage for every edit that still has something to write. An *Error that the stage returns belongs to
// that edit; any other ends the transaction.
func eachEdit(ps []pendingEdit, stage func(p *pendingEdit) error) error {
	for i := range ps {
		p := &ps[i]
		if p.err != nil || p.settled {
			continue
		}
		if err := stage(p); err != nil {
			var own *fault.Error
			if !errors.As(err, &own) || own.Kind == fault.Internal {
				return err
			}
			p.err = err
		}
	}
	return nil
}

// errAborted ends an atomic transaction of which an edit failed.
var errAborted = errors.New("layer: an edit of an atomic write failed")

// later puts off the rest of resolve until the reads of all edits are under way.
func (p *pendingEdit) later(more func() error) error {
	p.more = more
	return nil
}

func (p *pendingEdit) resolveMore() error {
	if p.more == nil {
		return nil
	}
	return p.more()
}

// issue starts the reads that the edit alone calls for.
func (p *pendingEdit) issue(t *db.Txn, o rev.WriteOptions) {
	prefix := t.Close(t.Keys.Doc(t.Open(), keyspace.Revisions, p.e.ID))
	switch {
	case o.Replicated:
		p.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	case p.e.Rev.IsZero():
		p.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	case p.e.Deleted:
		p.rows = rev.LeavesAhead(t, prefix, kv.RangeOptions{Reverse: true, Limit: 2, Mode: kv.ModeExact})
	default:
		p.leaf = rev.ReadLeaf(t, p.e.ID, p.e.Rev)
	}
	if db.IsDesign(p.e.ID) {
		p.design = t.Get(t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, p.e.ID)))
	}
}

// takeRows collects the range read under way.
func (p *pendingEdit) takeRows(t *db.Txn) error {
	prefixLen := len(t.Keys.Doc(t.Open(), keyspace.Revisions, p.e.ID))
	if p.leaves == nil {
		p.leaves = p.few[:0]
	}
	var err error
	p.leaves, err = rev.ReadLeaves(p.rows, prefixLen, true, p.leaves)
	if _, ahead := p.rows.(*rev.ReadRows); !ahead { // those are counted
		t.Spent += rev.SizeOf(p.leaves)
	}
	p.rows = nil
	return err
}

// resolve decides what the edit does to the document's branches, or starts one more read.
func (p *pendingEdit) resolve(t *db.Txn, o rev.WriteOptions) error {
	switch {
	case o.Replicated:
		if err := p.takeRows(t); err != nil {
			return err
		}
		return p.merge(t.Cfg.RevsLimit)
	case p.e.Rev.IsZero():
		if err := p.takeRows(t); err != nil {
			return err
		}
		return p.insert(t.Cfg.RevsLimit)
	case p.e.Deleted:
		return p.resolveDelete(t)
	default:
		return p.resolveUpdate(t)
	}
}

// errConflict is the revision conflict (409).
func errConflict() error { return fault.Errf(fault.Conflict, "", "Document update conflict.") }

package layer

import (
	"errors"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// family is several edits of one document in one transaction. Each sees what those before it did. The document is read
// once and gets one changes entry, so that a batch of conflicts costs what its edits cost, whatever the number of
// branches. Replicated edits are merged into a tree of all branches (familytree.go); interactive ones, which name
// leaves, need those leaves and the best of the others (familynamed.go).
type family struct {
	t  *txn
	o  WriteOptions
	id string

	edits interface {
		// read reads the document for the edits.
		read(ps []pendingEdit) error
		// plan says what an edit would do. An *Error is the edit's.
		plan(p *pendingEdit) error
		// take does it.
		take(p *pendingEdit)
		// rest returns the best of the stored leaves that are leaves still, with its history, or nil, and how many such
		// leaves there are.
		rest() (best *leafKV, branches int64)
		// history is that of a leaf that was added or changed.
		history(l *leafKV) []byte
		// dropForgotten removes bodies that no branch knows, and returns the attachments that they referred to.
		dropForgotten() ([]attachmentOf, error)
	}
	before      *leafKV              // the winner so far
	added       map[Rev]*leafKV      // leaves that the edits made, and no later one has replaced
	replaced    []*leafKV            // stored leaves that are history now
	skipped     []Rev                // leaves that were added and replaced
	changed     map[Rev]*leafKV      // stored leaves that know more of their history
	bodies      map[Rev]*pendingEdit // the edits by the revision that they bring
	overwritten []*pendingEdit       // edits whose bodies later ones have written again
	last        *pendingEdit         // the last that had an effect
	inTurn      bool                 // each edit waits for what it reads (errRemade)
	moved       bool                 // branches change
	mapped      indexing             // nil: no index is kept up to date
}

// isFamily reports whether the edits are several of one document, or one of a document whose tree is known.
func (d *Database) isFamily(ps []pendingEdit, o WriteOptions) bool {
	if len(ps) == 1 {
		return inFamily(ps[0].e, o) && d.knowsTree(ps[0].e.ID, o)
	}
	return len(ps) > 1 && ps[0].e.ID == ps[1].e.ID
}

func (d *Database) knowsTree(id string, o WriteOptions) bool {
	c := d.core.Load()
	return o.Replicated && c != nil && writeOf(d.store).trees.has(treeKey(c.keys, id))
}

// inFamily reports whether an edit may be one of several in a transaction. One without a parent depends on who wins.
func inFamily(e *Edit, o WriteOptions) bool {
	return !o.Atomic && !isDesign(e.ID) && (o.Replicated || !e.Rev.IsZero())
}

// writeFamily takes edits of one document through the stages of writeEdits, and returns how many it took. written is
// called when the transaction is committed.
func (t *txn) writeFamily(ps []pendingEdit, o WriteOptions) (taken int, written func(kv.Committed), err error) {
	taken, written, err = t.writeFamilyOnce(ps, o, false)
	if errors.Is(err, errRemade) { // before anything was written
		t.spent = 0
		taken, written, err = t.writeFamilyOnce(ps, o, true)
	}
	return taken, written, err
}

func (t *txn) writeFamilyOnce(
	ps []pendingEdit, o WriteOptions, inTurn bool,
) (taken int, written func(kv.Committed), err error) {
	f := &family{t: t, o: o, id: ps[0].e.ID, added: map[Rev]*leafKV{}, changed: map[Rev]*leafKV{},
		bodies: map[Rev]*pendingEdit{}, inTurn: inTurn}
	f.edits = &namedEdits{family: f}
	written = func(kv.Committed) {}
	if o.Replicated {
		tree := &treeEdits{family: f}
		f.edits, written = tree, tree.written
	}
	for i := range ps {
		p := &ps[i]
		p.again()
		p.err = t.checkEdit(p.e, o)
	}
	if err := f.edits.read(ps); err != nil {
		return len(ps), nil, err
	}
	// The reads that most edits will need, all at once.
	for i := range ps {
		if p := &ps[i]; p.err == nil && f.edits.plan(p) == nil {
			p.issueParent(t, o)
		}
	}
	t.spent = 0
	if ps, err = t.eachWithin(ps, o, f.edit); err == nil && !inTurn {
		err = noneRemade(ps)
	}
	if err != nil {
		return len(ps), nil, err
	}
	return len(ps), written, f.write(ps)
}

// edit plans, composes and validates one edit, and takes it up.
func (f *family) edit(p *pendingEdit) error {
	read := p.plan
	if err := f.edits.plan(p); err != nil {
		return err
	}
	if p.plan.parent != read.parent || f.bodies[p.plan.parent] != nil || p.plan.ancestor != read.ancestor ||
		p.plan.leftover != read.leftover {
		f.issueAgain(p)
	}
	if f.bodies[p.e.Rev] != nil && f.o.Replicated {
		p.plan.ancestor = false // its body came with an edit before
	}
	if err := p.compose(f.t, f.o); err != nil {
		return err
	}
	if f.inTurn {
		if err := p.waitForAdded(f); err != nil {
			return err
		}
	}
	if f.o.User != nil && writeOf(f.t.db.store).validator != nil {
		if err := p.validate(f.t, f.o); err != nil {
			return err
		}
	}
	f.edits.take(p)
	if p.stored != nil {
		if before := f.bodies[p.bodyRev()]; before != nil {
			// Stemming has forgotten the revision meanwhile, and p brings it again.
			before.stored = nil
			f.overwritten = append(f.overwritten, before)
		}
		f.bodies[p.bodyRev()] = p
	}
	if p.stored != nil || !p.settled {
		f.last = p
	}
	return nil
}

// issueAgain reads the parent of an edit anew, since the parent turned out to be another revision. That may be an edit
// of the family whose body is not stored yet.
func (f *family) issueAgain(p *pendingEdit) {
	p.parent, p.own, p.uploads = bodyRead{}, bodyRead{}, nil
	p.issueParent(f.t, f.o)
	if of := f.bodies[p.plan.parent]; of != nil {
		p.parent = bodyRead{}
		p.parentBody = storedBody{deleted: of.e.Deleted, attachments: of.attachments, body: of.body, size: len(of.stored)}
		p.hasParent = true
	}
}

// replace makes history of a leaf: one of the family's, or a stored one.
func (f *family) replace(r Rev, stored func() *leafKV) {
	if f.added[r] != nil {
		delete(f.added, r)
		f.skipped = append(f.skipped, r)
		return
	}
	delete(f.changed, r)
	f.replaced = append(f.replaced, stored())
}

// write writes what all edits together do, as pendingEdit.apply does for one.
func (f *family) write(ps []pendingEdit) error {
	t := f.t
	if f.last == nil {
		return nil
	}
	other, branches := f.edits.rest()
	winner := other
	for _, l := range f.added {
		l.ancestors = f.edits.history(l)
		if winner == nil || l.order(winner) > 0 {
			winner = l
		}
	}
	f.moved = len(f.added) > 0 || len(f.replaced) > 0 || len(f.changed) > 0
	if f.moved {
		if err := f.mapDocument(ps, winner, branches); err != nil {
			return err
		}
	}
	if err := f.storeBodies(ps); err != nil {
		return err
	}
	for _, r := range f.skipped { // also where nothing moves: a stemmed history may have known what replaced them
		t.supersede(f.id, r)
	}
	if !f.moved {
		return nil
	}
	if err := t.keepEntry(f.id, f.before); err != nil {
		return err
	}
	for _, l := range f.replaced {
		t.Clear(t.close(t.keys.revision(t.open(), f.id, l.deleted, l.rev)))
		t.supersede(f.id, l.rev)
	}
	whole := pendingEdit{e: f.last.e, body: f.last.body, plan: plan{before: f.before, branches: branches}}
	user := f.last.entry
	for _, l := range f.added {
		whole.setLeaf(t, l, winner, user)
	}
	for _, l := range f.changed {
		if l != winner {
			l.ancestors = f.edits.history(l)
		}
		whole.setLeaf(t, l, winner, user)
	}
	// As in apply: the best of the others has the sequence, or had it until now.
	if other != nil && f.changed[other.rev] == nil && (other == winner || other.winner) {
		whole.setLeaf(t, other, winner, user)
	}
	t.moveEntry(f.id, f.before, winner, branches, user)
	if err := whole.listDocument(t, winner); err != nil {
		return err
	}
	return writeOf(t.db.store).indexes.write(t, f.mapped)
}

// storeBodies writes the bodies, and only then drops the attachments that none of them refers to.
func (f *family) storeBodies(ps []pendingEdit) error {
	var replaced []attachmentOf
	for _, p := range f.overwritten {
		p.takeUploads(f.t) // for edits between that refer to them
		for _, a := range p.attachments {
			replaced = append(replaced, attachmentOf{f.id, a})
		}
	}
	for i := range ps {
		p := &ps[i]
		if p.err != nil || p.stored == nil {
			continue
		}
		old, err := p.putBody(f.t)
		if err != nil {
			return err
		}
		replaced = append(replaced, old...)
		if p.plan.ancestor {
			f.t.supersede(f.id, p.e.Rev)
		}
	}
	forgotten, err := f.edits.dropForgotten()
	if err != nil {
		return err
	}
	return f.t.dropAttachments(append(replaced, forgotten...))
}

// mapDocument maps the document that the edits make for interactive indexes, before anything is written, and takes its
// changes entry.
func (f *family) mapDocument(ps []pendingEdit, winner *leafKV, branches int64) error {
	t := f.t
	f.last.entry = t.entries
	t.entries++
	if len(t.cfg.interactive) == 0 {
		return nil
	}
	out := &outcome{id: f.id, rev: winner.rev, memo: &f.last.memo, entry: f.last.entry}
	if !winner.deleted {
		if p := f.bodies[winner.rev]; p != nil {
			out.doc = &Document{ID: f.id, Rev: winner.rev, Body: p.body, Attachments: p.attachments}
		} else {
			body := readBody(t, t.keys, f.id, winner.rev)
			out.body = &body
		}
		if branches > 1 {
			rows := readTree(t, t.keys, f.id)
			out.leaves = func() ([]leafKV, error) {
				leaves, err := readLeaves(rows, len(t.keys.doc(nil, keyspace.Revisions, f.id)), false, nil)
				return f.leavesAfter(leaves), err
			}
		}
	}
	var err error
	if f.mapped, err = writeOf(t.db.store).indexes.mapOutcomes(t, []*outcome{out}); err != nil {
		return err
	}
	size := f.mapped.size(0)
	for i := range ps {
		size += ps[i].e.size()
	}
	if size > maxIndexedEdit {
		return errDivide
	}
	return nil
}

// leavesAfter are the document's leaves after the edits so far, winner last. leaves are those stored.
func (f *family) leavesAfter(leaves []leafKV) []leafKV {
	gone := make(map[Rev]bool, len(f.replaced))
	for _, l := range f.replaced {
		gone[l.rev] = true
	}
	leaves = slices.DeleteFunc(leaves, func(l leafKV) bool { return gone[l.rev] })
	for _, l := range f.added {
		leaves = append(leaves, *l)
	}
	slices.SortFunc(leaves, func(a, b leafKV) int { return a.order(&b) })
	return leaves
}

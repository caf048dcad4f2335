package write

import (
	"errors"
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// family is several edits of one document in one transaction. Each sees what those before it did. The document is read
// once and gets one changes entry, so that a batch of conflicts costs what its edits cost, whatever the number of
// branches. Replicated edits are merged into a tree of all branches (familytree.go); interactive ones, which name
// leaves, need those leaves and the best of the others (familynamed.go).
type family struct {
	batch
	id string

	kind interface { // of edits
		// read reads the document for the edits.
		read(ps []pendingEdit) error
		// plan says what an edit would do. An *Error is the edit's.
		plan(p *pendingEdit) error
		// take does it.
		take(p *pendingEdit)
		// rest returns the best of the stored leaves that are leaves still, with its history, or nil, and how many such
		// leaves there are.
		rest() (best *rev.LeafKV, branches int64)
		// history is that of a leaf that was added or changed.
		history(l *rev.LeafKV) []byte
		// dropForgotten removes bodies that no branch knows, and returns the attachments that they referred to.
		dropForgotten() ([]attach.AttachmentOf, error)
	}
	before      *rev.LeafKV             // the winner so far
	added       map[db.Rev]*rev.LeafKV  // leaves that the edits made, and no later one has replaced
	replaced    []*rev.LeafKV           // stored leaves that are history now
	skipped     []db.Rev                // leaves that were added and replaced
	changed     map[db.Rev]*rev.LeafKV  // stored leaves that know more of their history
	bodies      map[db.Rev]*pendingEdit // the edits by the revision that they bring
	overwritten []*pendingEdit          // edits whose bodies later ones have written again
	last        *pendingEdit            // the last that had an effect
	inTurn      bool                    // each edit waits for what it reads (errRemade)
	moved       bool                    // branches change
}

// isFamily reports whether the edits are several of one document, or one of a document whose tree is known.
func isFamily(d *db.Database, ps []pendingEdit, o rev.WriteOptions) bool {
	if len(ps) == 1 {
		return inFamily(ps[0].e, o) && knowsTree(d, ps[0].e.ID, o)
	}
	return len(ps) > 1 && ps[0].e.ID == ps[1].e.ID
}

func knowsTree(d *db.Database, id string, o rev.WriteOptions) bool {
	c := d.Core.Load()
	return o.Replicated && c != nil && StateOf(d.Store).trees.Has(treeKey(c.Keys, id))
}

// inFamily reports whether an edit may be one of several in a transaction. One without a parent depends on who wins.
func inFamily(e *rev.Edit, o rev.WriteOptions) bool {
	return !o.Atomic && !db.IsDesign(e.ID) && (o.Replicated || !e.Rev.IsZero())
}

// writeFamily takes edits of one document through the stages of writeEdits, and returns how many it took. written is
// called when the transaction is committed.
func writeFamily(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (taken int, written func(kv.Committed), err error) {
	taken, written, err = writeFamilyOnce(t, ps, o, false)
	if errors.Is(err, errRemade) { // before anything was written
		t.Spent = 0
		taken, written, err = writeFamilyOnce(t, ps, o, true)
	}
	return taken, written, err
}

func writeFamilyOnce(t *db.Txn,
	ps []pendingEdit, o rev.WriteOptions, inTurn bool,
) (taken int, written func(kv.Committed), err error) {
	f := &family{batch: batch{t: t, o: o}, id: ps[0].e.ID,
		added: map[db.Rev]*rev.LeafKV{}, changed: map[db.Rev]*rev.LeafKV{},
		bodies: map[db.Rev]*pendingEdit{}, inTurn: inTurn}
	f.kind = &namedEdits{family: f}
	written = func(kv.Committed) {}
	if o.Replicated {
		tree := &treeEdits{family: f}
		f.kind, written = tree, tree.written
	}
	for i := range ps {
		p := &ps[i]
		p.again()
		p.err = checkEdit(t, p.e)
	}
	if err := f.kind.read(ps); err != nil {
		return len(ps), nil, err
	}
	// The reads that most edits will need, all at once.
	for i := range ps {
		if p := &ps[i]; p.err == nil && f.kind.plan(p) == nil {
			p.content.issue(t, p.e, &p.plan, watched(t, o, f.id))
		}
	}
	t.Spent = 0
	f.edits = ps
	if err = f.each(f.edit, !o.Atomic); err == nil && !inTurn {
		err = f.each(noneRemade, false)
	}
	if err != nil {
		return len(f.edits), nil, err
	}
	return len(f.edits), written, f.write(f.edits)
}

// edit plans, composes and validates one edit, and takes it up.
func (f *family) edit(_ *batch, p *pendingEdit) error {
	read := p.plan
	if err := f.kind.plan(p); err != nil {
		return err
	}
	if p.plan.parent != read.parent || f.bodies[p.plan.parent] != nil || p.plan.ancestor != read.ancestor ||
		p.plan.leftover != read.leftover {
		f.issueAgain(p)
	}
	if f.bodies[p.e.Rev] != nil && f.o.Replicated {
		p.plan.ancestor = false // its body came with an edit before
	}
	if err := compose(&f.batch, p); err != nil {
		return err
	}
	if f.inTurn {
		if err := findMade(&f.batch, p); err != nil {
			return err
		}
		if err := p.made.refuse(f.t, p, f.leavesAfter); err != nil {
			return err
		}
	}
	if validates(&f.batch) {
		if err := validate(&f.batch, p); err != nil {
			return err
		}
	}
	f.kind.take(p)
	if p.content.stored != nil {
		if before := f.bodies[p.rev()]; before != nil {
			// Stemming has forgotten the revision meanwhile, and p brings it again.
			before.content.stored = nil
			f.overwritten = append(f.overwritten, before)
		}
		f.bodies[p.rev()] = p
	}
	if p.content.stored != nil || !p.settled {
		f.last = p
	}
	return nil
}

// issueAgain reads the parent of an edit anew, since the parent turned out to be another revision. That may be an edit
// of the family whose body is not stored yet.
func (f *family) issueAgain(p *pendingEdit) {
	c := &p.content
	c.parent, c.own, c.uploads = rev.BodyRead{}, rev.BodyRead{}, nil
	c.issue(f.t, p.e, &p.plan, watched(f.t, f.o, f.id))
	if of := f.bodies[p.plan.parent]; of != nil {
		c.parent = rev.BodyRead{}
		c.parentBody = rev.StoredBody{Deleted: of.e.Deleted, Attachments: of.content.attachments,
			Body: of.content.body, Size: len(of.content.stored)}
		c.hasParent = true
	}
}

// replace makes history of a leaf: one of the family's, or a stored one.
func (f *family) replace(r db.Rev, stored func() *rev.LeafKV) {
	if f.added[r] != nil {
		delete(f.added, r)
		f.skipped = append(f.skipped, r)
		return
	}
	delete(f.changed, r)
	f.replaced = append(f.replaced, stored())
}

// write writes what all edits together do, as apply does for one.
func (f *family) write(ps []pendingEdit) error {
	t := f.t
	if f.last == nil {
		return nil
	}
	other, branches := f.kind.rest()
	winner := other
	for _, l := range f.added {
		l.Ancestors = f.kind.history(l)
		if winner == nil || l.Order(winner) > 0 {
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
		supersede(t, f.id, r)
	}
	if !f.moved {
		return nil
	}
	if err := feed.KeepEntry(t, f.id, f.before); err != nil {
		return err
	}
	for _, l := range f.replaced {
		t.Clear(t.Close(t.Keys.Revision(t.Open(), f.id, l.Deleted, l.Rev)))
		supersede(t, f.id, l.Rev)
	}
	m := move{t: t, id: f.id, before: f.before, winner: winner, branches: branches, entry: f.last.entry}
	for _, l := range f.added {
		m.setLeaf(l)
	}
	for _, l := range f.changed {
		if l != winner {
			l.Ancestors = f.kind.history(l)
		}
		m.setLeaf(l)
	}
	// As in apply: the best of the others has the sequence, or had it until now.
	if other != nil && f.changed[other.Rev] == nil && (other == winner || other.Winner) {
		m.setLeaf(other)
	}
	if err := m.write(); err != nil {
		return err
	}
	return StateOf(t.Db.Store).Indexes.Write(t, f.mapped)
}

// storeBodies writes the bodies, and only then drops the attachments that none of them refers to.
func (f *family) storeBodies(ps []pendingEdit) error {
	var replaced []attach.AttachmentOf
	for _, p := range f.overwritten {
		p.content.takeUploads(f.t, p.e) // for edits between that refer to them
		for _, a := range p.content.attachments {
			replaced = append(replaced, attach.AttachmentOf{DocID: f.id, A: a})
		}
	}
	for i := range ps {
		p := &ps[i]
		if p.err != nil || p.content.stored == nil {
			continue
		}
		old, err := p.content.put(f.t, p.e, p.rev())
		if err != nil {
			return err
		}
		replaced = append(replaced, old...)
		if p.plan.ancestor {
			supersede(f.t, f.id, p.e.Rev)
		}
	}
	forgotten, err := f.kind.dropForgotten()
	if err != nil {
		return err
	}
	return attach.DropAttachments(f.t, append(replaced, forgotten...))
}

// mapDocument maps the document that the edits make for interactive indexes, before anything is written, and takes its
// changes entry.
func (f *family) mapDocument(ps []pendingEdit, winner *rev.LeafKV, branches int64) error {
	t := f.t
	f.last.entry = t.Entries
	t.Entries++
	if len(t.Cfg.Interactive) == 0 {
		return nil
	}
	out := &Outcome{Id: f.id, rev: winner.Rev, Memo: &f.last.memo, Entry: f.last.entry}
	if !winner.Deleted {
		if p := f.bodies[winner.Rev]; p != nil {
			out.doc = &rev.Document{ID: f.id, Rev: winner.Rev, Body: p.content.body, Attachments: p.content.attachments}
		} else {
			body := rev.ReadBody(t, t.Keys, f.id, winner.Rev)
			out.body = &body
		}
		if branches > 1 {
			rows := rev.ReadTree(t, t.Keys, f.id)
			out.leaves = func() ([]rev.LeafKV, error) {
				leaves, err := rev.ReadLeaves(rows, len(t.Keys.Doc(nil, keyspace.Revisions, f.id)), false, nil)
				return f.leavesAfter(leaves), err
			}
		}
	}
	var err error
	if f.mapped, err = StateOf(t.Db.Store).Indexes.MapOutcomes(t, []*Outcome{out}); err != nil {
		return err
	}
	size := f.mapped.Size(0)
	for i := range ps {
		size += editSize(ps[i].e)
	}
	if size > maxIndexedEdit {
		return db.ErrDivide
	}
	return nil
}

// leavesAfter are the document's leaves after the edits so far, winner last. leaves are those stored.
func (f *family) leavesAfter(leaves []rev.LeafKV) []rev.LeafKV {
	gone := make(map[db.Rev]bool, len(f.replaced))
	for _, l := range f.replaced {
		gone[l.Rev] = true
	}
	leaves = slices.DeleteFunc(leaves, func(l rev.LeafKV) bool { return gone[l.Rev] })
	for _, l := range f.added {
		leaves = append(leaves, *l)
	}
	slices.SortFunc(leaves, func(a, b rev.LeafKV) int { return a.Order(&b) })
	return leaves
}

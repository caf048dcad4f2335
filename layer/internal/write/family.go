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

// family writes several edits of one document in one transaction. Each edit sees the result of those before it. The
// document is read once and gets one changes entry, so that the cost of a batch of conflicts does not depend on the
// number of existing branches. Replicated edits are merged into a tree of all branches (familytree.go). Interactive
// edits name leaves, and need only those and the best of the others (familynamed.go).
type family struct {
	batch
	id string

	kind interface { // namedEdits or treeEdits
		// read reads what the edits need of the document.
		read(ps []pendingEdit) error
		// plan sets the edit's plan. A *fault.Error belongs to the edit alone.
		plan(p *pendingEdit) error
		// take applies the plan to the state of the family.
		take(p *pendingEdit)
		// rest returns the best of the remaining stored leaves, with its history, or nil, and the number of leaves.
		rest() (best *rev.LeafKV, branches int64)
		// history returns the history of a leaf that was added or changed.
		history(l *rev.LeafKV) []byte
		// dropForgotten removes bodies that no branch knows, and returns the attachments that they referred to.
		dropForgotten() ([]attach.AttachmentOf, error)
	}
	before      *rev.LeafKV             // the winner before the edits
	added       map[db.Rev]*rev.LeafKV  // new leaves that no later edit has replaced
	replaced    []*rev.LeafKV           // stored leaves that have become history
	skipped     []db.Rev                // leaves that were added and then replaced
	changed     map[db.Rev]*rev.LeafKV  // stored leaves whose history has grown
	bodies      map[db.Rev]*pendingEdit // edits by the revision that they add
	overwritten []*pendingEdit          // edits whose bodies were overwritten by later ones
	last        *pendingEdit            // the last edit with an effect
	inTurn      bool                    // each edit waits for its own reads (errExisting)
	moved       bool                    // branches change
}

// isFamily reports whether the edits are several of one document, or a single one of a document whose tree is cached.
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

// inFamily reports whether an edit can be one of several in a family. An interactive edit without a parent cannot,
// since it depends on the winner.
func inFamily(e *rev.Edit, o rev.WriteOptions) bool {
	return !o.Atomic && !db.IsDesign(e.ID) && (o.Replicated || !e.Rev.IsZero())
}

// writeFamily takes edits of one document through the stages of writeEdits, and returns how many it took. The caller
// calls written after the transaction has committed.
func writeFamily(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (taken int, written func(kv.Committed), err error) {
	f, written, err := planFamily(t, ps, o)
	if err == nil {
		err = f.mapOutcome(f.edits)
	}
	if err == nil {
		err = f.write(f.edits)
	}
	if err != nil {
		written = nil
	}
	return len(f.edits), written, err
}

// planFamily takes the edits through all stages before something is written. It always returns the family.
func planFamily(t *db.Txn, ps []pendingEdit, o rev.WriteOptions) (*family, func(kv.Committed), error) {
	f, written, err := planFamilyOnce(t, ps, o, false)
	if errors.Is(err, errExisting) {
		t.Spent = 0
		f, written, err = planFamilyOnce(t, ps, o, true)
	}
	return f, written, err
}

func planFamilyOnce(t *db.Txn,
	ps []pendingEdit, o rev.WriteOptions, inTurn bool,
) (f *family, written func(kv.Committed), err error) {
	f = &family{batch: batch{t: t, o: o}, id: ps[0].e.ID,
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
		p.err = check(&f.batch, p)
	}
	f.edits = ps
	t.Spent = 0
	if err := f.kind.read(ps); err != nil {
		return f, nil, err
	}
	// Start the reads that most edits will need, all at once.
	for i := range ps {
		if p := &ps[i]; p.err == nil && f.kind.plan(p) == nil {
			p.content.issue(t, p.e, &p.plan, watched(t, o, f.id))
		}
	}
	t.Spent = 0
	if err = f.each(&stage{each: f.edit, reads: true}); err == nil && !inTurn {
		err = f.each(&stage{each: noneExisting})
	}
	return f, written, err
}

// follow takes one more interactive edit through the stages before the first write, in a later read of the same
// version. The family may not be used any more after an error.
func (f *family) follow(t *db.Txn, p *pendingEdit) error {
	f.t, f.inTurn = t, true
	if err := check(&f.batch, p); err != nil {
		return err
	}
	if err := f.kind.(*namedEdits).readMore(p); err != nil {
		return err
	}
	if err := f.edit(&f.batch, p); err != nil {
		return err
	}
	delete(f.bodies, p.plan.parent) // it is no leaf any more
	return nil
}

// winner returns the best leaf after the edits so far, nil if there is none, and the best leaf that is not added.
func (f *family) winner() (best, other *rev.LeafKV) {
	other, _ = f.kind.rest()
	best = other
	for _, l := range f.added {
		if best == nil || l.Order(best) > 0 {
			best = l
		}
	}
	return best, other
}

// edit plans, composes and validates one edit, and applies it to the family.
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
		p.plan.ancestor = false // an earlier edit has stored its body
	}
	if err := compose(&f.batch, p); err != nil {
		return err
	}
	if f.inTurn {
		if err := findExisting(&f.batch, p); err != nil {
			return err
		}
		if err := p.existing.refuse(f.t, p, f.leavesAfter); err != nil {
			return err
		}
	}
	if err := validate(&f.batch, p); err != nil {
		return err
	}
	f.kind.take(p)
	if p.content.stored != nil {
		if before := f.bodies[p.rev()]; before != nil {
			// Stemming has forgotten the revision in the meantime, and p adds it again.
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

// issueAgain starts the reads of an edit again, because its parent turned out to be another revision. If that is an
// edit of the family, its body is not stored yet and is taken from there.
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

// replace turns a leaf, of the family or stored, into history.
func (f *family) replace(r db.Rev, stored func() *rev.LeafKV) {
	if f.added[r] != nil {
		delete(f.added, r)
		f.skipped = append(f.skipped, r)
		return
	}
	delete(f.changed, r)
	f.replaced = append(f.replaced, stored())
}

// mapOutcome maps the result of all edits for interactive indexes. It is called once, before anything is written.
func (f *family) mapOutcome(ps []pendingEdit) error {
	f.moved = len(f.added) > 0 || len(f.replaced) > 0 || len(f.changed) > 0
	if f.last == nil || !f.moved {
		return nil
	}
	_, branches := f.kind.rest()
	winner, _ := f.winner()
	return f.mapDocument(ps, winner, branches)
}

// write writes the result of all edits together, as apply does for one.
func (f *family) write(ps []pendingEdit) error {
	t := f.t
	if f.last == nil {
		return nil
	}
	_, branches := f.kind.rest()
	winner, other := f.winner()
	for _, l := range f.added {
		l.Ancestors = f.kind.history(l)
	}
	// The bodies of replaced leaves are read before others may take their places.
	old := readOutgoing(t, f.id, f.replaced, nil)
	left, err := old.wait(t, f.id)
	if err != nil {
		return err
	}
	if err := f.storeBodies(ps); err != nil {
		return err
	}
	if err := f.markOld(ps, left); err != nil {
		return err
	}
	// Even if no branch changes: a stemmed history may contain what replaced them.
	counted := map[db.Rev]bool{}
	for _, r := range f.skipped {
		size := int64(0)
		if p := f.bodies[r]; p != nil && f.added[r] == nil && !counted[r] {
			counted[r], size = true, int64(len(p.content.stored))
		}
		supersede(t, f.id, r, size)
	}
	if !f.moved {
		return nil
	}
	if err := feed.KeepEntry(t, f.id, f.before); err != nil {
		return err
	}
	for i, l := range f.replaced {
		t.Clear(t.Close(t.Keys.Revision(t.Open(), f.id, l.Deleted, l.Rev)))
		supersede(t, f.id, l.Rev, old.size(i, l))
	}
	m := move{t: t, id: f.id, before: f.before, winner: winner, branches: branches, entry: f.last.entry}
	for _, l := range f.added {
		if p := f.bodies[l.Rev]; p != nil {
			l.Size, l.Attachments = p.content.sizes()
		}
		m.setLeaf(l)
	}
	for _, l := range f.changed {
		if l != winner {
			l.Ancestors = f.kind.history(l)
		}
		m.setLeaf(l)
	}
	// As in apply: the best other leaf becomes the winner, or was it until now.
	if other != nil && f.changed[other.Rev] == nil && (other == winner || other.Winner) {
		m.setLeaf(other)
	}
	if err := m.write(); err != nil {
		return err
	}
	return StateOf(t.Db.Store).Indexes.Write(t, f.mapped)
}

// storeBodies writes the bodies, and then drops the attachments that none of them refers to.
func (f *family) storeBodies(ps []pendingEdit) error {
	var replaced []attach.AttachmentOf
	for _, p := range f.overwritten {
		p.content.takeUploads(f.t, p.e) // intermediate edits may refer to these uploads
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
			supersede(f.t, f.id, p.e.Rev, int64(len(p.content.stored)))
		}
	}
	forgotten, err := f.kind.dropForgotten()
	if err != nil {
		return err
	}
	return attach.DropAttachments(f.t, append(replaced, forgotten...))
}

// markOld counts the attachments that no leaf refers to any more, of those in left, which replaced leaves have, and
// those of the edits. The bodies must have been written.
func (f *family) markOld(ps []pendingEdit, left []rev.Attachment) error {
	var linked, passed []rev.Attachment
	for i := range ps {
		c := &ps[i].content
		switch {
		case ps[i].err != nil || c.stored == nil:
		case f.added[ps[i].rev()] != nil:
			linked = append(linked, c.attachments...)
		default:
			passed = append(passed, c.attachments...)
		}
	}
	// An attachment of a leaf that was replaced is not old yet. One of an edit that is history already may be, which
	// MarkOld finds out if a new leaf has it.
	has := make(map[[16]byte]bool, len(linked))
	for i := range linked {
		has[linked[i].ID] = true
	}
	for i := range passed {
		if !has[passed[i].ID] {
			left = append(left, passed[i])
		}
	}
	if len(left) == 0 && len(linked) == 0 {
		return nil
	}
	branches := int64(0)
	if f.before != nil {
		branches = f.before.Branches
	}
	return attach.MarkOld(f.t, f.id, left, linked, othersOf(f.t, f.id, branches, f.replaced))
}

// mapDocument maps the resulting document for interactive indexes before anything is written. It also assigns the
// document's changes entry.
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

// leavesAfter returns the document's leaves after the edits so far, winner last, given the stored leaves.
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

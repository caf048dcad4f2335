package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
)

// apply writes what the plan says. It reads only for design documents, to replace a body, and to find bodies that no
// branch knows (dropForgotten).
func apply(b *batch, p *pendingEdit) error {
	t, pl := b.t, &p.plan
	if p.content.stored != nil || pl.known != nil {
		if err := p.storeBody(t); err != nil {
			return err
		}
	}
	if pl.ancestor && p.content.stored != nil {
		// It is history already; only compaction and the sizes need to know.
		supersede(t, p.e.ID, p.e.Rev, int64(len(p.content.stored)))
	}
	if err := p.markOld(t); err != nil || !pl.moves() {
		return err
	}
	p.entry = t.Entries
	t.Entries++
	if err := feed.KeepEntry(t, p.e.ID, pl.before); err != nil {
		return err
	}
	for i, l := range pl.replaced {
		t.Clear(t.Close(t.Keys.Revision(t.Open(), p.e.ID, l.Deleted, l.Rev)))
		supersede(t, p.e.ID, l.Rev, p.outgoing.size(i, l))
	}
	m := move{t: t, id: p.e.ID, before: pl.before, winner: pl.winner(), branches: pl.branches, entry: p.entry,
		design: p.design}
	if pl.hasAdded {
		pl.added.Size, pl.added.Attachments = p.content.sizes()
		m.setLeaf(&pl.added)
	}
	for _, l := range pl.changed {
		m.setLeaf(l)
	}
	// Another leaf is written only if it becomes the winner or stops being the winner; otherwise its value does not
	// change.
	if l := pl.other; l != nil && (l == m.winner || l.Winner) && !slices.Contains(pl.changed, l) {
		m.setLeaf(l)
	}
	if m.winner == &pl.added {
		m.body = p.content.body
	}
	return m.write()
}

// storeBody writes the edit's body, if it has one, with its attachments, and removes bodies that no branch knows.
func (p *pendingEdit) storeBody(t *db.Txn) error {
	var dropped, forgotten []attach.AttachmentOf
	var err error
	if p.content.stored != nil {
		dropped, err = p.content.put(t, p.e, p.rev())
	}
	if err == nil && p.plan.known != nil {
		forgotten, err = dropForgotten(t, p.e.ID, p.plan.known, p.plan.others)
	}
	if dropped = append(dropped, forgotten...); err != nil || len(dropped) == 0 {
		return err
	}
	return attach.DropAttachments(t, dropped)
}

// put writes the body of an edit's revision and links its attachments. It returns the attachments of a body that it
// replaces.
func (c *content) put(t *db.Txn, e *rev.Edit, r db.Rev) (replaced []attach.AttachmentOf, err error) {
	if c.oldChunk != nil {
		if replaced, err = attach.DropBody(t, e.ID, r, c.oldChunk, false); err != nil {
			return nil, err
		}
	}
	rev.WriteBody(t, e.ID, r, c.stored, c.attachments)
	c.takeUploads(t, e)
	return replaced, nil
}

// markOld counts the attachments that no leaf refers to any more.
func (p *pendingEdit) markOld(t *db.Txn) error {
	var left, linked []rev.Attachment
	if p.outgoing != nil {
		left = p.outgoing.left
	}
	if p.plan.hasAdded {
		linked = p.content.attachments
	} else if p.plan.ancestor {
		left = append(left, p.content.attachments...)
	}
	if len(left) == 0 && len(linked) == 0 {
		return nil
	}
	branches := int64(0)
	if p.plan.before != nil {
		branches = p.plan.before.Branches
	}
	return attach.MarkOld(t, p.e.ID, left, linked, othersOf(t, p.e.ID, branches, p.plan.replaced))
}

// sizes returns the size of the body that an edit makes, and the number of its attachments.
func (c *content) sizes() (size, attachments int32) {
	return int32(len(c.stored)), int32(len(c.attachments))
}

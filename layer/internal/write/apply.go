package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/tuple"
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
		supersede(t, p.e.ID, p.e.Rev) // history already; only compaction needs to know
	}
	if !pl.moves() {
		return nil
	}
	p.entry = t.Entries
	t.Entries++
	if err := feed.KeepEntry(t, p.e.ID, pl.before); err != nil {
		return err
	}
	for _, l := range pl.replaced {
		t.Clear(t.Close(t.Keys.Revision(t.Open(), p.e.ID, l.Deleted, l.Rev)))
		supersede(t, p.e.ID, l.Rev)
	}
	m := move{t: t, id: p.e.ID, before: pl.before, winner: pl.winner(), branches: pl.branches, entry: p.entry,
		design: p.design}
	if pl.hasAdded {
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
		if replaced, err = attach.DropBody(t, e.ID, r, c.oldChunk); err != nil {
			return nil, err
		}
	}
	rev.WriteBody(t, e.ID, r, c.stored, c.attachments)
	t.CountFor(e.ID, db.CounterBodies, int64(len(c.stored)))
	c.takeUploads(t, e)
	return replaced, nil
}

// supersede queues a body that no longer belongs to a leaf for compaction.
func supersede(t *db.Txn, id string, r db.Rev) {
	shard := t.Cfg.Shard(id)
	key := t.Keys.Superseded(t.Open(), shard)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.Superseded)))
	t.SetVersionstampedKey(key, offset, t.Close(db.AppendRev(tuple.AppendString(t.Open(), id), r)))
	t.Superseded++
	t.CountIn(shard, db.CounterSuperseded, 1)
}

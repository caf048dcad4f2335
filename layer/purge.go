package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// Purge removes leaves, with what of their history no other leaf has, and returns those that were removed; revisions that are no leaves are passed
// over, as in CouchDB. With the last leaf the document is gone without a trace in the feed; while others remain, the document moves to a new
// sequence. The purge is noted in keyspace.Purges, for indexes to drop their rows.
func (d *Database) Purge(ctx context.Context, id string, revs []Rev) ([]Rev, error) {
	purged, _, err := transact(ctx, d, func(t *txn) ([]Rev, error) { return t.purge(id, revs) })
	return purged, err
}

func (t *txn) purge(id string, revs []Rev) ([]Rev, error) {
	if err := t.cfg.checkID(id); err != nil {
		return nil, err
	}
	t.MakesRoom()
	tree, err := waitTree(readTree(t, t.keys, id), t.keys, id)
	if err != nil {
		return nil, err
	}
	var purged []Rev
	var kept []revtree.Branch
	var keptLeaves []leafKV
	for i := range tree.leaves {
		l := &tree.leaves[i]
		if !contains(revs, l.rev) {
			kept = append(kept, tree.branches[i])
			keptLeaves = append(keptLeaves, *l)
			continue
		}
		purged = append(purged, l.rev)
		t.Clear(t.close(t.keys.revision(t.open(), id, l.deleted, l.rev)))
	}
	if len(purged) == 0 {
		return nil, nil
	}
	if err := t.purgeBodies(id, kept); err != nil {
		return nil, err
	}
	if err := t.mapKept(id, keptLeaves); err != nil {
		return nil, err
	}
	before := &tree.leaves[len(tree.leaves)-1]
	if err := t.purgeEntry(id, before, keptLeaves); err != nil {
		return nil, err
	}
	t.notePurge(id, purged)
	if len(keptLeaves) == 0 {
		// There is no entry: the sequence moves nevertheless, so that indexes are known to be behind.
		t.touch(t.cfg.shard(id), t.entries)
		t.entries++
	}
	return purged, t.index()
}

func contains(revs []Rev, r Rev) bool {
	for _, x := range revs {
		if x == r {
			return true
		}
	}
	return false
}

// purgeBodies removes all bodies but those of the branches that remain, also such as stemming has left for compaction, and then the attachments
// that nothing refers to.
func (t *txn) purgeBodies(id string, kept []revtree.Branch) error {
	prefix := t.keys.doc(nil, keyspace.Documents, id)
	rows := getRange(t, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var candidates []attachmentOf
	for rows.Next() {
		row := rows.KeyValue()
		r, chunk, err := takeRev(row.Key[len(prefix):])
		if err != nil {
			return corrupt("body key", err)
		}
		n, _, err := tuple.TakeInt(chunk)
		if err != nil {
			return corrupt("body key", err)
		}
		if n > 0 || revtree.Find(kept, r) >= 0 {
			continue
		}
		list, err := t.dropBody(id, r, row.Value)
		if err != nil {
			return err
		}
		candidates = append(candidates, list...)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return t.dropAttachments(candidates)
}

// purgeEntry removes the document from the feed and the lists, or moves it to where its remaining branches put it.
func (t *txn) purgeEntry(id string, before *leafKV, kept []leafKV) error {
	if err := mustWin(before); err != nil {
		return err
	}
	p := pendingEdit{e: &Edit{ID: id}, plan: plan{before: before, branches: int64(len(kept))}}
	if isDesign(id) {
		p.design = t.Get(t.close(t.keys.doc(t.open(), keyspace.Designs, id)))
	}
	if len(kept) > 0 {
		p.plan.other = &kept[len(kept)-1]
		user := t.entries
		t.entries++
		p.setLeaf(t, p.plan.other, p.plan.other, user)
		t.moveEntry(id, before, p.plan.other, p.plan.branches, user)
		return p.listDocument(t, p.plan.other)
	}
	t.Clear(t.close(t.keys.entry(t.open(), t.cfg.shardAt(id, before.seq), before.seq)))
	t.Clear(t.close(t.keys.doc(t.open(), keyspace.AllDocs, id)))
	t.countDocument(id, before.deleted, -1)
	if !isDesign(id) {
		return nil
	}
	return p.listDesign(t, &leafKV{deleted: true})
}

// notePurge counts a purge and remembers it.
func (t *txn) notePurge(id string, revs []Rev) {
	value := tuple.BeginNested(tuple.AppendString(nil, id))
	for _, r := range revs {
		value = appendRev(value, r)
	}
	t.rememberPurge(tuple.EndNested(value))
	t.count(counterPurges, 1)
}

// rememberPurge writes (Purges, Versionstamp) = (DocID, [revisions]).
func (t *txn) rememberPurge(value []byte) {
	key := t.keys.sub(t.open(), keyspace.Purges)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.purges)))
	t.purges++
	t.SetVersionstampedKey(key, offset, value)
}

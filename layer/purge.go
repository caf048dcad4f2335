package layer

import (
	"bytes"
	"context"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// purgeRevs is how many revisions are purged in one transaction: what the history notes of them has to fit a value.
const purgeRevs = 400

// Purge removes leaves, with what of their history no other leaf has, and returns those that were removed; revisions that are no leaves are passed
// over, as in CouchDB. With the last leaf the document is gone without a trace in the feed; while others remain, the document moves to a new
// sequence. The purge is noted in keyspace.Purges, for indexes to drop their rows.
//
// Up to purgeRevs leaves are removed at once, unless that is too much for a transaction. Of more, some are removed
// before others; after an error those returned are gone.
func (d *Database) Purge(ctx context.Context, id string, revs []Rev) ([]Rev, error) {
	var all []Rev
	p := newPortions(purgeRevs)
	for {
		var purged []Rev
		n, _, err := writePart(ctx, d, p, len(revs), func(t *txn, n int) (_ int, err error) {
			purged, err = t.purge(id, revs[:min(n, len(revs))])
			return min(n, len(revs)), err
		})
		if err != nil {
			return all, err
		}
		all = append(all, purged...)
		if revs = revs[n:]; len(revs) == 0 {
			return all, nil
		}
	}
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
	if n := len(tree.leaves); n > 1 {
		if err := t.keepEntry(id, &tree.leaves[n-1]); err != nil {
			return nil, err
		}
	}
	var purged []Rev
	var kept, gone []revtree.Branch
	var keptLeaves []leafKV
	asked := make(map[Rev]bool, len(revs))
	for _, r := range revs {
		asked[r] = true
	}
	for i := range tree.leaves {
		l := &tree.leaves[i]
		if !asked[l.rev] {
			kept = append(kept, tree.branches[i])
			keptLeaves = append(keptLeaves, *l)
			continue
		}
		purged, gone = append(purged, l.rev), append(gone, tree.branches[i])
		t.Clear(t.close(t.keys.revision(t.open(), id, l.deleted, l.rev)))
	}
	if len(purged) == 0 {
		return nil, nil
	}
	if err := t.purgeBodies(id, kept, gone); err != nil {
		return nil, err
	}
	left, mapped, err := t.mapKept(id, keptLeaves)
	if err != nil {
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
	left.entry = max(t.entries, 1) - 1
	return purged, writeOf(t.db.store).indexes.write(t, mapped)
}

// purgeBodies removes all bodies but those of the branches that remain, among them bodies that stemming has left for
// compaction, and then the attachments that nothing refers to. If no branch was stemmed, it only has to look at the
// revisions of the branches that are gone.
func (t *txn) purgeBodies(id string, kept, gone []revtree.Branch) error {
	var candidates []attachmentOf
	drop := func(r Rev, first []byte) error {
		list, err := t.dropBody(id, r, first)
		candidates = append(candidates, list...)
		return err
	}
	var err error
	tree := treeOf(kept, t.cfg.revsLimit)
	for _, b := range gone {
		if tree.Known(b.Rev) {
			t.supersede(id, b.Rev) // an edit has made it again, and another branch had it (remade.go)
		}
	}
	if len(kept) == 0 || tree.Partial() || slices.ContainsFunc(gone, isPartial) {
		err = t.eachBody(id, func(r Rev, first []byte) error {
			if tree.Known(r) {
				return nil
			}
			return drop(r, first)
		})
	} else {
		err = t.onlyIn(id, tree, gone, drop)
	}
	if err != nil {
		return err
	}
	if err := t.dropAttachments(candidates); err != nil || len(kept) > 0 {
		return err
	}
	t.Clear(t.close(t.keys.doc(t.open(), keyspace.AttachmentRefs, id)))
	return nil
}

// eachBody calls f with the revision and the first chunk of every body of a document.
func (t *txn) eachBody(id string, f func(r Rev, first []byte) error) error {
	prefix := t.keys.doc(nil, keyspace.Documents, id)
	in := prefixRange(prefix)
	for in.Begin != nil {
		var err error
		if in.Begin, err = t.bodiesIn(in, len(prefix), f); err != nil {
			return err
		}
	}
	return nil
}

// bodiesIn is eachBody up to the first body of several chunks. It returns where the next one begins, nil at the end.
func (t *txn) bodiesIn(in kv.KeyRange, prefix int, f func(r Rev, first []byte) error) (next []byte, err error) {
	rows := t.GetRange(in, kv.RangeOptions{Mode: kv.ModeIterator})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		r, chunk, err := takeRev(row.Key[prefix:])
		if err != nil {
			return nil, corrupt("body key", err)
		}
		n, _, err := tuple.TakeInt(chunk)
		if err != nil {
			return nil, corrupt("body key", err)
		}
		if n > 0 {
			continue
		}
		of := row.Key[:len(row.Key)-len(chunk)]
		if len(row.Value) == keyspace.BodyChunk {
			next = prefixRange(bytes.Clone(of)).End
		}
		if err := f(r, row.Value); err != nil || next != nil {
			return next, err
		}
	}
	return nil, rows.Err()
}

// isPartial reports whether a branch does not know its whole history: bodies of what it does not know may be left.
func isPartial(b revtree.Branch) bool { return int64(len(b.Ancestors)) < b.Rev.Pos-1 }

// onlyIn calls f with the stored bodies of revisions that branches have which are gone, and no branch of the tree.
func (t *txn) onlyIn(id string, tree *revtree.Tree, gone []revtree.Branch, f func(r Rev, first []byte) error) error {
	seen := map[Rev]bool{}
	var revs []Rev
	for _, b := range gone {
		for _, r := range b.Path() {
			if seen[r] || tree.Known(r) {
				break // as is everything older of it
			}
			seen[r] = true
			revs = append(revs, r)
		}
	}
	const window = 256
	for part := range slices.Chunk(revs, window) {
		reads := make([]kv.Future[[]byte], len(part))
		for i, r := range part {
			reads[i] = t.Get(t.close(t.keys.body(t.open(), id, r, 0)))
		}
		for i, r := range part {
			first, err := reads[i].Wait()
			if err == nil && first != nil {
				err = f(r, first)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
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
	t.clearEntry(id, before.seq)
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

package write

import (
	"bytes"
	"context"
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// PurgeRevs is how many revisions are purged in one transaction. The record of a purge has to fit into a value.
const PurgeRevs = 400

// Purge removes leaves, with those of their ancestors that no other leaf has, and returns the removed leaves. Like
// CouchDB, it ignores revisions that are not leaves. After its last leaf is removed, the document leaves no trace in
// the feed; otherwise it gets a new sequence. The purge is recorded in keyspace.Purges, so that indexes remove the
// document's rows.
//
// Up to PurgeRevs leaves are removed in one transaction, unless they are too many for it. If there are more, several
// transactions are needed; after an error, the returned leaves have been removed.
func (d Database) Purge(ctx context.Context, id string, revs []db.Rev) ([]db.Rev, error) {
	var all []db.Rev
	p := db.NewPortions(PurgeRevs)
	for {
		var purged []db.Rev
		n, _, err := db.WritePart(ctx, d.Database, p, len(revs), func(t *db.Txn, n int) (_ int, err error) {
			purged, err = purge(t, id, revs[:min(n, len(revs))])
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

func purge(t *db.Txn, id string, revs []db.Rev) ([]db.Rev, error) {
	if err := t.Cfg.CheckID(id); err != nil {
		return nil, err
	}
	t.MakesRoom()
	tree, err := rev.WaitTree(rev.ReadTree(t, t.Keys, id), t.Keys, id)
	if err != nil {
		return nil, err
	}
	if n := len(tree.Leaves); n > 1 {
		if err := feed.KeepEntry(t, id, &tree.Leaves[n-1]); err != nil {
			return nil, err
		}
	}
	var purged []db.Rev
	var kept, gone []revtree.Branch
	var keptLeaves []rev.LeafKV
	var goneLeaves []*rev.LeafKV
	asked := make(map[db.Rev]bool, len(revs))
	for _, r := range revs {
		asked[r] = true
	}
	for i := range tree.Leaves {
		l := &tree.Leaves[i]
		if !asked[l.Rev] {
			kept = append(kept, tree.Branches[i])
			keptLeaves = append(keptLeaves, *l)
			continue
		}
		purged, gone = append(purged, l.Rev), append(gone, tree.Branches[i])
		goneLeaves = append(goneLeaves, l)
		t.Clear(t.Close(t.Keys.Revision(t.Open(), id, l.Deleted, l.Rev)))
	}
	if len(purged) == 0 {
		return nil, nil
	}
	if err := PurgeBodies(t, id, kept, gone, othersOf(t, id, int64(len(tree.Leaves)), goneLeaves)); err != nil {
		return nil, err
	}
	left, mapped, err := mapKept(t, id, keptLeaves)
	if err != nil {
		return nil, err
	}
	before := &tree.Leaves[len(tree.Leaves)-1]
	if err := purgeEntry(t, id, before, keptLeaves); err != nil {
		return nil, err
	}
	notePurge(t, id, purged)
	if len(keptLeaves) == 0 {
		// There is no entry, but the sequence advances, so that indexes are known to be behind.
		t.Touch(t.Cfg.Shard(id), t.Entries)
		t.Entries++
	}
	left.Entry = max(t.Entries, 1) - 1
	return purged, StateOf(t.Db.Store).Indexes.Write(t, mapped)
}

// PurgeBodies removes all bodies except those of the remaining branches, including bodies that stemming has left for
// compaction. Then it removes the attachments that are no longer referred to. If no branch was stemmed, it only looks
// at the revisions of the branches that are gone. If gone is nil, all bodies of the document are those of leaves.
// others is as in attach.MarkOld.
func PurgeBodies(t *db.Txn, id string, kept, gone []revtree.Branch,
	others func() (list []rev.Attachment, all bool, err error)) error {
	var candidates []attach.AttachmentOf
	var left []rev.Attachment // attachments of the leaves
	leaves := make(map[db.Rev]bool, len(gone))
	drop := func(r db.Rev, first []byte) error {
		leaf := gone == nil || leaves[r]
		list, err := attach.DropBody(t, id, r, first, leaf)
		candidates = append(candidates, list...)
		for i := 0; leaf && i < len(list); i++ {
			left = append(left, list[i].A)
		}
		return err
	}
	tree := rev.TreeOf(kept, t.Cfg.RevsLimit)
	for _, b := range gone {
		leaves[b.Rev] = true
		if !tree.Known(b.Rev) {
			continue
		}
		// An edit has made it again although another branch knew it (existing.go).
		size, list, err := oldBody(t, id, b.Rev, t.Get(t.Close(t.Keys.Body(t.Open(), id, b.Rev, 0))))
		if err != nil {
			return err
		}
		supersede(t, id, b.Rev, size)
		left = append(left, list...)
	}
	var err error
	if len(kept) == 0 || tree.Partial() || slices.ContainsFunc(gone, isPartial) {
		err = eachBody(t, id, func(r db.Rev, first []byte) error {
			if tree.Known(r) {
				return nil
			}
			return drop(r, first)
		})
	} else {
		err = onlyIn(t, id, tree, gone, drop)
	}
	if err != nil {
		return err
	}
	if err := attach.DropAttachments(t, candidates); err != nil {
		return err
	}
	if len(kept) > 0 {
		return attach.MarkOld(t, id, left, nil, others)
	}
	t.Clear(t.Close(t.Keys.Doc(t.Open(), keyspace.AttachmentRefs, id)))
	return nil
}

// eachBody calls f with the revision and the first chunk of every body of a document.
func eachBody(t *db.Txn, id string, f func(r db.Rev, first []byte) error) error {
	prefix := t.Keys.Doc(nil, keyspace.Documents, id)
	in := db.PrefixRange(prefix)
	for in.Begin != nil {
		var err error
		if in.Begin, err = bodiesIn(t, in, len(prefix), f); err != nil {
			return err
		}
	}
	return nil
}

// bodiesIn is eachBody up to the first body of several chunks. It returns the key after that body, or nil at the end.
func bodiesIn(t *db.Txn, in kv.KeyRange, prefix int, f func(r db.Rev, first []byte) error) (next []byte, err error) {
	rows := t.GetRange(in, kv.RangeOptions{Mode: kv.ModeIterator})
	defer rows.Close()
	for rows.Next() {
		row := rows.KeyValue()
		r, chunk, err := db.TakeRev(row.Key[prefix:])
		if err != nil {
			return nil, db.Corrupt("body key", err)
		}
		n, _, err := tuple.TakeInt(chunk)
		if err != nil {
			return nil, db.Corrupt("body key", err)
		}
		if n > 0 {
			continue
		}
		of := row.Key[:len(row.Key)-len(chunk)]
		if len(row.Value) == keyspace.BodyChunk {
			next = db.PrefixRange(bytes.Clone(of)).End
		}
		if err := f(r, row.Value); err != nil || next != nil {
			return next, err
		}
	}
	return nil, rows.Err()
}

// isPartial reports whether a branch does not know its whole history, so that bodies of unknown revisions may exist.
func isPartial(b revtree.Branch) bool { return int64(len(b.Ancestors)) < b.Rev.Pos-1 }

// onlyIn calls f with the stored bodies of revisions that only the branches in gone have, and none in the tree.
func onlyIn(t *db.Txn, id string, tree *revtree.Tree, gone []revtree.Branch,
	f func(r db.Rev, first []byte) error) error {
	seen := map[db.Rev]bool{}
	var revs []db.Rev
	for _, b := range gone {
		for _, r := range b.Path() {
			if seen[r] || tree.Known(r) {
				break // its older revisions are known too
			}
			seen[r] = true
			revs = append(revs, r)
		}
	}
	const window = 256
	for part := range slices.Chunk(revs, window) {
		reads := make([]kv.Future[[]byte], len(part))
		for i, r := range part {
			reads[i] = t.Get(t.Close(t.Keys.Body(t.Open(), id, r, 0)))
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

// purgeEntry removes the document from the feed and the lists, or updates its entries according to its remaining
// branches.
func purgeEntry(t *db.Txn, id string, before *rev.LeafKV, kept []rev.LeafKV) error {
	if err := mustWin(before); err != nil {
		return err
	}
	m := move{t: t, id: id, before: before, branches: int64(len(kept))}
	if db.IsDesign(id) {
		m.design = designEntryOf(t, id)
	}
	if len(kept) == 0 {
		return m.remove()
	}
	m.winner, m.entry = &kept[len(kept)-1], t.Entries
	t.Entries++
	m.setLeaf(m.winner)
	return m.write()
}

// notePurge counts and records a purge.
func notePurge(t *db.Txn, id string, revs []db.Rev) {
	value := tuple.BeginNested(tuple.AppendString(nil, id))
	for _, r := range revs {
		value = db.AppendRev(value, r)
	}
	RememberPurge(t, tuple.EndNested(value))
	t.Count(db.CounterPurges, 1)
}

// RememberPurge writes (Purges, Versionstamp) = (DocID, [revisions]).
func RememberPurge(t *db.Txn, value []byte) {
	key := t.Keys.Sub(t.Open(), keyspace.Purges)
	offset := len(key) + 1
	key = t.Close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(t.Purges)))
	t.Purges++
	t.SetVersionstampedKey(key, offset, value)
}

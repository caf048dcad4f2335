package rev

import (
	"context"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// Get reads one document. It returns NotFound with reason "missing", or "deleted" if the winner is deleted and no Rev
// was requested, and Invalid for an id that is invalid in a partitioned database.
//
// The revision tree is only read if the options require it (R7): the winner's id is taken from AllDocs.
func (d Database) Get(ctx context.Context, id string, o GetOptions) (*Document, error) {
	doc, err := db.Read(ctx, d.Database, func(t *db.Txn) (*Document, error) {
		if err := t.Cfg.CheckID(id); err != nil {
			return nil, err
		}
		r := t.Snapshot()
		switch {
		case o.wantsTree() || o.Latest && !o.Rev.IsZero():
			return getWithTree(t, r, id, o)
		case !o.Rev.IsZero():
			return GetRevision(r, t.Keys, id, o.Rev, largeReads(t, o))
		}
		return getWinner(t, r, id, largeReads(t, o))
	})
	if err == nil {
		d.Count(func(c *db.Counts) { c.Read.Add(1) })
	}
	return doc, err
}

// getWinner reads a document's winner and then its body, in one step if the reader can.
func getWinner(t *db.Txn, r kv.Reader, id string, large LargeReads) (*Document, error) {
	value, first, err := readWinner(t, r, id)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, Missing(r, t.Keys, id)
	}
	rev, err := db.ParseRevPair(value)
	if err != nil {
		return nil, db.Corrupt("list of documents", err)
	}
	if first == nil {
		return GetRevision(r, t.Keys, id, rev, large)
	}
	return waitRevision(BodyRead{R: r, Keys: t.Keys, Id: id, Rev: rev, First: first, Large: large})
}

// readWinner reads what AllDocs has of a document, and the first chunk of its body if the reader can follow that; first
// is nil if it cannot.
func readWinner(t *db.Txn, r kv.Reader, id string) (value []byte, first kv.Future[[]byte], err error) {
	key := t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, id))
	if fr, ok := r.(kv.FollowingReader); ok {
		// The key of a body ends with its revision as AllDocs has it, and the number of the chunk.
		f, ok := fr.GetFollowing(key, t.Keys.Doc(nil, keyspace.Documents, id), tuple.AppendInt(nil, 0))
		if ok {
			found, err := f.Wait()
			return found.Value, HaveRead(found.Next), err
		}
	}
	value, err = r.Get(key).Wait()
	return value, nil, err
}

// Exists reports whether Get would find a document's winner. It reads less than Get.
func (d Database) Exists(ctx context.Context, id string) (bool, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (bool, error) {
		if err := t.Cfg.CheckID(id); err != nil {
			return false, err
		}
		value, err := t.Snapshot().Get(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, id))).Wait()
		return value != nil, err
	})
}

func largeReads(t *db.Txn, o GetOptions) LargeReads {
	if !o.Large {
		return LargeReads{}
	}
	return LargeReads{d: t.Db, core: t.Core}
}

func (o *GetOptions) wantsTree() bool {
	return o.Revs || o.RevsInfo || o.Conflicts || o.DeletedConflicts || o.LocalSeq
}

// ErrMissing returns CouchDB's NotFound error for documents and revisions.
func ErrMissing() error { return fault.Errf(fault.NotFound, "", "missing") }

// Missing returns the error for a document without a live revision.
func Missing(r kv.Reader, keys db.Space, id string) error {
	rows := db.GetRange(r, keys.Doc(nil, keyspace.Revisions, id), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer rows.Close()
	if rows.Next() {
		return fault.Errf(fault.NotFound, "", "deleted")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrMissing()
}

// GetRevision reads the body of a revision. It returns NotFound if it is not stored.
func GetRevision(r kv.Reader, keys db.Space, id string, rev db.Rev, large LargeReads) (*Document, error) {
	b := ReadBody(r, keys, id, rev)
	b.Large = large
	return waitRevision(b)
}

func waitRevision(b BodyRead) (*Document, error) {
	s, found, err := b.Wait()
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrMissing()
	}
	return s.Document(b.Id, b.Rev), nil
}

// DocumentTree is a document's branches, winner last.
type DocumentTree struct {
	Leaves   []LeafKV
	Branches []revtree.Branch
	// shown is how many revisions of a history are shown; 0 means all.
	shown int
}

// WaitTree waits for a read started by ReadTree.
func WaitTree(rows kv.RangeIterator, keys db.Space, id string) (DocumentTree, error) {
	leaves, err := ReadLeaves(rows, len(keys.Doc(nil, keyspace.Revisions, id)), true, nil)
	tree := DocumentTree{Leaves: leaves}
	if err == nil {
		tree.Branches, err = BranchesOf(leaves)
	}
	return tree, err
}

// BranchesOf decodes the branches of leaves. Those with equal histories, as children of one revision, share them.
func BranchesOf(leaves []LeafKV) ([]revtree.Branch, error) {
	branches := make([]revtree.Branch, len(leaves))
	var histories map[string][]string
	if len(leaves) > FewBranches {
		histories = map[string][]string{}
	}
	for i := range leaves {
		l := &leaves[i]
		if ids, ok := histories[string(l.Ancestors)]; ok {
			branches[i] = revtree.Branch{Rev: l.Rev, Deleted: l.Deleted, Ancestors: ids}
			continue
		}
		var err error
		if branches[i], err = l.Branch(); err != nil {
			return nil, err
		}
		if histories != nil {
			histories[string(l.Ancestors)] = slices.Clip(branches[i].Ancestors)
		}
	}
	return branches, nil
}

// ReadTree starts reading all branches of a document.
func ReadTree(r kv.Reader, keys db.Space, id string) kv.RangeIterator {
	return db.GetRange(r, keys.Doc(nil, keyspace.Revisions, id), kv.RangeOptions{Mode: kv.ModeWantAll})
}

func getWithTree(t *db.Txn, r kv.Reader, id string, o GetOptions) (*Document, error) {
	keys := t.Keys
	tree, err := WaitTree(ReadTree(r, keys, id), keys, id)
	if err != nil {
		return nil, err
	}
	tree.shown = t.Cfg.RevsLimit
	n := len(tree.Leaves)
	if n == 0 {
		return nil, ErrMissing()
	}
	rev := o.Rev
	if rev.IsZero() {
		if rev = tree.Leaves[n-1].Rev; tree.Leaves[n-1].Deleted {
			return nil, fault.Errf(fault.NotFound, "", "deleted")
		}
	}
	i := revtree.Find(tree.Branches, rev)
	if i < 0 {
		return nil, ErrMissing()
	}
	if o.Latest {
		// Find the best leaf that descends from it.
		for j := range tree.Branches {
			if tree.Branches[j].Contains(rev) {
				i = j
			}
		}
		rev = tree.Branches[i].Rev
	}
	doc, err := GetRevision(r, keys, id, rev, largeReads(t, o))
	if err != nil {
		return nil, err
	}
	return doc, tree.fill(r, keys, doc, i, o)
}

// fill sets the requested fields that are known from the tree. doc's revision is in branch i.
func (tree *DocumentTree) fill(r kv.Reader, keys db.Space, doc *Document, i int, o GetOptions) error {
	if o.Revs || o.RevsInfo {
		path := tree.Branches[i].Path()
		path = path[path[0].Pos-doc.Rev.Pos:]
		if o.Revs {
			doc.Revs = path
			if tree.shown > 0 { // a limit that was lowered applies at once
				doc.Revs = path[:min(len(path), tree.shown)]
			}
		}
		if o.RevsInfo {
			info, err := revsInfo(r, keys, doc.ID, path)
			if err != nil {
				return err
			}
			doc.RevsInfo = info
		}
	}
	if o.Conflicts {
		doc.Conflicts = tree.Conflicts(false)
	}
	if o.DeletedConflicts {
		doc.DeletedConflicts = tree.Conflicts(true)
	}
	if o.LocalSeq {
		doc.LocalSeq = tree.Leaves[len(tree.Leaves)-1].Seq
	}
	return nil
}

// Conflicts returns the live or the deleted leaves except the winner, best first.
func (tree *DocumentTree) Conflicts(deleted bool) []db.Rev {
	var revs []db.Rev
	for i := len(tree.Leaves) - 2; i >= 0; i-- {
		if tree.Leaves[i].Deleted == deleted {
			revs = append(revs, tree.Leaves[i].Rev)
		}
	}
	return revs
}

// revsInfo reports which bodies of a path exist. It reads a hundred at a time.
func revsInfo(r kv.Reader, keys db.Space, id string, path []db.Rev) ([]Info, error) {
	const window = 100
	info := make([]Info, 0, len(path))
	for len(path) > 0 {
		part := path[:min(window, len(path))]
		path = path[len(part):]
		reads := make([]kv.Future[[]byte], len(part))
		for i, rev := range part {
			reads[i] = r.Get(keys.Body(nil, id, rev, 0))
		}
		for i, rev := range part {
			first, err := reads[i].Wait()
			if err != nil {
				return nil, err
			}
			status := "available"
			switch {
			case first == nil:
				status = "missing"
			case len(first) > 1 && first[1]&flagDeleted != 0:
				status = "deleted"
			}
			info = append(info, Info{rev, status})
		}
	}
	return info, nil
}

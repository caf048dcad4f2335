package layer

import (
	"context"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// Get reads one document. NotFound with reason "missing" or "deleted" (a deleted winner asked for without Rev); Invalid for an
// id that a partitioned database cannot have.
//
// The revision tree is read only where o asks for what is in it (R7): the winner's id comes from AllDocs.
func (d *Database) Get(ctx context.Context, id string, o GetOptions) (*Document, error) {
	return read(ctx, d, func(t *txn) (*Document, error) {
		if err := t.cfg.checkID(id); err != nil {
			return nil, err
		}
		r := t.Snapshot()
		switch {
		case o.wantsTree() || o.Latest && !o.Rev.IsZero():
			return getWithTree(r, t.keys, id, o, t.largeReads(o))
		case !o.Rev.IsZero():
			return getRevision(r, t.keys, id, o.Rev, t.largeReads(o))
		}
		value, err := r.Get(t.close(t.keys.doc(t.open(), keyspace.AllDocs, id))).Wait()
		if err != nil {
			return nil, err
		}
		if value == nil {
			return nil, missing(r, t.keys, id)
		}
		rev, err := parseRevPair(value)
		if err != nil {
			return nil, corrupt("list of documents", err)
		}
		return getRevision(r, t.keys, id, rev, t.largeReads(o))
	})
}

func (t *txn) largeReads(o GetOptions) largeReads {
	if !o.Large {
		return largeReads{}
	}
	return largeReads{d: t.db, core: t.core}
}

func (o *GetOptions) wantsTree() bool {
	return o.Revs || o.RevsInfo || o.Conflicts || o.DeletedConflicts || o.LocalSeq
}

func errMissing() error { return errf(NotFound, "", "missing") }

// missing says why a document without a live revision cannot be read.
func missing(r kv.Reader, keys space, id string) error {
	rows := getRange(r, keys.doc(nil, keyspace.Revisions, id), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer rows.Close()
	if rows.Next() {
		return errf(NotFound, "", "deleted")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return errMissing()
}

func getRevision(r kv.Reader, keys space, id string, rev Rev, large largeReads) (*Document, error) {
	b := readBody(r, keys, id, rev)
	b.large = large
	s, found, err := b.wait()
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, errMissing()
	}
	return s.document(id, rev), nil
}

// documentTree is a document's branches, winner last.
type documentTree struct {
	leaves   []leafKV
	branches []revtree.Branch
}

// waitTree reads what getRange(revisions of id) has started.
func waitTree(rows kv.RangeIterator, keys space, id string) (documentTree, error) {
	leaves, err := readLeaves(rows, len(keys.doc(nil, keyspace.Revisions, id)), true, nil)
	tree := documentTree{leaves: leaves}
	if err == nil {
		tree.branches, err = branchesOf(leaves)
	}
	return tree, err
}

// branchesOf are the branches of leaves. Those with the same history, as children of one revision, share it.
func branchesOf(leaves []leafKV) ([]revtree.Branch, error) {
	branches := make([]revtree.Branch, len(leaves))
	var histories map[string][]string
	if len(leaves) > fewBranches {
		histories = map[string][]string{}
	}
	for i := range leaves {
		l := &leaves[i]
		if ids, ok := histories[string(l.ancestors)]; ok {
			branches[i] = revtree.Branch{Rev: l.rev, Deleted: l.deleted, Ancestors: ids}
			continue
		}
		var err error
		if branches[i], err = l.branch(); err != nil {
			return nil, err
		}
		if histories != nil {
			histories[string(l.ancestors)] = slices.Clip(branches[i].Ancestors)
		}
	}
	return branches, nil
}

// readTree starts reading all branches of a document.
func readTree(r kv.Reader, keys space, id string) kv.RangeIterator {
	return getRange(r, keys.doc(nil, keyspace.Revisions, id), kv.RangeOptions{Mode: kv.ModeWantAll})
}

func getWithTree(r kv.Reader, keys space, id string, o GetOptions, large largeReads) (*Document, error) {
	tree, err := waitTree(readTree(r, keys, id), keys, id)
	if err != nil {
		return nil, err
	}
	n := len(tree.leaves)
	if n == 0 {
		return nil, errMissing()
	}
	rev := o.Rev
	if rev.IsZero() {
		if rev = tree.leaves[n-1].rev; tree.leaves[n-1].deleted {
			return nil, errf(NotFound, "", "deleted")
		}
	}
	i := revtree.Find(tree.branches, rev)
	if i < 0 {
		return nil, errMissing()
	}
	if o.Latest {
		for j := range tree.branches { // the best of those that descend from it
			if tree.branches[j].Contains(rev) {
				i = j
			}
		}
		rev = tree.branches[i].Rev
	}
	doc, err := getRevision(r, keys, id, rev, large)
	if err != nil {
		return nil, err
	}
	return doc, tree.fill(r, keys, doc, i, o)
}

// fill adds what the tree knows; doc's revision is in branch i.
func (tree *documentTree) fill(r kv.Reader, keys space, doc *Document, i int, o GetOptions) error {
	if o.Revs || o.RevsInfo {
		path := tree.branches[i].Path()
		path = path[path[0].Pos-doc.Rev.Pos:]
		if o.Revs {
			doc.Revs = path
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
		doc.Conflicts = tree.conflicts(false)
	}
	if o.DeletedConflicts {
		doc.DeletedConflicts = tree.conflicts(true)
	}
	if o.LocalSeq {
		doc.LocalSeq = tree.leaves[len(tree.leaves)-1].seq
	}
	return nil
}

// conflicts are the leaves besides the winner, best first.
func (tree *documentTree) conflicts(deleted bool) []Rev {
	var revs []Rev
	for i := len(tree.leaves) - 2; i >= 0; i-- {
		if tree.leaves[i].deleted == deleted {
			revs = append(revs, tree.leaves[i].rev)
		}
	}
	return revs
}

// revsInfo asks which bodies of a path are still there, a hundred at a time.
func revsInfo(r kv.Reader, keys space, id string, path []Rev) ([]RevInfo, error) {
	const window = 100
	info := make([]RevInfo, 0, len(path))
	for len(path) > 0 {
		part := path[:min(window, len(path))]
		path = path[len(part):]
		reads := make([]kv.Future[[]byte], len(part))
		for i, rev := range part {
			reads[i] = r.Get(keys.body(nil, id, rev, 0))
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
			info = append(info, RevInfo{rev, status})
		}
	}
	return info, nil
}

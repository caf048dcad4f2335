package rev

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// EachOpenRev reads several revisions, or all leaves including deleted ones if revs is nil. A revision in the history
// of a leaf is returned while its body is stored. With o.Latest, the leaves that descend from a revision are returned
// instead. Only a few bodies are in memory at once.
func (d Database) EachOpenRev(ctx context.Context, id string, revs []db.Rev, o GetOptions) iter.Seq2[OpenRev, error] {
	return func(yield func(OpenRev, error) bool) {
		s, err := OpenStream(ctx, d.Database)
		if err != nil {
			yield(OpenRev{}, err)
			return
		}
		defer s.Close()
		if err := s.Cfg.CheckID(id); err != nil {
			yield(OpenRev{}, err)
			return
		}
		s.LeaveLarge = o.Large
		var tree DocumentTree
		err = s.Try(func() (err error) {
			tree, err = WaitTree(ReadTree(s.R, s.Keys, id), s.Keys, id)
			return err
		})
		if err != nil {
			yield(OpenRev{}, err)
			return
		}
		if err := s.eachLeaf(&tree, id, tree.open(revs, o), o, func(a OpenRev) bool {
			return yield(a, nil)
		}); err != nil {
			yield(OpenRev{}, err)
		}
	}
}

// leafWindow is how many bodies of one document are read ahead.
const leafWindow = 32

// eachLeaf answers with leaves of a document, in several transactions if necessary.
func (s *Stream) eachLeaf(tree *DocumentTree, id string, wanted []openLeaf, o GetOptions,
	answer func(OpenRev) bool) error {
	var patience kv.Patience
	tree.shown = s.Cfg.RevsLimit
	for len(wanted) > 0 {
		done, more, err := s.openRevs(tree, id, wanted[:min(leafWindow, len(wanted))], o, answer)
		if !more {
			return nil
		}
		if wanted = wanted[done:]; done > 0 {
			patience.Progress()
		}
		if err != nil || s.Old() {
			err = s.Renew(patience.Tried(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openRevs answers with revisions until one fails or answer returns false. done is how many were answered.
func (s *Stream) openRevs(tree *DocumentTree, id string, wanted []openLeaf, o GetOptions,
	answer func(OpenRev) bool) (done int, more bool, err error) {
	reads := s.openBodies(id, wanted)
	for i := range reads {
		a, err := tree.wait(s.R, s.Keys, &reads[i], o)
		if err != nil {
			return i, true, err
		}
		if !answer(a) {
			return i + 1, false, nil
		}
	}
	return len(reads), true, nil
}

// openLeaf is a requested revision with the index of its branch, or -1 if the document has no such revision.
type openLeaf struct {
	rev    db.Rev
	branch int
}

// openRead is the pending read of a revision.
type openRead struct {
	BodyRead
	branch int
}

// open returns the leaves that answer a request for revs.
func (tree *DocumentTree) open(revs []db.Rev, o GetOptions) []openLeaf {
	var leaves []openLeaf
	if revs == nil {
		for i := len(tree.Leaves) - 1; i >= 0; i-- {
			leaves = append(leaves, openLeaf{tree.Leaves[i].Rev, i})
		}
		return leaves
	}
	done := map[db.Rev]bool{}
	add := func(rev db.Rev, branch int) {
		if !done[rev] {
			done[rev] = true
			leaves = append(leaves, openLeaf{rev, branch})
		}
	}
	if !o.Latest {
		found := revtree.FindAll(tree.Branches, revs)
		for _, rev := range revs {
			branch, ok := found[rev]
			if !ok {
				branch = -1
			}
			add(rev, branch)
		}
		return leaves
	}
	containing := revtree.Containing(tree.Branches, revs)
	for _, rev := range revs {
		within := containing[rev]
		for k := len(within) - 1; k >= 0; k-- {
			add(tree.Branches[within[k]].Rev, within[k])
		}
		if len(within) == 0 {
			add(rev, -1)
		}
	}
	return leaves
}

// openBodies starts reading bodies.
func (s *Stream) openBodies(id string, wanted []openLeaf) []openRead {
	reads := make([]openRead, len(wanted))
	for i, l := range wanted {
		reads[i] = openRead{BodyRead{Rev: l.rev, Id: id}, l.branch}
		if l.branch >= 0 {
			reads[i].BodyRead = ReadBody(s.R, s.Keys, id, l.rev)
			reads[i].Large = s.LargeReads()
		}
	}
	return reads
}

// wait returns the answer for a body when it has been read.
func (tree *DocumentTree) wait(r kv.Reader, keys db.Space, read *openRead, o GetOptions) (OpenRev, error) {
	a := OpenRev{Rev: read.Rev}
	if read.branch < 0 {
		return a, nil
	}
	body, found, err := read.BodyRead.Wait()
	if err != nil || !found {
		return a, err
	}
	a.Doc = body.Document(read.Id, read.Rev)
	return a, tree.fill(r, keys, a.Doc, read.branch, o)
}

// BulkGet reads many documents with overlapping reads, and streams them in the requested order. As in CouchDB, a
// reference without a revision is answered with every leaf. The error of a row is of kind NotFound if there is no such
// document.
func (d Database) BulkGet(ctx context.Context, refs []DocRef, o GetOptions) iter.Seq2[BulkGetRow, error] {
	return func(yield func(BulkGetRow, error) bool) {
		s, err := OpenStream(ctx, d.Database)
		if err != nil {
			yield(BulkGetRow{}, err)
			return
		}
		defer s.Close()
		s.LeaveLarge = o.Large
		p := db.NewPortions(leafWindow)
		var patience kv.Patience
		large := map[string]*DocumentTree{} // documents with many branches, kept while reading at one version
		for len(refs) > 0 {
			part := refs[:min(p.Now, len(refs))]
			turn := s.Turn
			done, more, err := s.bulkGet(part, o, large, yield)
			if refs = refs[done:]; done > 0 {
				patience.Progress()
			}
			if err == nil {
				p.Adapt(done, len(part), 0)
			} else {
				if !p.Halve(len(part), 0) {
					err = patience.Tried(err)
				}
				err = s.Renew(err)
			}
			if err != nil {
				yield(BulkGetRow{}, err)
				return
			}
			if !more {
				return
			}
			if s.Old() {
				if err := s.Renew(nil); err != nil {
					yield(BulkGetRow{}, err)
					return
				}
			}
			if s.Turn != turn || len(large) > 8 {
				clear(large)
			}
		}
	}
}

// bulkGet answers refs until one fails, yield returns false, or too much has been read of documents with many branches.
// done is how many were answered.
func (s *Stream) bulkGet(refs []DocRef, o GetOptions, large map[string]*DocumentTree,
	yield func(BulkGetRow, error) bool) (done int, more bool, err error) {
	rows := map[string]kv.RangeIterator{}
	asked := map[string][]db.Rev{}
	for _, ref := range refs {
		if rows[ref.ID] == nil && large[ref.ID] == nil {
			rows[ref.ID] = ReadTree(s.R, s.Keys, ref.ID)
		}
		if !ref.Rev.IsZero() {
			asked[ref.ID] = append(asked[ref.ID], ref.Rev)
		}
	}
	defer func() {
		for _, it := range rows {
			it.Close()
		}
	}()
	trees := make(map[string]*askedTree, len(rows))
	wanted := make([][]openLeaf, len(refs))
	reads := make([][]openRead, len(refs)) // reads of the first leaves
	spent := 0
	for i, ref := range refs {
		tree := trees[ref.ID]
		if tree == nil && spent > db.ReadBudget {
			refs = refs[:i]
			break
		}
		if tree == nil {
			whole := large[ref.ID]
			if whole == nil {
				read, err := WaitTree(rows[ref.ID], s.Keys, ref.ID)
				if err != nil {
					return 0, true, err
				}
				spent += SizeOf(read.Leaves)
				if whole = &read; len(read.Leaves) >= CachedBranches {
					large[ref.ID] = whole
				}
			}
			tree = whole.asked(asked[ref.ID], o)
			trees[ref.ID] = tree
		}
		wanted[i] = tree.open(ref, o)
		reads[i] = s.openBodies(ref.ID, wanted[i][:min(max(1, leafWindow/len(refs)), len(wanted[i]))])
	}
	for i, ref := range refs {
		rest := wanted[i][len(reads[i]):]
		row := BulkGetRow{Ref: ref, Docs: make([]OpenRev, len(reads[i])), More: len(rest) > 0}
		tree := trees[ref.ID]
		if len(tree.Leaves) == 0 && ref.Rev.IsZero() {
			row.Err = ErrMissing()
		}
		for j := range reads[i] {
			if row.Docs[j], err = tree.wait(s.R, s.Keys, &reads[i][j], o); err != nil {
				return i, true, err
			}
		}
		reads[i] = nil
		if !yield(row, nil) {
			return i + 1, false, nil
		}
		if !row.More {
			continue
		}
		turn := s.Turn
		err := s.eachLeaf(tree.DocumentTree, ref.ID, rest, o, func(a OpenRev) bool {
			rest = rest[1:]
			more = yield(BulkGetRow{Ref: ref, Docs: []OpenRev{a}, More: len(rest) > 0}, nil)
			return more
		})
		// After a renewal, what was read ahead for the other refs may be invalid.
		if err != nil || !more || turn != s.Turn {
			return i + 1, err == nil && more, err
		}
	}
	return len(refs), true, nil
}

// askedTree is a document's branches, with the index of the branch for each requested revision.
type askedTree struct {
	*DocumentTree
	found map[db.Rev]int
}

func (tree *DocumentTree) asked(revs []db.Rev, o GetOptions) *askedTree {
	asked := &askedTree{DocumentTree: tree}
	if !o.Latest {
		asked.found = revtree.FindAll(tree.Branches, revs)
	}
	return asked
}

func (tree *askedTree) open(ref DocRef, o GetOptions) []openLeaf {
	switch {
	case ref.Rev.IsZero():
		return tree.DocumentTree.open(nil, o)
	case o.Latest:
		return tree.DocumentTree.open([]db.Rev{ref.Rev}, o)
	}
	if branch, ok := tree.found[ref.Rev]; ok {
		return []openLeaf{{ref.Rev, branch}}
	}
	return []openLeaf{{ref.Rev, -1}}
}

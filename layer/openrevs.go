package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// OpenRevs reads several leaves: all of them, deleted ones too, when revs is nil. A revision in the history of a leaf is answered while its
// body is stored; with o.Latest the leaves that descend from it are answered in its place.
func (d *Database) OpenRevs(ctx context.Context, id string, revs []Rev, o GetOptions) ([]OpenRev, error) {
	return read(ctx, d, func(t *txn) ([]OpenRev, error) {
		if err := t.cfg.checkID(id); err != nil {
			return nil, err
		}
		r := t.Snapshot()
		tree, err := waitTree(readTree(r, t.keys, id), t.keys, id)
		if err != nil {
			return nil, err
		}
		reads := openBodies(r, t.keys, id, &tree, revs, o)
		answers := make([]OpenRev, len(reads))
		for i := range reads {
			body, found, err := reads[i].wait()
			if err != nil {
				return nil, err
			}
			if answers[i], err = tree.answer(r, t.keys, &reads[i], body, found, o); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

// openRead is one revision of an OpenRevs on its way.
type openRead struct {
	bodyRead
	branch int // -1: the document has no such revision
}

// openBodies starts reading the bodies that answer revs.
func openBodies(r kv.Reader, keys space, id string, tree *documentTree, revs []Rev, o GetOptions) []openRead {
	var reads []openRead
	add := func(rev Rev, branch int) {
		read := openRead{bodyRead{rev: rev, id: id}, branch}
		if branch >= 0 {
			read.bodyRead = readBody(r, keys, id, rev)
		}
		reads = append(reads, read)
	}
	if revs == nil {
		for i := len(tree.leaves) - 1; i >= 0; i-- {
			add(tree.leaves[i].rev, i)
		}
		return reads
	}
	done := map[Rev]bool{}
	for _, rev := range revs {
		if !o.Latest {
			if !done[rev] {
				done[rev] = true
				add(rev, revtree.Find(tree.branches, rev))
			}
			continue
		}
		found := false
		for i := len(tree.branches) - 1; i >= 0; i-- {
			if b := &tree.branches[i]; b.Contains(rev) {
				found = true
				if !done[b.Rev] {
					done[b.Rev] = true
					add(b.Rev, i)
				}
			}
		}
		if !found && !done[rev] {
			done[rev] = true
			add(rev, -1)
		}
	}
	return reads
}

func (o *openRead) wait() (storedBody, bool, error) {
	if o.branch < 0 {
		return storedBody{}, false, nil
	}
	return o.bodyRead.wait()
}

// answer makes the answer of a body that was read.
func (tree *documentTree) answer(r kv.Reader, keys space, read *openRead, body storedBody, found bool, o GetOptions) (OpenRev, error) {
	a := OpenRev{Rev: read.rev}
	if !found {
		return a, nil
	}
	a.Doc = body.document(read.id, read.rev)
	return a, tree.fill(r, keys, a.Doc, read.branch, o)
}

// BulkGet reads many documents, reads overlapped, in the order asked, streaming. A row without a revision answers every leaf, as CouchDB does.
// A row's error is of kind NotFound where there is no such document.
func (d *Database) BulkGet(ctx context.Context, refs []DocRef, o GetOptions) iter.Seq2[BulkGetRow, error] {
	return func(yield func(BulkGetRow, error) bool) {
		s, err := d.openStream(ctx)
		if err != nil {
			yield(BulkGetRow{}, err)
			return
		}
		defer s.close()
		const window = 32
		for len(refs) > 0 {
			part := refs[:min(window, len(refs))]
			done, more, err := s.bulkGet(part, o, yield)
			refs = refs[done:]
			if err != nil {
				err = s.renew(err)
			}
			if err != nil {
				yield(BulkGetRow{}, err)
				return
			}
			if !more {
				return
			}
			if s.old() {
				if err := s.renew(nil); err != nil {
					yield(BulkGetRow{}, err)
					return
				}
			}
		}
	}
}

// bulkGet answers refs until one fails or yield wants no more; done is how many were answered.
func (s *stream) bulkGet(refs []DocRef, o GetOptions, yield func(BulkGetRow, error) bool) (done int, more bool, err error) {
	rows := make([]kv.RangeIterator, len(refs))
	for i, ref := range refs {
		rows[i] = readTree(s.r, s.keys, ref.ID)
	}
	defer func() {
		for _, it := range rows {
			it.Close()
		}
	}()
	trees := make([]documentTree, len(refs))
	reads := make([][]openRead, len(refs))
	for i, ref := range refs {
		if trees[i], err = waitTree(rows[i], s.keys, ref.ID); err != nil {
			return 0, true, err
		}
		var revs []Rev
		if !ref.Rev.IsZero() {
			revs = []Rev{ref.Rev}
		}
		reads[i] = openBodies(s.r, s.keys, ref.ID, &trees[i], revs, o)
	}
	for i, ref := range refs {
		row := BulkGetRow{Ref: ref, Docs: make([]OpenRev, len(reads[i]))}
		if len(trees[i].leaves) == 0 && ref.Rev.IsZero() {
			row.Err = errMissing()
		}
		for j := range reads[i] {
			body, found, err := reads[i][j].wait()
			if err != nil {
				return i, true, err
			}
			if row.Docs[j], err = trees[i].answer(s.r, s.keys, &reads[i][j], body, found, o); err != nil {
				return i, true, err
			}
		}
		reads[i] = nil
		if !yield(row, nil) {
			return i + 1, false, nil
		}
	}
	return len(refs), true, nil
}

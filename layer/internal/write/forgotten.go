package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// Stemming forgets revisions whose bodies stay in the store until they are compacted. An edit that makes such a
// revision again has to find and replace its body, and a purge has to remove it. Both look for bodies of forgotten
// revisions only if some branch of the document does not know its whole history, so there must be none if every branch
// does. Usually there are none, because a branch that learns its history learns the forgotten revisions. But a client
// may send a history that differs from the original one. Then, when the last branch learns its history, bodies are left
// that no branch knows, and that edit removes them.

// dropForgotten removes the bodies of the revisions that no branch knows, and returns the attachments that they
// referred to. If known does not cover all branches, rest removes from a set the revisions that the other branches
// know.
func dropForgotten(t *db.Txn, id string, known func(db.Rev) bool,
	rest func(map[db.Rev]bool) error) ([]attach.AttachmentOf, error) {
	forgotten := map[db.Rev]bool{}
	err := eachBody(t, id, func(r db.Rev, _ []byte) error {
		if !known(r) {
			forgotten[r] = true
		}
		return nil
	})
	if err == nil && rest != nil && len(forgotten) > 0 {
		err = rest(forgotten)
	}
	if err != nil {
		return nil, err
	}
	reads := make(map[db.Rev]kv.Future[[]byte], len(forgotten))
	for r := range forgotten {
		reads[r] = t.Get(t.Close(t.Keys.Body(t.Open(), id, r, 0)))
	}
	var attachments []attach.AttachmentOf
	for r, read := range reads {
		first, err := read.Wait()
		if err != nil {
			return nil, err
		}
		list, err := attach.DropBody(t, id, r, first, false)
		if err != nil {
			return nil, err
		}
		attachments = append(attachments, list...)
	}
	return attachments, nil
}

// completes reports whether, after a merge, every branch knows its whole history, and one did not before.
func completes(before, after []revtree.Branch) bool {
	return slices.ContainsFunc(before, isPartial) && !slices.ContainsFunc(after, isPartial)
}

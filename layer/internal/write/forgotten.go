package write

import (
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// Stemming forgets revisions, and their bodies lie in the store until they are compacted. Who makes such a revision
// again has to find its body, which the new one replaces, and a purge has to remove it. Both look for bodies of
// forgotten revisions only where a branch of the document does not know its whole history. So a document of which every
// branch does must not have any. Mostly it has none, since a branch that learns its history learns the revisions that
// were forgotten. But a client may bring another history than the one that there was: then the last branch to learn its
// history leaves bodies behind that no branch knows, and the edit that brings it removes them.

// dropForgotten removes the bodies of the revisions that no branch knows, and returns the attachments that they
// referred to. Where known does not look at all branches, rest takes those revisions out of a set that the others know.
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
		list, err := attach.DropBody(t, id, r, first)
		if err != nil {
			return nil, err
		}
		attachments = append(attachments, list...)
	}
	return attachments, nil
}

// completes reports whether a merge has every branch know its whole history, where one did not.
func completes(before, after []revtree.Branch) bool {
	return slices.ContainsFunc(before, isPartial) && !slices.ContainsFunc(after, isPartial)
}

package docs

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// ReplicationDocs are the rules of _replicator databases. dbAdmin reports whether the user is an admin of the database.
type ReplicationDocs interface {
	// BeforeWrite checks a document, and returns its body as it is to be stored. The error is of kind Forbidden.
	BeforeWrite(body []byte, deleted bool, by layer.UserCtx, dbAdmin bool) ([]byte, error)
	// AfterRead returns a body as the user may see it.
	AfterRead(body []byte, by layer.UserCtx, dbAdmin bool) []byte
}

// admitReplication applies the rules of _replicator databases to an edit.
func (h *Handlers) admitReplication(q *call.Request, e *layer.Edit) error {
	if h.Replications == nil || !layer.IsReplicator(q.Path[0]) || isLocal(e.ID) || isDesign(e.ID) || e.Body == nil {
		return nil
	}
	admin, err := q.IsDatabaseAdmin()
	if err != nil {
		return err
	}
	body, err := h.Replications.BeforeWrite(e.Body, e.Deleted, *q.UserCtx(), admin)
	if err == nil {
		e.Body = body
	}
	return err
}

// screenReplication hides the passwords of a document in a _replicator database from those who do not own it.
func (h *Handlers) screenReplication(q *call.Request, doc *layer.Document) error {
	if h.Replications == nil || !layer.IsReplicator(q.Path[0]) || isLocal(doc.ID) || isDesign(doc.ID) {
		return nil
	}
	admin, err := q.IsDatabaseAdmin()
	if err != nil || admin {
		return err
	}
	if doc.Large != nil { // its body is not here to be changed
		return &layer.Error{Kind: layer.Forbidden, Name: "forbidden", Reason: "The document is too large to be shown."}
	}
	doc.Body = h.Replications.AfterRead(doc.Body, *q.UserCtx(), admin)
	return nil
}

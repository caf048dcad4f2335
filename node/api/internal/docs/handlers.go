package docs

import (
	"context"
	"log/slog"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/settings"
	"github.com/divandb/divan/node/docids"
)

// Handlers answer for single documents and their attachments.
type Handlers struct {
	Users Users
	// Replications are nil if no replications are run here.
	Replications ReplicationDocs
	Settings     *settings.Settings
	Limits       Limits
	Log          *slog.Logger
	// IDs chooses the ids of documents that are written without one.
	IDs *docids.IDs
}

// NewIDs returns what chooses ids as the options say.
func NewIDs(s *settings.Settings) *docids.IDs { return &docids.IDs{Option: s.Get} }

// Limits are the limits of what may be written.
type Limits struct {
	// Request bounds every body except attachments and multipart documents.
	Request int64
	// Multipart bounds a document and its attachments in a multipart body.
	Multipart int64
	// Document and Attachment bound one of each. The layer enforces them. Here they limit bodies that carry both.
	Document, Attachment int64
	// Bulk is how many documents one request may write or ask for.
	Bulk int
}

// Bulk answers for many documents at a time.
type Bulk struct{ Docs *Handlers }

// Users are the rules of databases of users. dbAdmin reports whether the user is an admin of that database.
type Users interface {
	// BeforeWrite refuses invalid or forbidden writes, and replaces a plain password in e.Body by its hash.
	BeforeWrite(ctx context.Context, database string, u call.User, dbAdmin bool, e *layer.Edit) error
	// AfterRead refuses doc (NotFound "missing", Forbidden) or removes what u may not see.
	AfterRead(u call.User, dbAdmin bool, doc *layer.Document) error
}

// Write stores one edit for the request's user.
func (h *Handlers) Write(q *call.Request, e layer.Edit) (layer.Rev, error) {
	if err := layer.ValidateID(e.ID); err != nil {
		return layer.Rev{}, err
	}
	return h.write(q, e, false)
}

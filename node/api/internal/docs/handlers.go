package docs

import (
	"context"
	"log/slog"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/settings"
)

// Handlers answer for documents and their attachments, one at a time.
type Handlers struct {
	Users    Users
	Settings *settings.Settings
	Limits   Limits
	Log      *slog.Logger

	ids uuids
}

// Limits bound what may be written.
type Limits struct {
	// Request bounds a body that is not an attachment.
	Request int64
	// Document and Attachment bound one of each. The layer holds them; they are here for bodies that carry both.
	Document, Attachment int64
	// Bulk is how many documents one request may write or ask for.
	Bulk int
}

// Bulk answer for many documents at a time.
type Bulk struct{ Docs *Handlers }

// Users are the rules of the _users database. dbAdmin is whether the user administers that database.
type Users interface {
	// BeforeWrite refuses what may not be written, validates, and replaces a clear password in e.Body by its hash.
	BeforeWrite(ctx context.Context, u call.User, dbAdmin bool, e *layer.Edit) error
	// AfterRead refuses (NotFound "missing", Forbidden) or narrows what u may see of doc.
	AfterRead(u call.User, dbAdmin bool, doc *layer.Document) error
}

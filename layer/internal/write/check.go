package write

import (
	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
)

// check returns the errors that can be found without reading from the store.
func check(b *batch, p *pendingEdit) error {
	t, e := b.t, p.e
	if err := db.ValidateID(e.ID); err != nil {
		return err
	}
	if db.IsLocal(e.ID) {
		return fault.Errf(fault.Invalid, "illegal_docid", "_local documents have no revisions")
	}
	if len(e.Body) > StateOf(t.Db.Store).MaxDocument {
		return fault.Errf(fault.TooLarge, "document_too_large", "%s", e.ID)
	}
	if err := t.Cfg.CheckID(e.ID); err != nil {
		return err
	}
	if db.IsDesign(e.ID) && !t.Cfg.Partitioned && gjson.GetBytes(e.Body, "options.partitioned").Type == gjson.True {
		return fault.Errf(fault.Invalid, "invalid_design_doc",
			"partitioned option cannot be true in a non-partitioned database.")
	}
	for i := range e.Attachments {
		a := &e.Attachments[i]
		if a.Follows && a.Upload == nil && !a.Stub {
			return fault.Errf(fault.Invalid, "bad_request", "the data of attachment %s is missing", a.Name)
		}
	}
	return nil
}

// maxTombstone is the maximum body size of a deletion that counts as making room.
const maxTombstone = 1 << 10

// deletesOnly reports whether all edits are small deletions.
func deletesOnly(ps []pendingEdit) bool {
	for i := range ps {
		if e := ps[i].e; !e.Deleted || len(e.Body) > maxTombstone || len(e.Attachments) > 0 {
			return false
		}
	}
	return true
}

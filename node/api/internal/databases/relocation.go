package databases

import (
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Endpoints for moving a database to another store (C8), used by `divan export` and `divan import`. They are for server
// admins.

// ExportDatabase answers GET /{db}/_export?from=POSITION with a file for ImportDatabase. A client that has checked what
// it received of an interrupted export (layer.ReadExport) can get the rest, from that position on.
//
// With skip_damaged=true the response is everything that can be read of a damaged database. It cannot be continued
// (layer.Store.Salvage).
func (h *Handlers) ExportDatabase(q *call.Request) error {
	salvage := false
	switch text := q.Params.Get("skip_damaged", "false"); text {
	case "true":
		salvage = true
	case "false":
	default:
		return fault.BadRequest("skip_damaged must be true or false")
	}
	var from *layer.ExportPosition
	if text := q.Params.Get("from", ""); text != "" {
		position, err := layer.ParseExportPosition(text)
		if err != nil {
			return err
		}
		from = &position
	}
	q.W.Header()["Content-Type"] = []string{"application/octet-stream"}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	export := func() error { return q.DB.Export(q.Ctx(), s, from) }
	if salvage {
		if from != nil {
			return fault.BadRequest("an export that leaves out damaged data cannot be continued")
		}
		export = func() error { return h.Store.Salvage(q.Ctx(), q.DB.Name(), s) }
	}
	if err := export(); err != nil {
		if !s.Sent {
			q.W.Header().Del("Content-Type")
		}
		return err
	}
	return s.End()
}

// ImportDatabase answers POST /{db}/_import: the body becomes the database. It is stored in a file until it has been
// checked as a whole. Nothing is written to the store before that.
func (h *Handlers) ImportDatabase(q *call.Request) (err error) {
	name := q.Path[0]
	if err := layer.ValidateName(name); err != nil {
		return err
	}
	switch _, err := h.Store.Database(q.Ctx(), name); {
	case err == nil: // reported before the body is sent to a client that asks first
		return &layer.Error{Kind: layer.Exists}
	case layer.KindOf(err) != layer.NotFound:
		return err
	}
	file, err := os.CreateTemp(h.Spool, "import-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Remove(file.Name()); err != nil { // the file disappears with the process, however that ends
		return err
	}
	if err := spoolExport(file, q.R.Body); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := h.Store.Import(q.Ctx(), name, file); err != nil {
		return err
	}
	if h.Imported != nil {
		h.Imported()
	}
	q.Location(name)
	return q.SendOK(http.StatusCreated)
}

// spoolExport writes an export to a file as it arrives, and refuses it at its first record if it is not an export.
func spoolExport(file *os.File, body io.Reader) error {
	_, err := layer.ReadExport(io.TeeReader(body, file))
	if errors.Is(err, layer.ErrExport) {
		return &layer.Error{Kind: layer.Invalid, Name: "bad_export", Reason: err.Error()}
	}
	return err
}

package api

import (
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/divandb/divan/layer"
)

// Moving a database to another store (C8): what `divan export` and `divan import` ask. For server admins.

// exportDatabase answers GET /{db}/_export?from=POSITION with a file that importDatabase takes. An answer that breaks off can be continued by who has
// checked what came (layer.ReadExport); its rest is what comes from the position on.
//
// With skip_damaged=true it is all that can be read of a damaged database, which cannot be continued
// (layer.Store.Salvage).
func (q *request) exportDatabase() error {
	salvage := false
	switch text := q.params.get("skip_damaged", "false"); text {
	case "true":
		salvage = true
	case "false":
	default:
		return badRequest("skip_damaged is true or false")
	}
	var from *layer.ExportPosition
	if text := q.params.get("from", ""); text != "" {
		position, err := layer.ParseExportPosition(text)
		if err != nil {
			return err
		}
		from = &position
	}
	q.w.Header()["Content-Type"] = []string{"application/octet-stream"}
	s := q.stream(http.StatusOK)
	defer s.drop()
	export := func() error { return q.db.Export(q.ctx(), s, from) }
	if salvage {
		if from != nil {
			return badRequest("an export that leaves out what is damaged cannot be continued")
		}
		export = func() error { return q.srv.o.Store.Salvage(q.ctx(), q.db.Name(), s) }
	}
	if err := export(); err != nil {
		if !s.sent {
			q.w.Header().Del("Content-Type")
		}
		return err
	}
	return s.end()
}

// importDatabase answers POST /{db}/_import: the body becomes the database. It is kept in a file until it has been checked as a whole; nothing is written
// to the store before that.
func (q *request) importDatabase() (err error) {
	name := q.path[0]
	if err := layer.ValidateName(name); err != nil {
		return err
	}
	switch _, err := q.srv.o.Store.Database(q.ctx(), name); {
	case err == nil: // told before the body is sent, to a client that asks first
		return &layer.Error{Kind: layer.Exists}
	case layer.KindOf(err) != layer.NotFound:
		return err
	}
	file, err := os.CreateTemp(q.srv.o.Spool, "import-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Remove(file.Name()); err != nil { // it is gone with the process, however that ends
		return err
	}
	if err := spoolExport(file, q.r.Body); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := q.srv.o.Store.Import(q.ctx(), name, file); err != nil {
		return err
	}
	if q.srv.o.Imported != nil {
		q.srv.o.Imported()
	}
	q.location(name)
	return q.sendOK(http.StatusCreated)
}

// spoolExport keeps an export as it comes, and refuses it where it is none at its first record.
func spoolExport(file *os.File, body io.Reader) error {
	_, err := layer.ReadExport(io.TeeReader(body, file))
	if errors.Is(err, layer.ErrExport) {
		return &layer.Error{Kind: layer.Invalid, Name: "bad_export", Reason: err.Error()}
	}
	return err
}

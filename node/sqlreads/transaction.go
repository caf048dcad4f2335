package sqlreads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/query/exec"
)

// transaction implements exec.Transaction over a snapshot. The layer keeps its writes; this type records its reads and
// shows them its writes.
type transaction struct {
	*database // of the snapshot
	x         *layer.Transaction
	// past is set if only the writes up to mark are shown.
	past bool
	mark int
}

// Begin implements exec.Writable.
func (s snapshot) Begin() (exec.Transaction, error) {
	if s.ReadOnly() {
		return nil, &exec.ReadError{Kind: exec.Forbidden,
			Message: fmt.Sprintf("documents of %q are written over HTTP", s.name)}
	}
	x, err := s.pin.live.Begin(s.db, &s.catalog.user)
	if err != nil {
		return nil, Error(err)
	}
	return &transaction{database: s.database, x: x}, nil
}

// Repeat runs f again with the pauses of the store's transactions.
func (d *database) Repeat(ctx context.Context, f func() (again bool, err error)) error {
	return layer.Repeat(ctx, f)
}

// At implements exec.Transaction.
func (t *transaction) At(mark int) exec.Database {
	return &transaction{database: t.database, x: t.x, past: true, mark: mark}
}

// own returns a document with writes that are shown.
func (t *transaction) own(id string) (layer.OwnState, bool) {
	if t.past {
		return t.x.OwnAt(id, t.mark)
	}
	return t.x.Own(id)
}

// Document implements exec.Database.
func (t *transaction) Document(ctx context.Context, id string, withDoc bool, row *exec.Row) (bool, error) {
	if own, ok := t.own(id); ok {
		return t.ownRow(own, withDoc, row), nil
	}
	if !strings.HasPrefix(id, localPrefix) {
		t.x.Reads().Document(id)
	}
	return t.database.Document(ctx, id, withDoc, row)
}

// Count implements exec.Counter.
func (t *transaction) Count(ctx context.Context, noDesigns bool) (int64, error) {
	t.x.Reads().Range("", "")
	n, err := t.database.Count(ctx, noDesigns)
	for _, id := range t.x.OwnIDs() {
		if err != nil {
			return 0, err
		}
		own, ok := t.own(id)
		if !ok {
			continue
		}
		var row exec.Row
		var before bool
		if before, err = t.database.Document(ctx, id, false, &row); before {
			n--
		}
		if own.Doc != nil {
			n++
		}
	}
	return n, err
}

// ownRow sets row to a document with own writes. It returns false if the document is deleted.
func (t *transaction) ownRow(own layer.OwnState, withDoc bool, row *exec.Row) bool {
	if own.Doc == nil {
		return false
	}
	*row = exec.Row{ID: own.ID, Rev: own.Rev.String()}
	if withDoc {
		row.Doc = body(own.Doc)
	}
	return true
}

// AllDocs implements exec.Database.
func (t *transaction) AllDocs(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	if read.IDs == nil {
		t.x.Reads().Range(read.Low, read.High)
	}
	for _, id := range read.IDs {
		t.x.Reads().Document(id)
	}
	own := t.ownRows(read)
	if len(own) == 0 {
		return t.database.AllDocs(ctx, read)
	}
	stored := read
	if stored.Skip = 0; read.Limit > 0 {
		stored.Limit = read.Limit + read.Skip + int64(len(own)) // so many rows may be dropped
	}
	rows, err := t.database.AllDocs(ctx, stored)
	if err != nil {
		return nil, err
	}
	return &merged{rows: rows, own: own, read: read}, nil
}

// ownRows returns the documents with own writes that a read covers, in its order. Those that are deleted have no
// revision.
func (t *transaction) ownRows(read exec.DocsRead) []exec.Row {
	var out []exec.Row
	for _, id := range t.x.OwnIDs() {
		own, ok := t.own(id)
		if !ok || read.IDs == nil && (id < read.Low || read.High != "" && id >= read.High) {
			continue
		}
		row := exec.Row{ID: id}
		t.ownRow(own, read.WithDoc, &row)
		out = append(out, row)
	}
	if read.IDs != nil {
		wanted := make(map[string]bool, len(read.IDs))
		for _, id := range read.IDs {
			wanted[id] = true
		}
		out = slices.DeleteFunc(out, func(r exec.Row) bool { return !wanted[r.ID] })
	}
	slices.SortFunc(out, func(a, b exec.Row) int { return compareIDs(a.ID, b.ID, read.Descending) })
	return out
}

func compareIDs(a, b string, descending bool) int {
	if descending {
		a, b = b, a
	}
	return strings.Compare(a, b)
}

// merged streams stored rows and own rows by id. An own row replaces the stored one.
type merged struct {
	rows    exec.Rows
	own     []exec.Row
	read    exec.DocsRead
	next    exec.Row // of rows, if held is set
	held    bool
	ended   bool
	skipped int64
	given   int64
}

// Next implements exec.Rows.
func (m *merged) Next(ctx context.Context, row *exec.Row) error {
	for {
		if m.read.Limit > 0 && m.given >= m.read.Limit {
			return io.EOF
		}
		if !m.held && !m.ended {
			err := m.rows.Next(ctx, &m.next)
			if m.held, m.ended = err == nil, errors.Is(err, io.EOF); err != nil && !m.ended {
				return err
			}
		}
		order := -1 // the stored row is first
		switch {
		case len(m.own) == 0 && !m.held:
			return io.EOF
		case !m.held:
			order = 1
		case len(m.own) > 0:
			order = compareIDs(m.next.ID, m.own[0].ID, m.read.Descending)
		}
		if order < 0 {
			*row, m.held = m.next, false
		} else {
			*row, m.own, m.held = m.own[0], m.own[1:], m.held && order > 0
			if row.Rev == "" {
				continue
			}
		}
		if m.skipped < m.read.Skip {
			m.skipped++
			continue
		}
		m.given++
		return nil
	}
}

// Skipped implements exec.Skipper.
func (m *merged) Skipped() int64 { return m.skipped }

// Close implements exec.Rows.
func (m *merged) Close() error { return m.rows.Close() }

// others records a read of anything but documents. It returns an error if the transaction has written, because the read
// would not show that.
func (t *transaction) others(what string) error {
	if t.x.Wrote() && (!t.past || t.mark > 0) {
		return &exec.ReadError{Kind: exec.Unsupported, Message: what +
			" cannot be read in a transaction that has written documents: they show its writes after COMMIT"}
	}
	t.x.Reads().Everything()
	return nil
}

// LocalDocs implements exec.Database.
func (t *transaction) LocalDocs(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	t.x.Reads().Everything()
	return t.database.LocalDocs(ctx, read)
}

// Conflicts implements exec.Database.
func (t *transaction) Conflicts(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	if err := t.others("conflicts"); err != nil {
		return nil, err
	}
	return t.database.Conflicts(ctx, read)
}

// Changes implements exec.Database.
func (t *transaction) Changes(ctx context.Context, read exec.ChangesRead) (exec.Rows, error) {
	if err := t.others("changes"); err != nil {
		return nil, err
	}
	return t.database.Changes(ctx, read)
}

// View implements exec.Database.
func (t *transaction) View(ctx context.Context, read exec.ViewRead) (exec.Rows, error) {
	if err := t.others("views"); err != nil {
		return nil, err
	}
	return t.database.View(ctx, read)
}

// Reduce implements exec.Reducer.
func (t *transaction) Reduce(ctx context.Context, read exec.ReduceRead) (exec.Rows, error) {
	if err := t.others("views"); err != nil {
		return nil, err
	}
	return t.database.Reduce(ctx, read)
}

// Mark implements exec.Transaction.
func (t *transaction) Mark() int { return t.x.Mark() }

// RollBack implements exec.Transaction.
func (t *transaction) RollBack(mark int) { t.x.RollBack(mark) }

// Wrote implements exec.Transaction.
func (t *transaction) Wrote() bool { return t.x.Wrote() }

// Write implements exec.Transaction.
func (t *transaction) Write(ctx context.Context, edits []exec.Edit) ([]exec.Written, error) {
	list := make([]layer.Edit, len(edits))
	ids := make(map[string]bool, len(edits))
	for i := range edits {
		var err error
		if list[i], err = t.edit(&edits[i]); err != nil {
			return nil, err
		}
		if ids[list[i].ID] {
			return nil, exists(list[i].ID)
		}
		ids[list[i].ID] = true
	}
	revs, err := t.x.Write(ctx, list)
	if layer.KindOf(err) == layer.Conflict {
		return nil, t.conflict(ctx, list, err)
	}
	if err != nil {
		return nil, writeError(err)
	}
	out := make([]exec.Written, len(list))
	for i := range list {
		out[i] = exec.Written{ID: list[i].ID, Rev: revs[i].String()}
		if own, _ := t.x.Own(list[i].ID); !list[i].Deleted {
			out[i].Doc = body(own.Doc)
		}
	}
	return out, nil
}

// edit converts an edit for the layer.
func (t *transaction) edit(in *exec.Edit) (out layer.Edit, err error) {
	if in.Deleted {
		out.Deleted, out.Body = true, []byte("{}")
	} else if out, err = layer.ParseEdit(in.Doc, false); err != nil {
		return out, writeError(err)
	} else if out.Deleted {
		return out, refused("a document is deleted by DELETE, not by its member _deleted", "")
	}
	var current layer.Rev
	if in.Rev != "" {
		if current, err = revtree.ParseRev(in.Rev); err != nil {
			return out, writeError(err)
		}
	}
	switch {
	case in.ID != "" && out.ID != "" && out.ID != in.ID:
		return out, refused(fmt.Sprintf("the document's member _id is %q, but its id is %q", out.ID, in.ID),
			withoutRevision)
	case in.ID == "" && out.ID == "":
		in.ID = t.source.IDs.Next()
	case in.ID == "":
		in.ID = out.ID
	}
	switch {
	case !out.Rev.IsZero() && current.IsZero():
		return out, refused(fmt.Sprintf("the new document %q has a revision, by its member _rev or _revisions", in.ID),
			withoutRevision)
	case !out.Rev.IsZero() && out.Rev != current:
		return out, &exec.ReadError{Kind: exec.Stale, Message: fmt.Sprintf("document update conflict: the document's "+
			"member _rev is %q, but the revision of %q is %q", out.Rev, in.ID, in.Rev)}
	}
	out.ID, out.Rev = in.ID, current
	switch {
	case strings.HasPrefix(out.ID, designPrefix):
		return out, &exec.ReadError{Kind: exec.Unsupported, Message: "design documents are written over HTTP",
			Hint: putHint}
	case strings.HasPrefix(out.ID, localPrefix):
		return out, &exec.ReadError{Kind: exec.Unsupported, Message: "local documents are written over HTTP",
			Hint: putHint}
	}
	out.KeepAttachments = out.Attachments == nil && !out.Deleted && !current.IsZero()
	return out, nil
}

const (
	putHint         = "PUT the document over HTTP."
	withoutRevision = "To copy a document, insert doc - '_id' - '_rev'."
)

func refused(message, hint string) error {
	return &exec.ReadError{Kind: exec.Refused, Message: message, Hint: hint}
}

func exists(id string) error {
	return &exec.ReadError{Kind: exec.Exists, Message: fmt.Sprintf("Key (id)=(%s) already exists.", id)}
}

// conflict returns the error of edits that have met a conflict: a document that exists already, or, which only a
// document without that winner can cause, another revision.
func (t *transaction) conflict(ctx context.Context, edits []layer.Edit, err error) error {
	for i := range edits {
		if !edits[i].Rev.IsZero() {
			continue
		}
		var row exec.Row
		found, readErr := t.Document(ctx, edits[i].ID, false, &row)
		if readErr != nil {
			return readErr
		}
		if found {
			return exists(edits[i].ID)
		}
	}
	return writeError(err)
}

// Commit implements exec.Transaction.
func (t *transaction) Commit(ctx context.Context) error { return writeError(t.x.Commit(ctx)) }

// writeError is Error for writes.
func writeError(err error) error {
	kind := exec.Refused
	switch layer.KindOf(err) {
	case layer.Forbidden, layer.Invalid, layer.FunctionFailed:
	case layer.Conflict:
		kind = exec.Stale
	default:
		switch {
		case err == nil:
			return nil
		case layer.CommitUnknown(err):
			kind = exec.Unknown
		case errors.Is(err, layer.ErrTooOld):
			kind = exec.Overdue
		case is(err, layer.TooLarge):
			return tooLarge(err)
		default:
			return Error(err)
		}
	}
	re := &exec.ReadError{Kind: kind, Err: err, Message: err.Error()}
	var e *layer.Error
	if errors.As(err, &e) && e.Reason != "" {
		re.Message = e.Reason
	}
	return re
}

// tooLarge is Error for a document or transaction that is too large. CouchDB's reason is only the document's id.
func tooLarge(err error) error {
	out := Error(err)
	var e *layer.Error
	var re *exec.ReadError
	if errors.As(err, &e) && errors.As(out, &re) && e.Name == "document_too_large" {
		re.Message = fmt.Sprintf("the document %q is too large", e.Reason)
	}
	return out
}

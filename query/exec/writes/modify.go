// Package writes runs INSERT, UPDATE and DELETE. It reads all rows of a statement's source before it writes the first,
// so that no statement sees its own writes.
package writes

import (
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Modify is the plan of a statement that writes documents. Open writes them; the rows are those of RETURNING, which is
// computed by then.
type Modify struct {
	Node string // for EXPLAIN, such as "Update on docs"
	// Source returns the rows; see the types of Kind.
	Source exec.Plan
	Kind   Kind
	// Returning computes the result from rows of Work, which has Width columns and begins with those of the relation;
	// nil without RETURNING.
	Returning exec.Plan
	Work      *exec.WorkTable
	Width     int

	affected int64
	out      *spill.List
	scan     *spill.Scan
	outer    *exec.Env
}

// Kind is *Insert, *Update or *Delete.
type Kind interface {
	// collect reads the source and returns the edits. The first columns of their rows are set when they are written.
	collect(m *Modify, env *exec.Env) (*edits, error)
	// children returns further plans, for EXPLAIN.
	details(d *exec.Description)
}

// columns are the columns of the relation: id, rev, doc.
const (
	colID = iota
	colRev
	colDoc
	columns
)

// edits are what a statement writes.
type edits struct {
	list []exec.Edit
	rows [][]types.Datum // for RETURNING; nil without
	size int64
	env  *exec.Env
}

// maxEdits is the size of the documents of a statement, in bytes, from which on it is refused before the store does so.
const maxEdits = 10_000_000

const tooMuch = "A transaction of the store has 10 MB at most, and a document 8 MB. Write in several transactions."

// editSize is the approximate memory of an edit without its document.
const editSize = 200

// add adds an edit. row is the row for RETURNING, which is copied; nil if it has only the relation's columns.
func (e *edits) add(m *Modify, edit exec.Edit, row []types.Datum) error {
	n := int64(len(edit.Doc)) + int64(len(edit.ID))
	if e.size += n; e.size > maxEdits {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "the statement writes more than %d bytes", maxEdits).
			WithHint(tooMuch)
	}
	if err := e.env.Hold(n + editSize); err != nil {
		return err
	}
	e.list = append(e.list, edit)
	if m.Returning == nil {
		return nil
	}
	kept := make([]types.Datum, m.Width)
	copy(kept, row)
	if err := e.env.Hold(exec.RowSize(kept)); err != nil {
		return err
	}
	e.rows = append(e.rows, kept)
	return nil
}

// batch is how many edits are checked together.
const batch = 500

// Open implements exec.Plan.
func (m *Modify) Open(outer *exec.Env) error {
	tx := outer.Tx
	if tx == nil {
		return sqlstate.New(sqlstate.InternalError, "no transaction to write in")
	}
	m.outer = outer
	mark := tx.Mark()
	err := m.write(tx, outer)
	if err != nil {
		tx.RollBack(mark)
	}
	return err
}

func (m *Modify) write(tx exec.Transaction, outer *exec.Env) error {
	e, err := m.Kind.collect(m, outer)
	m.Source.Close()
	if err != nil {
		return err
	}
	m.affected = int64(len(e.list))
	for from := 0; from < len(e.list); from += batch {
		part := e.list[from:min(from+batch, len(e.list))]
		written, err := tx.Write(outer.Ctx, part)
		if exec.KindOf(err) == exec.TooLarge {
			return sqlstate.From(exec.StoreError(err)).WithHint(tooMuch)
		}
		if err != nil {
			return exec.StoreError(err)
		}
		if err := outer.Step(len(part)); err != nil {
			return err
		}
		for i, w := range written {
			if m.Returning == nil {
				break
			}
			row := e.rows[from+i]
			row[colID], row[colRev] = types.NewText(w.ID), types.NewText(w.Rev)
			if w.Doc != nil {
				row[colDoc] = types.NewJSON(w.Doc)
			}
			if part[i].Deleted {
				row[colRev] = types.NewText(part[i].Rev) // the row that has been deleted
			}
		}
	}
	return m.compute(e, outer)
}

// compute computes RETURNING for all rows, so that an error in it undoes the statement.
func (m *Modify) compute(e *edits, outer *exec.Env) error {
	if m.Returning == nil {
		return nil
	}
	rows := outer.Spill.NewList(m.Width)
	for _, row := range e.rows {
		if err := rows.Append(row); err != nil {
			return err
		}
	}
	outer.SetWork(m.Work, rows)
	defer m.Returning.Close()
	if err := m.Returning.Open(outer); err != nil {
		return err
	}
	for {
		row, err := m.Returning.Next()
		if errors.Is(err, io.EOF) {
			m.scan = m.out.Scan()
			return nil
		}
		if err != nil {
			return err
		}
		if m.out == nil {
			m.out = outer.Spill.NewList(len(row))
		}
		if err := m.out.Append(row); err != nil {
			return err
		}
	}
}

// Tag returns the command tag of a statement that has written some documents.
func Tag(verb string, rows int64) string {
	if verb == "INSERT" {
		verb = "INSERT 0"
	}
	return verb + " " + strconv.FormatInt(rows, 10)
}

// Affected returns the number of documents that were written.
func (m *Modify) Affected() int64 { return m.affected }

// Next implements exec.Plan.
func (m *Modify) Next() ([]types.Datum, error) {
	if m.scan == nil {
		return nil, io.EOF
	}
	return m.scan.Next()
}

// Close implements exec.Plan.
func (m *Modify) Close() {
	m.Source.Close()
	m.scan.Close()
	m.out.Free()
	m.scan, m.out = nil, nil
	if m.outer != nil && m.Work != nil {
		m.outer.SetWork(m.Work, nil)
	}
}

// Describe implements exec.Plan.
func (m *Modify) Describe() *exec.Description {
	d := &exec.Description{Node: m.Node, Rows: m.affected, Examined: -1,
		Children: []*exec.Description{m.Source.Describe()}}
	m.Kind.details(d)
	return d
}

// each calls f for all rows of the source. The rows are valid until f returns.
func (m *Modify) each(outer *exec.Env, f func(row []types.Datum) error) error {
	if err := m.Source.Open(outer); err != nil {
		return err
	}
	for {
		row, err := m.Source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
}

// Update writes a new text of each document of the source, whose rows are the text, the other values that are assigned,
// then the columns of the relation, then others.
type Update struct{ Assigned }

// Assigned are the values that a statement assigns besides the text: an id, then a revision. They must be those that
// the document has.
type Assigned struct {
	// IDOff and RevOff are their positions in the assignments, 0 for none.
	IDOff, RevOff int
}

// count returns the number of the values.
func (a Assigned) count() int { return min(a.IDOff, 1) + min(a.RevOff, 1) }

// check returns an error if the values are not those of the document that is changed. A revision that is NULL is
// computed, like DEFAULT: some clients do not know it, and write all columns.
func (a Assigned) check(values []types.Datum, edit *exec.Edit) error {
	if a.IDOff > 0 {
		switch d := values[0]; {
		case d.IsNull():
			return null("id", types.Null, types.NewText(edit.Rev), types.NewJSON(edit.Doc))
		case d.S != edit.ID:
			return sqlstate.Unsupported(a.IDOff, "INSERT the document under the new id, and DELETE the old one.",
				"changing the id of a document is not supported")
		}
		values = values[1:]
	}
	if a.RevOff == 0 || values[0].IsNull() || values[0].S == edit.Rev {
		return nil
	}
	if !revision.MatchString(values[0].S) {
		return generated(`column "rev" can only be updated to DEFAULT`).At(a.RevOff)
	}
	return sqlstate.New(sqlstate.SerializationFailure, "document update conflict: the revision of %s is %s, not %s",
		edit.ID, edit.Rev, values[0].S).At(a.RevOff)
}

var revision = regexp.MustCompile("^[0-9]+-.")

// generated returns the error of a value for rev.
func generated(message string) *sqlstate.Error {
	return sqlstate.New(sqlstate.GeneratedAlways, "%s", message).
		WithDetail(`Column "rev" is a generated column.`)
}

func (*Update) details(*exec.Description) {}

func (u *Update) collect(m *Modify, env *exec.Env) (*edits, error) {
	return changed(m, env, &u.Assigned)
}

// Delete deletes each document of the source, whose rows are the columns of the relation, then others.
type Delete struct{}

func (*Delete) details(*exec.Description) {}

func (*Delete) collect(m *Modify, env *exec.Env) (*edits, error) { return changed(m, env, nil) }

// changed collects the edits of existing documents: updates with the values that are assigned, or deletions if a is
// nil. A document that the source has several times is changed by the first of its rows, as in PostgreSQL.
func changed(m *Modify, env *exec.Env, a *Assigned) (*edits, error) {
	e := &edits{env: env}
	at := 0 // where the columns of the relation begin
	if a != nil {
		at = 1 + a.count()
	}
	seen := map[string]bool{}
	err := m.each(env, func(row []types.Datum) error {
		id := row[at+colID].S
		if seen[id] {
			return nil
		}
		seen[id] = true
		edit := exec.Edit{ID: id, Rev: row[at+colRev].S, Deleted: a == nil}
		if a != nil {
			var err error
			if err = a.check(row[1:at], &edit); err == nil {
				edit.Doc, err = text(row[at+colID], row[at+colRev], row[0])
			}
			if err != nil {
				return err
			}
		}
		return e.add(m, edit, row[at:])
	})
	return e, err
}

// text returns the text of the document of a new row.
func text(id, rev, doc types.Datum) ([]byte, error) {
	if doc.IsNull() {
		return nil, null("doc", id, rev, doc)
	}
	return []byte(doc.S), nil
}

// null returns the error of a NULL in a column of a new row, of which PostgreSQL shows the beginning of each value.
func null(column string, row ...types.Datum) error {
	values := make([]string, len(row))
	for i, d := range row {
		switch {
		case d.IsNull():
			values[i] = "null"
		case len(d.S) > maxShown:
			values[i] = types.Truncate(d.S, maxShown) + "..."
		default:
			values[i] = d.S
		}
	}
	return sqlstate.Null(column).WithDetail("Failing row contains (%s).", strings.Join(values, ", "))
}

// maxShown is the number of bytes of a value in an error.
const maxShown = 64

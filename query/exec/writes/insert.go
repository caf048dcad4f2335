package writes

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Insert writes the rows of the source as new documents.
type Insert struct {
	// ID and Doc are the columns of the source; -1 if it has none: then the id is chosen, and the document empty. Rev
	// is the column of a revision, which can only be NULL; -1 if there is none.
	ID, Rev, Doc int
	// Choose is the column that says whether the id is to be chosen; -1 if there is none.
	Choose int
	// Casts are the types that id and document are cast from, 0 for none.
	Casts [2]types.OID
	// OnConflict allows existing ids. Conflict computes, over rows of Work, the new document, whether it is to be
	// written, and the other values that are assigned; nil if these rows are left out.
	OnConflict bool
	Assigned
	Conflict exec.Plan
	Work     *exec.WorkTable
}

func (n *Insert) details(d *exec.Description) {
	switch {
	case n.Conflict != nil:
		d.Add("Conflict Resolution", "UPDATE")
	case n.OnConflict:
		d.Add("Conflict Resolution", "NOTHING")
	default:
		return
	}
	d.Add("Conflict Arbiter Indexes", "docs_pkey")
}

// row is a row to be inserted.
type row struct {
	id  string // "" if it is to be chosen
	doc types.Datum
}

func (n *Insert) collect(m *Modify, env *exec.Env) (*edits, error) {
	e := &edits{env: env}
	var pending []row // of ON CONFLICT, whose existing documents are looked up together
	proposed := map[string]bool{}
	flush := func() error {
		err := n.resolve(m, e, pending, proposed)
		pending = pending[:0]
		return err
	}
	err := m.each(env, func(values []types.Datum) error {
		r, err := n.row(env, values)
		if err != nil {
			return err
		}
		if !n.OnConflict || r.id == "" {
			return n.insert(m, e, r, proposed)
		}
		if err := env.Value(int64(len(r.doc.S))); err != nil {
			return err
		}
		if pending = append(pending, r); len(pending) < batch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return e, err
}

// row reads a row of the source.
func (n *Insert) row(env *exec.Env, values []types.Datum) (r row, err error) {
	r.doc = types.NewJSONText("{}")
	if n.Rev >= 0 && !values[n.Rev].IsNull() {
		return r, generated(`cannot insert a non-DEFAULT value into column "rev"`)
	}
	if n.Doc >= 0 {
		if r.doc, err = n.cast(env, values[n.Doc], 1, types.JSONB); err != nil {
			return r, err
		}
	}
	if n.ID < 0 || n.Choose >= 0 && values[n.Choose].True() {
		return r, nil
	}
	id, err := n.cast(env, values[n.ID], 0, types.Text)
	switch {
	case err != nil:
		return r, err
	case id.IsNull():
		return r, null("id", types.Null, types.Null, r.doc)
	case id.S == "":
		return r, sqlstate.New(sqlstate.CheckViolation, "Document id must not be empty")
	}
	if r.id = id.S; n.OnConflict && r.doc.IsNull() {
		return r, null("doc", id, types.Null, r.doc) // also of a row that would be left out
	}
	return r, nil
}

// Check returns the error of a row with an id or a document that cannot be written, if their values need no cast.
func (n *Insert) Check(values []types.Datum) error {
	r, err := n.row(nil, values)
	if err == nil {
		_, err = text(types.NewText(r.id), types.Null, r.doc)
	}
	return err
}

// cast casts the value of an id or a document.
func (n *Insert) cast(env *exec.Env, d types.Datum, i int, to types.OID) (types.Datum, error) {
	if n.Casts[i] == 0 {
		return d, nil
	}
	return exec.CastDatum(env, d, n.Casts[i], to, -1)
}

// insert adds an edit of a new document. The store refuses one that exists.
func (n *Insert) insert(m *Modify, e *edits, r row, proposed map[string]bool) error {
	if r.id != "" {
		if proposed[r.id] {
			return sqlstate.DuplicateID(r.id)
		}
		proposed[r.id] = true
	}
	doc, err := text(types.NewText(r.id), types.Null, r.doc)
	if err != nil {
		return err
	}
	return e.add(m, exec.Edit{ID: r.id, Doc: doc}, nil)
}

// resolve decides for rows of ON CONFLICT whether they are inserted, change an existing document, or are left out.
// proposed has the ids of the rows before.
func (n *Insert) resolve(m *Modify, e *edits, rows []row, proposed map[string]bool) error {
	if len(rows) == 0 {
		return nil
	}
	stored, err := n.existing(e.env, rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if proposed[r.id] {
			if n.Conflict == nil {
				continue
			}
			return sqlstate.New(sqlstate.CardinalityViolation,
				"ON CONFLICT DO UPDATE command cannot affect row a second time").
				WithHint("Ensure that no rows proposed for insertion within the same command have duplicate " +
					"constrained values.")
		}
		old, there := stored[r.id]
		switch {
		case !there:
			if err := n.insert(m, e, r, proposed); err != nil {
				return err
			}
		case n.Conflict != nil:
			edit, write, err := n.update(e.env, &old, r)
			if err != nil {
				return err
			}
			if !write {
				continue // and another row may change it
			}
			proposed[r.id] = true
			if err := e.add(m, edit, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// existing reads the documents that rows would conflict with, by id.
func (n *Insert) existing(env *exec.Env, rows []row) (map[string]exec.Row, error) {
	ids := map[string]bool{}
	for _, r := range rows {
		ids[r.id] = true
	}
	found, err := env.Tx.AllDocs(env.Ctx, exec.DocsRead{IDs: slices.Sorted(maps.Keys(ids)), WithRev: true,
		WithDoc: n.Conflict != nil})
	if err != nil {
		return nil, exec.StoreError(err)
	}
	defer found.Close()
	out := map[string]exec.Row{}
	for {
		var r exec.Row
		err := found.Next(env.Ctx, &r)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, exec.StoreError(err)
		}
		if err := env.Value(int64(len(r.Doc))); err != nil {
			return nil, err
		}
		out[r.ID] = r
	}
}

// update computes DO UPDATE for a row whose id exists.
func (n *Insert) update(env *exec.Env, old *exec.Row, r row) (edit exec.Edit, write bool, err error) {
	work := env.Spill.NewList(2 * columns)
	err = work.Append([]types.Datum{types.NewText(old.ID), types.NewText(old.Rev), types.NewJSON(old.Doc),
		types.NewText(r.id), types.Null, r.doc})
	if err != nil {
		return edit, false, err
	}
	env.SetWork(n.Work, work)
	defer func() {
		n.Conflict.Close()
		env.SetWork(n.Work, nil)
	}()
	if err := n.Conflict.Open(env); err != nil {
		return edit, false, err
	}
	values, err := n.Conflict.Next()
	if err != nil {
		return edit, false, err
	}
	if !values[1].True() {
		return edit, false, nil
	}
	edit = exec.Edit{ID: old.ID, Rev: old.Rev}
	if err = n.check(values[2:], &edit); err == nil {
		edit.Doc, err = text(types.NewText(old.ID), types.NewText(old.Rev), values[0])
	}
	return edit, true, err
}

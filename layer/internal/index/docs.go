package index

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// docWindow holds back the rows of a view response while their documents are read, so that the reads of several rows
// overlap.
type docWindow struct {
	s         *rev.Stream
	include   bool
	conflicts bool
	rows      []ViewRow
	after     []ViewCursor // the cursor after each of rows
	bytes     int          // size of the last window's documents
	answered  *ViewCursor  // the cursor after the last row that was yielded
}

// The window grows from firstWindowRows to docWindowRows rows, so that the first row is answered early and long
// responses read many documents at once.
const (
	firstWindowRows = 8
	docWindowRows   = 128
)

// NewDocWindow returns a window that sets *answered after each row that it yields.
func NewDocWindow(s *rev.Stream, include, conflicts bool, answered *ViewCursor) *docWindow {
	w := &docWindow{s: s, include: include, conflicts: conflicts, answered: answered}
	w.grow(firstWindowRows)
	return w
}

func (w *docWindow) grow(n int) {
	w.rows, w.after = make([]ViewRow, 0, n), make([]ViewCursor, 0, n)
}

// Holds reports whether any rows are held back.
func (w *docWindow) Holds() bool { return len(w.rows) > 0 }

// Push yields a row, at once or with its window. after is the cursor after the row. It returns false if yield did.
// After a retryable error the transaction has ended, and the rows held back are lost.
func (w *docWindow) Push(row ViewRow, after ViewCursor, yield func(ViewRow, error) bool) (bool, error) {
	if !w.include {
		more := yield(row, nil)
		*w.answered = after
		return more, nil
	}
	row.Key, row.Value = slices.Clone(row.Key), slices.Clone(row.Value) // the iterator reuses their memory
	w.rows, w.after = append(w.rows, row), append(w.after, after)
	if len(w.rows) < cap(w.rows) {
		return true, nil
	}
	more, err := w.Flush(yield)
	switch n := cap(w.rows); {
	case w.bytes > 4*alldocs.WindowBytes && n > 1:
		w.grow(n / 2)
	case w.bytes < alldocs.WindowBytes && n < docWindowRows:
		w.grow(2 * n)
	}
	return more, err
}

// Flush reads the documents of the rows held back, and yields the rows.
func (w *docWindow) Flush(yield func(ViewRow, error) bool) (bool, error) {
	rows := w.rows
	w.rows, w.bytes = w.rows[:0], 0
	if err := w.load(rows); err != nil {
		return false, err
	}
	for i, row := range rows {
		more := yield(row, nil)
		*w.answered = w.after[i]
		if !more {
			return false, nil
		}
	}
	w.after = w.after[:0]
	return true, nil
}

// linked returns the document that the row refers to: the one named by _id and _rev in its value, or the one that
// emitted it.
func (row *ViewRow) linked() (id string, rev db.Rev) {
	id = row.ID
	if len(row.Value) == 0 || row.Value[0] != '{' {
		return id, db.Rev{}
	}
	if v := gjson.GetBytes(row.Value, "_id"); v.Type == gjson.String {
		id = v.Str
	}
	if v := gjson.GetBytes(row.Value, "_rev"); v.Type == gjson.String {
		if r, err := revtree.ParseRev(v.Str); err == nil {
			rev = r
		}
	}
	return id, rev
}

func (w *docWindow) load(rows []ViewRow) error {
	r, keys := w.s.R, w.s.Keys
	ids := make([]string, len(rows))
	revs := make([]db.Rev, len(rows))
	winners := make([]kv.Future[[]byte], len(rows))
	for i := range rows {
		if ids[i], revs[i] = rows[i].linked(); revs[i].IsZero() {
			winners[i] = r.Get(keys.Doc(nil, keyspace.AllDocs, ids[i]))
		}
	}
	bodies := make([]rev.BodyRead, len(rows))
	for i := range rows {
		if winners[i] != nil {
			value, err := winners[i].Wait()
			if err != nil {
				return err
			}
			if value == nil {
				continue
			}
			if revs[i], err = db.ParseRevPair(value); err != nil {
				return db.Corrupt("list of documents", err)
			}
		}
		bodies[i] = rev.ReadBody(r, keys, ids[i], revs[i])
		bodies[i].Large = w.s.LargeReads()
	}
	for i := range rows {
		if bodies[i].First == nil {
			continue
		}
		stored, found, err := bodies[i].Wait()
		if err != nil {
			return err
		}
		if !found || stored.Deleted {
			continue
		}
		w.bytes += stored.Held()
		rows[i].Doc = stored.Document(ids[i], revs[i])
		if w.conflicts {
			if err := rev.AddConflicts(r, keys, rows[i].Doc); err != nil {
				return err
			}
			rows[i].Doc.DeletedConflicts = nil
		}
	}
	return nil
}

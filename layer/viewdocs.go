package layer

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
)

// docWindow holds back rows of a view response while their documents are read: the reads of a window overlap.
type docWindow struct {
	s         *stream
	include   bool
	conflicts bool
	rows      []ViewRow
}

// docWindowRows grows from the first to the last: the first row is answered soon, long responses read many at once.
const (
	firstWindowRows = 8
	docWindowRows   = 128
)

func newDocWindow(s *stream, include, conflicts bool) *docWindow {
	return &docWindow{s: s, include: include, conflicts: conflicts, rows: make([]ViewRow, 0, firstWindowRows)}
}

// push yields a row, at once or with its window. false means that the caller wants no more.
func (w *docWindow) push(row ViewRow, yield func(ViewRow, error) bool) (bool, error) {
	if !w.include {
		return yield(row, nil), nil
	}
	row.Key, row.Value = slices.Clone(row.Key), slices.Clone(row.Value) // they outlive the iterator's step
	w.rows = append(w.rows, row)
	if len(w.rows) < cap(w.rows) {
		return true, nil
	}
	more, err := w.flush(yield)
	if n := cap(w.rows); n < docWindowRows {
		w.rows = make([]ViewRow, 0, 2*n)
	}
	return more, err
}

// flush reads the documents of the rows held back and yields them.
func (w *docWindow) flush(yield func(ViewRow, error) bool) (bool, error) {
	rows := w.rows
	w.rows = w.rows[:0]
	for {
		err := w.load(rows)
		if err == nil {
			break
		}
		if err := w.s.renew(err); err != nil {
			return false, err
		}
	}
	for _, row := range rows {
		if !yield(row, nil) {
			return false, nil
		}
	}
	return true, nil
}

// linked is the document that a row stands for: the one that its value's _id names, at the value's _rev, or its own.
func (row *ViewRow) linked() (id string, rev Rev) {
	id = row.ID
	if len(row.Value) == 0 || row.Value[0] != '{' {
		return id, Rev{}
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
	r, keys := w.s.r, w.s.keys
	ids := make([]string, len(rows))
	revs := make([]Rev, len(rows))
	winners := make([]kv.Future[[]byte], len(rows))
	for i := range rows {
		if ids[i], revs[i] = rows[i].linked(); revs[i].IsZero() {
			winners[i] = r.Get(keys.doc(nil, keyspace.AllDocs, ids[i]))
		}
	}
	bodies := make([]bodyRead, len(rows))
	for i := range rows {
		if winners[i] != nil {
			value, err := winners[i].Wait()
			if err != nil {
				return err
			}
			if value == nil {
				continue
			}
			if revs[i], err = parseRevPair(value); err != nil {
				return corrupt("list of documents", err)
			}
		}
		bodies[i] = readBody(r, keys, ids[i], revs[i])
	}
	for i := range rows {
		if bodies[i].first == nil {
			continue
		}
		stored, found, err := bodies[i].wait()
		if err != nil {
			return err
		}
		if !found || stored.deleted {
			continue
		}
		rows[i].Doc = stored.document(ids[i], revs[i])
		if w.conflicts {
			if err := addConflicts(r, keys, rows[i].Doc); err != nil {
				return err
			}
			rows[i].Doc.DeletedConflicts = nil
		}
	}
	return nil
}

package api

import (
	"net/http"
	"slices"

	"github.com/divandb/divan/layer"
)

// viewRequest is a view that the path names, and how it is to be read.
type viewRequest struct {
	design  *layer.Design
	def     layer.ViewDef
	ensured bool // the index reflects all that was written before the request
}

// openView finds the design document and the view of the path.
func (q *request) openView() (v viewRequest, err error) {
	if v.design, err = q.db.Design(q.ctx(), q.part(2)); err != nil {
		return v, err
	}
	_, def, ok := v.design.View(q.part(4))
	if !ok {
		return v, notFound("missing_named_view")
	}
	v.def = def
	return v, nil
}

// reducing reports whether a query of the view is answered by its reduce function.
func (v *viewRequest) reducing(r *rowsQuery) bool {
	return v.def.Reduce != "" && (r.reduce == nil || *r.reduce)
}

func (v *viewRequest) check(r *rowsQuery) error {
	if err := r.check(v.reducing(r)); err != nil {
		return err
	}
	q := layer.ViewQuery{Partition: r.partition}
	return q.CheckPartition(v.design)
}

// mode is how fresh the index has to be: an interactive one always is, from when it is ready, and before that queries wait (rfc-008).
func (v *viewRequest) mode(asked UpdateMode) UpdateMode {
	if v.design.Options.Interactive {
		return UpdateTrue
	}
	return asked
}

// view answers GET and POST of one query.
func (q *request) view() error {
	v, err := q.openView()
	if err != nil {
		return err
	}
	r := newRowsQuery()
	if q.method == http.MethodPost {
		if err := q.requireRowsBody(true); err != nil {
			return err
		}
		body, err := q.objectBody()
		if err != nil {
			return err
		}
		if queries := member(body, "queries"); queries.Exists() {
			if !queries.IsArray() {
				return badRequest("`queries` member must be an array.")
			}
			return badRequest("The `queries` parameter is no longer supported at this endpoint")
		}
		keys := member(body, "keys")
		if keys.Exists() && !keys.IsArray() {
			return badRequest("`keys` member must be an array.")
		}
		if err := q.parts(int64(keyCost * elements(keys))); err != nil {
			return err
		}
		if err := r.takeBody(body, true); err != nil {
			return err
		}
	}
	if err := r.takeParams(q.params, true); err != nil {
		return err
	}
	if err := v.check(&r); err != nil {
		return err
	}
	if mode := v.mode(r.update); mode == UpdateTrue {
		q.srv.o.Indexer.Use(q.db, v.design) // most queries find the index up to date
	} else if err := q.ensure(&v, mode); err != nil {
		return err
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	if err := s.view(&v, &r); err != nil {
		return err
	}
	s.buf = append(s.buf, '\n')
	return s.end()
}

// viewQueries answers POST .../_view/{view}/queries.
func (q *request) viewQueries() error {
	v, err := q.openView()
	if err != nil {
		return err
	}
	if err := q.requireJSON(); err != nil {
		return err
	}
	queries, err := q.readQueries()
	if err != nil {
		return err
	}
	mode := UpdateFalse
	for i := range queries {
		r := &queries[i]
		if err := v.check(r); err != nil {
			return err
		}
		if r.update == UpdateTrue || mode == UpdateFalse {
			mode = r.update
		}
	}
	if err := q.ensure(&v, v.mode(mode)); err != nil {
		return err
	}
	return q.sendQueries(queries, func(s *stream, r *rowsQuery) error { return s.view(&v, r) })
}

// view writes one result.
func (s *stream) view(v *viewRequest, r *rowsQuery) error {
	if v.reducing(r) {
		return s.reducedView(v, r)
	}
	query := r.viewQuery(v.def.Name)
	if query.Descending {
		slices.Reverse(query.Keys) // the groups of a reduction keep their order, in CouchDB too
	}
	few := query.Limit >= 0 && query.Limit+query.Skip <= aheadRows
	result, err := ensured(s.q, v, few, func(current, ahead bool) (*layer.ViewResult, error) {
		query.Current, query.Ahead = current, ahead
		return s.q.db.Index(v.design).Query(s.q.ctx(), query)
	})
	if err != nil {
		return err
	}
	s.rowsHead(result.TotalRows, result.Offset, r, result.UpdateSeq)
	w := rowWriter{s: s}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if err := w.viewRow(&row, r); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "\r\n]}"...)
	return s.row()
}

// ensure brings the index to where mode wants it.
func (q *request) ensure(v *viewRequest, mode UpdateMode) error {
	v.ensured = true
	return q.srv.o.Indexer.Ensure(q.ctx(), q.db, v.design, mode)
}

// aheadRows is up to how many rows a query is answered ahead of the index.
const aheadRows = 100

// ensured begins a query, at once where the index turns out to be current, and again where it is not, or has fallen behind too far meanwhile.
// A query of few rows that finds the index a very little behind works out the rest for itself (layer.ViewQuery.Ahead):
// that is sooner done than written, and the index is written once for several of them. Where others wait for the index
// already, it waits with them.
func ensured[T any](q *request, v *viewRequest, few bool, begin func(current, ahead bool) (T, error)) (T, error) {
	ahead, tried := false, !few || v.ensured
	return layer.BeginEnsured(func() error {
		ahead = !tried && q.srv.o.Indexer.Waiting(q.db, v.design) == 0
		if tried = true; ahead {
			return nil
		}
		return q.ensure(v, UpdateTrue)
	}, func() (T, error) { return begin(!v.ensured, ahead) })
}

// reducedView writes one reduced result.
func (s *stream) reducedView(v *viewRequest, r *rowsQuery) error {
	limit, _ := s.q.srv.o.Settings.Get("query_server_config", "reduce_limit")
	query := layer.ReduceQuery{ViewQuery: r.viewQuery(v.def.Name), GroupLevel: r.level(), AnySize: limit == "false"}
	result, err := ensured(s.q, v, false, func(current, _ bool) (*layer.ReduceResult, error) {
		query.Current = current
		return s.q.db.Index(v.design).Reduce(s.q.ctx(), query)
	})
	if err != nil {
		return err
	}
	s.buf = append(s.buf, '{')
	if r.updateSeq {
		s.buf = append(result.UpdateSeq.Append(append(s.buf, `"update_seq":"`...)), `",`...)
	}
	s.buf = append(s.buf, "\"rows\":[\r\n"...)
	w := rowWriter{s: s}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		w.next()
		s.buf = append(append(s.buf, `{"key":`...), row.Key...)
		if row.Err != nil {
			s.buf = appendString(append(s.buf, `,"error":`...), row.Err.Name)
			s.buf = append(appendString(append(s.buf, `,"reason":`...), row.Err.Reason), '}')
		} else {
			s.buf = append(append(append(s.buf, `,"value":`...), row.Value...), '}')
		}
		if err := s.row(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "\r\n]}"...)
	return s.row()
}

// level is the grouping in the layer's terms: the later of group and group_level does not matter, group_level wins.
func (r *rowsQuery) level() int {
	switch {
	case r.groupLevel != nil:
		return *r.groupLevel
	case r.group != nil && *r.group:
		return layer.GroupExact
	}
	return 0
}

func (w *rowWriter) viewRow(row *layer.ViewRow, r *rowsQuery) error {
	w.next()
	s := w.s
	s.buf = appendString(append(s.buf, `{"id":`...), row.ID)
	s.buf = append(append(s.buf, `,"key":`...), row.Key...)
	s.buf = append(append(s.buf, `,"value":`...), row.Value...)
	if r.includeDocs {
		s.buf = append(s.buf, `,"doc":`...)
		if row.Doc == nil {
			s.buf = append(s.buf, "null"...)
		} else if err := s.document(row.Doc, &r.render); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, '}')
	return s.row()
}

// viewQuery is the query in the layer's terms.
func (r *rowsQuery) viewQuery(view string) layer.ViewQuery {
	o := layer.ViewQuery{
		View: view, Partition: r.partition, StartDocID: r.startDocID, EndDocID: r.endDocID, ExcludeEnd: r.excludeEnd, Descending: r.descending,
		Limit: r.limit, Skip: r.skip, IncludeDocs: r.includeDocs, Large: true,
		Conflicts: r.includeDocs && r.wantsConflicts(), WithOffset: true, Fresh: r.update == UpdateTrue,
		CurrentDocs: r.update != UpdateTrue,
	}
	if r.hasKeys {
		o.Keys = make([][]byte, len(r.keys))
		for i, key := range r.keys {
			o.Keys[i] = []byte(key)
		}
		return o
	}
	o.StartKey, o.EndKey = rawKey(r.startKey), rawKey(r.endKey)
	return o
}

func rawKey(json string) []byte {
	if json == "" {
		return nil
	}
	return []byte(json)
}

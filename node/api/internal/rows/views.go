package rows

import (
	"net/http"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// viewRequest is the view that the path names, and how to read it.
type viewRequest struct {
	design  *layer.Design
	def     layer.ViewDef
	ensured bool // the index has every write made before the request
}

// openView finds the design document and the view of the path.
func openView(q *call.Request) (v viewRequest, err error) {
	if v.design, err = q.DB.Design(q.Ctx(), q.Part(2)); err != nil {
		return v, err
	}
	_, def, ok := v.design.View(q.Part(4))
	if !ok {
		return v, fault.NotFound("missing_named_view")
	}
	v.def = def
	return v, nil
}

// reducing reports whether a query of the view is reduced.
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

// mode returns how up to date the index must be. An interactive index always is, once it is ready. Until then queries
// wait (rfc-008).
func (v *viewRequest) mode(asked UpdateMode) UpdateMode {
	if v.design.Options.Interactive {
		return UpdateTrue
	}
	return asked
}

// View answers GET and POST of a single query.
func (h *Handlers) View(q *call.Request) error {
	v, err := openView(q)
	if err != nil {
		return err
	}
	r, err := readQuery(q, true, "`keys` member must be an array.")
	if err != nil {
		return err
	}
	if err := v.check(&r); err != nil {
		return err
	}
	if mode := v.mode(r.update); mode == UpdateTrue {
		// Ensure does this too, but most queries find the index up to date and do not call it
		h.Indexer.Use(q.DB, v.design)
	} else if err := h.ensure(q, &v, mode); err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := h.writeView(s, &v, &r); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '\n')
	return s.End()
}

// ViewQueries answers POST .../_view/{view}/queries.
func (h *Handlers) ViewQueries(q *call.Request) error {
	v, err := openView(q)
	if err != nil {
		return err
	}
	if err := q.RequireJSON(); err != nil {
		return err
	}
	queries, err := readQueries(q)
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
	if err := h.ensure(q, &v, v.mode(mode)); err != nil {
		return err
	}
	return sendQueries(q, queries, func(s *call.Stream, r *rowsQuery) error { return h.writeView(s, &v, r) })
}

// writeView writes one result.
func (h *Handlers) writeView(s *call.Stream, v *viewRequest, r *rowsQuery) error {
	if v.reducing(r) {
		return h.reducedView(s, v, r)
	}
	query := r.viewQuery(v.def.Name)
	if query.Descending {
		slices.Reverse(query.Keys) // groups of a reduction keep their order, as in CouchDB
	}
	few := query.Limit >= 0 && query.Limit+query.Skip <= aheadRows
	result, err := ensured(h, s.Q, v, few, func(current, ahead bool) (*layer.ViewResult, error) {
		query.Current, query.Ahead = current, ahead
		return s.Q.DB.Index(v.design).Query(s.Q.Ctx(), query)
	})
	if err != nil {
		return err
	}
	rowsHead(s, result.TotalRows, result.Offset, r, result.UpdateSeq)
	w := rowWriter{s: s}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if err := w.viewRow(&row, r); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}"...)
	return s.Row()
}

// ensure brings the index up to date as mode asks.
func (h *Handlers) ensure(q *call.Request, v *viewRequest, mode UpdateMode) error {
	v.ensured = true
	return h.Indexer.Ensure(q.Ctx(), q.DB, v.design, mode)
}

// aheadRows is the maximum number of rows of a query that is answered ahead of the index.
const aheadRows = 100

// ensured runs a query, which is answered at once if the index is up to date. If it is not, the index is updated and
// the query runs again. A query of few rows that finds the index only slightly behind computes the missing rows itself
// (layer.ViewQuery.Ahead): that is faster than writing them to the index, which is then written once for several
// queries. If other requests wait for the index already, the query waits with them.
func ensured[T any](h *Handlers, q *call.Request, v *viewRequest, few bool,
	begin func(current, ahead bool) (T, error)) (T, error) {
	ahead, tried := false, !few || v.ensured
	return layer.BeginEnsured(func() error {
		ahead = !tried && h.Indexer.Waiting(q.DB, v.design) == 0
		if tried = true; ahead {
			return nil
		}
		return h.ensure(q, v, UpdateTrue)
	}, func() (T, error) { return begin(!v.ensured, ahead) })
}

// reducedView writes one reduced result.
func (h *Handlers) reducedView(s *call.Stream, v *viewRequest, r *rowsQuery) error {
	limit, _ := h.Settings.Get("query_server_config", "reduce_limit")
	query := layer.ReduceQuery{ViewQuery: r.viewQuery(v.def.Name), GroupLevel: r.level(), AnySize: limit == "false"}
	result, err := ensured(h, s.Q, v, false, func(current, _ bool) (*layer.ReduceResult, error) {
		query.Current = current
		return s.Q.DB.Index(v.design).Reduce(s.Q.Ctx(), query)
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, '{')
	if r.updateSeq {
		s.Buf = append(result.UpdateSeq.Append(append(s.Buf, `"update_seq":"`...)), `",`...)
	}
	s.Buf = append(s.Buf, "\"rows\":[\r\n"...)
	w := rowWriter{s: s}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		w.next()
		s.Buf = append(append(s.Buf, `{"key":`...), row.Key...)
		if row.Err != nil {
			s.Buf = jsontext.AppendQuoted(append(s.Buf, `,"error":`...), row.Err.Name)
			s.Buf = append(jsontext.AppendQuoted(append(s.Buf, `,"reason":`...), row.Err.Reason), '}')
		} else {
			s.Buf = append(append(append(s.Buf, `,"value":`...), row.Value...), '}')
		}
		if err := s.Row(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}"...)
	return s.Row()
}

// level returns the group level for the layer. group_level takes precedence over group, whatever their order.
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
	s.Buf = jsontext.AppendQuoted(append(s.Buf, `{"id":`...), row.ID)
	s.Buf = append(append(s.Buf, `,"key":`...), row.Key...)
	s.Buf = append(append(s.Buf, `,"value":`...), row.Value...)
	if r.includeDocs {
		s.Buf = append(s.Buf, `,"doc":`...)
		if row.Doc == nil {
			s.Buf = append(s.Buf, "null"...)
		} else if err := render.Document(s, row.Doc, &r.render); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, '}')
	return s.Row()
}

// viewQuery converts the query to the layer's.
func (r *rowsQuery) viewQuery(view string) layer.ViewQuery {
	o := layer.ViewQuery{
		View: view, Partition: r.partition, StartDocID: r.startDocID, EndDocID: r.endDocID, ExcludeEnd: r.excludeEnd,
		Descending: r.descending,
		Limit:      r.limit, Skip: r.skip, IncludeDocs: r.includeDocs, Large: true,
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

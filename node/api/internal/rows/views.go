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
	index Index
	def   layer.ViewDef
}

// open finds the design document and the view of the path.
func (h *Handlers) open(q *call.Request) (v viewRequest, err error) {
	v.index.Indexer = h.Indexer
	if v.index.Design, err = q.DB.Design(q.Ctx(), q.Part(2)); err != nil {
		return v, err
	}
	_, def, ok := v.index.Design.View(q.Part(4))
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
	return q.CheckPartition(v.index.Design)
}

// View answers GET and POST of a single query.
func (h *Handlers) View(q *call.Request) error {
	v, err := h.open(q)
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
	if _, err := v.index.Prepare(q, r.update); err != nil {
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
	v, err := h.open(q)
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
	if err := v.index.Ensure(q, v.index.mode(mode)); err != nil {
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
	result, err := Query(s.Q, &v.index, few, func(current, ahead bool) (*layer.ViewResult, error) {
		query.Current, query.Ahead = current, ahead
		return s.Q.DB.Index(v.index.Design).Query(s.Q.Ctx(), query)
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

// aheadRows is the maximum number of rows of a query that is answered ahead of the index.
const aheadRows = 100

// reducedView writes one reduced result.
func (h *Handlers) reducedView(s *call.Stream, v *viewRequest, r *rowsQuery) error {
	limit, _ := h.Settings.Get("query_server_config", "reduce_limit")
	query := layer.ReduceQuery{ViewQuery: r.viewQuery(v.def.Name), GroupLevel: r.level(), AnySize: limit == "false"}
	result, err := Query(s.Q, &v.index, false, func(current, _ bool) (*layer.ReduceResult, error) {
		query.Current = current
		return s.Q.DB.Index(v.index.Design).Reduce(s.Q.Ctx(), query)
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

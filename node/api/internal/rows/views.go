package rows

import (
	"net/http"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
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

func (v *viewRequest) check(q *call.Request, r *rowsQuery) error {
	if err := r.check(v.reducing(r)); err != nil {
		return err
	}
	if err := r.cap(q); err != nil {
		return err
	}
	query := layer.ViewQuery{Partition: r.partition}
	return query.CheckPartition(v.index.Design)
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
	if err := v.check(q, &r); err != nil {
		return err
	}
	if _, err := v.index.Prepare(q, r.update); err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := h.writeView(&rowWriter{s: s}, &v, &r); err != nil {
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
		if err := v.check(q, r); err != nil {
			return err
		}
		if r.update == UpdateTrue || mode == UpdateFalse {
			mode = r.update
		}
	}
	if err := v.index.Ensure(q, v.index.mode(mode)); err != nil {
		return err
	}
	return sendQueries(q, queries, func(w *rowWriter, r *rowsQuery) error { return h.writeView(w, &v, r) })
}

// writeView writes one result.
func (h *Handlers) writeView(w *rowWriter, v *viewRequest, r *rowsQuery) error {
	if v.reducing(r) {
		return h.reducedView(w, v, r)
	}
	query := r.viewQuery(v.def.Name)
	if query.Descending {
		slices.Reverse(query.Keys) // groups of a reduction keep their order, as in CouchDB
	}
	q := w.s.Q
	few := query.Limit >= 0 && query.Limit+query.Skip <= aheadRows
	result, err := Query(q, &v.index, few, func(current, ahead bool) (*layer.ViewResult, error) {
		query.Current, query.Ahead = current, ahead
		return q.DB.Index(v.index.Design).Query(q.Ctx(), query)
	})
	if err != nil {
		return err
	}
	if err := w.head(result.TotalRows, result.Offset, r, result.UpdateSeq); err != nil {
		return err
	}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if err := w.viewRow(&row, r); err != nil {
			return err
		}
	}
	return w.end()
}

// aheadRows is the maximum number of rows of a query that is answered ahead of the index.
const aheadRows = 100

// reducedView writes one reduced result.
func (h *Handlers) reducedView(w *rowWriter, v *viewRequest, r *rowsQuery) error {
	limit, _ := h.Settings.Get("query_server_config", "reduce_limit")
	query := layer.ReduceQuery{ViewQuery: r.viewQuery(v.def.Name), GroupLevel: r.level(), AnySize: limit == "false"}
	q := w.s.Q
	result, err := Query(q, &v.index, false, func(current, _ bool) (*layer.ReduceResult, error) {
		query.Current = current
		return q.DB.Index(v.index.Design).Reduce(q.Ctx(), query)
	})
	if err != nil {
		return err
	}
	if err := w.reducedHead(r, result.UpdateSeq); err != nil {
		return err
	}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if err := w.reducedRow(&row); err != nil {
			return err
		}
	}
	return w.end()
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

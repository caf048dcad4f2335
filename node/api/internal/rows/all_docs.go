package rows

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Endpoints with rows of documents: _all_docs, _design_docs, _local_docs.

func subset(q *call.Request) layer.Subset {
	switch q.Path[1] {
	case "_design_docs":
		return layer.DesignOnly
	case "_local_docs":
		return layer.LocalOnly
	}
	return layer.Everything
}

// AllDocs answers GET and POST of a single query.
func (h *Handlers) AllDocs(q *call.Request) error {
	r, err := readQuery(q, false, "`keys` body member must be an array.")
	if err != nil {
		return err
	}
	if err := checkAllDocs(q, &r); err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := writeAllDocs(&rowWriter{s: s}, &r); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '\n')
	return s.End()
}

// AllDocsQueries answers POST /{db}/_all_docs/queries with several results in one response.
func (h *Handlers) AllDocsQueries(q *call.Request) error {
	queries, err := readQueries(q)
	if err != nil {
		return err
	}
	for i := range queries {
		if err := checkAllDocs(q, &queries[i]); err != nil {
			return err
		}
	}
	return sendQueries(q, queries, writeAllDocs)
}

// readQueries reads the queries of a multi-query body. Parameters in the query string are their defaults. As in
// CouchDB, a list of one key means that key, even for _all_docs, where the same list in a single query stays a list.
func readQueries(q *call.Request) ([]rowsQuery, error) {
	defaults := newRowsQuery()
	if err := defaults.takeParams(q.Params, true); err != nil {
		return nil, err
	}
	body, err := q.Body.Object()
	if err != nil {
		return nil, err
	}
	list := decode.Member(body, "queries")
	switch {
	case !list.Exists():
		return nil, fault.BadRequest("POST body must include `queries` parameter.")
	case !list.IsArray():
		return nil, fault.BadRequest("`queries` member must be an array.")
	}
	const queryCost = 400 // memory for a query or for several keys
	if err := q.Body.Parts(int64(queryCost * decode.Elements(list))); err != nil {
		return nil, err
	}
	var queries []rowsQuery
	list.ForEach(func(_, v gjson.Result) bool {
		if !v.IsObject() {
			err = fault.BadRequest("Each query must be a JSON object")
			return false
		}
		r := defaults
		if err = r.takeBody(v, true); err == nil {
			queries = append(queries, r)
		}
		return err == nil
	})
	return queries, err
}

// sendQueries writes the results of several queries.
func sendQueries(q *call.Request, queries []rowsQuery, write func(*rowWriter, *rowsQuery) error) error {
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, `{"results":[`...)
	for i := range queries {
		if i > 0 {
			s.Buf = append(s.Buf, ',')
		}
		s.Buf = append(s.Buf, '\r', '\n')
		if err := write(&rowWriter{s: s}, &queries[i]); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "\r\n]}\n"...)
	return s.End()
}

// writeAllDocs writes one result.
func writeAllDocs(w *rowWriter, r *rowsQuery) error {
	q := w.s.Q
	o, ids := r.allDocsOptions(subset(q))
	result, err := q.DB.AllDocs(q.Ctx(), o)
	if err != nil {
		return err
	}
	total, offset := result.TotalRows, result.Offset
	if o.Only == layer.LocalOnly {
		total, offset = -1, -1
	}
	if r.hasKeys {
		offset = -1
	}
	if err := w.head(total, offset, r, result.UpdateSeq); err != nil {
		return err
	}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		for len(ids) > 0 && !ids[0].isString { // keys that cannot be ids
			if err := w.missing(ids[0].json); err != nil {
				return err
			}
			ids = ids[1:]
		}
		if len(ids) > 0 {
			ids = ids[1:]
		}
		if err := w.document(&row, r); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := w.missing(id.json); err != nil {
			return err
		}
	}
	return w.end()
}

// wantedID is one of the requested keys.
type wantedID struct {
	json     string
	isString bool
}

// allDocsOptions converts a query to the layer's options. ids are the keys in the order of the response, or nil for a
// range.
func (r *rowsQuery) allDocsOptions(only layer.Subset) (o layer.AllDocsOptions, ids []wantedID) {
	o = layer.AllDocsOptions{
		ExcludeEnd: r.excludeEnd, Descending: r.descending, Limit: r.limit, Skip: r.skip,
		IncludeDocs: r.includeDocs, Large: r.public == nil, Conflicts: r.includeDocs && r.wantsConflicts(), Only: only,
		WithOffset: true,
	}
	if r.hasKeys {
		ids = r.wantedIDs(only)
		o.Keys, o.Limit, o.Skip, o.Descending, o.ExcludeEnd = []string{}, -1, 0, false, false
		for _, id := range ids {
			if id.isString {
				o.Keys = append(o.Keys, gjson.Parse(id.json).Str)
			}
		}
		return o, ids
	}
	startDocID, endDocID := r.startDocID, r.endDocID
	if r.partition != "" {
		startDocID, endDocID = "", "" // the partition is a range of keys, with which CouchDB ignores these
	}
	none := false
	o.Start, none = boundary(r.startKey, startDocID, r.descending)
	end, noneAtEnd := boundary(r.endKey, endDocID, !r.descending)
	if o.End = end; none || noneAtEnd {
		o.Limit = 0
	}
	if r.partition != "" {
		o.Partition(r.partition)
	}
	return o, nil
}

// without returns a function that reports whether a JSON text lacks a prefix.
func without(prefix string) func(string) bool {
	return func(text string) bool { return !strings.HasPrefix(text, prefix) }
}

// wantedIDs leaves out keys of other documents than the list has, and applies descending, skip and limit to the keys,
// as CouchDB does before it reads.
func (r *rowsQuery) wantedIDs(only layer.Subset) []wantedID {
	keys := slices.Clone(r.keys)
	switch only {
	case layer.DesignOnly:
		keys = slices.DeleteFunc(keys, without(`"_design/`))
	case layer.LocalOnly:
		keys = slices.DeleteFunc(keys, without(`"_local/`))
	}
	if r.descending {
		slices.Reverse(keys)
	}
	keys = keys[min(r.skip, len(keys)):]
	if r.limit >= 0 {
		keys = keys[:min(r.limit, len(keys))]
	}
	ids := make([]wantedID, len(keys))
	for i, key := range keys {
		ids[i] = wantedID{key, len(key) > 0 && key[0] == '"'}
	}
	return ids
}

// boundary returns one end of a range of ids. All other JSON values sort before all strings, so as an upper end they
// exclude everything.
func boundary(key, docID string, upper bool) (id *string, nothing bool) {
	switch {
	case key == "" && docID != "":
		return &docID, false
	case key == "":
		return nil, false
	case key[0] != '"':
		return nil, upper
	}
	s := gjson.Parse(key).Str
	return &s, false
}

func checkAllDocs(q *call.Request, r *rowsQuery) error {
	if err := r.check(false); err != nil {
		return err
	}
	if err := r.cap(q); err != nil {
		return err
	}
	r.public = q.Public
	partitioned, err := q.DB.IsPartitioned(q.Ctx())
	switch {
	case err != nil:
		return err
	case !partitioned && r.partition != "":
		return fault.BadQuery("`partition` parameter is not supported on this db")
	case !partitioned || subset(q) == layer.LocalOnly:
		return nil
	}
	for _, key := range r.keys {
		if id := gjson.Parse(key); id.Type == gjson.String {
			if err := q.DB.CheckID(q.Ctx(), id.Str); err != nil {
				return err
			}
		}
	}
	return nil
}

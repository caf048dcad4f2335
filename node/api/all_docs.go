package api

import (
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// The endpoints of rows over documents: _all_docs, _design_docs, _local_docs.

func (q *request) subset() layer.Subset {
	switch q.path[1] {
	case "_design_docs":
		return layer.DesignOnly
	case "_local_docs":
		return layer.LocalOnly
	}
	return layer.Everything
}

// keyCost is what each of the keys that are asked for takes, beside its text.
const keyCost = 128

// allDocs answers GET and POST of one query.
func (q *request) allDocs() error {
	r := newRowsQuery()
	if q.method == http.MethodPost {
		if err := q.requireRowsBody(false); err != nil {
			return err
		}
		body, err := q.objectBody()
		if err != nil {
			return err
		}
		keys := member(body, "keys")
		if keys.Exists() && !keys.IsArray() {
			return badRequest("`keys` body member must be an array.")
		}
		if err := q.parts(int64(keyCost * elements(keys))); err != nil {
			return err
		}
		if err := r.takeBody(body, false); err != nil {
			return err
		}
	}
	if err := r.takeParams(q.params, false); err != nil {
		return err
	}
	if err := q.checkAllDocs(&r); err != nil {
		return err
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	if err := s.allDocs(&r); err != nil {
		return err
	}
	s.buf = append(s.buf, '\n')
	return s.end()
}

// allDocsQueries answers POST /{db}/_all_docs/queries: several results in one answer.
func (q *request) allDocsQueries() error {
	queries, err := q.readQueries()
	if err != nil {
		return err
	}
	for i := range queries {
		if err := q.checkAllDocs(&queries[i]); err != nil {
			return err
		}
	}
	return q.sendQueries(queries, (*stream).allDocs)
}

// readQueries reads the queries of a multi-query body; parameters in the query string are their defaults. A list of one key is that key, also for
// _all_docs, which shows such a list as it is when it comes alone: so CouchDB does.
func (q *request) readQueries() ([]rowsQuery, error) {
	defaults := newRowsQuery()
	if err := defaults.takeParams(q.params, true); err != nil {
		return nil, err
	}
	body, err := q.objectBody()
	if err != nil {
		return nil, err
	}
	list := member(body, "queries")
	switch {
	case !list.Exists():
		return nil, badRequest("POST body must include `queries` parameter.")
	case !list.IsArray():
		return nil, badRequest("`queries` member must be an array.")
	}
	const queryCost = 400 // a query, or several keys
	if err := q.parts(int64(queryCost * elements(list))); err != nil {
		return nil, err
	}
	var queries []rowsQuery
	list.ForEach(func(_, v gjson.Result) bool {
		if !v.IsObject() {
			err = badRequest("Each query must be a JSON object")
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
func (q *request) sendQueries(queries []rowsQuery, write func(*stream, *rowsQuery) error) error {
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, `{"results":[`...)
	for i := range queries {
		if i > 0 {
			s.buf = append(s.buf, ',')
		}
		s.buf = append(s.buf, '\r', '\n')
		if err := write(s, &queries[i]); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, "\r\n]}\n"...)
	return s.end()
}

// allDocs writes one result.
func (s *stream) allDocs(r *rowsQuery) error {
	o, ids := r.allDocsOptions(s.q.subset())
	result, err := s.q.db.AllDocs(s.q.ctx(), o)
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
	s.rowsHead(total, offset, r, result.UpdateSeq)
	w := rowWriter{s: s}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		for len(ids) > 0 && !ids[0].isString { // asked for by a key that can be no id
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
	s.buf = append(s.buf, "\r\n]}"...)
	return s.row()
}

// rowsHead writes the members before the rows. Negative numbers are unknown.
func (s *stream) rowsHead(total, offset int64, r *rowsQuery, seq layer.Seq) {
	s.buf = appendNumberOrNull(append(s.buf, `{"total_rows":`...), total)
	s.buf = appendNumberOrNull(append(s.buf, `,"offset":`...), offset)
	if r.updateSeq {
		if r.hasKeys {
			s.buf = append(s.buf, `,"update_seq":null`...)
		} else {
			s.buf = append(seq.Append(append(s.buf, `,"update_seq":"`...)), '"')
		}
	}
	s.buf = append(s.buf, ",\"rows\":[\r\n"...)
}

// rowWriter separates rows.
type rowWriter struct {
	s       *stream
	started bool
}

func (w *rowWriter) next() {
	if w.started {
		w.s.buf = append(w.s.buf, ',', '\r', '\n')
	}
	w.started = true
}

// missing writes the row of a key without a document.
func (w *rowWriter) missing(key string) error {
	w.next()
	w.s.buf = append(append(w.s.buf, `{"key":`...), key...)
	w.s.buf = append(w.s.buf, `,"error":"not_found"}`...)
	return w.s.row()
}

// document writes the row of a document.
func (w *rowWriter) document(row *layer.AllDocsRow, r *rowsQuery) error {
	if row.Err != nil {
		if layer.KindOf(row.Err) != layer.NotFound {
			return row.Err
		}
		return w.missing(string(appendString(nil, row.ID)))
	}
	w.next()
	s := w.s
	s.buf = append(s.buf, `{"id":`...)
	from := len(s.buf)
	s.buf = appendString(s.buf, row.ID)
	id := s.buf[from:]
	s.buf = append(s.buf, `,"key":`...)
	s.buf = append(s.buf, id...)
	s.buf = appendRev(append(s.buf, `,"value":{"rev":`...), row.Rev)
	if row.Deleted {
		s.buf = append(s.buf, `,"deleted":true`...)
	}
	s.buf = append(s.buf, '}')
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

// wantedID is one of the keys asked for.
type wantedID struct {
	json     string
	isString bool
}

// allDocsOptions turns a query into the layer's terms. ids are the keys in the order of the answer, nil where a range was asked for.
func (r *rowsQuery) allDocsOptions(only layer.Subset) (o layer.AllDocsOptions, ids []wantedID) {
	o = layer.AllDocsOptions{
		ExcludeEnd: r.excludeEnd, Descending: r.descending, Limit: r.limit, Skip: r.skip,
		IncludeDocs: r.includeDocs, Large: true, Conflicts: r.includeDocs && r.wantsConflicts(), Only: only,
	}
	if r.hasKeys {
		ids = r.wantedIDs()
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
		startDocID, endDocID = "", "" // the partition is a range of keys, beside which CouchDB has no eye for these
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

// wantedIDs applies descending, skip and limit to the keys, as CouchDB does before it reads.
func (r *rowsQuery) wantedIDs() []wantedID {
	keys := slices.Clone(r.keys)
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

// boundary is one end of a range of ids. Every other JSON value sorts before every string: as the end that is above, it lets nothing through.
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

func (q *request) checkAllDocs(r *rowsQuery) error {
	if err := r.check(false); err != nil {
		return err
	}
	partitioned, err := q.db.IsPartitioned(q.ctx())
	switch {
	case err != nil:
		return err
	case !partitioned && r.partition != "":
		return badQuery("`partition` parameter is not supported on this db")
	case !partitioned || q.subset() == layer.LocalOnly:
		return nil
	}
	for _, key := range r.keys {
		if id := gjson.Parse(key); id.Type == gjson.String {
			if err := q.db.CheckID(q.ctx(), id.Str); err != nil {
				return err
			}
		}
	}
	return nil
}

package find

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/query/mango"
)

// finding is the answer to a query in progress.
type finding struct {
	s    *call.Stream
	plan *mango.Plan
	// last is the last document that matched; nothing before the first one.
	last *mango.Position
	// The numbers of execution_stats.
	keys, docs, results int
	skip                int // documents still to skip
	text                []byte
	cover               *mango.Cover
}

// Find answers POST /{db}/_find.
func (h *Handlers) Find(q *call.Request) error {
	p, designs, err := h.query(q, false)
	if err != nil {
		return err
	}
	began := time.Now()
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	f := &finding{s: s, plan: p, skip: p.Query.Skip}
	s.Buf = append(s.Buf, `{"docs":[`...)
	switch {
	case p.Nothing || p.Query.Limit == 0:
	case p.Index.Definition == nil:
		err = f.allDocs()
	default:
		err = f.index(h, designs[p.Index.Design])
	}
	if errors.Is(err, errIncomplete) {
		err = f.instead()
	}
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "\r\n]"...)
	if !p.Nothing {
		f.end(h, began)
	}
	s.Buf = append(s.Buf, "}\r\n"...)
	return s.End()
}

// allDocs reads documents by id.
func (f *finding) allDocs() error {
	p := f.plan
	o := layer.AllDocsOptions{Start: p.IDs.Low, End: p.IDs.High, Descending: p.Query.Descending(), Limit: -1,
		IncludeDocs: true, Conflicts: p.Query.Conflicts, Only: layer.WithoutDesigns}
	if o.Descending {
		o.Start, o.End = o.End, o.Start
	}
	if p.Query.Partition != "" {
		o.Partition(p.Query.Partition)
	}
	if p.After != nil && (o.Start == nil || (p.After.ID > *o.Start) != o.Descending) {
		o.Start = &p.After.ID
	}
	result, err := f.s.Q.DB.AllDocs(f.s.Q.Ctx(), o)
	if err != nil {
		return err
	}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if p.After != nil && row.ID == p.After.ID || row.Doc == nil {
			continue
		}
		f.keys++
		more, err := f.document(row.Doc, &mango.Position{Name: mango.AllDocs, ID: row.ID})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// errIncomplete reports that an index lacks documents whose fields are too long for it.
var errIncomplete = errors.New("the index is incomplete")

// instead answers by reading all documents after the index turned out to be incomplete.
func (f *finding) instead() error {
	incomplete := f.plan.Index
	plan, err := mango.MakeWithout(f.plan)
	if err != nil {
		return &fault.Fault{Status: http.StatusBadRequest, Name: "no_usable_index",
			Reason: "The index " + incomplete.Name + " of " + incomplete.Design + " lacks documents whose fields are " +
				"too long to be indexed, which its _errors lists, and only an index can sort by these fields."}
	}
	f.plan = plan
	return f.allDocs()
}

// aheadLimit is the maximum limit of a query that is answered ahead of its index (layer.ViewQuery.Ahead).
const aheadLimit = 25

// index reads the rows of an index.
func (f *finding) index(h *Handlers, design *layer.Design) error {
	p, q := f.plan, f.s.Q
	query := p.Query
	low, high := mango.List(p.Span.Low), mango.List(p.Span.High)
	o := layer.ViewQuery{View: p.Index.Name, Partition: query.Partition, StartKey: low, EndKey: high, UpperPrefix: true,
		Descending: query.Descending(), Limit: -1, IncludeDocs: !p.Covered, Conflicts: query.Conflicts,
		WithoutTotal: true, WithSkipped: true}
	if o.Descending {
		o.StartKey, o.EndKey = high, low
	}
	if p.After != nil {
		o.StartKey, o.StartDocID = p.After.Key, p.After.ID
		o.UpperPrefix = !o.Descending
	}
	mode := rows.UpdateTrue
	if query.StaleOK || !query.Update {
		mode = rows.UpdateFalse
	}
	ix := rows.Index{Indexer: h.Indexer, Design: design}
	mode, err := ix.Prepare(q, mode)
	if err != nil {
		return err
	}
	o.Fresh, o.CurrentDocs = mode == rows.UpdateTrue, mode != rows.UpdateTrue
	few := query.Limit+query.Skip <= aheadLimit
	result, err := rows.Query(q, &ix, few, func(current, ahead bool) (*layer.ViewResult, error) {
		o.Current, o.Ahead = current, ahead
		return q.DB.Index(design).Query(q.Ctx(), o)
	})
	if err != nil {
		return err
	}
	if result.Skipped > 0 {
		for _, err := range result.Rows { // the first row ends the query, which then holds nothing
			return errors.Join(errIncomplete, err)
		}
		return errIncomplete
	}
	if p.Covered {
		f.cover = mango.NewCover(p.Index)
	}
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if p.After != nil && row.ID == p.After.ID && bytes.Equal(row.Key, p.After.Key) {
			continue
		}
		f.keys++
		at := &mango.Position{Design: p.Index.Design, Name: p.Index.Name, Key: row.Key, ID: row.ID}
		var more bool
		switch {
		case f.cover != nil:
			f.text = f.cover.Append(f.text[:0], row.ID, row.Key)
			more, err = f.match(at)
		case row.Doc == nil:
			continue
		default:
			more, err = f.document(row.Doc, at)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// document writes a document if it matches. more reports whether further ones are wanted.
func (f *finding) document(doc *layer.Document, at *mango.Position) (more bool, err error) {
	f.docs++
	f.text = doc.AppendJSON(f.text[:0])
	return f.match(at)
}

// match is document for the document whose JSON is in f.text.
func (f *finding) match(at *mango.Position) (more bool, err error) {
	query := f.plan.Query
	if !query.Selector.Match(f.text) {
		return true, nil
	}
	key := at.Key
	if f.last == nil {
		f.last = &mango.Position{Design: at.Design, Name: at.Name}
	}
	f.last.ID = at.ID
	if key != nil {
		f.last.Key = append(f.last.Key[:0], key...)
	}
	if f.skip > 0 {
		f.skip--
		return true, nil
	}
	s := f.s
	if f.results > 0 {
		s.Buf = append(s.Buf, ',')
	}
	s.Buf = append(s.Buf, '\r', '\n')
	if query.Fields != nil {
		s.Buf = query.Fields.Append(s.Buf, f.text)
	} else {
		s.Buf = append(s.Buf, f.text...)
	}
	f.results++
	return f.results < query.Limit, s.Row()
}

// end writes what follows the documents.
func (f *finding) end(h *Handlers, began time.Time) {
	s, query := f.s, f.plan.Query
	bookmark := query.Bookmark
	if bookmark == "" {
		bookmark = "nil"
	}
	if f.last != nil {
		bookmark = f.last.Bookmark()
	}
	s.Buf = jsontext.AppendQuoted(append(s.Buf, ",\r\n\"bookmark\": "...), bookmark)
	docs, quorum := f.docs, 0
	if query.R > 1 {
		docs, quorum = 0, docs
	}
	did := &call.QueryDid{Took: time.Since(began), Keys: int64(f.keys), Docs: int64(docs), Quorum: int64(quorum),
		Results: int64(f.results), Unindexed: f.plan.Index.Definition == nil}
	s.Q.Did.Query = did
	if query.ExecutionStats {
		s.Buf = fmt.Appendf(s.Buf, ",\r\n\"execution_stats\": {\"total_keys_examined\":%d,\"total_docs_examined\":%d,"+
			"\"total_quorum_docs_examined\":%d,\"results_returned\":%d,\"execution_time_ms\":%s}", f.keys, docs, quorum,
			f.results, strconv.FormatFloat(float64(did.Took.Microseconds())/1000, 'f', -1, 64))
	}
	var warnings []string
	if ignored := f.plan.Ignored(); ignored != "" {
		did.Invalid = true
		warnings = append(warnings, ignored)
	}
	if did.Unindexed {
		warnings = append(warnings, "No matching index found, create an index to optimize query time.")
	}
	most := h.Settings.Int("mango", "index_scan_warning_threshold", 10)
	if most > 0 && f.docs > most*max(f.results, 1) {
		did.Scanned = true
		warnings = append(warnings, "The number of documents examined is high in proportion to the number of results "+
			"returned. Consider adding a more specific index to improve this.")
	}
	if warnings != nil {
		s.Buf = jsontext.AppendQuoted(append(s.Buf, ",\r\n\"warning\": "...), strings.Join(warnings, "\n"))
	}
}

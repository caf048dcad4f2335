package docs

import (
	"net/http"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/intake"
)

// bulkRequest is the body of _bulk_docs, with its documents unparsed.
type bulkRequest struct {
	most       int // maximum number of documents
	docs       [][]byte
	hasDocs    bool
	replicated bool
	atomic     bool
}

// parseBulk finds the members of a _bulk_docs body. It only matches brackets. Each document is validated when it is
// parsed, so every byte is read at most twice and nothing is copied.
func parseBulk(text []byte, most int) (b bulkRequest, err error) {
	b.most = most
	i := jsontext.SkipSpace(text, 0)
	if i == len(text) {
		return b, fault.InvalidJSON
	}
	if text[i] != '{' {
		if _, err := decode.Bytes(text); err != nil {
			return b, err
		}
		return b, fault.BadRequest("Request body must be a JSON object")
	}
	end, err := eachMember(text, i, func(name string, value []byte) error {
		switch name {
		case "docs":
			b.hasDocs, b.docs = true, nil // the last one wins, as in CouchDB
			return b.takeDocs(value)
		case "new_edits":
			switch string(value) {
			case "true":
				b.replicated = false
			case "false":
				b.replicated = true
			default:
				return fault.BadRequest("`new_edits` parameter must be a boolean.")
			}
		case "all_or_nothing":
			b.atomic = string(value) == "true"
		}
		if _, err := decode.Bytes(value); err != nil {
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		return b, err
	case jsontext.SkipSpace(text, end) != len(text):
		return b, fault.InvalidJSON
	case !b.hasDocs:
		return b, fault.BadRequest("POST body must include `docs` parameter.")
	}
	return b, nil
}

// takeDocs splits the docs array into documents.
func (b *bulkRequest) takeDocs(array []byte) error {
	if array[0] != '[' {
		if _, err := decode.Bytes(array); err != nil {
			return err
		}
		return fault.BadRequest("`docs` parameter must be an array.")
	}
	i := jsontext.SkipSpace(array, 1)
	if i < len(array) && array[i] == ']' && i == len(array)-1 {
		return nil
	}
	for {
		end, ok := jsontext.SkipValue(array, i, jsontext.MaxDepth)
		if !ok || end == i {
			return fault.InvalidJSON
		}
		if len(b.docs) == b.most {
			return tooManyDocs("max_bulk_docs_count_exceeded", b.most)
		}
		if array[i] != '{' {
			return fault.BadRequest("Document must be a JSON object")
		}
		b.docs = append(b.docs, array[i:end])
		i = jsontext.SkipSpace(array, end)
		switch {
		case i == len(array)-1 && array[i] == ']':
			return nil
		case i >= len(array) || array[i] != ',':
			return fault.InvalidJSON
		}
		i = jsontext.SkipSpace(array, i+1)
	}
}

// eachMember calls fn for each member of the object that starts at text[i], with decoded names and unparsed values. It
// returns the index after the object.
func eachMember(text []byte, i int, fn func(name string, value []byte) error) (end int, err error) {
	i = jsontext.SkipSpace(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(text) || text[i] != '"' {
			return 0, fault.InvalidJSON
		}
		end := jsontext.SkipString(text, i)
		name, err := decode.Bytes(text[i:end])
		if err != nil {
			return 0, err
		}
		i = jsontext.SkipSpace(text, end)
		if i >= len(text) || text[i] != ':' {
			return 0, fault.InvalidJSON
		}
		i = jsontext.SkipSpace(text, i+1)
		end, ok := jsontext.SkipValue(text, i, jsontext.MaxDepth)
		if !ok || end == i {
			return 0, fault.InvalidJSON
		}
		if err := fn(name.Str, text[i:end]); err != nil {
			return 0, err
		}
		i = jsontext.SkipSpace(text, end)
		switch {
		case i < len(text) && text[i] == '}':
			return i + 1, nil
		case i >= len(text) || text[i] != ',':
			return 0, fault.InvalidJSON
		}
		i = jsontext.SkipSpace(text, i+1)
	}
}

// BulkDocs answers POST /{db}/_bulk_docs.
func (h *Bulk) BulkDocs(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	text, err := q.Body.Whole()
	if err != nil {
		return err
	}
	b, err := parseBulk(text, h.Docs.Limits.Bulk)
	if err != nil {
		return err
	}
	if err := q.Body.Parts(int64(bulkCost * len(b.docs))); err != nil {
		return err
	}
	q.Did.BulkDocs = len(b.docs)
	edits := make([]layer.Edit, len(b.docs))
	held := 0
	for i, doc := range b.docs {
		if edits[i], err = layer.ParseEdit(doc, b.replicated); err != nil {
			return err
		}
		if held += edits[i].Held(); held > 2*len(text)+intake.SmallBody {
			return fault.TooMany
		}
		if b.replicated && edits[i].Rev.IsZero() {
			return errNoRevision
		}
		if edits[i].ID == "" {
			edits[i].ID = h.Docs.IDs.Next()
		}
		if err := h.Docs.Limits.fits(&edits[i]); err != nil { // as in CouchDB, none is written then
			return err
		}
	}
	results, err := h.writeBulk(q, edits, b)
	if err != nil {
		return err
	}
	q.Body.GiveBack()
	status := http.StatusCreated
	if b.atomic && slices.ContainsFunc(results, func(r layer.EditResult) bool { return r.Err != nil }) {
		status = http.StatusExpectationFailed
	}
	return sendResults(q, status, results, b.replicated)
}

// writeBulk writes the edits that the user may make. The store takes normal documents together and _local ones
// separately, and not in an atomic write. Results are in the order of edits.
func (h *Bulk) writeBulk(q *call.Request, edits []layer.Edit, b bulkRequest) ([]layer.EditResult, error) {
	results := make([]layer.EditResult, len(edits))
	normal := edits[:0:0] // the same slice if nothing has to be left out
	var places []int
	for i := range edits {
		e := &edits[i]
		results[i] = layer.EditResult{ID: e.ID, Rev: e.Rev}
		special := isLocal(e.ID)
		switch err := h.Docs.admit(q, e); {
		case err != nil:
			results[i].Err = err
			special = true
		case special && b.atomic:
			results[i].Err = &fault.Fault{Status: http.StatusNotImplemented, Name: "not_implemented",
				Reason: "a _local document cannot be part of an atomic write"}
		case special:
			results[i].Rev, results[i].Err = writeLocal(q, *e)
		}
		if special && places == nil {
			places = make([]int, i, len(edits))
			for j := range places {
				places[j] = j
			}
			normal = append(make([]layer.Edit, 0, len(edits)), edits[:i]...)
		} else if !special && places != nil {
			places = append(places, i)
			normal = append(normal, *e)
		}
	}
	if places == nil {
		normal = edits
	}
	if b.atomic && places != nil { // one is refused already
		for i := range results {
			if results[i].Err == nil {
				results[i].Err = layer.ErrNotWritten
			}
		}
		return results, nil
	}
	if len(normal) == 0 {
		return results, nil
	}
	written, err := q.DB.Bulk(q.Ctx(), normal,
		layer.WriteOptions{Replicated: b.replicated, Atomic: b.atomic, User: q.Author()})
	if err != nil {
		return nil, err
	}
	for i, r := range written {
		if r.Err != nil {
			r.Rev = normal[i].Rev // the refused revision, for the response
		}
		at := i
		if places != nil {
			at = places[i]
		}
		results[at] = r
	}
	return results, nil
}

// sendResults answers with a row for each edit. For replicated edits it has rows only for those that failed, with their
// revision.
func sendResults(q *call.Request, status int, results []layer.EditResult, replicated bool) error {
	s := q.Stream(status)
	defer s.Drop()
	s.Buf = append(s.Buf, '[')
	first := true
	for i := range results {
		r := &results[i]
		if replicated && r.Err == nil {
			continue
		}
		s.Separate(&first)
		if r.Err == nil {
			s.Buf = appendWritten(s.Buf, r.ID, r.Rev)
		} else {
			s.Buf = jsontext.AppendQuoted(append(s.Buf, `{"id":`...), r.ID)
			if replicated {
				s.Buf = encode.Rev(append(s.Buf, `,"rev":`...), r.Rev)
			}
			s.Buf = append(fault.Of(r.Err).Append(append(s.Buf, ',')), '}')
		}
		if err := s.Full(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, ']', '\n')
	return s.End()
}

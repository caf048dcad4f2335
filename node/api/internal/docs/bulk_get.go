package docs

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// bulkRef is one entry of a _bulk_get request: what to read, or why it cannot be read.
type bulkRef struct {
	ref    layer.DocRef
	since  []layer.Rev
	fault  *fault.Fault
	rawID  string // JSON, for the response; null if there was none
	rawRev string // JSON, of an invalid entry
}

// bulkCost is the memory for an entry of a bulk request in addition to its text, revCost that for a revision.
const (
	bulkCost = 400
	revCost  = 48
)

// tooManyDocs is the answer of CouchDB on FoundationDB to a bulk request with more documents than allowed. Its reason
// is that number.
func tooManyDocs(name string, most int) *fault.Fault {
	return &fault.Fault{Status: http.StatusRequestEntityTooLarge, Name: name, Reason: strconv.Itoa(most)}
}

// BulkGet answers POST /{db}/_bulk_get. It writes documents as it reads them, in the requested order.
func (h *Bulk) BulkGet(q *call.Request) error {
	if err := q.RequireJSON(); err != nil {
		return err
	}
	for _, name := range []string{"open_revs", "new_edits", "w", "rev", "atts_since"} {
		if q.Params.Has(name) {
			return fault.BadRequest(`"%s" query parameter is not acceptable`, name)
		}
	}
	d, err := readDocQuery(q)
	if err != nil {
		return err
	}
	d.ofLeaves()
	body, err := q.Body.Object()
	if err != nil {
		return err
	}
	docs := decode.Member(body, "docs")
	if !docs.IsArray() {
		return fault.BadRequest("Missing JSON list of 'docs'.")
	}
	count := 0
	docs.ForEach(func(_, _ gjson.Result) bool { count++; return true })
	if most := h.Docs.Limits.Bulk; count > most {
		return tooManyDocs("max_bulk_get_count_exceeded", most)
	}
	// Only the revisions of atts_since can be numerous as well.
	if err := q.Body.Parts(int64(bulkCost*count + revCost*decode.Elements(docs))); err != nil {
		return err
	}
	refs := make([]bulkRef, 0, count)
	docs.ForEach(func(_, v gjson.Result) bool {
		r := parseBulkRef(v)
		if r.fault == nil {
			if err := q.DB.CheckID(q.Ctx(), r.ref.ID); err != nil {
				r.fault = fault.Of(err)
			}
		}
		refs = append(refs, r)
		return true
	})
	for _, r := range refs {
		d.get.Revs = d.get.Revs || len(r.since) > 0
	}
	if !q.Accepts("application", "json") && (q.Accepts("multipart", "mixed") || q.Accepts("multipart", "related")) {
		return h.bulkGetMixed(q, refs, &d)
	}
	return h.bulkGetJSON(q, refs, &d)
}

// parseBulkRef parses one entry. An invalid entry is answered in its place.
func parseBulkRef(v gjson.Result) (r bulkRef) {
	r.rawID, r.rawRev = "null", "null"
	if !v.IsObject() || v.Raw == "{}" {
		r.fault = fault.BadRequest("document must be a JSON object")
		return r
	}
	id := decode.Member(v, "id")
	if !id.Exists() {
		r.fault = fault.BadRequest("document id missed")
		return r
	}
	r.rawID = id.Raw
	if id.Type != gjson.String {
		r.fault = &fault.Fault{Status: http.StatusBadRequest, Name: "illegal_docid",
			Reason: "Document id must be a string"}
		return r
	}
	r.ref.ID = id.Str
	if err := layer.ValidateID(id.Str); err != nil {
		r.fault = fault.Of(err)
		return r
	}
	if rev := decode.Member(v, "rev"); rev.Exists() {
		var err error
		if r.ref.Rev, err = parseRev(rev.Str); err != nil || rev.Type != gjson.String {
			r.rawRev, r.fault = rev.Raw, fault.BadRequest("Invalid rev format")
			return r
		}
	}
	since := decode.Member(v, "atts_since")
	if !since.Exists() {
		return r
	}
	if !since.IsArray() {
		r.rawRev, r.fault = since.Raw, fault.BadRequest("att_since value must be array of revs.")
		return r
	}
	var err error
	if r.since, err = parseRevs(since); err != nil {
		r.rawRev, r.fault = since.Raw, fault.BadRequest("Invalid rev format")
	}
	return r
}

// bulkPart is some of an entry's documents, in order.
type bulkPart struct {
	*bulkRef
	docs        []layer.OpenRev
	first, last bool
}

// readBulk reads the entries and calls row for the parts of each, in order. An invalid entry has one part without
// documents.
func (h *Bulk) readBulk(q *call.Request, refs []bulkRef, o layer.GetOptions, row func(bulkPart) error) error {
	o.Large = true
	wanted := make([]layer.DocRef, 0, len(refs))
	for _, r := range refs {
		if r.fault == nil {
			wanted = append(wanted, r.ref)
		}
	}
	next := 0
	faulty := func() error { // answers the invalid entries before the next valid one
		for ; next < len(refs) && refs[next].fault != nil; next++ {
			if err := row(bulkPart{bulkRef: &refs[next], first: true, last: true}); err != nil {
				return err
			}
		}
		return nil
	}
	first := true
	for got, err := range q.DB.BulkGet(q.Ctx(), wanted, o) {
		if err != nil {
			return err
		}
		if first {
			if err := faulty(); err != nil {
				return err
			}
		}
		p := bulkPart{bulkRef: &refs[next], docs: got.Docs, first: first, last: !got.More}
		if first = p.last; p.last {
			next++
		}
		switch {
		case !p.first && p.fault != nil: // reported with the first part
			p.docs = nil
		case got.Err != nil:
			p.fault, p.docs = fault.Of(got.Err), nil
		case len(p.docs) == 0:
			p.fault = fault.NotFound("missing")
		default:
			// depends on the id alone, so it is the same for all parts
			if err := h.screenAll(q, p.docs); err != nil {
				p.fault, p.docs = fault.Of(err), nil
			}
		}
		if err := row(p); err != nil {
			return err
		}
	}
	return faulty()
}

func (h *Bulk) screenAll(q *call.Request, docs []layer.OpenRev) error {
	for i := range docs {
		if docs[i].Doc != nil {
			if err := h.Docs.screen(q, docs[i].Doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// renderingOf returns the options for one entry's documents: with atts_since they include newer attachments.
func (r *bulkRef) renderingOf(d *docQuery) render.Options {
	shown := d.render
	if len(r.since) > 0 {
		shown.Attachments, shown.Since = true, r.since
	}
	return shown
}

// appendError appends an entry's error object. As in CouchDB, the revision is "undefined" if none was requested.
func (r *bulkRef) appendError(dst []byte, rev layer.Rev, f *fault.Fault) []byte {
	dst = append(append(dst, `{"id":`...), r.rawID...)
	dst = append(dst, `,"rev":`...)
	switch {
	case !rev.IsZero():
		dst = encode.Rev(dst, rev)
	case !r.ref.Rev.IsZero():
		dst = encode.Rev(dst, r.ref.Rev)
	case f.Status == http.StatusNotFound:
		dst = append(dst, `"undefined"`...)
	default:
		dst = append(dst, r.rawRev...)
	}
	return append(f.Append(append(dst, ',')), '}')
}

func (h *Bulk) bulkGetJSON(q *call.Request, refs []bulkRef, d *docQuery) error {
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, `{"results":[`...)
	first := true
	err := h.readBulk(q, refs, d.get, func(p bulkPart) error {
		if p.first {
			s.Separate(&first)
			s.Buf = append(append(s.Buf, `{"id":`...), p.rawID...)
			s.Buf = append(s.Buf, `,"docs":[`...)
			if p.fault != nil {
				s.Buf = append(p.appendError(append(s.Buf, `{"error":`...), layer.Rev{}, p.fault), '}')
			}
		}
		shown := p.renderingOf(d)
		for i, one := range p.docs {
			if i > 0 || !p.first {
				s.Buf = append(s.Buf, ',')
			}
			if err := bulkDocument(s, p.bulkRef, one, &shown, d); err != nil {
				return err
			}
		}
		if p.last {
			s.Buf = append(s.Buf, "]}"...)
		}
		return s.Full()
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}

func bulkDocument(s *call.Stream, r *bulkRef, one layer.OpenRev, shown *render.Options, d *docQuery) error {
	if one.Doc == nil {
		s.Buf = append(r.appendError(append(s.Buf, `{"error":`...), one.Rev, fault.NotFound("missing")), '}')
		return nil
	}
	data := shown.Split(one.Doc)
	hideRevs(s.Q, one.Doc, d)
	s.Buf = append(s.Buf, `{"ok":`...)
	if err := render.DocumentWith(s, one.Doc, shown, data); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '}')
	return nil
}

// bulkGetMixed answers with multipart/mixed (or related, as the client asks).
func (h *Bulk) bulkGetMixed(q *call.Request, refs []bulkRef, d *docQuery) error {
	typ := "multipart/related"
	if q.Accepts("multipart", "mixed") {
		typ = "multipart/mixed"
	}
	outer, inner := "--"+render.RandomHex(), "--"+render.RandomHex()
	d.render.Attachments = true
	q.W.Header().Set("Content-Type", typ+`; boundary="`+outer+`"`)
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	err := h.readBulk(q, refs, d.get, func(p bulkPart) error {
		if p.fault != nil && p.first {
			errorPart(s, outer, p.bulkRef, layer.Rev{}, p.fault)
		}
		shown := p.renderingOf(d)
		for _, one := range p.docs {
			if one.Doc == nil {
				errorPart(s, outer, p.bulkRef, one.Rev, fault.NotFound("missing"))
				continue
			}
			data := shown.Split(one.Doc)
			hideRevs(q, one.Doc, d)
			if err := documentPart(s, outer, inner, one.Doc, data); err != nil {
				return err
			}
		}
		return s.Full()
	})
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		s.Buf = append(append(append(s.Buf, "\r\n--"...), outer...), "--\r\n"...)
	}
	return s.End()
}

func errorPart(s *call.Stream, boundary string, r *bulkRef, rev layer.Rev, f *fault.Fault) {
	s.Buf = append(append(s.Buf, "\r\n--"...), boundary...)
	s.Buf = append(s.Buf, "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n"...)
	s.Buf = r.appendError(s.Buf, rev, f)
}

// documentPart writes a document with its part header.
func documentPart(s *call.Stream, outer, inner string, doc *layer.Document, data []bool) error {
	s.Buf = append(append(s.Buf, "\r\n--"...), outer...)
	if !slices.Contains(data, true) {
		s.Buf = append(s.Buf, "\r\nContent-Type: application/json\r\n\r\n"...)
		return render.WriteJSON(s, doc, render.DataFollows(data))
	}
	s.Buf = append(append(s.Buf, "\r\nX-Doc-Id: "...), strings.TrimSpace(headerText(doc.ID))...)
	s.Buf = append(append(s.Buf, "\r\nX-Rev-Id: "...), headerText(doc.Rev.String())...)
	s.Buf = append(append(s.Buf, "\r\nContent-Type: multipart/related; boundary="...), inner...)
	s.Buf = append(s.Buf, "\r\n\r\n"...)
	return related(s, inner, doc, data)
}

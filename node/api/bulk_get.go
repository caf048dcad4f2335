package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// bulkRef is one entry of a _bulk_get request: what to read, or why that cannot be.
type bulkRef struct {
	ref    layer.DocRef
	since  []layer.Rev
	fault  *fault
	rawID  string // JSON, for the answer; null where there was none
	rawRev string // JSON, of a faulty entry
}

// bulkCost is what an entry of a bulk request takes beside its text, revCost a revision.
const (
	bulkCost = 400
	revCost  = 48
)

// tooManyDocs is CouchDB's answer on FoundationDB to a bulk request of more documents than the setting allows: its reason is that number.
func tooManyDocs(name string, most int) *fault {
	return &fault{status: http.StatusRequestEntityTooLarge, name: name, reason: strconv.Itoa(most)}
}

// bulkGet answers POST /{db}/_bulk_get. Documents are written as they are read, in the order asked.
func (q *request) bulkGet() error {
	if err := q.requireJSON(); err != nil {
		return err
	}
	for _, name := range []string{"open_revs", "new_edits", "w", "rev", "atts_since"} {
		if q.params.has(name) {
			return badRequest(`"%s" query parameter is not acceptable`, name)
		}
	}
	d, err := q.docQuery()
	if err != nil {
		return err
	}
	body, err := q.objectBody()
	if err != nil {
		return err
	}
	docs := member(body, "docs")
	if !docs.IsArray() {
		return badRequest("Missing JSON list of 'docs'.")
	}
	count := 0
	docs.ForEach(func(_, _ gjson.Result) bool { count++; return true })
	if most := q.srv.o.Limits.Bulk; count > most {
		return tooManyDocs("max_bulk_get_count_exceeded", most)
	}
	// Revisions of atts_since are the only other thing that there can be many of.
	if err := q.parts(int64(bulkCost*count + revCost*elements(docs))); err != nil {
		return err
	}
	refs := make([]bulkRef, 0, count)
	docs.ForEach(func(_, v gjson.Result) bool {
		r := parseBulkRef(v)
		if r.fault == nil {
			if err := q.db.CheckID(q.ctx(), r.ref.ID); err != nil {
				r.fault = faultOf(err)
			}
		}
		refs = append(refs, r)
		return true
	})
	for _, r := range refs {
		d.get.Revs = d.get.Revs || len(r.since) > 0
	}
	if !q.accepts("application", "json") && (q.accepts("multipart", "mixed") || q.accepts("multipart", "related")) {
		return q.bulkGetMixed(refs, &d)
	}
	return q.bulkGetJSON(refs, &d)
}

// parseBulkRef reads one entry; a faulty one is answered in its place.
func parseBulkRef(v gjson.Result) (r bulkRef) {
	r.rawID, r.rawRev = "null", "null"
	if !v.IsObject() || v.Raw == "{}" {
		r.fault = badRequest("document must be a JSON object")
		return r
	}
	id := member(v, "id")
	if !id.Exists() {
		r.fault = badRequest("document id missed")
		return r
	}
	r.rawID = id.Raw
	if id.Type != gjson.String {
		r.fault = &fault{status: http.StatusBadRequest, name: "illegal_docid", reason: "Document id must be a string"}
		return r
	}
	r.ref.ID = id.Str
	if err := layer.ValidateID(id.Str); err != nil {
		r.fault = faultOf(err)
		return r
	}
	if rev := member(v, "rev"); rev.Exists() {
		var err error
		if r.ref.Rev, err = parseRev(rev.Str); err != nil || rev.Type != gjson.String {
			r.rawRev, r.fault = rev.Raw, badRequest("Invalid rev format")
			return r
		}
	}
	since := member(v, "atts_since")
	if !since.Exists() {
		return r
	}
	if !since.IsArray() {
		r.rawRev, r.fault = since.Raw, badRequest("att_since value must be array of revs.")
		return r
	}
	var err error
	if r.since, err = parseRevs(since); err != nil {
		r.rawRev, r.fault = since.Raw, badRequest("Invalid rev format")
	}
	return r
}

// bulkPart is some documents of an entry, in order.
type bulkPart struct {
	*bulkRef
	docs        []layer.OpenRev
	first, last bool
}

// readBulk reads the entries and calls row for the parts of each, in order; faulty entries have one part without
// documents.
func (q *request) readBulk(refs []bulkRef, o layer.GetOptions, row func(bulkPart) error) error {
	o.Large = true
	wanted := make([]layer.DocRef, 0, len(refs))
	for _, r := range refs {
		if r.fault == nil {
			wanted = append(wanted, r.ref)
		}
	}
	next := 0
	faulty := func() error { // answers the faulty entries before the next good one
		for ; next < len(refs) && refs[next].fault != nil; next++ {
			if err := row(bulkPart{bulkRef: &refs[next], first: true, last: true}); err != nil {
				return err
			}
		}
		return nil
	}
	first := true
	for got, err := range q.db.BulkGet(q.ctx(), wanted, o) {
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
		case !p.first && p.fault != nil: // said with the first part
			p.docs = nil
		case got.Err != nil:
			p.fault, p.docs = faultOf(got.Err), nil
		case len(p.docs) == 0:
			p.fault = notFound("missing")
		default:
			if err := q.screenAll(p.docs); err != nil { // by the id alone, so that it is the same for all parts
				p.fault, p.docs = faultOf(err), nil
			}
		}
		if err := row(p); err != nil {
			return err
		}
	}
	return faulty()
}

func (q *request) screenAll(docs []layer.OpenRev) error {
	for i := range docs {
		if docs[i].Doc != nil {
			if err := q.screen(docs[i].Doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// renderingOf is the rendering of one entry's documents: with atts_since they come with their newer attachments.
func (r *bulkRef) renderingOf(d *docQuery) rendering {
	shown := d.render
	if len(r.since) > 0 {
		shown.attachments, shown.since = true, r.since
	}
	return shown
}

// appendError appends an entry's error object. CouchDB names the revision "undefined" where none was asked for.
func (r *bulkRef) appendError(dst []byte, rev layer.Rev, f *fault) []byte {
	dst = append(append(dst, `{"id":`...), r.rawID...)
	dst = append(dst, `,"rev":`...)
	switch {
	case !rev.IsZero():
		dst = appendRev(dst, rev)
	case !r.ref.Rev.IsZero():
		dst = appendRev(dst, r.ref.Rev)
	case f.status == http.StatusNotFound:
		dst = append(dst, `"undefined"`...)
	default:
		dst = append(dst, r.rawRev...)
	}
	return append(f.append(append(dst, ',')), '}')
}

func (q *request) bulkGetJSON(refs []bulkRef, d *docQuery) error {
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, `{"results":[`...)
	first := true
	err := q.readBulk(refs, d.get, func(p bulkPart) error {
		if p.first {
			s.separate(&first)
			s.buf = append(append(s.buf, `{"id":`...), p.rawID...)
			s.buf = append(s.buf, `,"docs":[`...)
			if p.fault != nil {
				s.buf = append(p.appendError(append(s.buf, `{"error":`...), layer.Rev{}, p.fault), '}')
			}
		}
		shown := p.renderingOf(d)
		for i, one := range p.docs {
			if i > 0 || !p.first {
				s.buf = append(s.buf, ',')
			}
			if err := s.bulkDocument(p.bulkRef, one, &shown, d); err != nil {
				return err
			}
		}
		if p.last {
			s.buf = append(s.buf, "]}"...)
		}
		return s.full()
	})
	if err != nil {
		return err
	}
	s.buf = append(s.buf, "]}\n"...)
	return s.end()
}

func (s *stream) bulkDocument(r *bulkRef, one layer.OpenRev, shown *rendering, d *docQuery) error {
	if one.Doc == nil {
		s.buf = append(r.appendError(append(s.buf, `{"error":`...), one.Rev, notFound("missing")), '}')
		return nil
	}
	data := shown.split(one.Doc)
	s.q.hideRevs(one.Doc, d)
	s.buf = append(s.buf, `{"ok":`...)
	if err := s.documentWith(one.Doc, shown, data); err != nil {
		return err
	}
	s.buf = append(s.buf, '}')
	return nil
}

// bulkGetMixed answers as multipart/mixed (or related, as the client says).
func (q *request) bulkGetMixed(refs []bulkRef, d *docQuery) error {
	typ := "multipart/related"
	if q.accepts("multipart", "mixed") {
		typ = "multipart/mixed"
	}
	outer, inner := "--"+randomHex(), "--"+randomHex()
	d.render.attachments = true
	q.w.Header().Set("Content-Type", typ+`; boundary="`+outer+`"`)
	s := q.stream(http.StatusOK)
	defer s.drop()
	err := q.readBulk(refs, d.get, func(p bulkPart) error {
		if p.fault != nil && p.first {
			s.errorPart(outer, p.bulkRef, layer.Rev{}, p.fault)
		}
		shown := p.renderingOf(d)
		for _, one := range p.docs {
			if one.Doc == nil {
				s.errorPart(outer, p.bulkRef, one.Rev, notFound("missing"))
				continue
			}
			data := shown.split(one.Doc)
			q.hideRevs(one.Doc, d)
			if err := s.documentPart(outer, inner, one.Doc, data); err != nil {
				return err
			}
		}
		return s.full()
	})
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		s.buf = append(append(append(s.buf, "\r\n--"...), outer...), "--\r\n"...)
	}
	return s.end()
}

func (s *stream) errorPart(boundary string, r *bulkRef, rev layer.Rev, f *fault) {
	s.buf = append(append(s.buf, "\r\n--"...), boundary...)
	s.buf = append(s.buf, "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n"...)
	s.buf = r.appendError(s.buf, rev, f)
}

// documentPart writes a document with its part header.
func (s *stream) documentPart(outer, inner string, doc *layer.Document, data []bool) error {
	s.buf = append(append(s.buf, "\r\n--"...), outer...)
	if !slices.Contains(data, true) {
		s.buf = append(s.buf, "\r\nContent-Type: application/json\r\n\r\n"...)
		return s.writeJSON(doc, dataFollows(data))
	}
	s.buf = append(append(s.buf, "\r\nX-Doc-Id: "...), strings.TrimSpace(headerText(doc.ID))...)
	s.buf = append(append(s.buf, "\r\nX-Rev-Id: "...), headerText(doc.Rev.String())...)
	s.buf = append(append(s.buf, "\r\nContent-Type: multipart/related; boundary="...), inner...)
	s.buf = append(s.buf, "\r\n\r\n"...)
	return s.related(inner, doc, data)
}

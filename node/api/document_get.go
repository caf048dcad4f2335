package api

import (
	"crypto/md5"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
)

// getDocument answers GET and HEAD of a document: one revision, or several with open_revs.
func (q *request) getDocument() error {
	d, err := q.docQuery()
	if err != nil {
		return err
	}
	id := q.docID()
	if d.wantsOpenRevs {
		return q.openRevs(id, &d)
	}
	d.get.Large = true
	doc, err := q.readDocument(id, d.get)
	if err != nil {
		return err
	}
	if tag := q.documentTag(doc, &d); tag != "" && q.notModified(tag) {
		return nil
	}
	return q.sendDocument(doc, &d)
}

// readDocument reads one revision of a document, _local ones included, as far as the user may see it.
func (q *request) readDocument(id string, o layer.GetOptions) (doc *layer.Document, err error) {
	if isLocal(id) {
		return q.db.LocalDocument(q.ctx(), id)
	}
	if doc, err = q.db.Get(q.ctx(), id, o); err != nil {
		return nil, err
	}
	return doc, q.screen(doc)
}

// screen applies the rules of the _users database to a document that was read. Elsewhere it does nothing.
func (q *request) screen(doc *layer.Document) error {
	if q.path[0] != usersDatabase || q.srv.o.Users == nil {
		return nil
	}
	admin, err := q.isDatabaseAdmin()
	if err != nil {
		return err
	}
	return q.srv.o.Users.AfterRead(q.user, admin, doc)
}

// hideRevs drops the history that was read for atts_since alone. AppendJSON shows what is there.
func (q *request) hideRevs(doc *layer.Document, d *docQuery) {
	if !d.wantsRevs {
		doc.Revs = nil
	}
}

// documentTag is the ETag of a document: its revision. A _local document's revision counts up and begins anew after a deletion, so that its body is part of
// the tag. Answers with other branches or sequences in them have none: they change while the revision stays.
func (q *request) documentTag(doc *layer.Document, d *docQuery) string {
	if isLocal(doc.ID) {
		return fmt.Sprintf(`"%x"`, md5.Sum(append(doc.Body, doc.Rev.String()...)))
	}
	if d.get.RevsInfo || d.get.Conflicts || d.get.DeletedConflicts || d.get.LocalSeq {
		return ""
	}
	return `"` + doc.Rev.String() + `"`
}

// sendDocument answers with a document: JSON, or multipart/related where data is wanted and the client names that type.
func (q *request) sendDocument(doc *layer.Document, d *docQuery) error {
	data := d.render.split(doc)
	q.hideRevs(doc, d)
	if !slices.Contains(data, true) {
		return q.sendPlain(doc, &d.render)
	}
	if q.accepts("multipart", "related") {
		return q.sendRelated(doc, data)
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	if err := s.documentWith(doc, &d.render, data); err != nil {
		return err
	}
	s.buf = append(s.buf, '\n')
	return s.end()
}

// sendPlain answers with a document without data.
func (q *request) sendPlain(doc *layer.Document, r *rendering) error {
	if doc.Large == nil {
		return q.sendJSON(http.StatusOK, doc.AppendJSONWith(make([]byte, 0, len(doc.Body)+256), r.appendStub))
	}
	q.w.Header()["Content-Length"] = []string{strconv.FormatInt(jsonLength(doc, r.appendStub)+1, 10)}
	s := q.stream(http.StatusOK)
	defer s.drop()
	if err := s.writeJSON(doc, r.appendStub); err != nil {
		return err
	}
	s.buf = append(s.buf, '\n')
	return s.flush()
}

// aheadRevs is how many leaves are read before an answer begins, and aheadBytes how large they may be together: most
// errors are found by then.
const (
	aheadRevs  = 1000
	aheadBytes = 256 << 10
)

// openRevs answers several leaves of a document.
func (q *request) openRevs(id string, d *docQuery) error {
	revs := d.openRevs
	if d.openAll {
		revs = nil
	}
	d.get.Large = true
	next, stop := iter.Pull2(q.db.EachOpenRev(q.ctx(), id, revs, d.get))
	defer stop()
	read := func() (one layer.OpenRev, more bool, err error) {
		one, err, more = next()
		if err == nil && more && one.Doc != nil {
			err = q.screen(one.Doc)
		}
		return one, more, err
	}
	var ahead []layer.OpenRev
	more := true
	for size := 0; more && len(ahead) < aheadRevs && size < aheadBytes; {
		var one layer.OpenRev
		var err error
		if one, more, err = read(); err != nil {
			return err
		}
		if more {
			ahead = append(ahead, one)
		}
		if one.Doc != nil {
			size += len(one.Doc.Body)
		}
	}
	if d.openAll && len(ahead) == 0 {
		return notFound("missing")
	}
	found := func(yield func(layer.OpenRev, error) bool) {
		for _, one := range ahead {
			if !yield(one, nil) {
				return
			}
		}
		for more {
			one, more, err := read()
			if !more && err == nil || !yield(one, err) || err != nil {
				return
			}
		}
	}
	if q.accepts("multipart", "mixed") {
		return q.sendMixed(found, d)
	}
	s := q.stream(http.StatusOK)
	defer s.drop()
	s.buf = append(s.buf, '[')
	first := true
	for one, err := range found {
		if err != nil {
			return err
		}
		if !first {
			s.buf = append(s.buf, ',')
		}
		first = false
		if one.Doc == nil {
			s.buf = appendRev(append(s.buf, `{"missing":`...), one.Rev)
		} else {
			s.buf = append(s.buf, `{"ok":`...)
			data := d.render.split(one.Doc)
			q.hideRevs(one.Doc, d)
			if err := s.documentWith(one.Doc, &d.render, data); err != nil {
				return err
			}
		}
		s.buf = append(s.buf, '}')
		if err := s.full(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf, ']', '\n')
	return s.end()
}

// accepts reports whether the client names a media type in Accept. A client that names nothing, or only */*, gets JSON
// (docs/clauses.md, "HTTP"): unlike CouchDB, which sends multipart to curl.
func (q *request) accepts(typ, subtype string) bool {
	for _, header := range q.r.Header["Accept"] {
		for _, one := range strings.Split(header, ",") {
			name, options, _ := strings.Cut(one, ";")
			t, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "/")
			if t == typ && (sub == subtype || sub == "*") && !refusedQuality(options) {
				return true
			}
		}
	}
	return false
}

// refusedQuality reports whether a media range's parameters say q=0.
func refusedQuality(options string) bool {
	for _, o := range strings.Split(options, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(o), "=")
		if strings.EqualFold(name, "q") && strings.Trim(value, "0.") == "" {
			return true
		}
	}
	return false
}

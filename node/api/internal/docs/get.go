package docs

import (
	"crypto/md5"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
	"github.com/divandb/divan/node/auth"
)

// GetDocument answers GET and HEAD of a document: one revision, or several with open_revs.
func (h *Handlers) GetDocument(q *call.Request) error {
	d, err := readDocQuery(q)
	if err != nil {
		return err
	}
	id := docID(q)
	if d.wantsOpenRevs {
		return h.openRevs(q, id, &d)
	}
	d.get.Large = true
	doc, err := h.Read(q, id, d.get)
	if err != nil {
		return err
	}
	if tag := documentTag(q, doc, &d); tag != "" && q.NotModified(tag) {
		return nil
	}
	return sendDocument(q, doc, &d)
}

// Read reads one revision of a document, including _local ones, as far as the user may see it.
func (h *Handlers) Read(q *call.Request, id string, o layer.GetOptions) (doc *layer.Document, err error) {
	if isLocal(id) {
		doc, err = q.DB.LocalDocument(q.Ctx(), id)
		if err == nil && !o.Rev.IsZero() && doc.Rev != o.Rev { // older ones are not kept
			return nil, fault.NotFound("missing")
		}
		return doc, err
	}
	if doc, err = q.DB.Get(q.Ctx(), id, o); err != nil {
		return nil, err
	}
	return doc, h.screen(q, doc)
}

// screen applies the rules of the databases of users and of replications to a document that was read. For other
// databases it does nothing.
func (h *Handlers) screen(q *call.Request, doc *layer.Document) error {
	if !auth.IsUsersDatabase(q.Path[0]) || h.Users == nil {
		return h.screenReplication(q, doc)
	}
	admin, err := q.IsDatabaseAdmin()
	if err != nil {
		return err
	}
	return h.Users.AfterRead(q.User, admin, doc)
}

// hideRevs drops a history that was read only for atts_since, because AppendJSON would show it.
func hideRevs(q *call.Request, doc *layer.Document, d *docQuery) {
	if !d.wantsRevs {
		doc.Revs = nil
	}
}

// documentTag returns the ETag of a document: its revision. The revision of a _local document is a counter that starts
// again after a deletion, so the tag includes its body. Responses with other branches or sequences have no tag, because
// they change while the revision does not.
func documentTag(q *call.Request, doc *layer.Document, d *docQuery) string {
	if isLocal(doc.ID) {
		return fmt.Sprintf(`"%x"`, md5.Sum(append(doc.Body, doc.Rev.String()...)))
	}
	if d.get.RevsInfo || d.get.Conflicts || d.get.DeletedConflicts || d.get.LocalSeq {
		return ""
	}
	return `"` + doc.Rev.String() + `"`
}

// sendDocument answers with a document: multipart/related if attachment data is wanted and the client accepts that
// type, otherwise JSON.
func sendDocument(q *call.Request, doc *layer.Document, d *docQuery) error {
	data := d.render.Split(doc)
	hideRevs(q, doc, d)
	if !slices.Contains(data, true) {
		// A client that asked for multipart, and has all the data, gets the same members of stubs.
		d.render.EncodingInfo = d.render.EncodingInfo || d.render.Attachments && q.Accepts("multipart", "related")
		return sendPlain(q, doc, &d.render)
	}
	if q.Accepts("multipart", "related") {
		return sendRelated(q, doc, data)
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := render.DocumentWith(s, doc, &d.render, data); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '\n')
	return s.End()
}

// sendPlain answers with a document without attachment data.
func sendPlain(q *call.Request, doc *layer.Document, r *render.Options) error {
	if doc.Large == nil {
		return q.SendJSON(http.StatusOK, doc.AppendJSONWith(make([]byte, 0, len(doc.Body)+256), r.AppendStub))
	}
	q.W.Header()["Content-Length"] = []string{strconv.FormatInt(render.JSONLength(doc, r.AppendStub)+1, 10)}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	if err := render.WriteJSON(s, doc, r.AppendStub); err != nil {
		return err
	}
	s.Buf = append(s.Buf, '\n')
	return s.Flush()
}

// aheadRevs is how many leaves are read before a response begins, and aheadBytes how large they may be together. Most
// errors are found by then.
const (
	aheadRevs  = 1000
	aheadBytes = 256 << 10
)

// openRevs answers with several leaves of a document.
func (h *Handlers) openRevs(q *call.Request, id string, d *docQuery) error {
	revs := d.openRevs
	if d.openAll {
		revs = nil
	}
	d.get.Large = true
	d.ofLeaves()
	next, stop := iter.Pull2(q.DB.EachOpenRev(q.Ctx(), id, revs, d.get))
	defer stop()
	read := func() (one layer.OpenRev, more bool, err error) {
		one, err, more = next()
		if err == nil && more && one.Doc != nil {
			err = h.screen(q, one.Doc)
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
		return fault.NotFound("missing")
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
	if q.Accepts("multipart", "mixed") {
		return sendMixed(q, found, d)
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, '[')
	first := true
	for one, err := range found {
		if err != nil {
			return err
		}
		s.Separate(&first)
		if one.Doc == nil {
			s.Buf = encode.Rev(append(s.Buf, `{"missing":`...), one.Rev)
		} else {
			s.Buf = append(s.Buf, `{"ok":`...)
			data := d.render.Split(one.Doc)
			hideRevs(q, one.Doc, d)
			if err := render.DocumentWith(s, one.Doc, &d.render, data); err != nil {
				return err
			}
		}
		s.Buf = append(s.Buf, '}')
		if err := s.Full(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, ']', '\n')
	return s.End()
}

package rev

import (
	"strconv"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/jsontext"
)

// AppendJSON appends the document as CouchDB renders it: _id, _rev, the members of the body unchanged, then _deleted,
// _revisions, _revs_info, _conflicts, _deleted_conflicts, _local_seq, and _attachments as stubs. The body is copied
// without decoding it.
func (doc *Document) AppendJSON(dst []byte) []byte { return doc.AppendJSONWith(dst, AppendStub) }

// AppendJSONWith is AppendJSON with a function that appends the JSON object of each attachment.
func (doc *Document) AppendJSONWith(dst []byte, attachment func(dst []byte, a *Attachment) []byte) []byte {
	if doc.Large != nil {
		panic("layer: the body of " + doc.ID + " is still in the store")
	}
	dst = doc.AppendHead(dst)
	if members := bodyMembers(doc.Body); len(members) > 0 {
		dst = append(dst, ',')
		dst = append(dst, members...)
	}
	return doc.AppendTail(dst, attachment)
}

// AppendHead appends what comes before the members of the body, and AppendTail what comes after them. Between them goes
// a body that was left in the store: a comma, and its text without the braces.
func (doc *Document) AppendHead(dst []byte) []byte {
	dst = append(dst, `{"_id":`...)
	dst = jsontext.AppendQuoted(dst, doc.ID)
	if !doc.Rev.IsZero() {
		dst = append(dst, `,"_rev":`...)
		dst = appendRevJSON(dst, doc.Rev)
	}
	return dst
}

// AppendTail appends what comes after the members of the body.
func (doc *Document) AppendTail(dst []byte, attachment func(dst []byte, a *Attachment) []byte) []byte {
	if doc.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	dst = doc.appendMeta(dst)
	if len(doc.Attachments) > 0 {
		dst = append(dst, `,"_attachments":{`...)
		for i := range doc.Attachments {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsontext.AppendQuoted(dst, doc.Attachments[i].Name)
			dst = append(dst, ':')
			dst = attachment(dst, &doc.Attachments[i])
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// bodyMembers returns the text between an object's braces, without surrounding white space.
func bodyMembers(body []byte) []byte {
	if len(body) < 2 {
		return nil
	}
	m := body[1 : len(body)-1]
	for len(m) > 0 && isJSONSpace(m[0]) {
		m = m[1:]
	}
	for len(m) > 0 && isJSONSpace(m[len(m)-1]) {
		m = m[:len(m)-1]
	}
	return m
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (doc *Document) appendMeta(dst []byte) []byte {
	if len(doc.Revs) > 0 {
		dst = append(dst, `,"_revisions":{"start":`...)
		dst = strconv.AppendInt(dst, doc.Revs[0].Pos, 10)
		dst = append(dst, `,"ids":[`...)
		for i, r := range doc.Revs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsontext.AppendQuoted(dst, r.ID)
		}
		dst = append(dst, `]}`...)
	}
	if len(doc.RevsInfo) > 0 {
		dst = append(dst, `,"_revs_info":[`...)
		for i, r := range doc.RevsInfo {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"rev":`...)
			dst = appendRevJSON(dst, r.Rev)
			dst = append(dst, `,"status":"`...)
			dst = append(dst, r.Status...)
			dst = append(dst, `"}`...)
		}
		dst = append(dst, ']')
	}
	dst = appendRevList(dst, `,"_conflicts":[`, doc.Conflicts)
	dst = appendRevList(dst, `,"_deleted_conflicts":[`, doc.DeletedConflicts)
	if !doc.LocalSeq.IsZero() {
		dst = append(dst, `,"_local_seq":"`...)
		dst = doc.LocalSeq.Append(dst)
		dst = append(dst, '"')
	}
	return dst
}

func appendRevList(dst []byte, open string, revs []db.Rev) []byte {
	if len(revs) == 0 {
		return dst
	}
	dst = append(dst, open...)
	for i, r := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRevJSON(dst, r)
	}
	return append(dst, ']')
}

// appendRevJSON appends a revision id as a JSON string. Ids that are not hashes may contain any character.
func appendRevJSON(dst []byte, r db.Rev) []byte {
	if !r.IsHash() {
		return jsontext.AppendQuoted(dst, r.String())
	}
	dst = append(dst, '"')
	dst = r.Append(dst)
	return append(dst, '"')
}

// AppendStub appends an attachment as a stub, as in documents requested without attachments=true.
func AppendStub(dst []byte, a *Attachment) []byte {
	dst = AppendAttachmentMembers(dst, a)
	dst = append(dst, `,"length":`...)
	dst = strconv.AppendInt(dst, a.Length, 10)
	return append(dst, `,"stub":true}`...)
}

// AppendAttachmentMembers appends an opening brace and the members that begin every rendering of an attachment:
// content_type, revpos, digest.
func AppendAttachmentMembers(dst []byte, a *Attachment) []byte {
	dst = append(dst, `{"content_type":`...)
	dst = jsontext.AppendQuoted(dst, a.ContentType)
	dst = append(dst, `,"revpos":`...)
	dst = strconv.AppendInt(dst, a.RevPos, 10)
	dst = append(dst, `,"digest":`...)
	return jsontext.AppendQuoted(dst, a.Digest)
}

package write

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/revtree"
)

// ParseEdit converts a client's JSON document to an Edit. It validates the JSON and splits off the members that begin
// with an underscore (_id, _rev, _deleted, _attachments, _revisions). Like CouchDB, it ignores those that only occur in
// answers, and returns Invalid (doc_validation) for unknown ones. The rest is kept unchanged, except that line breaks
// between tokens are removed, because a feed has one line for each row. The Edit may share doc's memory. replicated
// determines how _rev and _revisions are interpreted (new_edits=false).
func ParseEdit(doc []byte, replicated bool) (rev.Edit, error) {
	p := editParser{doc: doc, replicated: replicated, from: -1}
	object, err := jsontext.ScanMembers(doc, p.member)
	if err != nil {
		return rev.Edit{}, fault.Errf(fault.Invalid, "bad_request", "%s", err)
	}
	if p.err != nil {
		return rev.Edit{}, p.err
	}
	if err := p.revisions(); err != nil {
		return rev.Edit{}, err
	}
	if p.body == nil {
		p.e.Body = doc[object.Begin:object.End]
	} else {
		p.join()
		p.e.Body = append(p.body, '}')
	}
	if object.Newlines {
		p.e.Body = jsontext.AppendCompact(make([]byte, 0, len(p.e.Body)), p.e.Body)
	}
	return p.e, nil
}

// editParser collects the underscore members, and copies the others unchanged. It keeps no list of members, since there
// may be millions.
type editParser struct {
	doc        []byte
	err        error  // the first error in a member; reported only if the JSON is valid
	body       []byte // the members of the body so far; nil while all members belong to it
	from, to   int    // range of doc with members of the body that are not copied yet; from is -1 if there is none
	replicated bool
	e          rev.Edit
	rev        db.Rev // from _rev
	start      int64
	ids        []string // from _revisions
	hasIDs     bool
}

// member handles a member. Adjacent members of the body are copied in one piece, with the text between them.
func (p *editParser) member(m jsontext.Member) {
	special, err := p.special(&m)
	if err != nil && p.err == nil {
		p.err = err
	}
	switch {
	case !special && p.from < 0:
		p.from, p.to = m.Key, m.End
	case !special:
		p.to = m.End
	case p.body == nil:
		// Small at first, because most of a large document may be attachments.
		p.body = append(make([]byte, 0, min(len(p.doc), listFree)), '{')
		p.join()
	default:
		p.join()
	}
}

// join copies the pending members to the body.
func (p *editParser) join() {
	if p.from < 0 {
		return
	}
	if len(p.body) > 1 {
		p.body = append(p.body, ',')
	}
	p.body = append(p.body, p.doc[p.from:p.to]...)
	p.from = -1
}

// special handles an underscore member. It returns false for a member of the body.
func (p *editParser) special(m *jsontext.Member) (underscore bool, err error) {
	key := p.doc[m.Key+1 : m.KeyEnd-1]
	if m.Escaped {
		s, _ := jsontext.Unquote(p.doc[m.Key:m.KeyEnd])
		key = []byte(s)
	}
	if len(key) == 0 || key[0] != '_' {
		return false, nil
	}
	if p.err != nil {
		return true, nil //nolint:nilerr // the first error is kept and reported at the end
	}
	value := p.doc[m.Value:m.End]
	switch string(key) {
	case "_id":
		id, ok := jsontext.Unquote(value)
		if !ok {
			return true, fault.Errf(fault.Invalid, "illegal_docid", "Document id must be a string")
		}
		p.e.ID = id
		return true, db.ValidateID(id)
	case "_rev":
		s, _ := jsontext.Unquote(value)
		if p.rev, err = revtree.ParseRev(s); err != nil {
			return true, fault.Errf(fault.Invalid, "bad_request", "%s", err)
		}
	case "_deleted":
		switch string(value) {
		case "true":
			p.e.Deleted = true
		case "false":
			p.e.Deleted = false
		default:
			return true, badMember(key)
		}
	case "_attachments":
		p.e.Attachments, err = parseAttachments(value)
	case "_revisions":
		err = p.history(value)
	case "_revs_info", "_local_seq", "_conflicts", "_deleted_conflicts":
	case "_access", "_replication_state", "_replication_state_time", "_replication_state_reason", "_replication_id",
		"_replication_stats":
		return false, nil // CouchDB keeps these in the body
	default:
		return true, badMember(key)
	}
	return true, err
}

func badMember(key []byte) error {
	return fault.Errf(fault.Invalid, "doc_validation", "Bad special document member: %s", key)
}

// history parses {"start": N, "ids": [..]}.
func (p *editParser) history(value []byte) error {
	p.start, p.ids, p.hasIDs = 0, nil, true
	startOK, idsOK := false, false
	var idsErr error
	_, err := jsontext.ScanMembers(value, func(m jsontext.Member) {
		v := value[m.Value:m.End]
		switch string(value[m.Key:m.KeyEnd]) {
		case `"start"`:
			var err error
			p.start, err = strconv.ParseInt(string(v), 10, 64)
			startOK = err == nil && p.start >= 0
		case `"ids"`:
			if idsOK = v[0] == '['; idsOK && idsErr == nil {
				p.ids, idsErr = parseIDs(v)
			}
		}
	})
	switch {
	case err != nil:
		return badMember([]byte("_revisions"))
	case idsErr != nil:
		return idsErr
	case !startOK:
		return fault.Errf(fault.Invalid, "doc_validation", "_revisions.start isn't an integer.")
	case !idsOK:
		return fault.Errf(fault.Invalid, "doc_validation", "_revisions.ids isn't a array.")
	// The only revision of a _local document is at 0.
	case int64(len(p.ids)) > max(p.start, 1):
		return fault.Errf(fault.Invalid, "doc_validation", "_revisions has more ids than revisions up to start.")
	}
	return nil
}

// parseIDs parses a valid JSON array of strings.
func parseIDs(array []byte) ([]string, error) {
	s := jsontext.Scanner{Text: array, Pos: 1}
	n := bytes.Count(array, []byte{','}) + 1
	if err := listed(n*rev.RevSize, len(array)); err != nil {
		return nil, err
	}
	ids := make([]string, 0, n)
	all := string(array) // the ids share its memory
	for s.Pos < len(array) {
		switch s.Space() {
		case ']', 0:
			return ids, nil
		case ',':
			s.Pos++
		default:
			from := s.Pos
			if !s.Value(0) {
				return nil, s.Err()
			}
			text := all[from:s.Pos]
			if text[0] != '"' {
				return nil, fault.Errf(fault.Invalid, "doc_validation", "RevId isn't a string")
			}
			if text = text[1 : len(text)-1]; strings.Contains(text, `\`) {
				text, _ = jsontext.Unquote(array[from:s.Pos])
			}
			id, err := revtree.ParseID(text)
			if err != nil {
				return nil, fault.Errf(fault.Invalid, "doc_validation", "RevId isn't a valid hexadecimal")
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// revisions sets the edit's revision. If there are both _rev and _revisions, _revisions takes precedence.
func (p *editParser) revisions() error {
	if !p.hasIDs {
		p.e.Rev = p.rev
		return nil
	}
	if len(p.ids) == 0 {
		return nil
	}
	p.e.Rev = db.Rev{Pos: p.start, ID: p.ids[0]}
	if p.replicated {
		p.e.Ancestors = p.ids2revs()
	}
	return nil
}

func (p *editParser) ids2revs() []db.Rev {
	if len(p.ids) == 1 {
		return nil
	}
	revs := make([]db.Rev, len(p.ids)-1)
	for i, id := range p.ids[1:] {
		revs[i] = db.Rev{Pos: p.start - int64(i) - 1, ID: id}
	}
	return revs
}

// A list in a document may take twice as much memory as its text, plus listFree. This stops clients from sending lists
// of millions of tiny elements.
const (
	listFree       = 64 << 10
	maxAttachments = 50_000 // of a document
)

func listed(size, text int) error {
	if size > 2*text+listFree {
		return fault.Errf(fault.TooLarge, "", "The document lists too many things for its size.")
	}
	return nil
}

// parseAttachments parses an _attachments object.
func parseAttachments(value []byte) (edits []rev.AttachmentEdit, err error) {
	names := map[string]struct{}{}
	edits = []rev.AttachmentEdit{} // not nil, which means that there is no such member
	add := func(m jsontext.Member) error {
		name, _ := jsontext.Unquote(value[m.Key:m.KeyEnd])
		if err := ValidateAttachmentName(name); err != nil {
			return err
		}
		if _, twice := names[name]; twice {
			return fault.Errf(fault.Invalid, "bad_request", "Duplicate attachments")
		}
		names[name] = struct{}{}
		if len(names) > maxAttachments {
			return fault.Errf(fault.TooLarge, "", "The document has more than %d attachments.", maxAttachments)
		}
		a, err := parseAttachment(name, value[m.Value:m.End])
		edits = append(edits, a)
		return err
	}
	_, scanErr := jsontext.ScanMembers(value, func(m jsontext.Member) {
		if err == nil {
			err = add(m)
		}
	})
	if scanErr != nil {
		return nil, badMember([]byte("_attachments"))
	}
	return edits, err
}

func parseAttachment(name string, value []byte) (rev.AttachmentEdit, error) {
	a := rev.AttachmentEdit{Name: name, ContentType: "application/octet-stream", Length: -1}
	var data []byte
	var length, encodedLength int64 = -1, -1
	var wrong error
	_, err := jsontext.ScanMembers(value, func(m jsontext.Member) {
		v := value[m.Value:m.End]
		switch string(value[m.Key:m.KeyEnd]) {
		case `"content_type"`:
			var ok bool
			if a.ContentType, ok = jsontext.Unquote(v); !ok && wrong == nil {
				wrong = fault.Errf(fault.Invalid, "bad_request", "Invalid content_type of attachment %s", name)
			}
		case `"stub"`:
			a.Stub = string(v) == "true"
		case `"follows"`:
			a.Follows = string(v) == "true"
		case `"digest"`:
			a.Digest, _ = jsontext.Unquote(v)
		case `"revpos"`:
			var err error
			a.RevPos, err = strconv.ParseInt(string(v), 10, 64)
			if (err != nil || a.RevPos < 0) && wrong == nil {
				wrong = fault.Errf(fault.Invalid, "bad_request", "Invalid revpos of attachment %s", name)
			}
		case `"encoding"`:
			a.Encoding, _ = jsontext.Unquote(v)
		case `"length"`:
			length = attachmentLength(v)
		case `"encoded_length"`:
			encodedLength = attachmentLength(v)
		case `"data"`:
			data = v
		}
	})
	if err != nil {
		return a, badMember([]byte("_attachments"))
	}
	if wrong != nil {
		return a, wrong
	}
	if a.Encoding != "" && a.Encoding != "gzip" && a.Encoding != "identity" {
		return a, fault.Errf(fault.Invalid, "bad_request", "Only gzip and identity content-encodings are supported")
	}
	if a.Encoding == "identity" {
		a.Encoding = ""
	}
	switch {
	case a.Stub:
		a.Follows = false
	case a.Follows:
		a.Length = length
		if a.Encoding != "" && encodedLength >= 0 {
			a.Length = encodedLength
		}
	default:
		// Like CouchDB, treat inline data as the content itself, and do not check the digest that the client has sent.
		a.Encoding, a.Digest = "", ""
		if a.Data, err = decodeData(data); err != nil {
			return a, fault.Errf(fault.Invalid, "bad_request", "Invalid attachment data for %s", name)
		}
		a.Length = int64(len(a.Data))
	}
	return a, nil
}

func attachmentLength(v []byte) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func decodeData(quoted []byte) ([]byte, error) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, errors.New("no data")
	}
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		s, _ := jsontext.Unquote(quoted)
		text = []byte(s)
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	return data[:n], err
}

// ValidateAttachmentName rejects the attachment names that CouchDB rejects. It accepts the empty name in documents, and
// applications have it.
func ValidateAttachmentName(name string) error {
	switch {
	case strings.HasPrefix(name, "_"):
		return fault.Errf(fault.Invalid, "bad_request", "Attachment name '%s' starts with prohibited character '_'",
			name)
	case !utf8.ValidString(name):
		return fault.Errf(fault.Invalid, "bad_request", "Attachment name is not UTF-8 encoded")
	}
	return nil
}

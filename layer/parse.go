package layer

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/divandb/divan/layer/revtree"
)

// maxIDLength is the longest document id in bytes (CONTRACT.md).
const maxIDLength = 512

var memberPool = sync.Pool{New: func() any { return new([]jsonMember) }}

// ParseEdit turns a client's JSON document into an Edit: validates the JSON, splits off the underscore members (_id, _rev, _deleted, _attachments,
// _revisions; those that only answers have are ignored, unknown ones are Invalid with name doc_validation, as CouchDB), and keeps the rest as it came, but for
// line breaks between tokens: they would break a feed's lines. The Edit may share doc's memory. replicated selects how _rev and _revisions are
// read (new_edits=false).
func ParseEdit(doc []byte, replicated bool) (Edit, error) {
	pooled := memberPool.Get().(*[]jsonMember)
	defer memberPool.Put(pooled)
	members, s, begin, end, err := scanObject(doc, (*pooled)[:0])
	if err != nil {
		return Edit{}, errf(Invalid, "bad_request", "%s", err)
	}
	*pooled = members
	p := editParser{doc: doc, replicated: replicated}
	special := 0
	for i := range members {
		underscore, err := p.member(&members[i])
		if err != nil {
			return Edit{}, err
		}
		if underscore {
			special++
		} else {
			members[i].key = -1 - members[i].key // marks what stays
		}
	}
	if err := p.revisions(); err != nil {
		return Edit{}, err
	}
	if special == 0 {
		p.e.Body = doc[begin:end]
	} else {
		p.e.Body = joinMembers(doc, members, end-begin)
	}
	if s.newlines {
		p.e.Body = compactJSON(make([]byte, 0, len(p.e.Body)), p.e.Body)
	}
	return p.e, nil
}

// joinMembers builds the object of the marked members. Neighbours are copied together with what is between them.
func joinMembers(doc []byte, members []jsonMember, size int) []byte {
	body := append(make([]byte, 0, size), '{')
	for i := 0; i < len(members); i++ {
		if members[i].key >= 0 {
			continue
		}
		from := -1 - members[i].key
		for i+1 < len(members) && members[i+1].key < 0 {
			i++
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(body, doc[from:members[i].end]...)
	}
	return append(body, '}')
}

// editParser collects the underscore members.
type editParser struct {
	doc        []byte
	replicated bool
	e          Edit
	rev        Rev // _rev
	start      int64
	ids        []string // _revisions
	hasIDs     bool
}

// member takes up an underscore member; false for a member of the body.
func (p *editParser) member(m *jsonMember) (underscore bool, err error) {
	key := p.doc[m.key+1 : m.keyEnd-1]
	if m.escaped {
		s, _ := unquote(p.doc[m.key:m.keyEnd])
		key = []byte(s)
	}
	if len(key) == 0 || key[0] != '_' {
		return false, nil
	}
	value := p.doc[m.value:m.end]
	switch string(key) {
	case "_id":
		id, ok := unquote(value)
		if !ok {
			return true, errf(Invalid, "illegal_docid", "Document id must be a string")
		}
		p.e.ID = id
		return true, ValidateID(id)
	case "_rev":
		s, _ := unquote(value)
		if p.rev, err = revtree.ParseRev(s); err != nil {
			return true, errf(Invalid, "bad_request", "%s", err)
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
	case "_access", "_replication_state", "_replication_state_time", "_replication_state_reason", "_replication_id", "_replication_stats":
		return false, nil // CouchDB keeps these in the body
	default:
		return true, badMember(key)
	}
	return true, err
}

func badMember(key []byte) error {
	return errf(Invalid, "doc_validation", "Bad special document member: %s", key)
}

// history reads {"start": N, "ids": [..]}.
func (p *editParser) history(value []byte) error {
	members, _, _, _, err := scanObject(value, nil)
	if err != nil {
		return badMember([]byte("_revisions"))
	}
	p.start, p.ids, p.hasIDs = 0, nil, true
	startOK, idsOK := false, false
	for _, m := range members {
		v := value[m.value:m.end]
		switch string(value[m.key:m.keyEnd]) {
		case `"start"`:
			p.start, err = strconv.ParseInt(string(v), 10, 64)
			startOK = err == nil && p.start >= 0
		case `"ids"`:
			if idsOK = v[0] == '['; !idsOK {
				continue
			}
			if p.ids, err = parseIDs(v); err != nil {
				return err
			}
		}
	}
	switch {
	case !startOK:
		return errf(Invalid, "doc_validation", "_revisions.start isn't an integer.")
	case !idsOK:
		return errf(Invalid, "doc_validation", "_revisions.ids isn't a array.")
	case int64(len(p.ids)) > max(p.start, 1): // a _local document's only revision is at 0
		return errf(Invalid, "doc_validation", "_revisions has more ids than revisions up to start.")
	}
	return nil
}

// parseIDs reads an array of strings, valid as JSON.
func parseIDs(array []byte) ([]string, error) {
	s := jsonScanner{b: array, i: 1}
	var ids []string
	for s.i < len(array) {
		switch s.space(); s.peek() {
		case ']', 0:
			return ids, nil
		case ',':
			s.i++
		default:
			from := s.i
			if err := s.value(0); err != nil {
				return nil, err
			}
			text, ok := unquote(array[from:s.i])
			if !ok {
				return nil, errf(Invalid, "doc_validation", "RevId isn't a string")
			}
			id, err := revtree.ParseID(text)
			if err != nil {
				return nil, errf(Invalid, "doc_validation", "RevId isn't a valid hexadecimal")
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// revisions decides between _rev and _revisions: where both are there, _revisions stands.
func (p *editParser) revisions() error {
	if !p.hasIDs {
		p.e.Rev = p.rev
		return nil
	}
	if len(p.ids) == 0 {
		return nil
	}
	p.e.Rev = Rev{Pos: p.start, ID: p.ids[0]}
	if p.replicated {
		p.e.Ancestors = p.ids2revs()
	}
	return nil
}

func (p *editParser) ids2revs() []Rev {
	if len(p.ids) == 1 {
		return nil
	}
	revs := make([]Rev, len(p.ids)-1)
	for i, id := range p.ids[1:] {
		revs[i] = Rev{Pos: p.start - int64(i) - 1, ID: id}
	}
	return revs
}

// parseAttachments reads an _attachments object.
func parseAttachments(value []byte) ([]AttachmentEdit, error) {
	members, _, _, _, err := scanObject(value, nil)
	if err != nil {
		return nil, badMember([]byte("_attachments"))
	}
	edits := make([]AttachmentEdit, 0, len(members))
	for _, m := range members {
		name, _ := unquote(value[m.key:m.keyEnd])
		if err := ValidateAttachmentName(name); err != nil {
			return nil, err
		}
		for _, e := range edits {
			if e.Name == name {
				return nil, errf(Invalid, "bad_request", "Duplicate attachments")
			}
		}
		a, err := parseAttachment(name, value[m.value:m.end])
		if err != nil {
			return nil, err
		}
		edits = append(edits, a)
	}
	return edits, nil
}

func parseAttachment(name string, value []byte) (AttachmentEdit, error) {
	a := AttachmentEdit{Name: name, ContentType: "application/octet-stream", Length: -1}
	members, _, _, _, err := scanObject(value, nil)
	if err != nil {
		return a, badMember([]byte("_attachments"))
	}
	var data []byte
	var length, encodedLength int64 = -1, -1
	for _, m := range members {
		v := value[m.value:m.end]
		switch string(value[m.key:m.keyEnd]) {
		case `"content_type"`:
			var ok bool
			if a.ContentType, ok = unquote(v); !ok {
				return a, errf(Invalid, "bad_request", "Invalid content_type of attachment %s", name)
			}
		case `"stub"`:
			a.Stub = string(v) == "true"
		case `"follows"`:
			a.Follows = string(v) == "true"
		case `"digest"`:
			a.Digest, _ = unquote(v)
		case `"revpos"`:
			a.RevPos, err = strconv.ParseInt(string(v), 10, 64)
			if err != nil || a.RevPos < 0 {
				return a, errf(Invalid, "bad_request", "Invalid revpos of attachment %s", name)
			}
		case `"encoding"`:
			a.Encoding, _ = unquote(v)
		case `"length"`:
			length = attachmentLength(v)
		case `"encoded_length"`:
			encodedLength = attachmentLength(v)
		case `"data"`:
			data = v
		}
	}
	if a.Encoding != "" && a.Encoding != "gzip" && a.Encoding != "identity" {
		return a, errf(Invalid, "bad_request", "Only gzip and identity content-encodings are supported")
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
		// Inline data is always the content itself, and the digest of what a client believes it to be is not checked: CouchDB does neither.
		a.Encoding, a.Digest = "", ""
		if a.Data, err = decodeData(data); err != nil {
			return a, errf(Invalid, "bad_request", "Invalid attachment data for %s", name)
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
	text, ok := unquote(quoted)
	if !ok {
		return nil, errors.New("no data")
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, []byte(text))
	return data[:n], err
}

// ValidateAttachmentName refuses what CouchDB refuses as an attachment's name.
func ValidateAttachmentName(name string) error {
	switch {
	case name == "":
		return errf(Invalid, "bad_request", "Attachment name can't be empty")
	case name[0] == '_':
		return errf(Invalid, "bad_request", "Attachment name '%s' starts with prohibited character '_'", name)
	case !utf8.ValidString(name):
		return errf(Invalid, "bad_request", "Attachment name is not UTF-8 encoded")
	}
	return nil
}

// ValidateID refuses what CouchDB refuses as a document id: empty, over 512 bytes, invalid UTF-8, a leading underscore that is not _design/ or _local/.
func ValidateID(id string) error {
	switch {
	case id == "":
		return errf(Invalid, "illegal_docid", "Document id must not be empty")
	case id == "_design/", id == "_local/":
		return errf(Invalid, "illegal_docid", "Illegal document id `%s`", id)
	case len(id) > maxIDLength:
		return errf(Invalid, "illegal_docid", "Document id is too long")
	case !utf8.ValidString(id):
		return errf(Invalid, "illegal_docid", "Document id must be valid UTF-8")
	case id[0] == '_' && !isDesign(id) && !isLocal(id):
		return errf(Invalid, "illegal_docid", "Only reserved document ids may start with underscore.")
	}
	return nil
}

func isDesign(id string) bool { return strings.HasPrefix(id, "_design/") }
func isLocal(id string) bool  { return strings.HasPrefix(id, "_local/") }

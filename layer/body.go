package layer

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A stored body is a header and the JSON text, cut into chunks of keyspace.BodyChunk bytes; only the last chunk is shorter. The header:
// the byte BodyFormat, a byte of flags, the length of the text and the number of attachments as uvarints, and each attachment's fields as
// tuple elements.
const (
	flagDeleted = 1
	// flagCounted says that the body is counted for each of its attachments (attachmentrefs.go).
	flagCounted = 2
)

// storedBody is a body as read.
type storedBody struct {
	deleted     bool
	counted     bool // see flagCounted
	attachments []Attachment
	body        []byte
	size        int        // bytes stored, header included
	large       *LargeBody // instead of body, where that was left in the store
}

func appendBody(dst []byte, deleted bool, attachments []Attachment, body []byte) []byte {
	var flags byte
	if deleted {
		flags |= flagDeleted
	}
	dst = append(dst, keyspace.BodyFormat, flags)
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	dst = binary.AppendUvarint(dst, uint64(len(attachments)))
	for i := range attachments {
		a := &attachments[i]
		dst = tuple.AppendString(dst, a.Name)
		dst = tuple.AppendString(dst, a.ContentType)
		dst = tuple.AppendInt(dst, a.RevPos)
		dst = tuple.AppendString(dst, a.Digest)
		dst = tuple.AppendInt(dst, a.Length)
		dst = tuple.AppendString(dst, a.Encoding)
		dst = tuple.AppendInt(dst, a.EncodedLength)
		dst = tuple.AppendUUID(dst, a.ID)
	}
	return append(dst, body...)
}

var errHeader = errors.New("bad header")

// parseBody reads a whole stored body.
func parseBody(b []byte) (storedBody, error) {
	s, length, err := parseHeader(b)
	if err == nil && len(s.body) != length {
		err = corrupt("body", errHeader)
	}
	return s, err
}

// parseHeader reads the header; length is the text's, of which s.body may be the beginning alone.
func parseHeader(b []byte) (s storedBody, length int, err error) {
	if len(b) < 4 {
		return s, 0, corrupt("body", errHeader)
	}
	if b[0] != keyspace.BodyFormat {
		return s, 0, unknownFormat("a document's body", int64(b[0]), keyspace.BodyFormat)
	}
	s.deleted, s.counted = b[1]&flagDeleted != 0, b[1]&flagCounted != 0
	size, w1 := binary.Uvarint(b[2:])
	if w1 <= 0 || size > math.MaxInt32 {
		return s, 0, corrupt("body", errHeader)
	}
	n, w2 := binary.Uvarint(b[2+w1:])
	if w2 <= 0 || n > uint64(len(b)) {
		return s, 0, corrupt("body", errHeader)
	}
	s.body = b[2+w1+w2:]
	if n > 0 {
		s.attachments = make([]Attachment, n)
	}
	for i := range s.attachments {
		if s.body, err = takeAttachment(&s.attachments[i], s.body); err != nil {
			return s, 0, corrupt("attachment list", err)
		}
	}
	s.size = len(b) - len(s.body) + int(size)
	return s, int(size), nil
}

func takeAttachment(a *Attachment, b []byte) (rest []byte, err error) {
	text := func(to *string) {
		if err == nil {
			*to, b, err = tuple.TakeString(b)
		}
	}
	number := func(to *int64) {
		if err == nil {
			*to, b, err = tuple.TakeInt(b)
		}
	}
	text(&a.Name)
	text(&a.ContentType)
	number(&a.RevPos)
	text(&a.Digest)
	number(&a.Length)
	text(&a.Encoding)
	number(&a.EncodedLength)
	if err != nil {
		return nil, err
	}
	id, b, err := tuple.TakeUUID(b)
	a.ID = id
	return b, err
}

// markCounted sets flagCounted in the first chunk of a body.
func markCounted(stored []byte) { stored[1] |= flagCounted }

// writeBody stores a revision's body, which it marks, and counts its attachments. The caller knows that the revision
// is new.
func (t *txn) writeBody(id string, r Rev, stored []byte, attachments []Attachment) {
	if len(attachments) > 0 {
		markCounted(stored)
		t.refer(id, attachments, 1)
	}
	for chunk := 0; ; chunk++ {
		n := min(len(stored), keyspace.BodyChunk)
		t.Set(t.close(t.keys.body(t.open(), id, r, chunk)), stored[:n])
		stored = stored[n:]
		if n < keyspace.BodyChunk {
			return
		}
	}
}

// bodyRead is a body on its way.
type bodyRead struct {
	r     kv.Reader
	keys  space
	id    string
	rev   Rev
	first kv.Future[[]byte]
	large largeReads
}

// readBody issues the read of a revision's body.
func readBody(r kv.Reader, keys space, id string, rev Rev) bodyRead {
	return bodyRead{r: r, keys: keys, id: id, rev: rev, first: r.Get(keys.body(nil, id, rev, 0))}
}

// wait returns the body; found is false where it is not stored (any more).
func (b *bodyRead) wait() (s storedBody, found bool, err error) {
	first, err := b.first.Wait()
	if err != nil || first == nil {
		return s, false, err
	}
	whole := first
	if len(first) >= keyspace.BodyChunk {
		if left, large := b.large.leave(b, first); large != nil {
			left.large = large
			return left, true, nil
		}
		if whole, err = b.rest(first); err != nil {
			return s, false, err
		}
	}
	s, err = parseBody(whole)
	return s, err == nil, err
}

// rest reads the chunks after a full first one.
func (b *bodyRead) rest(first []byte) ([]byte, error) {
	r := prefixRange(appendRev(b.keys.doc(nil, keyspace.Documents, b.id), b.rev))
	r.Begin = b.keys.body(nil, b.id, b.rev, 1)
	rows := b.r.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	size := len(first)
	if s, _, err := parseHeader(first); err == nil {
		size = s.size
	}
	whole := append(make([]byte, 0, size), first...)
	for rows.Next() {
		chunk := rows.KeyValue().Value
		whole = append(whole, chunk...)
		if len(chunk) < keyspace.BodyChunk {
			return whole, nil // the last: what is behind it, which may be damaged, is not looked at
		}
	}
	return whole, rows.Err()
}

// held is how much of a body was read.
func (s *storedBody) held() int {
	if s.large != nil {
		return keyspace.BodyChunk
	}
	return len(s.body)
}

// document fills in what a body holds.
func (s *storedBody) document(id string, r Rev) *Document { // inlined, so that it need not be allocated
	return &Document{ID: id, Rev: r, Deleted: s.deleted, Body: s.body, Large: s.large, Attachments: s.attachments}
}

// haveRead is a read that is done.
type haveRead []byte

func (h haveRead) Wait() ([]byte, error) { return h, nil }

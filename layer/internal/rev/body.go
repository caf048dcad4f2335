package rev

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A stored body is a header and the JSON text, divided into chunks of keyspace.BodyChunk bytes, of which only the last
// is shorter. The header is the byte BodyFormat, a byte of flags, the length of the text and the number of attachments
// as uvarints, and the fields of each attachment as tuple elements.
const (
	flagDeleted = 1
	// FlagCounted reports that the body is included in the reference counts of its attachments (attach/refs.go).
	FlagCounted = 2
	// FlagSized reports that the body is counted as superseded (db.CounterOldBodies) once it belongs to no leaf. Bodies
	// of stores of format 7 and below are not.
	FlagSized = 4
)

// StoredBody is a decoded body.
type StoredBody struct {
	Deleted     bool
	Counted     bool // see FlagCounted
	Sized       bool // see FlagSized
	Attachments []Attachment
	Body        []byte
	Size        int        // stored bytes, including the header
	large       *LargeBody // set instead of Body if the body was left in the store
}

// AppendBody appends a whole stored body.
func AppendBody(dst []byte, deleted bool, attachments []Attachment, body []byte) []byte {
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

// ParseBody decodes a whole stored body.
func ParseBody(b []byte) (StoredBody, error) {
	s, length, err := ParseHeader(b)
	if err == nil && len(s.Body) != length {
		err = db.Corrupt("body", errHeader)
	}
	return s, err
}

// BodyText returns the text of a whole stored body. For bodies without attachments it does less than ParseBody.
func BodyText(b []byte) ([]byte, error) {
	if len(b) >= 4 && b[0] == keyspace.BodyFormat {
		size, w := binary.Uvarint(b[2:])
		if text := 3 + w; w > 0 && text <= len(b) && b[text-1] == 0 && uint64(len(b)-text) == size {
			return b[text:], nil
		}
	}
	s, err := ParseBody(b)
	return s.Body, err
}

// ParseHeader decodes the header. length is that of the whole text; s.Body may be only its beginning.
func ParseHeader(b []byte) (s StoredBody, length int, err error) {
	if len(b) < 4 {
		return s, 0, db.Corrupt("body", errHeader)
	}
	if b[0] != keyspace.BodyFormat {
		return s, 0, db.UnknownFormat("a document's body", int64(b[0]), keyspace.BodyFormat)
	}
	s.Deleted, s.Counted, s.Sized = b[1]&flagDeleted != 0, b[1]&FlagCounted != 0, b[1]&FlagSized != 0
	size, w1 := binary.Uvarint(b[2:])
	if w1 <= 0 || size > math.MaxInt32 {
		return s, 0, db.Corrupt("body", errHeader)
	}
	n, w2 := binary.Uvarint(b[2+w1:])
	if w2 <= 0 || n > uint64(len(b)) {
		return s, 0, db.Corrupt("body", errHeader)
	}
	s.Body = b[2+w1+w2:]
	if n > 0 {
		s.Attachments = make([]Attachment, n)
	}
	for i := range s.Attachments {
		if s.Body, err = takeAttachment(&s.Attachments[i], s.Body); err != nil {
			return s, 0, db.Corrupt("attachment list", err)
		}
	}
	s.Size = len(b) - len(s.Body) + int(size)
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

// MarkCounted sets FlagCounted in the first chunk of a body.
func MarkCounted(stored []byte) { stored[1] |= FlagCounted }

// WriteBody stores a new revision's body, marks it as counted and counts it and the references to its attachments.
func WriteBody(t *db.Txn, id string, r db.Rev, stored []byte, attachments []Attachment) {
	t.CountFor(id, db.CounterBodies, int64(len(stored)))
	stored[1] |= FlagSized
	if len(attachments) > 0 {
		MarkCounted(stored)
		Refer(t, id, attachments, 1)
	}
	for chunk := 0; ; chunk++ {
		n := min(len(stored), keyspace.BodyChunk)
		t.Set(t.Close(t.Keys.Body(t.Open(), id, r, chunk)), stored[:n])
		stored = stored[n:]
		if n < keyspace.BodyChunk {
			return
		}
	}
}

// BodyRead is a pending read of a body.
type BodyRead struct {
	R     kv.Reader
	Keys  db.Space
	Id    string
	Rev   db.Rev
	First kv.Future[[]byte]
	Large LargeReads
}

// ReadBody starts reading a revision's body.
func ReadBody(r kv.Reader, keys db.Space, id string, rev db.Rev) BodyRead {
	return BodyRead{R: r, Keys: keys, Id: id, Rev: rev, First: r.Get(keys.Body(nil, id, rev, 0))}
}

// Wait returns the body. found is false if it is not stored, or no longer.
func (b *BodyRead) Wait() (s StoredBody, found bool, err error) {
	first, err := b.First.Wait()
	if err != nil || first == nil {
		return s, false, err
	}
	whole := first
	if len(first) >= keyspace.BodyChunk {
		if left, large := b.Large.leave(b, first); large != nil {
			left.large = large
			return left, true, nil
		}
		if whole, err = b.rest(first); err != nil {
			return s, false, err
		}
	}
	s, err = ParseBody(whole)
	return s, err == nil, err
}

// rest reads the chunks after a full first one.
func (b *BodyRead) rest(first []byte) ([]byte, error) {
	r := db.PrefixRange(db.AppendRev(b.Keys.Doc(nil, keyspace.Documents, b.Id), b.Rev))
	r.Begin = b.Keys.Body(nil, b.Id, b.Rev, 1)
	rows := b.R.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	size := len(first)
	if s, _, err := ParseHeader(first); err == nil {
		size = s.Size
	}
	whole := append(make([]byte, 0, size), first...)
	for rows.Next() {
		chunk := rows.KeyValue().Value
		whole = append(whole, chunk...)
		if len(chunk) < keyspace.BodyChunk {
			// The last chunk. Keys after it may be damaged and are not read.
			return whole, nil
		}
	}
	return whole, rows.Err()
}

// Held returns how many bytes of the body are in memory.
func (s *StoredBody) Held() int {
	if s.large != nil {
		return keyspace.BodyChunk
	}
	return len(s.Body)
}

// Document returns the document with this body.
// Small enough to be inlined, so that the document need not be allocated.
func (s *StoredBody) Document(id string, r db.Rev) *Document {
	return &Document{ID: id, Rev: r, Deleted: s.Deleted, Body: s.Body, Large: s.large, Attachments: s.Attachments}
}

// HaveRead is the result of a finished read.
type HaveRead []byte

func (h HaveRead) Wait() ([]byte, error) { return h, nil }

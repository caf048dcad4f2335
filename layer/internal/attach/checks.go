package attach

import (
	"errors"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Bodies written before attachments were counted (refs.go) are not included in the counters. When one of them is
// removed, the other bodies of its document are read at once if they are few. Otherwise compaction is asked to check
// the attachments:
//
//	(Compaction, CompactionCheck, DocID, AttachmentID) = (encoded length, length): a body that referred to it is gone
//	(Compaction, compactionCursor, DocID)              = what follows DocID in the key of the last body that was
//	                                                     counted
//
// Compaction goes through the document's bodies in transactions of limited size, and counts the uncounted ones, each in
// the transaction that marks it as counted. At the end all bodies of the document are counted; new bodies always are.
// This is recorded in the document's key in AttachmentRefs. From then on the counters decide, also about the checks. A
// transaction that is repeated or runs concurrently finds the bodies marked.

// Kinds of keys in keyspace.Compaction.
const (
	CompactionRequest = 0
	CompactionCheck   = 1
	compactionCursor  = 2
)

// lookBytes and LookRows limit how much of a document's bodies is read at once.
const lookBytes = 1_000_000

var LookRows = 64 // tests change it

// Compaction appends the prefix of one kind of keys in keyspace.Compaction.
func Compaction(s db.Space, dst []byte, part int64) []byte {
	return tuple.AppendInt(s.Sub(dst, keyspace.Compaction), part)
}

// AttachmentCheck appends the key that asks compaction to check an attachment.
func AttachmentCheck(s db.Space, dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(tuple.AppendString(Compaction(s, dst, CompactionCheck), id), attachment)
}

func countingCursor(s db.Space, dst []byte, id string) []byte {
	return tuple.AppendString(Compaction(s, dst, compactionCursor), id)
}

// dropUncounted removes those attachments that no body refers to, counted or not, or leaves the check to compaction.
func dropUncounted(t *db.Txn, id string, list []unsureAttachment) error {
	used := map[[16]byte]bool{}
	_, done, err := EachHeader(t, id, nil, LookRows, lookBytes, t.Transaction, func(_ db.Rev, body *rev.StoredBody) {
		for i := range body.Attachments {
			used[body.Attachments[i].ID] = true
		}
	})
	if err != nil {
		return err
	}
	for i := range list {
		a := &list[i]
		switch {
		case !done:
			value := tuple.AppendInt(tuple.AppendInt(t.Open(), a.EncodedLength), a.Length)
			value = t.Close(value)
			t.Set(t.Close(AttachmentCheck(t.Keys, t.Open(), id, a.ID)), value)
		case !used[a.ID]:
			freeAttachment(t, id, &a.Attachment, a.old)
		}
	}
	return nil
}

// EachHeader calls f with the headers of a document's bodies after a cursor, which is the part of a key after the
// document's prefix. It stops after the given number of rows or bytes. last is the cursor to continue with; done
// reports that there are no more bodies.
func EachHeader(t *db.Txn, id string, after []byte, rows, size int, r kv.Reader,
	f func(db.Rev, *rev.StoredBody)) (last []byte, done bool, err error) {
	prefix := t.Keys.Doc(nil, keyspace.Documents, id)
	left := db.PrefixRange(prefix)
	if after != nil {
		left.Begin = afterBody(prefix, after)
	}
	for last = after; rows > 0 && size > 0; {
		h, err := nextHeaders(t, prefix, left, rows, size, r, f)
		if err != nil || h.done {
			return last, h.done, err
		}
		last = h.last
		rows, size = rows-h.rows, size-h.size
		left.Begin = afterBody(prefix, last)
	}
	return last, false, nil
}

// headersRead is how far nextHeaders has come.
type headersRead struct {
	last       []byte
	rows, size int
	done       bool
}

// nextHeaders reads up to the first body with several chunks. It does not read the other chunks of that body.
func nextHeaders(t *db.Txn, prefix []byte, in kv.KeyRange, most, size int, r kv.Reader,
	f func(db.Rev, *rev.StoredBody)) (h headersRead, err error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: most, Mode: kv.ModeIterator})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		rev, chunk, err := db.TakeRev(row.Key[len(prefix):])
		if err != nil {
			return h, db.Corrupt("body key", err)
		}
		if n, _, err := tuple.TakeInt(chunk); err != nil || n != 0 {
			return h, db.Corrupt("body", errors.Join(err, errNoFirst))
		}
		h.last = append([]byte(nil), row.Key[len(prefix):len(row.Key)-len(chunk)]...)
		h.rows++
		h.size += len(row.Value)
		t.Spent += len(row.Value)
		body, _, err := headerIn(t, r, row.Key[:len(row.Key)-len(chunk)], row.Value)
		if err != nil {
			return h, err
		}
		f(rev, &body)
		if len(row.Value) >= keyspace.BodyChunk || h.size >= size {
			return h, nil
		}
	}
	h.done = h.rows < most
	return h, it.Err()
}

var errNoFirst = errors.New("its first chunk is missing")

// Header parses the header of a body whose first chunk has been read. key is that of the body without the chunk. If the
// list of attachments is longer than a chunk, Header reads the other chunks.
func Header(t *db.Txn, key, first []byte) (rev.StoredBody, int, error) {
	return headerIn(t, t.Transaction, key, first)
}

func headerIn(t *db.Txn, r kv.Reader, key, first []byte) (rev.StoredBody, int, error) {
	body, length, err := rev.ParseHeader(first)
	if err == nil || len(first) < keyspace.BodyChunk {
		return body, length, err
	}
	rows := r.GetRange(db.PrefixRange(key), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var whole []byte
	for rows.Next() {
		chunk := rows.KeyValue().Value
		t.Spent += len(chunk)
		whole = append(whole, chunk...)
	}
	if err := rows.Err(); err != nil {
		return body, 0, err
	}
	return rev.ParseHeader(whole)
}

// afterBody returns the first key after those of a body, which is given by the part of its key after the document's
// prefix.
func afterBody(prefix, body []byte) []byte {
	_, end := tuple.Range(append(prefix[:len(prefix):len(prefix)], body...))
	return end
}

// CheckAttachments works on the first document with checks. It either counts some of its bodies or, when all are
// counted, does the checks.
func CheckAttachments(t *db.Txn, most int) (n int, more bool, err error) {
	t.MakesRoom()
	prefix := Compaction(t.Keys, nil, CompactionCheck)
	rows := db.GetRange(t.Snapshot(), prefix, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
	defer rows.Close()
	var id string
	var checks []rev.Attachment
	for rows.Next() {
		row := rows.KeyValue()
		docID, a, err := parseAttachmentCheck(row.Key[len(prefix):], row.Value)
		if err != nil {
			return 0, false, err
		}
		if len(checks) > 0 && docID != id {
			more = true
			break
		}
		id, checks = docID, append(checks, a)
	}
	if err := rows.Err(); err != nil || len(checks) == 0 {
		return 0, false, err
	}
	more = more || len(checks) == most
	counted, err := t.Get(t.Close(t.Keys.Doc(t.Open(), keyspace.AttachmentRefs, id))).Wait()
	if err != nil {
		return 0, false, err
	}
	if counted == nil {
		n, err := countBodies(t, id, most)
		return n, true, err
	}
	for i := range checks {
		t.Clear(t.Close(AttachmentCheck(t.Keys, t.Open(), id, checks[i].ID)))
	}
	return len(checks), more, dropAttachmentsOf(t, id, checks)
}

func parseAttachmentCheck(key, value []byte) (docID string, a rev.Attachment, err error) {
	docID, key, err = tuple.TakeString(key)
	if err == nil {
		var id tuple.UUID
		id, _, err = tuple.TakeUUID(key)
		a.ID = id
	}
	if err == nil {
		a.EncodedLength, value, err = tuple.TakeInt(value)
	}
	if err == nil {
		a.Length, _, err = tuple.TakeInt(value)
	}
	if err != nil {
		err = db.Corrupt("check of an attachment", err)
	}
	return docID, a, err
}

// countBodies counts some bodies of a document. It reads a snapshot, so that writers do not delay it; their new bodies
// are counted when they are written. It conflicts with transactions that change a body that it counts, and with
// concurrent calls.
func countBodies(t *db.Txn, id string, most int) (n int, err error) {
	key := t.Close(countingCursor(t.Keys, t.Open(), id))
	after, err := t.Get(key).Wait()
	if err != nil {
		return 0, err
	}
	var failed error
	last, done, err := EachHeader(t, id, after, most, lookBytes, t.Snapshot(), func(r db.Rev, body *rev.StoredBody) {
		n++
		if !body.Counted && len(body.Attachments) > 0 && failed == nil {
			failed = countBody(t, id, r)
		}
	})
	if err == nil {
		err = failed
	}
	switch {
	case err != nil:
		return n, err
	case done:
		t.Clear(key)
		t.Set(t.Close(t.Keys.Doc(t.Open(), keyspace.AttachmentRefs, id)), nil)
	default:
		t.Set(key, last)
	}
	return max(n, 1), nil
}

// countBody counts a body's references to attachments and marks it as counted.
func countBody(t *db.Txn, id string, r db.Rev) error {
	key := t.Close(t.Keys.Body(t.Open(), id, r, 0))
	first, err := t.Get(key).Wait()
	if err != nil || first == nil {
		return err
	}
	chunk := append([]byte(nil), first...)
	body, _, err := Header(t, t.Close(db.AppendRev(t.Keys.Doc(t.Open(), keyspace.Documents, id), r)), chunk)
	if err != nil || body.Counted {
		return err
	}
	rev.MarkCounted(chunk)
	t.Set(key, chunk)
	rev.Refer(t, id, body.Attachments, 1)
	return nil
}

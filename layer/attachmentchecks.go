package layer

import (
	"errors"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Bodies from before attachments were counted (attachmentrefs.go) are not in the counters. When one of them is removed,
// a document with few bodies is looked through at once. One with many is left to compaction, as a check:
//
//	(Compaction, compactionCheck, DocID, AttachmentID) = (encoded length, length): a body that referred to it is gone
//	(Compaction, compactionCursor, DocID)              = what follows DocID in the key of the last body that was counted
//
// Compaction goes through the document's bodies in transactions of bounded size and counts those that are not, each in
// the transaction that marks it. At the end all bodies of the document are counted, which its key in AttachmentRefs
// says; new ones always are. Then the counters decide, about the checks and from then on. A transaction that is
// repeated, or a second one at the same time, meets bodies that are marked.

// Elements after keyspace.Compaction.
const (
	compactionRequest = 0
	compactionCheck   = 1
	compactionCursor  = 2
)

// lookBytes and lookRows bound how much of a document's bodies is looked through at once.
const lookBytes = 1_000_000

var lookRows = 64 // tests change it

func (s space) compaction(dst []byte, part int64) []byte {
	return tuple.AppendInt(s.sub(dst, keyspace.Compaction), part)
}

func (s space) attachmentCheck(dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(tuple.AppendString(s.compaction(dst, compactionCheck), id), attachment)
}

func (s space) countingCursor(dst []byte, id string) []byte {
	return tuple.AppendString(s.compaction(dst, compactionCursor), id)
}

// dropUncounted removes those attachments that no body refers to, counted or not, or leaves that to compaction.
func (t *txn) dropUncounted(id string, list []Attachment) error {
	used := map[[16]byte]bool{}
	_, done, err := t.eachHeader(id, nil, lookRows, lookBytes, t.Transaction, func(_ Rev, body *storedBody) {
		for i := range body.attachments {
			used[body.attachments[i].ID] = true
		}
	})
	if err != nil {
		return err
	}
	for i := range list {
		a := &list[i]
		switch {
		case !done:
			value := tuple.AppendInt(tuple.AppendInt(t.open(), a.EncodedLength), a.Length)
			value = t.close(value)
			t.Set(t.close(t.keys.attachmentCheck(t.open(), id, a.ID)), value)
		case !used[a.ID]:
			t.freeAttachment(id, a)
		}
	}
	return nil
}

// eachHeader calls f with the headers of a document's bodies behind a cursor, which is what follows the document's
// prefix in a key. It ends after so many rows or bytes; last is the cursor to go on behind, done where there is
// nothing.
func (t *txn) eachHeader(id string, after []byte, rows, size int, r kv.Reader,
	f func(Rev, *storedBody)) (last []byte, done bool, err error) {
	prefix := t.keys.doc(nil, keyspace.Documents, id)
	left := prefixRange(prefix)
	if after != nil {
		left.Begin = afterBody(prefix, after)
	}
	for last = after; rows > 0 && size > 0; {
		h, err := t.nextHeaders(prefix, left, rows, size, r, f)
		if err != nil || h.done {
			return last, h.done, err
		}
		last = h.last
		rows, size = rows-h.rows, size-h.size
		left.Begin = afterBody(prefix, last)
	}
	return last, false, nil
}

// headersRead is how far nextHeaders came.
type headersRead struct {
	last       []byte
	rows, size int
	done       bool
}

// nextHeaders reads up to the first body that has more than one chunk: the others of those are not looked at.
func (t *txn) nextHeaders(prefix []byte, in kv.KeyRange, most, size int, r kv.Reader,
	f func(Rev, *storedBody)) (h headersRead, err error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: most, Mode: kv.ModeIterator})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		rev, chunk, err := takeRev(row.Key[len(prefix):])
		if err != nil {
			return h, corrupt("body key", err)
		}
		if n, _, err := tuple.TakeInt(chunk); err != nil || n != 0 {
			return h, corrupt("body", errors.Join(err, errNoFirst))
		}
		h.last = append([]byte(nil), row.Key[len(prefix):len(row.Key)-len(chunk)]...)
		h.rows++
		h.size += len(row.Value)
		t.spent += len(row.Value)
		body, _, err := t.headerIn(r, row.Key[:len(row.Key)-len(chunk)], row.Value)
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

// header parses the header of a body of which the first chunk was read. A list of attachments that is longer than a
// chunk is read to its end.
func (t *txn) header(key, first []byte) (storedBody, int, error) {
	return t.headerIn(t.Transaction, key, first)
}

func (t *txn) headerIn(r kv.Reader, key, first []byte) (storedBody, int, error) {
	body, length, err := parseHeader(first)
	if err == nil || len(first) < keyspace.BodyChunk {
		return body, length, err
	}
	rows := r.GetRange(prefixRange(key), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var whole []byte
	for rows.Next() {
		chunk := rows.KeyValue().Value
		t.spent += len(chunk)
		whole = append(whole, chunk...)
	}
	if err := rows.Err(); err != nil {
		return body, 0, err
	}
	return parseHeader(whole)
}

// afterBody is the first key behind those of a body, given by what follows the document's prefix.
func afterBody(prefix, body []byte) []byte {
	_, end := tuple.Range(append(prefix[:len(prefix):len(prefix)], body...))
	return end
}

// checkAttachments works on the first document that has checks: a step of counting its bodies, or of the checks.
func (t *txn) checkAttachments(most int) (n int, more bool, err error) {
	t.MakesRoom()
	prefix := t.keys.compaction(nil, compactionCheck)
	rows := getRange(t.Snapshot(), prefix, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
	defer rows.Close()
	var id string
	var checks []Attachment
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
	counted, err := t.Get(t.close(t.keys.doc(t.open(), keyspace.AttachmentRefs, id))).Wait()
	if err != nil {
		return 0, false, err
	}
	if counted == nil {
		n, err := t.countBodies(id, most)
		return n, true, err
	}
	for i := range checks {
		t.Clear(t.close(t.keys.attachmentCheck(t.open(), id, checks[i].ID)))
	}
	return len(checks), more, t.dropAttachmentsOf(id, checks)
}

func parseAttachmentCheck(key, value []byte) (docID string, a Attachment, err error) {
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
		err = corrupt("check of an attachment", err)
	}
	return docID, a, err
}

// countBodies counts some bodies of a document. It goes by a snapshot, so that writers do not hold it up: what they
// write is counted. It conflicts with whoever changes a body that it counts, and with another one that counts.
func (t *txn) countBodies(id string, most int) (n int, err error) {
	key := t.close(t.keys.countingCursor(t.open(), id))
	after, err := t.Get(key).Wait()
	if err != nil {
		return 0, err
	}
	var failed error
	last, done, err := t.eachHeader(id, after, most, lookBytes, t.Snapshot(), func(r Rev, body *storedBody) {
		n++
		if !body.counted && len(body.attachments) > 0 && failed == nil {
			failed = t.countBody(id, r)
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
		t.Set(t.close(t.keys.doc(t.open(), keyspace.AttachmentRefs, id)), nil)
	default:
		t.Set(key, last)
	}
	return max(n, 1), nil
}

// countBody counts a body's attachments and marks it.
func (t *txn) countBody(id string, r Rev) error {
	key := t.close(t.keys.body(t.open(), id, r, 0))
	first, err := t.Get(key).Wait()
	if err != nil || first == nil {
		return err
	}
	chunk := append([]byte(nil), first...)
	body, _, err := t.header(t.close(appendRev(t.keys.doc(t.open(), keyspace.Documents, id), r)), chunk)
	if err != nil || body.counted {
		return err
	}
	markCounted(chunk)
	t.Set(key, chunk)
	t.refer(id, body.attachments, 1)
	return nil
}

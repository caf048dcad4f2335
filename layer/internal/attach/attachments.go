package attach

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// OpenAttachment streams an attachment's stored bytes, which are encoded if Encoding is set, from offset off. It
// streams at most n bytes, or up to the end if n < 0. It reads about a megabyte at a time. Read returns NotFound if
// compaction has removed the data.
func (d Database) OpenAttachment(ctx context.Context, docID string, a rev.Attachment, off, n int64) (io.ReadCloser,
	error) {
	if off < 0 || off > a.EncodedLength {
		return nil, fault.Errf(fault.Invalid, "requested_range_not_satisfiable", "Requested range not satisfiable")
	}
	if n < 0 || n > a.EncodedLength-off {
		n = a.EncodedLength - off
	}
	return &attachmentReader{ctx: ctx, d: d.Database, docID: docID, id: a.ID, off: off, left: n}, nil
}

// attachmentReader reads chunks on demand. It needs no snapshot, because attachment data never changes.
type attachmentReader struct {
	ctx   context.Context
	d     *db.Database
	docID string
	id    [16]byte
	off   int64 // offset of the data after buf
	left  int64 // bytes to be returned, including buf
	buf   []byte
}

var errAttachmentClosed = errors.New("layer: attachment is closed")

func (r *attachmentReader) Read(p []byte) (int, error) {
	if r.d == nil {
		return 0, errAttachmentClosed
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	if len(r.buf) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf[:min(int64(len(r.buf)), r.left)])
	r.buf = r.buf[n:]
	r.left -= int64(n)
	return n, nil
}

func (r *attachmentReader) Close() error {
	r.d, r.buf = nil, nil
	return nil
}

// fill reads the chunks from off.
func (r *attachmentReader) fill() error {
	first := r.off / keyspace.BodyChunk
	want := min(uploadBatch, (r.off+r.left-1)/keyspace.BodyChunk-first+1)
	chunks, err := db.Read(r.ctx, r.d, func(t *db.Txn) ([]byte, error) {
		prefix := t.Keys.Attachment(nil, r.docID, r.id)
		keys := db.PrefixRange(prefix)
		keys.Begin = tuple.AppendInt(prefix, first)
		rows := t.Snapshot().GetRange(keys, kv.RangeOptions{Limit: int(want), Mode: kv.ModeExact})
		defer rows.Close()
		var data []byte
		for rows.Next() {
			data = append(data, rows.KeyValue().Value...)
		}
		return data, rows.Err()
	})
	if err != nil {
		return err
	}
	skip := r.off - first*keyspace.BodyChunk
	if int64(len(chunks)) <= skip {
		return fault.Errf(fault.NotFound, "", "attachment data is missing")
	}
	r.buf = chunks[skip:]
	r.off += int64(len(r.buf))
	return nil
}

// DigestOf returns the digest of an attachment in CouchDB's form, given its MD5.
func DigestOf(md5 []byte) string { return "md5-" + base64.StdEncoding.EncodeToString(md5) }

// NewAttachmentID returns a random attachment id.
func NewAttachmentID() (id [16]byte) {
	rand.Read(id[:])
	return id
}

// WholeAttachment reports whether all of an attachment can be read. It does not read past the attachment.
func WholeAttachment(r kv.Reader, keys db.Space, id string, a *rev.Attachment) bool {
	if a.EncodedLength == 0 {
		return true
	}
	rows := r.GetRange(db.PrefixRange(keys.Attachment(nil, id, a.ID)), kv.RangeOptions{})
	defer rows.Close()
	var n int64
	for n < a.EncodedLength && rows.Next() {
		n += int64(len(rows.KeyValue().Value))
	}
	return n == a.EncodedLength
}

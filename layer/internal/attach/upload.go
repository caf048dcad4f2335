package attach

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

const (
	// uploadBatch is how many chunks one transaction stores: just below 1 MB.
	uploadBatch = 10
	// InlineLimit is how much attachment data an edit may carry in the transaction of its document. More is uploaded
	// before.
	InlineLimit = 500_000
)

// Upload streams attachment data into the store, in transactions of limited size and with constant memory. If length is
// negative, it is unknown; otherwise a shorter or longer stream is Invalid. Upload returns TooLarge above
// Options.MaxAttachment. The upload is kept while ctx lives. If no Edit has used it by then, it is swept within two
// hours.
func (d Database) Upload(ctx context.Context, docID string, r io.Reader, length int64, encoding string) (*rev.Upload,
	error) {
	switch encoding {
	case "identity":
		encoding = ""
	case "", "gzip":
	default:
		return nil, fault.Errf(fault.Invalid, "bad_content_type",
			"Only gzip and identity content-encodings are supported")
	}
	limit := StateOf(d.Store).Max
	if length > limit {
		return nil, errAttachmentSize(limit)
	}
	u := &rev.Upload{ID: NewAttachmentID(), DocID: docID, Encoding: encoding, Hour: d.Store.Clock.Hour()}
	StateOf(d.Store).uploads.begin(ctx, d.Database, u)
	sum := md5.New()
	count := newContentCounter(encoding, limit)
	defer count.close()
	buf := make([]byte, uploadBatch*keyspace.BodyChunk)
	for chunk := 0; ; chunk += uploadBatch {
		n, last, err := fillPart(r, buf)
		if err != nil {
			return nil, errors.Join(err, abandon(ctx, d.Database, u))
		}
		part := buf[:n]
		u.EncodedLength += int64(n)
		sum.Write(part)
		if err := count.write(part); err != nil {
			return nil, errors.Join(err, abandon(ctx, d.Database, u))
		}
		if err := checkLength(u, length, limit, last); err != nil {
			return nil, errors.Join(err, abandon(ctx, d.Database, u))
		}
		if err := storePart(ctx, d.Database, u, chunk, part); err != nil {
			return nil, errors.Join(err, abandon(ctx, d.Database, u))
		}
		if last {
			break
		}
	}
	u.Digest = DigestOf(sum.Sum(nil))
	var err error
	if u.Length, err = count.total(); err != nil {
		return nil, errors.Join(err, abandon(ctx, d.Database, u))
	}
	return u, nil
}

// fillPart fills buf, or reports the end of the stream. It does not use io.ReadFull, which returns ErrUnexpectedEOF
// both at the end of the stream and for a broken connection.
func fillPart(r io.Reader, buf []byte) (n int, last bool, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	switch {
	case err == io.EOF: //nolint:errorlint // io.Reader says so
		return n, true, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, false, fault.Errf(fault.Invalid, "bad_request", "attachment shorter than expected")
	}
	return n, false, err
}

// AttachmentLimit returns the maximum size of an attachment in bytes.
func (d Database) AttachmentLimit() int64 { return StateOf(d.Store).Max }

func errAttachmentSize(limit int64) error {
	return fault.Errf(fault.TooLarge, "attachment_too_large", "attachments are limited to %d bytes", limit)
}

func checkLength(u *rev.Upload, length, limit int64, last bool) error {
	switch {
	case u.EncodedLength > limit:
		return errAttachmentSize(limit)
	case length >= 0 && u.EncodedLength > length:
		return fault.Errf(fault.Invalid, "bad_request", "attachment longer than expected")
	case length >= 0 && last && u.EncodedLength < length:
		return fault.Errf(fault.Invalid, "bad_request", "attachment shorter than expected")
	}
	return nil
}

// storePart writes chunks, beginning with number chunk, and with the first chunk the upload's entry. It may be
// repeated.
func storePart(ctx context.Context, d *db.Database, u *rev.Upload, chunk int, data []byte) error {
	_, err := db.Read(ctx, d, func(t *db.Txn) (struct{}, error) {
		entry := t.Close(Upload(t.Keys, t.Open(), u))
		if chunk == 0 {
			t.Set(entry, StateOf(d.Store).uploadEntry(u.Hour))
		} else if there, err := t.Get(entry).Wait(); err != nil {
			return struct{}{}, err
		} else if there == nil { // it was removed, and the remaining data would never be found
			return struct{}{}, fault.Errf(fault.Unavailable, "",
				"The upload was removed when the store was restarted. Send it again.")
		}
		WriteChunks(t, u.DocID, u.ID, chunk, data)
		return struct{}{}, nil
	})
	return err
}

// WriteChunks stores data in chunks, beginning with number chunk.
func WriteChunks(t *db.Txn, docID string, id [16]byte, chunk int, data []byte) {
	for len(data) > 0 {
		n := min(len(data), keyspace.BodyChunk)
		key := t.Close(tuple.AppendInt(t.Keys.Attachment(t.Open(), docID, id), int64(chunk)))
		t.Set(key, data[:n])
		data = data[n:]
		chunk++
	}
}

// abandonTime limits the time for removing the uploads of a request, whose client may have gone.
const abandonTime = 5 * time.Second

// abandon removes a failed upload. If that fails, the upload is swept later.
func abandon(ctx context.Context, d *db.Database, u *rev.Upload) error {
	StateOf(d.Store).uploads.end(u)
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	_, err := db.Read(removing, d, func(t *db.Txn) (struct{}, error) {
		dropUpload(t, u)
		return struct{}{}, nil
	})
	if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.Full {
		return err
	}
	return nil // or the caller knows the reason
}

// Discard removes the uploads of edits that were not written, unless a document has used them. Those that cannot be
// removed within abandonTime are swept later.
func (d Database) Discard(ctx context.Context, edits ...*rev.Edit) {
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	for _, e := range edits {
		for i := range e.Attachments {
			u := e.Attachments[i].Upload
			if u == nil || u.DocID != e.ID {
				continue
			}
			err := discard(removing, d.Database, u)
			if err != nil && fault.KindOf(err) != fault.NotFound {
				StateOf(d.Store).Log.Warn("removing an upload failed; it will be swept later", "database", d.Name(),
					"error", err)
			}
			if removing.Err() != nil {
				return
			}
		}
	}
}

func discard(ctx context.Context, d *db.Database, u *rev.Upload) error {
	StateOf(d.Store).uploads.end(u)
	_, err := db.Read(ctx, d, func(t *db.Txn) (struct{}, error) {
		there, err := t.Get(t.Close(Upload(t.Keys, t.Open(), u))).Wait()
		if err == nil && there != nil {
			dropUpload(t, u)
		}
		return struct{}{}, err
	})
	return err
}

func dropUpload(t *db.Txn, u *rev.Upload) {
	t.MakesRoom()
	t.Clear(t.Close(Upload(t.Keys, t.Open(), u)))
	t.ClearRange(db.PrefixRange(t.Keys.Attachment(nil, u.DocID, u.ID)))
}

// UploadLarge uploads the data of an edit that carries too much for one transaction.
func UploadLarge(ctx context.Context, d *db.Database, e *rev.Edit) error {
	size := 0
	for i := range e.Attachments {
		size += len(e.Attachments[i].Data)
	}
	if size <= InlineLimit {
		return nil
	}
	if err := db.ValidateID(e.ID); err != nil {
		return err
	}
	edits := append([]rev.AttachmentEdit(nil), e.Attachments...)
	for i := range edits {
		a := &edits[i]
		if a.Stub || a.Upload != nil {
			continue
		}
		u, err := Of(d).Upload(ctx, e.ID, bytes.NewReader(a.Data), int64(len(a.Data)), a.Encoding)
		if err != nil {
			e.Attachments = edits // for Discard
			return err
		}
		a.Upload, a.Data = u, nil
	}
	e.Attachments = edits
	return nil
}

// contentCounter counts the decoded bytes of a stream.
type contentCounter struct {
	n    int64
	pipe *io.PipeWriter
	done chan error // capacity 1; receives one value when the decoder has ended
}

// newContentCounter starts a decoder if the encoding needs one. The decoder stops if the content is far larger than
// limit.
func newContentCounter(encoding string, limit int64) *contentCounter {
	c := &contentCounter{}
	if encoding == "" {
		return c
	}
	r, w := io.Pipe()
	c.pipe, c.done = w, make(chan error, 1)
	go func() {
		err := c.decode(r, 16*limit)
		r.CloseWithError(err)
		c.done <- err
	}()
	return c
}

func (c *contentCounter) decode(r io.Reader, limit int64) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return errGzip()
	}
	c.n, err = io.Copy(io.Discard, io.LimitReader(z, limit+1))
	switch {
	case err != nil:
		return errGzip()
	case c.n > limit:
		return errAttachmentSize(limit)
	}
	return nil
}

func errGzip() error {
	return fault.Errf(fault.Invalid, "bad_request", "Attachment data is not valid gzip")
}

func (c *contentCounter) write(part []byte) error {
	if c.pipe == nil {
		c.n += int64(len(part))
		return nil
	}
	_, err := c.pipe.Write(part)
	if err == io.ErrClosedPipe {
		return nil // the decoder has reached its end; the rest is not content
	}
	return err
}

// total ends the stream and waits for the decoder.
func (c *contentCounter) total() (int64, error) {
	if c.pipe != nil {
		c.pipe.Close()
		c.pipe = nil
		if err := <-c.done; err != nil {
			return 0, err
		}
	}
	return c.n, nil
}

// close abandons the count.
func (c *contentCounter) close() {
	if c.pipe != nil {
		_ = c.pipe.CloseWithError(io.ErrUnexpectedEOF) // never fails
		<-c.done                                       //nolint:errcheck // the upload has failed for another reason
	}
}

// ContentLength returns the decoded length of data.
func ContentLength(data []byte, encoding string) (int64, error) {
	c := newContentCounter(encoding, int64(len(data))*1100+1024)
	defer c.close()
	if err := c.write(data); err != nil {
		return 0, err
	}
	return c.total()
}

// Upload is (Uploads, hour, DocID, AttachmentID).
func Upload(s db.Space, dst []byte, u *rev.Upload) []byte {
	dst = tuple.AppendInt(s.Sub(dst, keyspace.Uploads), u.Hour)
	dst = tuple.AppendString(dst, u.DocID)
	return tuple.AppendUUID(dst, u.ID)
}

package layer

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"errors"
	"io"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/tuple"
)

const (
	// uploadBatch is how many chunks one transaction stores: just below 1 MB.
	uploadBatch = 10
	// inlineLimit is how much attachment data one edit may carry in the transaction of its document; more is uploaded
	// before.
	inlineLimit = 500_000
)

// Upload streams attachment data into the store in transactions of bounded size, with flat memory. length < 0 is
// unknown; otherwise a shorter or longer stream is Invalid. TooLarge past Options.MaxAttachment. The upload is kept as
// long as ctx lives; what no Edit has taken up then is swept within two hours.
func (d *Database) Upload(ctx context.Context, docID string, r io.Reader, length int64, encoding string) (*Upload, error) {
	switch encoding {
	case "identity":
		encoding = ""
	case "", "gzip":
	default:
		return nil, errf(Invalid, "bad_content_type", "Only gzip and identity content-encodings are supported")
	}
	limit := attachOf(d.store).max
	if length > limit {
		return nil, errAttachmentSize(limit)
	}
	u := &Upload{ID: newAttachmentID(), DocID: docID, encoding: encoding, hour: d.store.clock.hour()}
	attachOf(d.store).uploads.begin(ctx, d, u)
	sum := md5.New()
	count := newContentCounter(encoding, limit)
	defer count.close()
	buf := make([]byte, uploadBatch*keyspace.BodyChunk)
	for chunk := 0; ; chunk += uploadBatch {
		n, last, err := fillPart(r, buf)
		if err != nil {
			return nil, errors.Join(err, d.abandon(ctx, u))
		}
		part := buf[:n]
		u.EncodedLength += int64(n)
		sum.Write(part)
		if err := count.write(part); err != nil {
			return nil, errors.Join(err, d.abandon(ctx, u))
		}
		if err := u.checkLength(length, limit, last); err != nil {
			return nil, errors.Join(err, d.abandon(ctx, u))
		}
		if err := d.storePart(ctx, u, chunk, part); err != nil {
			return nil, errors.Join(err, d.abandon(ctx, u))
		}
		if last {
			break
		}
	}
	u.Digest = digestOf(sum.Sum(nil))
	var err error
	if u.Length, err = count.total(); err != nil {
		return nil, errors.Join(err, d.abandon(ctx, u))
	}
	return u, nil
}

// fillPart fills buf, or reports that the stream has ended. It is not io.ReadFull, which returns ErrUnexpectedEOF both
// at the end of the stream and for a connection that broke off.
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
		return n, false, errf(Invalid, "bad_request", "attachment shorter than expected")
	}
	return n, false, err
}

func errAttachmentSize(limit int64) error {
	return errf(TooLarge, "attachment_too_large", "attachments are limited to %d bytes", limit)
}

func (u *Upload) checkLength(length, limit int64, last bool) error {
	switch {
	case u.EncodedLength > limit:
		return errAttachmentSize(limit)
	case length >= 0 && u.EncodedLength > length:
		return errf(Invalid, "bad_request", "attachment longer than expected")
	case length >= 0 && last && u.EncodedLength < length:
		return errf(Invalid, "bad_request", "attachment shorter than expected")
	}
	return nil
}

// storePart writes chunks from a number on, and with the first of them the upload's entry. It may be repeated.
func (d *Database) storePart(ctx context.Context, u *Upload, chunk int, data []byte) error {
	_, err := read(ctx, d, func(t *txn) (struct{}, error) {
		entry := t.close(t.keys.upload(t.open(), u))
		if chunk == 0 {
			t.Set(entry, attachOf(d.store).uploadEntry(u.hour))
		} else if there, err := t.Get(entry).Wait(); err != nil {
			return struct{}{}, err
		} else if there == nil { // it was removed, and nobody would find the rest
			return struct{}{}, errf(Unavailable, "",
				"The upload was removed when the store was started again. Send it once more.")
		}
		t.writeChunks(u.DocID, u.ID, chunk, data)
		return struct{}{}, nil
	})
	return err
}

func (t *txn) writeChunks(docID string, id [16]byte, chunk int, data []byte) {
	for len(data) > 0 {
		n := min(len(data), keyspace.BodyChunk)
		key := t.close(tuple.AppendInt(t.keys.attachment(t.open(), docID, id), int64(chunk)))
		t.Set(key, data[:n])
		data = data[n:]
		chunk++
	}
}

// abandonTime is how long it may take to remove the uploads of a request, whose client may have gone.
const abandonTime = 5 * time.Second

// abandon removes an upload that failed; what cannot be removed now is swept later.
func (d *Database) abandon(ctx context.Context, u *Upload) error {
	attachOf(d.store).uploads.end(u)
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	_, err := read(removing, d, func(t *txn) (struct{}, error) {
		t.dropUpload(u)
		return struct{}{}, nil
	})
	if err != nil && ctx.Err() == nil && KindOf(err) != Full {
		return err
	}
	return nil // or the caller knows why
}

// Discard removes the uploads of edits that were not written. An upload that a document has taken up nevertheless
// stays. What cannot be removed within abandonTime is swept later.
func (d *Database) Discard(ctx context.Context, edits ...*Edit) {
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	for _, e := range edits {
		for i := range e.Attachments {
			u := e.Attachments[i].Upload
			if u == nil || u.DocID != e.ID {
				continue
			}
			err := d.discard(removing, u)
			if err != nil && KindOf(err) != NotFound {
				attachOf(d.store).log.Warn("an upload that failed is removed later", "database", d.name, "error", err)
			}
			if removing.Err() != nil {
				return
			}
		}
	}
}

func (d *Database) discard(ctx context.Context, u *Upload) error {
	attachOf(d.store).uploads.end(u)
	_, err := read(ctx, d, func(t *txn) (struct{}, error) {
		there, err := t.Get(t.close(t.keys.upload(t.open(), u))).Wait()
		if err == nil && there != nil {
			t.dropUpload(u)
		}
		return struct{}{}, err
	})
	return err
}

func (t *txn) dropUpload(u *Upload) {
	t.MakesRoom()
	t.Clear(t.close(t.keys.upload(t.open(), u)))
	t.ClearRange(prefixRange(t.keys.attachment(nil, u.DocID, u.ID)))
}

// uploadLarge uploads the data of an edit that carries too much for one transaction.
func (d *Database) uploadLarge(ctx context.Context, e *Edit) error {
	size := 0
	for i := range e.Attachments {
		size += len(e.Attachments[i].Data)
	}
	if size <= inlineLimit {
		return nil
	}
	if err := ValidateID(e.ID); err != nil {
		return err
	}
	edits := append([]AttachmentEdit(nil), e.Attachments...)
	for i := range edits {
		a := &edits[i]
		if a.Stub || a.Upload != nil {
			continue
		}
		u, err := d.Upload(ctx, e.ID, bytes.NewReader(a.Data), int64(len(a.Data)), a.Encoding)
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
	done chan error // capacity 1; one value when the decoder has ended
}

// newContentCounter starts a decoder where the encoding needs one. It stops where the content is absurdly larger than
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

func errGzip() error { return errf(Invalid, "bad_request", "Attachment data is not valid gzip") }

func (c *contentCounter) write(part []byte) error {
	if c.pipe == nil {
		c.n += int64(len(part))
		return nil
	}
	_, err := c.pipe.Write(part)
	if err == io.ErrClosedPipe {
		return nil // the decoder has reached its end; what follows is not content
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

// contentLength is the decoded length of data held in memory.
func contentLength(data []byte, encoding string) (int64, error) {
	c := newContentCounter(encoding, int64(len(data))*1100+1024)
	defer c.close()
	if err := c.write(data); err != nil {
		return 0, err
	}
	return c.total()
}

// upload is (Uploads, hour, DocID, AttachmentID).
func (s space) upload(dst []byte, u *Upload) []byte {
	dst = tuple.AppendInt(s.sub(dst, keyspace.Uploads), u.hour)
	dst = tuple.AppendString(dst, u.DocID)
	return tuple.AppendUUID(dst, u.ID)
}

package docs

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/settings"
	"github.com/divandb/divan/node/api/internal/zlib"
)

// bestCompression is the highest level.
const bestCompression = 9

// Attachments of the types in the option attachments/compressible_types are stored compressed, as in CouchDB, if
// the client has not compressed them itself. Their digest is that of the compressed data.

// compression returns the level with which attachments of a type are compressed, or 0.
func compression(s *settings.Settings, contentType string) int {
	level := min(s.Int("attachments", "compression_level", 0), bestCompression)
	if level <= 0 {
		return 0
	}
	kind := call.MediaType(contentType)
	types, _ := s.Get("attachments", "compressible_types")
	for _, pattern := range strings.Split(types, ",") {
		pattern = strings.ToLower(strings.TrimSpace(pattern))
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		if isPrefix && strings.HasPrefix(kind, prefix) || pattern == kind {
			return level
		}
	}
	return 0
}

// upload stores the data of an attachment, of a length unless that is negative. It sets the attachment's upload and
// encoding. announced returns the digest of the data as the client sends it, or ""; it is called at the end of the
// data.
func upload(q *call.Request, s *settings.Settings, docID string, a *layer.AttachmentEdit, data io.Reader, length int64,
	announced func(*call.Request) string) error {
	level := 0
	if a.Encoding == "" {
		level = compression(s, a.ContentType)
	}
	if level == 0 {
		var err error
		a.Upload, err = q.DB.Upload(q.Ctx(), docID, data, length, a.Encoding)
		a.Digest = announced(q)
		return err
	}
	c, err := newCompressor(data, level, length)
	if err != nil {
		return err
	}
	c.most, c.name = q.DB.AttachmentLimit(), a.Name
	defer c.zip.Close()
	upload, err := q.DB.Upload(q.Ctx(), docID, c, -1, "gzip")
	if err != nil {
		return err
	}
	a.Upload, a.Encoding = upload, "gzip"
	if digest := announced(q); digest != "" && digest != c.digest() {
		return &layer.Error{Kind: layer.Invalid, Name: "content_md5_mismatch", Reason: "Possible message corruption."}
	}
	a.Digest = ""
	return nil
}

// compressInline compresses attachments that came within a document.
func compressInline(s *settings.Settings, e *layer.Edit) error {
	for i := range e.Attachments {
		a := &e.Attachments[i]
		if a.Stub || a.Follows || a.Upload != nil || a.Encoding != "" {
			continue
		}
		level := compression(s, a.ContentType)
		if level == 0 {
			continue
		}
		zip, err := zlib.New(level)
		if err != nil {
			return err
		}
		a.Data, a.Encoding, a.Digest = zip.Append(nil, a.Data, true), "gzip", ""
		zip.Close()
	}
	return nil
}

// compressor reads data compressed.
type compressor struct {
	from   io.Reader
	length int64 // expected; negative if unknown
	most   int64 // what may be read
	name   string
	read   int64
	sum    hash.Hash
	out    []byte         // compressed, and not read yet
	room   []byte         // the memory of out
	zip    *zlib.Deflater // closed by the caller
	ended  error
	buf    []byte
}

func newCompressor(from io.Reader, level int, length int64) (*compressor, error) {
	zip, err := zlib.New(level)
	return &compressor{from: from, length: length, sum: md5.New(), zip: zip, buf: make([]byte, 32<<10)}, err
}

// digest returns the digest of the data that was read.
func (c *compressor) digest() string {
	return "md5-" + base64.StdEncoding.EncodeToString(c.sum.Sum(nil))
}

// Read implements io.Reader.
func (c *compressor) Read(p []byte) (int, error) {
	for len(c.out) == 0 && c.ended == nil {
		c.more()
	}
	if len(c.out) == 0 {
		return 0, c.ended
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// more compresses the next piece.
func (c *compressor) more() {
	n, err := c.from.Read(c.buf)
	c.read += int64(n)
	c.sum.Write(c.buf[:n])
	c.room = c.zip.Append(c.room[:0], c.buf[:n], false)
	switch {
	case c.length >= 0 && c.read > c.length:
		c.ended = badLength("longer")
	case c.read > c.most:
		c.ended = attachmentTooLarge(c.name)
	case err == nil:
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		c.ended = err
	case c.read < c.length:
		c.ended = badLength("shorter")
	default:
		c.room = c.zip.Append(c.room, nil, true)
		c.ended = io.EOF
	}
	c.out = c.room
}

func badLength(how string) error {
	return &layer.Error{Kind: layer.Invalid, Name: "bad_request", Reason: "attachment " + how + " than expected"}
}

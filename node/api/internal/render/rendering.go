package render

import (
	"compress/gzip"
	"io"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/selector"
	"github.com/divandb/divan/node/api/internal/call"
)

// Options control how a document and its attachments are shown.
type Options struct {
	Attachments  bool             // data instead of stubs
	EncodingInfo bool             // att_encoding_info: encoding and encoded_length
	Since        []layer.Rev      // atts_since: attachments in one of these revisions remain stubs
	Fields       *selector.Fields // the fields to show; nil means all
}

// OpenContent opens an attachment for reading, decompressed.
func OpenContent(q *call.Request, docID string, a *layer.Attachment) (io.ReadCloser, error) {
	stored, err := q.DB.OpenAttachment(q.Ctx(), docID, *a, 0, -1)
	if err != nil || a.Encoding == "" {
		return stored, err
	}
	unzipped, err := gzip.NewReader(stored)
	if err != nil {
		stored.Close()
		return nil, err
	}
	return decoded{unzipped, stored}, nil
}

// decoded reads from a decompressor and also closes what is below it.
type decoded struct {
	io.Reader
	io.Closer
}

// CopyStored copies an attachment's stored bytes into the answer.
func CopyStored(s *call.Stream, docID string, a *layer.Attachment) error {
	stored, err := s.Q.DB.OpenAttachment(s.Q.Ctx(), docID, *a, 0, -1)
	if err != nil {
		return err
	}
	defer stored.Close()
	_, err = io.Copy(s, stored)
	return err
}

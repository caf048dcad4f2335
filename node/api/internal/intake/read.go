package intake

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Whole reads the whole request body, decoded, up to the endpoint's limit. The request's share of the memory is held
// until its end, or until GiveBack.
func (b *Body) Whole() ([]byte, error) {
	if b.replaced != nil {
		return b.Take(b, b.length(), b.most)
	}
	if b.of.ContentLength == 0 && b.of.Header.Get("Content-Length") == "" {
		return nil, fault.BadRequest("Missing request body")
	}
	switch encoding := strings.ToLower(b.of.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return b.Take(b, b.of.ContentLength, b.most)
	case "gzip":
		unzipped, err := gzip.NewReader(b)
		if err != nil {
			return nil, notGzipped(err)
		}
		text, err := b.Take(unzipped, -1, b.most)
		return text, notGzipped(err)
	default:
		return nil, fault.BadContentType(encoding + " is not a supported content encoding.")
	}
}

// notGzipped turns errors of an invalid gzip stream into client errors.
func notGzipped(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err,
		io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &corrupt):
		return fault.BadRequest("Request body is not properly gzipped.")
	}
	return err
}

// Json reads and validates the body.
func (b *Body) Json() (gjson.Result, error) {
	text, err := b.Whole()
	if err != nil {
		return gjson.Result{}, err
	}
	return decode.Bytes(text)
}

// Object reads the body, which must be a JSON object.
func (b *Body) Object() (gjson.Result, error) {
	v, err := b.Json()
	if err == nil && !v.IsObject() {
		err = fault.BadRequest("Request body must be a JSON object")
	}
	return v, err
}

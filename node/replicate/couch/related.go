package couch

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Related is a document with the data of its attachments, as it arrives. It is valid until the next one.
type Related struct {
	ID   string
	JSON []byte // with _revisions; attachments whose data follow have "follows":true
	// parts has the data, in the order of the document; nil if there is none.
	parts *multipart.Reader
}

// maxURL is how long the path and query of a request may be. Servers refuse long ones; ancestors beyond it are left
// out.
const maxURL = 7000

// ErrMissing is returned if the source does not have a revision that its feed told.
var ErrMissing = errors.New("couch: the source does not have the revision")

// OpenRevs reads revisions of a document with their attachments, but those that one of the ancestors has. An error of
// each ends it. It is not repeated after errors.
func (d *Database) OpenRevs(ctx context.Context, id string, revs, ancestors []string,
	each func(*Related) error) error {
	query := url.Values{"revs": {"true"}, "latest": {"true"},
		"open_revs": {string(jsontext.AppendStrings(nil, revs))}}
	if since := fitting(ancestors, maxURL-len(EscapeID(id))-len(query.Encode())); len(since) > 0 {
		query.Set("atts_since", string(jsontext.AppendStrings(nil, since)))
	}
	c := call{method: http.MethodGet, path: EscapeID(id), query: query, accept: "multipart/mixed", once: true}
	err := d.stream(ctx, c, func(r *answer) error {
		return readMixed(r, id, each)
	})
	if notMixed := (*notMixedError)(nil); errors.As(err, &notMixed) {
		for _, rev := range revs {
			if ok, failed := openInline(ctx, d, id, rev, each); failed != nil {
				return failed
			} else if !ok {
				return err
			}
		}
		return nil
	}
	return err
}

// notMixedError is the error of a server that answers OpenRevs otherwise than CouchDB does.
type notMixedError struct{ media string }

func (e *notMixedError) Error() string {
	return fmt.Sprintf("the answer is %q, not multipart/mixed", e.media)
}

// openInline is OpenRevs of one revision for PouchDB's servers, which have no multipart answers: the data of
// attachments are in the JSON. It returns false if the answer is not such a list either.
func openInline(ctx context.Context, d *Database, id, rev string, each func(*Related) error) (ok bool, err error) {
	query := url.Values{"revs": {"true"}, "latest": {"true"}, "attachments": {"true"},
		"open_revs": {string(jsontext.AppendStrings(nil, []string{rev}))}}
	c := call{method: http.MethodGet, path: EscapeID(id), query: query, accept: "application/json"}
	var list gjson.Result
	err = d.stream(ctx, c, func(r *answer) error {
		text, err := readPart(r.body)
		if list = gjson.ParseBytes(text); errors.Is(err, errRow) {
			return nil
		}
		return err
	})
	if err != nil || !list.IsArray() {
		return false, err
	}
	for _, one := range list.Array() {
		doc := one.Get("ok")
		if !doc.IsObject() {
			return false, ErrMissing
		}
		if err := each(&Related{ID: id, JSON: []byte(doc.Raw)}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// fitting returns as many revisions as fit a query of this length.
func fitting(revs []string, room int) []string {
	for i, rev := range revs {
		if room -= len(rev) + 9; room < 0 {
			return revs[:i]
		}
	}
	return revs
}

func readMixed(r *answer, id string, each func(*Related) error) error {
	media, params, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(media, "multipart/") || params["boundary"] == "" {
		return &notMixedError{media}
	}
	parts := multipart.NewReader(r.body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		media, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			return err
		}
		doc := &Related{ID: id}
		if media == "multipart/related" {
			doc.parts = multipart.NewReader(part, params["boundary"])
			first, err := doc.parts.NextRawPart()
			if err != nil {
				return err
			}
			part = first
		}
		if doc.JSON, err = readPart(part); err != nil {
			return err
		}
		if _, isError := params["error"]; isError || gjson.GetBytes(doc.JSON, "missing").Exists() {
			return &consumerError{ErrMissing}
		}
		if err := each(doc); err != nil {
			return &consumerError{err}
		}
	}
}

func readPart(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRow+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxRow:
		return nil, errRowSize
	case !gjson.ValidBytes(text):
		return nil, errRow
	}
	return text, nil
}

// attachment is one whose data follow a document.
type attachment struct {
	name, media, encoding string
	length                int64
}

// following returns the attachments whose data follow, in order.
func following(doc []byte) (list []attachment) {
	gjson.GetBytes(doc, "_attachments").ForEach(func(name, a gjson.Result) bool {
		if !a.Get("follows").Bool() {
			return true
		}
		one := attachment{name.Str, a.Get("content_type").Str, a.Get("encoding").Str, a.Get("length").Int()}
		if n := a.Get("encoded_length"); one.encoding != "" && n.Exists() {
			one.length = n.Int()
		}
		list = append(list, one)
		return true
	})
	return list
}

// HasData reports whether the data of attachments follow the document.
func (r *Related) HasData() bool { return r.parts != nil && len(following(r.JSON)) > 0 }

// ReadError is the error of a source that fails while its document is sent to the target.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// PutRelated writes a replicated document with its attachments, whose data are copied as they arrive. It is sent once.
// If the source fails, the error is a *ReadError.
func (d *Database) PutRelated(ctx context.Context, doc *Related) error {
	if !doc.HasData() {
		return d.PutDocument(ctx, doc.ID, doc.JSON)
	}
	list := following(doc.JSON)
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	boundary := hex.EncodeToString(random)
	var readers []io.Reader
	var length int64
	text := func(s string) {
		readers = append(readers, strings.NewReader(s))
		length += int64(len(s))
	}
	text("--" + boundary + "\r\nContent-Type: application/json\r\n\r\n")
	readers = append(readers, bytes.NewReader(doc.JSON))
	length += int64(len(doc.JSON))
	src := &partSource{parts: doc.parts}
	for i := range list {
		text("\r\n--" + boundary + partHead(&list[i]))
		readers = append(readers, &partReader{from: src, left: list[i].length})
		length += list[i].length
	}
	text("\r\n--" + boundary + "--")
	err := d.stream(ctx, call{
		method: http.MethodPut, path: EscapeID(doc.ID), query: replicated, stream: io.MultiReader(readers...),
		length: length, media: `multipart/related; boundary="` + boundary + `"`, closed: make(chan struct{}),
	}, func(r *answer) error {
		_, err := io.Copy(io.Discard, io.LimitReader(r.body, maxAnswer))
		return err
	})
	if failed := src.failed(); err != nil && failed != nil {
		return &ReadError{failed}
	}
	return err
}

func partHead(a *attachment) string {
	clean := strings.NewReplacer("\r", " ", "\n", " ")
	head := "\r\nContent-Disposition: attachment; filename=\"" + clean.Replace(a.name) + "\"\r\nContent-Type: " +
		clean.Replace(a.media) + "\r\nContent-Length: " + strconv.FormatInt(a.length, 10)
	if a.encoding != "" {
		head += "\r\nContent-Encoding: " + clean.Replace(a.encoding)
	}
	return head + "\r\n\r\n"
}

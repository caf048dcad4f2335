package couch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/divandb/divan/node/replicate/spec"
)

// Options configure a Database.
type Options struct {
	// Transport sends requests. It is used by this Database alone.
	Transport http.RoundTripper
	UserAgent string
	// Timeout is how long the other side may be silent.
	Timeout time.Duration
	// Retries is how often a failed request is repeated.
	Retries int
	// Sessions lets Database log in with POST /_session, if there is one, and send the cookie instead of the password.
	Sessions bool
	// SessionRefresh is how long a cookie without Max-Age is used.
	SessionRefresh time.Duration
	// Repeats is told about requests that fail and are repeated. It may be nil.
	Repeats *Repeats
	// Outage, if not nil, is called when a request has failed in a way that may pass. If this node's own store does not
	// answer, it waits until it does, or ctx ends, and returns true.
	Outage func(ctx context.Context, err *Error) bool
}

// Database is a database of any server. All methods are safe for concurrent use. They return an *Error.
type Database struct {
	e     *spec.Endpoint
	o     Options
	base  *url.URL
	shown string
	http  *http.Client
	login *login // nil: none
	moved redirector
}

// Open returns the database of an endpoint that is not local. It does no I/O.
func Open(e *spec.Endpoint, o Options) (*Database, error) {
	base, err := url.Parse(e.URL)
	if err != nil {
		return nil, errors.New("couch: the endpoint has an invalid url") // the text may have a password
	}
	d := &Database{e: e, o: o, base: base, shown: e.Shown(), moved: redirector{headers: e.Headers}}
	d.http = &http.Client{Transport: sameMethod{o.Transport}, CheckRedirect: d.moved.check}
	if e.HasAuth && o.Sessions {
		d.login = newLogin(d)
	}
	return d, nil
}

// Name is how the database is shown.
func (d *Database) Name() string { return d.shown }

// Close closes idle connections.
func (d *Database) Close() { d.http.CloseIdleConnections() }

// Info is what a replication needs to know of a database.
type Info struct {
	UpdateSeq  json.RawMessage
	StartTime  string // instance_start_time
	PurgeSeq   json.RawMessage
	Sharded    bool // has /_changes/{shard}, as Divan does
	DocsNumber int64
}

// Info reads the database's information. It reports a database that is not there as such.
func (d *Database) Info(ctx context.Context) (Info, error) {
	var info struct {
		UpdateSeq json.RawMessage `json:"update_seq"`
		StartTime json.RawMessage `json:"instance_start_time"`
		PurgeSeq  json.RawMessage `json:"purge_seq"`
		DocCount  int64           `json:"doc_count"`
		Shards    json.RawMessage `json:"changes_shards"`
	}
	err := d.json(ctx, call{method: http.MethodGet}, &info)
	var e *Error
	switch {
	case errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return Info{}, d.unauthorized()
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests:
		return Info{}, d.notFound()
	case err != nil:
		return Info{}, err
	case info.UpdateSeq == nil || info.StartTime == nil:
		return Info{}, d.notFound()
	}
	return Info{UpdateSeq: info.UpdateSeq, StartTime: textOf(info.StartTime), PurgeSeq: info.PurgeSeq,
		Sharded: info.Shards != nil, DocsNumber: info.DocCount}, nil
}

func (d *Database) unauthorized() error {
	return &Error{Name: "unauthorized", Reason: "unauthorized to access or create database " + d.shown,
		Status: http.StatusUnauthorized}
}

func (d *Database) notFound() error {
	return &Error{Name: "db_not_found", Reason: "could not open " + d.shown}
}

// Create creates the database. It is no error if there is one already.
func (d *Database) Create(ctx context.Context, params []spec.Param) error {
	query := url.Values{}
	for _, p := range params {
		query.Set(p.Name, p.Value)
	}
	err := d.json(ctx, call{method: http.MethodPut, query: query}, nil)
	var e *Error
	if errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		return d.unauthorized()
	}
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 500 {
		return nil // whether it is there will be seen
	}
	return err
}

// Commit asks the server to sync what was written, and returns its instance_start_time.
func (d *Database) Commit(ctx context.Context) (startTime string, err error) {
	var answer struct {
		StartTime json.RawMessage `json:"instance_start_time"`
	}
	err = d.json(ctx, call{method: http.MethodPost, path: "_ensure_full_commit", body: []byte{}}, &answer)
	return textOf(answer.StartTime), err
}

// Pending returns how many changes follow a sequence, or -1 if the server does not know.
func (d *Database) Pending(ctx context.Context, since json.RawMessage) (int64, error) {
	var answer struct {
		Pending *int64 `json:"pending"`
	}
	query := url.Values{"since": {SeqText(since)}, "limit": {"0"}}
	if err := d.json(ctx, call{method: http.MethodGet, path: "_changes", query: query}, &answer); err != nil {
		return -1, err
	}
	if answer.Pending == nil {
		return -1, nil
	}
	return *answer.Pending, nil
}

// SeqText returns a sequence as a parameter of a query.
func SeqText(seq json.RawMessage) string {
	if seq == nil {
		return "0"
	}
	return textOf(seq)
}

// textOf returns a JSON string's text, and other values as they are.
func textOf(value json.RawMessage) string {
	var s string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// Document reads the winner of a document.
func (d *Database) Document(ctx context.Context, id string) ([]byte, error) {
	var doc json.RawMessage
	err := d.json(ctx, call{method: http.MethodGet, path: EscapeID(id)}, &doc)
	return doc, err
}

// LocalDocument reads a _local document, or nil if there is none.
func (d *Database) LocalDocument(ctx context.Context, id string) ([]byte, error) {
	doc, err := d.Document(ctx, "_local/"+id)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		return nil, nil
	}
	return doc, err
}

// PutLocal writes a _local document and returns its revision.
func (d *Database) PutLocal(ctx context.Context, id string, doc []byte) (rev string, err error) {
	var answer struct {
		Rev string `json:"rev"`
	}
	err = d.json(ctx, call{method: http.MethodPut, path: "_local/" + EscapeSegment(id), body: doc}, &answer)
	return answer.Rev, err
}

// PutDocument writes a replicated document that has no attachments.
func (d *Database) PutDocument(ctx context.Context, id string, doc []byte) error {
	return d.json(ctx, call{method: http.MethodPut, path: EscapeID(id), query: replicated, body: doc}, nil)
}

var replicated = url.Values{"new_edits": {"false"}}

// EscapeID returns a document's id as part of a path.
func EscapeID(id string) string {
	for _, prefix := range []string{"_design/", "_local/"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return prefix + EscapeSegment(rest)
		}
	}
	return EscapeSegment(id)
}

// EscapeSegment returns a name as a segment of a path. CouchDB takes a plus sign in a path for a space.
func EscapeSegment(name string) string { return strings.ReplaceAll(url.PathEscape(name), "+", "%2B") }

// maxAnswer bounds an answer that is read as a whole. Such answers are small, but for single documents.
const maxAnswer = 256 << 20

// json sends a request and decodes its answer. Status codes from 400 on are errors.
func (d *Database) json(ctx context.Context, c call, into any) error {
	return d.stream(ctx, c, func(r *answer) error {
		if into == nil {
			_, err := io.Copy(io.Discard, io.LimitReader(r.body, maxAnswer))
			return err
		}
		return json.NewDecoder(io.LimitReader(r.body, maxAnswer)).Decode(into)
	})
}
